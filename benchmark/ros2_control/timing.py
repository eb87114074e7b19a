"""Durations of update() of one controller without controller_manager, and what it calls.

    python -m benchmark.ros2_control.timing [--robots panda] [--only jtc rnea model]

jtc        joint_trajectory_controller on effort interfaces with PID, following a trajectory
jtc front  the same in front of a chained controller: positions, velocities, accelerations
rnea       a small controller with pinocchio::rnea and PD, behind such a front
model      the model controller of this package, chained
task       the same in the mode cartesian_impedance

Pinocchio's headers and library come from the Python package `pin`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from benchmark.nodes.processes import LOCAL, SystemFailure
from benchmark.record import conditions
from benchmark.ros2_control.arms import Arm
from benchmark.ros2_control.system import preferred, write_json
from benchmark.ros2_control.tracking import (
    TYPE,
    add_out,
    add_workspace,
    export,
    feedback,
    model_of,
    trajectory_controller,
    workspace_of,
)
from benchmark.ros2_control.workspace import Workspace
from benchmark.table import Table
from robot_dynamics.nodes.composition import own_domain
from robot_dynamics.nodes.ros import transport

LONGEST_S = 300.0
"""Longest run of the timing program, s."""

TIMER, RNEA = "update_timing", "rnea_controller"

TIMER_CMAKE = """
add_executable({name} update_timing.cpp)
ament_target_dependencies({name} controller_interface hardware_interface pluginlib rclcpp
  trajectory_msgs)
target_link_libraries({name} pthread ${{CMAKE_DL_LIBS}})
target_link_options({name} PRIVATE -rdynamic)
install(TARGETS {name} DESTINATION lib/{name})
ament_package()
"""

RNEA_CMAKE = """
find_path(EIGEN_FOLDER Eigen/Core PATH_SUFFIXES eigen3 REQUIRED)
add_library({name} SHARED rnea_controller.cpp)
target_include_directories({name} SYSTEM PRIVATE @prefix@/include ${{EIGEN_FOLDER}})
target_compile_definitions({name} PRIVATE BOOST_MPL_LIMIT_LIST_SIZE=30
  BOOST_MPL_LIMIT_VECTOR_SIZE=30 BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS
  BOOST_FUSION_INVOKE_MAX_ARITY=12)
ament_target_dependencies({name} controller_interface pluginlib rclcpp_lifecycle)
target_link_directories({name} PRIVATE @prefix@/lib)
target_link_libraries({name} pinocchio_default pinocchio_parsers)
set_target_properties({name} PROPERTIES BUILD_RPATH @prefix@/lib INSTALL_RPATH @prefix@/lib)
install(TARGETS {name} DESTINATION lib)
pluginlib_export_plugin_description_file(controller_interface plugin.xml)
ament_package()
"""

RNEA_PLUGIN = """<library path="rnea_controller">
  <class name="rnea_controller/RneaController" type="rnea_controller::RneaController"
         base_class_type="controller_interface::ChainableControllerInterface">
    <description>pinocchio::rnea and PD</description>
  </class>
</library>
"""


def add_packages(workspace: Workspace) -> None:
    """Write the timing program and the controller with pinocchio::rnea."""
    import pinocchio

    prefix = next(x for x in Path(pinocchio.__file__).parents if x.name == "cmeel.prefix")
    interface = ["controller_interface", "hardware_interface", "pluginlib"]
    workspace.add(
        TIMER,
        [*interface, "rclcpp", "trajectory_msgs"],
        TIMER_CMAKE,
        sources=["update_timing.cpp"],
    )
    workspace.add(
        RNEA,
        [*interface, "rclcpp_lifecycle"],
        RNEA_CMAKE.replace("@prefix@", str(prefix)),
        {"plugin.xml": RNEA_PLUGIN},
        ["rnea_controller.cpp"],
    )


def controllers(workspace: Workspace, arm: Arm) -> dict[str, dict[str, Any]]:
    """Return the parameters of the controllers by name."""
    model = {"type": TYPE, "model": str(model_of(workspace, arm))}
    front = {
        "command_joints": [f"behind/{name}" for name in arm.robot.joint_names],
        "command_interfaces": ["position", "velocity", "acceleration"],
    }
    return {
        "jtc": trajectory_controller(arm, gains=feedback(arm, 1000.0)),
        "jtc front": trajectory_controller(arm, **front),
        "rnea": {"type": "rnea_controller/RneaController"},
        "model": model,
        "task": {**model, "mode": "cartesian_impedance"},
    }


def measured(workspace: Workspace, arm: Arm, name: str, cycles: int) -> dict[str, Any]:
    """Run the timing program for one controller."""
    parameters, urdf = workspace.folder / f"{arm.name}_timing.yaml", workspace.folder / "arm.urdf"
    given = controllers(workspace, arm)[name]
    kind = given.pop("type")
    parameters.write_text(yaml.safe_dump({"controller": {"ros__parameters": given}}))
    urdf.write_text(arm.urdf)
    program = workspace.program(TIMER, TIMER)
    environment = {**workspace.environment, LOCAL: "LOCALHOST", "ROS_DOMAIN_ID": str(own_domain())}
    done = subprocess.run(
        [*preferred(), program, kind, str(urdf), str(cycles), str(parameters)],
        env={**environment, **transport.without_shared_memory(environment)},
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST_S,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"type"')]
    if not lines:
        raise SystemFailure(f"{kind}: {done.stderr[-2000:]}")
    return json.loads(lines[-1])


def table(arm: Arm, results: dict[str, dict[str, Any]]) -> Table:
    """Return the results of one robot."""
    rows = []
    for name, x in results.items():
        of = x["counted_cycles"]
        counts = (f"{x[key] / of:.3g}" for key in ("allocations", "releases", "locks", "try_locks"))
        system = x["cycles_with_system_calls"]
        rows.append(
            [
                name,
                *(f"{x[key]:.2f}" for key in ("median_us", "p999_us", "max_us")),
                *counts,
                "unknown" if system is None else f"{system / of:.3g}",
            ]
        )
    header = ["controller", "median, us", "99.9 %, us", "max, us"]
    header += ["allocations", "releases", "locks", "tried locks", "cycles with system calls"]
    about = "update() of a controller; calls are means of a cycle."
    return Table(f"{arm.name}, {arm.robot.dof} joints", about, header, rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the controllers and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.ros2_control.timing")
    parser.description, parser.formatter_class = __doc__, argparse.RawDescriptionHelpFormatter
    known = ["jtc", "jtc front", "rnea", "model", "task"]
    parser.add_argument("--robots", nargs="+", default=["panda"])
    parser.add_argument("--only", nargs="+", choices=known, default=known)
    parser.add_argument("--cycles", type=int, default=1_000_000)
    add_workspace(parser)
    add_out(parser)
    options = parser.parse_args(arguments)
    console, failed = Console(width=160), False
    content: dict[str, Any] = {"machine": conditions()}
    arms = [Arm(name).knowing_friction() for name in options.robots]
    with ExitStack() as stack:
        workspace = workspace_of(options, stack)
        add_packages(workspace)
        if {"model", "task"} & set(options.only):
            export(workspace, arms)
        workspace.build()
        for arm in arms:
            results: dict[str, dict[str, Any]] = {}
            for name in options.only:
                try:
                    results[name] = measured(workspace, arm, name, options.cycles)
                except SystemFailure as failure:
                    console.print(f"{arm.name}, {name}: not measured: {failure}", markup=False)
                    failed = True
            console.print(table(arm, results).rich())
            content[arm.name] = results
            if options.out:
                write_json(options.out, content)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
