import re
import shutil
from glob import glob
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

package_name = "robot_dynamics"

REPOSITORY = "https://robot-dynamics.example/robot_dynamics"
FILES = f"{REPOSITORY}/blob/main/"
IMAGES = f"{REPOSITORY}/raw/main/"

ROS_WHEELS = [  # a real rclpy for machines without a ROS installation: one distribution, Jazzy
    "ros-rclpy[fastrtps]==7.1.6",
    "ros-sensor-msgs==5.3.6",
    "ros-trajectory-msgs==5.3.6",
    "ros-std-msgs==5.3.6",
    "ros-std-srvs==5.3.6",
    "ros-geometry-msgs==5.3.6",
    "ros-nav-msgs==5.3.6",
    "ros-diagnostic-msgs==5.3.6",
    "ros-visualization-msgs==5.3.6",
    "ros-rosgraph-msgs==2.0.3",
    "ros-lifecycle-msgs==2.0.3",
    "ros-ament-index-python==1.8.1",
]
VIEW = [  # page and recording; pycollada for the .dae meshes of many arms
    "viser>=1.0,<1.2",  # the gate stands between it and websockets: test a new release first
    "websockets>=13.1,<17",
    "msgspec>=0.18",
    "trimesh>=4",
    "pycollada>=0.8",
    "mcap>=1.6",
    "rosbags>=0.10",
]
IDENTIFICATION = [  # bags, physically consistent inertias, clearance of meshes
    "rosbags>=0.10",
    "cvxpy>=1.5",
    "clarabel>=0.9",
    "coal>=3",
    "mcap>=1.6",
    "trimesh>=4",
    "pycollada>=0.8",
]
CLI = ["matplotlib>=3.6", "argcomplete>=3"]  # pictures, Tab in a shell
STUDY = ["dask[distributed]>=2024.1", "pyarrow>=15", "toppra>=0.6", *CLI]
DEMO = ["example-robot-data>=4.3", *CLI]
EAIK = "EAIK>=1.2; platform_system == 'Linux' and platform_machine == 'x86_64'"  # has wheels there
# Array libraries that take compiled equations: `Dynamics.as_casadi`, `as_jax`, `as_torch`
CASADI = ["casadi>=3.6"]
JAX = ["jax>=0.5"]
TORCH = ["torch>=2.4"]

TEST = [
    "pytest>=9",
    "rich>=13",
    "pytest-xdist>=3",
    "hypothesis>=6",
    "sympy>=1.12",
    "pin>=3.4",
    "mujoco>=3.2",
    "ruff>=0.6",
    "mypy>=1.11",
    "import-linter>=2.5",
    "joblib>=1.3",
    "pandas>=2.0",
    "playwright>=1.45",
    "robot_descriptions>=1.10",
    "latex2mathml>=3.77",
    "mkdocs-material>=9.5",
    "mkdocstrings-python>=1.16",
    "xacro>=2",
    EAIK,
    *CASADI,
    *JAX,
    *VIEW,
    *IDENTIFICATION,
    *STUDY,
    *DEMO,
]


def readme():
    """README with links that hold on the package index, which has no files beside it."""
    text = (Path(__file__).resolve().parent / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"(!\[[^\]]*\]\()(?!https?:|#)", rf"\g<1>{IMAGES}", text)
    return re.sub(r"(?<!!)(\[[^\]]*\]\()(?!https?:|#)", rf"\g<1>{FILES}", text)


class BuildWithControllers(build_py):
    """Puts the C++ package into the Python package, from where `export controllers` copies it."""

    def run(self):
        super().run()
        if not getattr(self, "editable_mode", False):  # a source tree has it beside the package
            name = "robot_dynamics_controllers"
            place = Path(self.build_lib, package_name, "export", name)
            shutil.copytree(Path(__file__).resolve().parent / name, place, dirs_exist_ok=True)


setup(
    name=package_name,
    version="0.1.0",
    description="A robot's equations of motion, compiled when its URDF arrives, on ROS 2 topics",
    long_description=readme(),
    long_description_content_type="text/markdown",
    author="The robot_dynamics authors",
    maintainer="The robot_dynamics authors",
    maintainer_email="maintainers@robot-dynamics.example",
    license="Apache-2.0",
    url=REPOSITORY,
    project_urls={
        "Documentation": f"{FILES}README.md",
        "Changelog": f"{FILES}CHANGELOG.md",
        "Source": REPOSITORY,
    },
    keywords="robotics dynamics ros2 urdf inverse-dynamics computed-torque code-generation",
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Programming Language :: Python :: 3.14",
        "Topic :: Scientific/Engineering",
        "Typing :: Typed",
    ],
    python_requires=">=3.10",
    cmdclass={"build_py": BuildWithControllers},
    packages=find_packages(include=["robot_dynamics", "robot_dynamics.*"]),
    package_data={"robot_dynamics": ["py.typed", "nodes/ros/*.xml", "export/*.json"]},
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/" + package_name]),
        ("share/" + package_name, ["package.xml"]),
        ("share/" + package_name + "/launch", glob("launch/*.launch.py")),
        ("share/" + package_name + "/config", glob("config/*.yaml")),
        ("share/" + package_name + "/layouts", glob("config/*_layout.*")),
        ("share/" + package_name + "/rviz", glob("config/*.rviz")),
        ("share/" + package_name + "/urdf", glob("urdf/*.urdf")),
        ("share/" + package_name + "/tables", glob("tables/*.yaml")),
    ],
    install_requires=[
        "setuptools",
        "numpy>=1.26",
        "scipy>=1.11",
        "llvmlite>=0.41",
        "lxml>=4.9",
        "pyyaml>=5.4",
    ],
    extras_require={
        "ros": ROS_WHEELS,
        "cli": CLI,
        "view": VIEW,
        "identification": IDENTIFICATION,
        "study": STUDY,
        "demo": DEMO,
        "casadi": CASADI,
        "jax": JAX,
        "torch": TORCH,
        "test": TEST,
        "bench": [*TEST, "dynibo>=0.5", "ssik>=8", "pytracik; platform_system == 'Linux'"],
        "all": [*ROS_WHEELS, *TEST],
    },
    zip_safe=True,
    entry_points={
        "console_scripts": [
            "robot-dynamics = robot_dynamics.cli:main",
            "feedforward_node = robot_dynamics.nodes.executables:feedforward_node",
            "controller_node = robot_dynamics.nodes.executables:controller_node",
            "simulator_node = robot_dynamics.nodes.executables:simulator_node",
            "trajectory_node = robot_dynamics.nodes.executables:trajectory_node",
            "viewer_node = robot_dynamics.nodes.executables:viewer_node",
            "marker_node = robot_dynamics.nodes.executables:marker_node",
            "recorder_node = robot_dynamics.nodes.executables:recorder_node",
            "monitor_node = robot_dynamics.nodes.executables:monitor_node",
            "composed_nodes = robot_dynamics.nodes.executables:composed_nodes",
        ],
    },
)
