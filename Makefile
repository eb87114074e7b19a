# make demo   a real arm model follows a trajectory by computed torque, over ROS 2 topics
#             VIEW=1 shows it in the browser too; RECORD=run.mcap records it; IDENTIFY=1 has it
#             identify a robot whose masses are not those of its URDF, and follow it again
# make test   the test suite
# make test-thorough   what it leaves out: every robot at hand, every formulation of each kind
# make test-kilted   the tests of nodes, with the wheels of ROS 2 Kilted
# make bench  speed beside that of peers, written to benchmark/records
# make bench-nodes  rate, jitter, latency and CPU of the nodes, written to benchmark/records
# make site   the documents as a site, in site/
# make lint   ruff, mypy, and the order of imports
#
# Each creates what it needs in $(VENV). Where a ROS 2 installation is sourced, its rclpy is used.

PYTHON ?= python3
VENV ?= .venv
ROBOT ?= panda
PYTEST_ARGS ?=
# Twice as many as there are cores and one: tests of nodes wait, for motions, more than they compute
PROCESSES := $(shell $(PYTHON) -c "import os; print(min(8, 2 * (os.cpu_count() or 2)) + 1)")
# A worker that crashes ends the run: pytest-xdist replaces it, but then may wait for ever
WORKERS ?= -n $(PROCESSES) --dist loadfile --max-worker-restart=0

BIN := $(VENV)/bin
# rclpy from the sourced ROS installation where there is one, from the package index elsewhere
ROS_EXTRA := $(shell $(PYTHON) -c "import rclpy" 2>/dev/null || echo ros,)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test test-thorough test-kilted lint site bench bench-nodes clean

help:
	@sed -n '/^$$/q; s/^# \{0,1\}//p' Makefile

demo: $(VENV)/$(if $(VIEW)$(RECORD)$(IDENTIFY),.view,.demo)
	$(if $(IDENTIFY),$(BIN)/python examples/identify_and_follow.py "$(ROBOT)",$(BIN)/robot-dynamics demo "$(ROBOT)" $(if $(VIEW),--view) $(if $(RECORD),--record "$(RECORD)"))

# Keep byte code, also against the shell's setting: every process of a test would compile all again
test test-thorough test-kilted: export PYTHONDONTWRITEBYTECODE =

# Workers share the processors: threads of BLAS would wait for each other, and compute meanwhile
test test-thorough test-kilted: export OPENBLAS_NUM_THREADS = 1

# Kernels of tests run a few times: the lowest level compiles them in a quarter of the time
test test-thorough test-kilted: export ROBOT_DYNAMICS_CODE_LEVEL = 0
test: $(VENV)/.test $(VENV)/.interfaces
	$(BIN)/python -m pytest $(WORKERS) $(PYTEST_ARGS)

# Twice as many random examples, too
test-thorough: export HYPOTHESIS_PROFILE = thorough
test-thorough: $(VENV)/.test $(VENV)/.interfaces
	$(BIN)/python -m pytest $(WORKERS) -m "thorough or hypothesis" $(PYTEST_ARGS)

KILTED := $(VENV)/kilted
KILTED_TESTS ?= test/nodes test/recordings/test_recorder_node.py test/test_launch.py test/test_moveit_client.py

test-kilted: $(KILTED)/.ros
	$(KILTED)/bin/python -m pytest $(WORKERS) $(KILTED_TESTS) $(PYTEST_ARGS)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

site: export NO_MKDOCS_2_WARNING = 1  # docs/developer-notes.md names the successor
site: $(VENV)/.test
	$(BIN)/python -m mkdocs build --strict --quiet

bench: $(VENV)/.bench
	$(BIN)/python -m benchmark

bench-nodes: $(VENV)/.bench
	$(BIN)/python -m benchmark --nodes

$(VENV)/.demo: setup.py | $(VENV)/bin/python
	@echo "Installing robot_dynamics with what the demo needs into $(VENV) ..."
	$(PIP) -e ".[$(ROS_EXTRA)demo]"
	@touch $@

$(VENV)/.view: setup.py | $(VENV)/bin/python
	@echo "Installing robot_dynamics with what demo and page need into $(VENV) ..."
	$(PIP) -e ".[$(ROS_EXTRA)demo,view,identification]"
	@touch $@ $(VENV)/.demo

$(VENV)/.test: setup.py | $(VENV)/bin/python
	@echo "Installing robot_dynamics with what the tests need into $(VENV) ..."
	$(PIP) -e ".[$(ROS_EXTRA)test]"
	@touch $@ $(VENV)/.demo $(VENV)/.view

# Types that no index has; where they cannot be built, it says so and their tests skip
INTERFACES := $(shell find test/interfaces -type f -not -name "*.pyc")
$(VENV)/.interfaces: $(INTERFACES) | $(VENV)/.test
	@echo "Building the interfaces that the tests need into $(VENV) ..."
	-@$(BIN)/python test/interfaces/build.py && touch $@

# The packages of ROS are those of Kilted, all others those of the tests
$(KILTED)/.ros: $(INTERFACES) Makefile | $(VENV)/.test
	@echo "Installing the wheels of ROS 2 Kilted into $(KILTED) ..."
	$(BIN)/python -m venv $(KILTED)
	$(KILTED)/bin/python -m pip install --quiet --disable-pip-version-check "ros-rclpy[fastrtps]==9.1.2" \
	  $(foreach name,sensor trajectory std geometry nav diagnostic visualization,ros-$(name)-msgs==5.5.1) \
	  ros-std-srvs==5.5.1 ros-rosgraph-msgs==2.3.0 ros-lifecycle-msgs==2.3.0 ros-ament-index-python==1.11.0
	@$(BIN)/python -c "import sysconfig; print('import site; site.addsitedir(\"%s\")' % sysconfig.get_path('purelib'))" \
	  > $$($(KILTED)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/tests.pth
	$(KILTED)/bin/python test/interfaces/build.py
	@touch $@

$(VENV)/.bench: setup.py | $(VENV)/bin/python
	@echo "Installing robot_dynamics with its peers into $(VENV) ..."
	$(PIP) -e ".[$(ROS_EXTRA)bench]"
	@touch $@

$(VENV)/bin/python:
	@echo "Creating $(VENV) ..."
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip

clean:
	rm -rf $(VENV) build install log *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis out site
