"""Shipped parameter file and launch file agree with the nodes."""

import dataclasses
import importlib.util
import re

import pytest
import yaml

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from robot_dynamics.control.parameters import PARAMETERS
from robot_dynamics.nodes.bringup.arguments import ARGUMENTS
from robot_dynamics.nodes.bringup.bringup import bringup
from robot_dynamics.nodes.controller.controller_parameters import (
    CollisionParameters,
    ControllerParameters,
    GainParameters,
    LimitParameters,
)
from robot_dynamics.nodes.controller.task_space_control import TaskParameters
from robot_dynamics.nodes.feedforward.feedforward_parameters import FeedforwardParameters
from robot_dynamics.nodes.monitor_node import MonitorParameters
from robot_dynamics.nodes.ros.node_parameters import describe
from robot_dynamics.nodes.runtime.drive_parameters import (
    BandParameters,
    DriveGainParameters,
    ElasticityParameters,
    FrictionParameters,
    RotorParameters,
)
from robot_dynamics.nodes.runtime.online_model import PayloadParameters
from robot_dynamics.nodes.runtime.robot_description import JointLimitParameters
from robot_dynamics.nodes.runtime.robot_node import LoopParameters
from robot_dynamics.nodes.simulator.simulator_parameters import SimulatorParameters
from robot_dynamics.nodes.trajectory_node import TrajectoryParameters
from robot_dynamics.robot.catalogue import share_folder

NODES = {
    "simulator_node": SimulatorParameters,
    "feedforward_node": FeedforwardParameters,
    "controller_node": ControllerParameters,
    "trajectory_node": TrajectoryParameters,
    "monitor_node": MonitorParameters,
}
NOT_IN_FILE = {
    "robot_description",
    "urdf_path",
    "joints",
    "initial_positions",
    "file",
    "formulation",
    "gravity",
    "cpu_affinity",
    "actuator_coupling",
    "log_urdf_warnings",
    "near",
}


@pytest.mark.parametrize("node", NODES)
def test_the_parameter_file_holds_the_defaults(node):
    text = (share_folder() / "config" / "robot_dynamics.yaml").read_text()
    given = yaml.safe_load(text)["/**"][node]["ros__parameters"]
    defaults = {item.name: item.default for item in describe(NODES[node])}
    lists = {name: list(x) if isinstance(x, tuple) else x for name, x in defaults.items()}
    assert given == {name: lists[name] for name in given}
    assert set(defaults) - set(given) <= NOT_IN_FILE


def test_the_nodes_have_every_parameter_of_the_table_as_its_type():
    groups = {
        "": (ControllerParameters,),
        "collision.": (CollisionParameters,),
        "drive.": (DriveGainParameters,),
        "gains.": (GainParameters,),
        "limits.": (LimitParameters, JointLimitParameters),
        "bands.": (BandParameters,),
        "friction.": (FrictionParameters,),
        "rotor.": (RotorParameters,),
        "elasticity.": (ElasticityParameters,),
        "payload.": (PayloadParameters,),
        "task.": (TaskParameters,),
    }
    types = {float: "double", bool: "bool", str: "string"}
    types |= {(float,): "double_array", (str,): "string_array"}
    of_nodes = {item.name for item in describe(LoopParameters)}
    found = {
        prefix + item.name: types[item.kind]
        for prefix, kinds in groups.items()
        for kind in kinds
        for item in describe(kind)
        if prefix or item.name not in of_nodes
    }
    table = {name: one.type for name, one in PARAMETERS.items() if "nodes" in one.users}
    assert found == table


@pytest.mark.parametrize("kind", NODES.values())
def test_every_quantity_has_its_unit_in_its_description(kind):
    units = r"\b(s|Hz|rad|rad/s|m|m/s|N m|N)\b"
    without = {
        "mass_factor",
        "mass_error",
        "damping_ratio",
        "resonance_share",
        "share",
        "loss",
        "selection",
    }  # numbers
    for item in describe(kind):
        if item.kind in (float, (float,)) and item.name not in without:
            assert re.search(units, item.spec.description), item.name


def started(**arguments):
    """Executables of the nodes that the launch file starts."""
    given = {name: arguments.get(name, default) for name, default, *_ in ARGUMENTS}
    return [node.executable for node in bringup(given).nodes]


def test_the_launch_file_describes_its_arguments():
    meanings = {name: meaning for name, _, meaning, _ in ARGUMENTS}
    assert {"robot", "config", "rviz", "use_sim_time", "namespace"} <= {*meanings}
    assert all(meanings.values())


def test_the_launch_file_starts_robot_control_and_motion():
    assert sorted(started(robot="planar_2r")) == sorted(set(NODES) - {"monitor_node"})
    assert sorted(started(robot="planar_2r", monitor="true")) == sorted(NODES)


def test_on_hardware_the_simulator_is_left_out():
    assert started(simulation="false", arm_controller="arm_controller") == ["feedforward_node"]


def test_in_one_process_the_same_nodes_run():
    assert sorted(started(robot="planar_2r", composed="true")) == [
        "composed_nodes",
        "trajectory_node",
    ]


def test_rviz_comes_with_the_publishers_of_what_it_shows():
    extra = set(started(robot="planar_2r", rviz="true")) - set(NODES)
    publishers = {"robot_state_publisher", "static_transform_publisher", "marker_node"}
    assert extra == {"rviz2", *publishers}


def test_parameter_classes_are_frozen():
    for kind in NODES.values():
        with pytest.raises(dataclasses.FrozenInstanceError):
            kind().rate = 1.0


def test_the_documentation_lists_every_parameter_as_it_is():
    script = share_folder() / "docs" / "make_parameter_tables.py"
    if not script.is_file():
        pytest.skip("the documentation is not installed")
    spec = importlib.util.spec_from_file_location("make_parameter_tables", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    stale = [path.name for path, text in module.pages() if path.read_text("utf-8") != text]
    assert stale == [], "run python docs/make_parameter_tables.py"
