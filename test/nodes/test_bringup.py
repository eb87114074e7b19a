"""What bringup starts, and what it answers to arguments that make no sense."""

import os
from pathlib import Path

import pytest
import yaml

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from arms import puma_as_printed
from driven_arm import urdf
from robot_dynamics.errors import (
    ArgumentError,
    RobotError,
    TrajectoryError,
    UnknownNameError,
    UrdfError,
)
from robot_dynamics.nodes.bringup.arguments import ARGUMENTS
from robot_dynamics.nodes.bringup.bringup import bringup
from robot_dynamics.nodes.bringup.wiring import File
from robot_dynamics.robot.catalogue import find_robot


def wired(**arguments):
    """The bringup for these arguments."""
    return bringup({name: arguments.get(name, default) for name, default, *_ in ARGUMENTS})


def started(**arguments):
    """The nodes of the bringup for these arguments."""
    return wired(**arguments).nodes


def test_by_default_there_is_a_robot_that_can_be_simulated():
    assert len(started()) == 4


@pytest.mark.parametrize("rate", ["abc", "0", "-100", "nan", "inf", "20000"])
def test_a_rate_that_no_node_takes_is_named(rate):
    with pytest.raises(ArgumentError) as refusal:
        started(rate=rate)
    assert str(refusal.value) == f"rate:={rate}: give a finite number from 1 to 10000, in Hz"


def test_a_rate_is_taken():
    assert len(started(rate="250")) == 4


def test_a_parameter_file_that_does_not_exist_is_named():
    with pytest.raises(ArgumentError) as refusal:
        started(config="none.yaml")
    assert str(refusal.value) == "config:=none.yaml: no such file; give a parameter file"


@pytest.mark.parametrize("file", ["", "none.csv"])
def test_a_trajectory_file_that_does_not_exist_is_named(file):
    with pytest.raises(ArgumentError) as refusal:
        started(motion="file", file=file)
    assert str(refusal.value) == f"file:={file}: no such file; give a trajectory file"


def test_a_robot_that_does_not_exist_is_one_line():
    with pytest.raises(RobotError) as refusal:
        started(robot="none.urdf.xacro")
    assert str(refusal.value) == (
        "no such file: none.urdf.xacro; give the path of a URDF, or the name of a robot"
    )


def test_a_description_that_cannot_be_read_is_refused_before_any_node_starts(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text("<robot name='arm'/>")
    with pytest.raises(RobotError) as refusal:
        started(robot=str(path))
    assert str(refusal.value).startswith(f"robot:={path}: <robot_description>:1: ")
    assert "\n" not in str(refusal.value)


def test_only_a_simulator_asks_for_bodies_that_there_can_be(tmp_path):
    printed = puma_as_printed(tmp_path)
    with pytest.raises(RobotError, match=rf"^robot:={printed}: link 'link_4', .* be simulated"):
        started(robot=printed)
    assert len(started(robot=printed, **REAL)) == 2
    started(robot="puma_gupta", motion="circle")


REAL = {"simulation": "false", "command_watchdog": "true"}


def executables(**arguments):
    return [node.executable for node in started(**arguments)]


@pytest.mark.parametrize(("threshold", "warned"), [(None, True), ("1e-5", True), ("-1", False)])
def test_topic_based_hardware_that_withholds_steady_commands_is_named(tmp_path, threshold, warned):
    given = f"<param name='trigger_joint_command_threshold'>{threshold}</param>"
    control = (
        "<ros2_control name='arm' type='system'><hardware>"
        "<plugin>joint_state_topic_hardware_interface/JointStateTopicSystem</plugin>"
        f"{given if threshold else ''}</hardware></ros2_control></robot>"
    )
    path = tmp_path / "arm.urdf"
    path.write_text(find_robot("planar_2r").read_text().replace("</robot>", control))
    lines = wired(robot=str(path)).notes
    assert len(lines) == warned
    if warned:
        assert "set its parameter trigger_joint_command_threshold to -1" in lines[0]


def test_a_real_arm_is_not_moved_unless_a_motion_is_asked_for():
    assert executables(**REAL) == ["feedforward_node", "controller_node"]
    assert "trajectory_node" in executables(**REAL, motion="excitation")
    assert executables(**REAL, composed="true") == ["composed_nodes"]


def parameters(node):
    """The parameters of a node without those of its file, flat."""
    _, *given = node.parameters
    return {name: value for one in given for name, value in one.items()}


def hardware(tmp_path, plugin):
    """A planar_2r whose second joint takes no effort."""
    control = "".join(
        f"<joint name='{name}'><command_interface name='{kind}'/></joint>"
        for name, kind in (("joint_1", "effort"), ("joint_2", "position"))
    )
    path = tmp_path / "arm.urdf"
    tags = f"<hardware><plugin>{plugin}</plugin></hardware>{control}"
    system = f"<ros2_control name='arm' type='system'>{tags}</ros2_control></robot>"
    path.write_text(find_robot("planar_2r").read_text().replace("</robot>", system))
    return str(path)


def driven(folder, plugin, joints):
    """Write an arm that holds its weight, with effort commands of all joints but its finger."""
    path = folder / "arm.urdf"
    path.write_text(urdf(plugin, effort=1000.0, joints=joints))
    return str(path)


DRIVEN = {"simulation": "false", "arm_controller": "arm_controller"}


def test_a_driver_sets_rate_namespace_joints_and_what_is_compensated(tmp_path):
    robot = driven(tmp_path, "lbr_ros2_control::SystemInterface", 7)
    found = wired(robot=robot, driver="kuka_fri", **DRIVEN)
    (node,) = found.nodes
    own = parameters(node)
    assert own["rate"] == 100.0
    assert own["joints"] == [f"joint{k}" for k in range(1, 8)]
    assert (own["compensate_gravity"], own["compensate_friction"]) == (False, False)
    assert node.namespace == "lbr"
    assert any(
        line.startswith("to find out: adds: gravity is by the pages") for line in found.notes
    )


def test_a_joint_without_an_effort_command_is_left_out_of_a_real_arm(tmp_path):
    robot = hardware(tmp_path, "own/Hardware")
    found = wired(robot=robot, **DRIVEN)
    (node,) = found.nodes
    assert parameters(node)["joints"] == ["joint_1"]
    assert found.notes == ("left out: joint_2 (no effort command in <ros2_control>)",)
    assert len(started(robot=robot)) == 4  # a simulator moves all


def test_a_robot_whose_joints_are_all_left_out_is_refused(tmp_path):
    path = Path(hardware(tmp_path, "own/Hardware"))
    path.write_text(path.read_text().replace("<joint name='joint_1'>", "<joint name='left_1'>"))
    with pytest.raises(RobotError, match=r"arm\.urdf: every joint is left out \(no effort command"):
        started(robot=str(path), **DRIVEN)


def test_a_given_rate_is_that_of_the_nodes(tmp_path):
    robot = driven(tmp_path, "own/Hardware", 6)
    (node,) = started(robot=robot, driver="omy", rate="400", **DRIVEN)
    assert parameters(node)["rate"] == 400.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"driver": "ur"}, "driver:=ur is of a real arm; add simulation:=false, or omit it"),
        ({"driver": "gen3", **DRIVEN}, "driver gen3 takes position, no effort, so no controller"),
    ],
)
def test_a_driver_that_fits_nothing_is_refused(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        started(**arguments)


def test_a_driver_of_another_number_of_joints_is_refused(tmp_path):
    robot = driven(tmp_path, "own/Hardware", 7)
    with pytest.raises(RobotError, match=r"^driver ur has 6 joints per arm, robot 'arm' 7 \("):
        started(robot=robot, driver="ur", **DRIVEN)


def test_arguments_of_a_xacro_file_reach_it():
    with pytest.raises(UrdfError, match=r"planar_2r\.urdf: takes no arguments \(ur_type:=ur5e\)"):
        started(robot_args="ur_type:=ur5e")


@pytest.mark.parametrize("composed", ["false", "true"])
def test_hardware_that_may_keep_the_last_command_is_not_commanded(composed):
    with pytest.raises(ArgumentError) as refusal:
        started(simulation="false", composed=composed)
    assert str(refusal.value) == (
        "simulation:=false: controller_node closes the loop over a topic, and a "
        "forward_command_controller keeps the last command when that node dies; give "
        "arm_controller:=NAME or joint_trajectory_controller:=NAME, or command_watchdog:=true if "
        "the hardware stops on stale commands (https://robot-dynamics.example/docs/hardware.html)"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"a: &x {ros__parameters: {p: 1.0}}\nb: *x\n", "Will not support aliasing at line 2"),
        (b"controller_node: 5\n", "Cannot have a value before ros__parameters at line 1"),
        (b"\xff\xfe", "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
    ],
)
def test_a_config_that_no_node_could_read_is_one_line(tmp_path, text, reason):
    path = tmp_path / "config.yaml"
    path.write_bytes(text)
    with pytest.raises(ArgumentError) as failure:
        started(config=str(path))
    assert str(failure.value) == (
        f"config:={path}: not a parameter file of ROS 2 ({reason}); compare it with "
        "config/robot_dynamics.yaml"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"namespace": "arm 1"},
            "namespace:=arm 1: Invalid namespace: namespace must not contain characters other than "
            "alphanumerics, '_', or '/'",
        ),
        (
            {"command_topic": "1ab"},
            "command_topic:=1ab: Invalid topic name: topic name token must not start with a number",
        ),
        (
            {"joint_trajectory_controller": "j t"},
            "joint_trajectory_controller:=j t: Invalid topic name: topic name must not contain "
            "characters other than alphanumerics, '_', or '/'",
        ),
        (
            {"joint_trajectory_controller": "jtc", "mode": "feedforward"},
            "mode:=feedforward is of controller_node, which joint_trajectory_controller:=jtc "
            "replaces; omit one of them",
        ),
        (
            {"arm_controller": "arm", "mode": "feedforward"},
            "mode:=feedforward is of controller_node, which arm_controller:=arm replaces; omit one "
            "of them",
        ),
        (
            {"arm_controller": "arm", "composed": "true"},
            "composed:=true is of controller_node, which arm_controller:=arm replaces; omit one "
            "of them",
        ),
        (
            {"joint_trajectory_controller": "jtc", "command_watchdog": "true"},
            "command_watchdog:=true is of controller_node, which joint_trajectory_controller:=jtc "
            "replaces; omit one of them",
        ),
        (
            {"joint_trajectory_controller": "jtc", "arm_controller": "arm"},
            "arm_controller:=arm and joint_trajectory_controller:=jtc follow the same motion; omit "
            "one of them",
        ),
        (
            {"arm_controller": "a b"},
            "arm_controller:=a b: Invalid topic name: topic name must not contain characters other "
            "than alphanumerics, '_', or '/'",
        ),
    ],
)
def test_arguments_that_would_be_ignored_or_are_no_names_are_refused(arguments, message):
    with pytest.raises(ArgumentError) as failure:
        started(**arguments)
    assert str(failure.value) == message


def renamed(node):
    """Topics of a node that the bringup renames, by the old name."""
    return dict(node.remappings)


def test_a_stock_controller_gets_efforts_in_place_of_controller_node():
    nodes = started(simulation="false", joint_trajectory_controller="arm_controller")
    assert [node.executable for node in nodes] == ["feedforward_node"]
    target = renamed(nodes[0])["joint_trajectory_with_effort"]
    assert target == "arm_controller/joint_trajectory"
    assert nodes[0].parameters[-1] == {"hold_with_effort": True}


def test_an_exported_controller_gets_the_reference_in_place_of_controller_node():
    nodes = started(simulation="false", arm_controller="arm_controller", rviz="true")
    ours = {node.executable: node for node in nodes}
    assert "controller_node" not in ours
    for name in ("feedforward_node", "marker_node"):
        assert renamed(ours[name])["reference"] == "arm_controller/reference"
    ghost = renamed(ours["robot_state_publisher"])
    assert ghost["joint_states"] == "arm_controller/reference"
    assert ours["feedforward_node"].parameters[-1] == {}


def publishers(**arguments):
    """Names of the robot_state_publishers: the robot's and that of the reference."""
    nodes = [n for n in started(**arguments) if n.executable == "robot_state_publisher"]
    return [node.name for node in nodes]


def test_the_robot_state_publisher_of_a_robot_is_not_doubled():
    reference = "reference_state_publisher"
    assert publishers(rviz="true") == ["", reference]
    assert publishers(rviz="true", **REAL) == [reference]
    assert publishers(rviz="true", **REAL, robot_state_publisher="true") == ["", reference]
    assert publishers(robot_state_publisher="true") == [""]


def evaluated(executable, **arguments):
    """Parameters of the last node of an executable that the bringup starts."""
    node = [n for n in started(**arguments) if n.executable == executable][-1]
    given = [values for values in node.parameters if isinstance(values, dict)]
    return {name: x for values in given for name, x in values.items()}


def test_the_motion_waits_for_a_controller_of_the_launch():
    for composed in ("false", "true"):
        given = evaluated("trajectory_node", composed=composed)
        assert given["controller"] == "controller_node"
    assert "controller" in evaluated("trajectory_node", **REAL, motion="excitation")
    stock = {"simulation": "false", "joint_trajectory_controller": "arm", "motion": "excitation"}
    assert "controller" not in evaluated("trajectory_node", **stock)


def test_the_motion_repeats_in_rviz_but_never_by_itself_on_a_real_arm():
    assert evaluated("trajectory_node", rviz="true")["repeat"] is True
    assert "repeat" not in evaluated("trajectory_node")
    assert "repeat" not in evaluated("trajectory_node", rviz="true", repeat="false")
    real = {**REAL, "motion": "excitation", "rviz": "true"}
    assert "repeat" not in evaluated("trajectory_node", **real)
    assert evaluated("trajectory_node", **real, repeat="true")["repeat"] is True


def rviz(**arguments):
    """The node rviz2, and its configuration."""
    (node,) = [n for n in started(rviz="true", **arguments) if n.executable == "rviz2"]
    option, config, *_ = node.arguments
    assert option == "-d"
    text = config.text if isinstance(config, File) else Path(config).read_text()
    return node, yaml.safe_load(text)["Visualization Manager"]


def display(manager, name):
    (found,) = [shown for shown in manager["Displays"] if shown["Name"] == name]
    return found


def test_rviz_shows_the_robot_of_the_launch_from_a_distance_that_it_fits_in():
    for name, root, size in (("planar_2r", "base_link", 5.0), ("puma_gupta", "base_link", 2.6)):
        _, manager = rviz(robot=name, **REAL)
        assert manager["Global Options"]["Fixed Frame"] == root
        view = manager["Views"]["Current"]
        assert 0.8 * size < view["Distance"] < 1.5 * size  # m
        assert max(map(abs, view["Focal Point"].values())) < 0.1 * size  # near the root


def test_rviz_elsewhere_gets_all_that_it_shows():
    here, elsewhere = (
        [node.executable for node in started(rviz=value, repeat="true")]
        for value in ("true", "elsewhere")
    )
    assert [name for name in here if name != "rviz2"] == elsewhere
    assert {"marker_node", "static_transform_publisher"} < {*elsewhere}


@pytest.mark.parametrize(("mode", "shown"), [("", True), ("cartesian_impedance", False)])
def test_the_ghost_is_hidden_where_a_law_in_task_space_follows_no_reference(mode, shown, tmp_path):
    _, manager = rviz(mode=mode)
    assert display(manager, "Reference")["Enabled"] is shown
    config = tmp_path / "config.yaml"
    config.write_text(f"controller_node: {{ros__parameters: {{mode: '{mode or 'pd'}'}}}}")
    _, manager = rviz(config=str(config))
    assert display(manager, "Reference")["Enabled"] is shown


def test_the_ghost_in_rviz_stands_on_the_frames_of_its_own_publisher():
    _, manager = rviz()
    prefix = display(manager, "Reference")["TF Prefix"]
    assert display(manager, "Robot")["TF Prefix"] == ""
    own = evaluated("robot_state_publisher", rviz="true")
    assert own["frame_prefix"] == f"{prefix}/"


def test_the_ghost_stands_where_the_robot_does():
    (node,) = [n for n in started(rviz="true") if n.executable == "static_transform_publisher"]
    arguments = dict(zip(node.arguments[::2], node.arguments[1::2], strict=True))
    # without --x, --roll and so on it is the identity
    assert arguments == {"--frame-id": "base_link", "--child-frame-id": "reference/base_link"}


def test_robots_with_equal_frame_names_have_a_tf_topic_each():
    ours = started(rviz="true", namespace="left")
    shows = [node for node in ours if node.package != "robot_dynamics"]
    assert len(shows) == 4
    for node in shows:
        assert node.namespace == "left"
        assert renamed(node).items() >= {"/tf": "tf", "/tf_static": "tf_static"}.items()


def test_rviz_finds_the_meshes_of_packages_outside_its_path(monkeypatch):
    pytest.importorskip("pinocchio", reason="example-robot-data is not installed")
    monkeypatch.setenv("AMENT_PREFIX_PATH", "/opt/ros/jazzy")
    node, _ = rviz(robot="panda")
    first, second = node.environment["AMENT_PREFIX_PATH"].split(os.pathsep)
    assert first == "/opt/ros/jazzy"
    index = Path(second, "share/ament_index/resource_index/packages/example-robot-data")
    assert index.is_file()


def test_the_end_of_rviz_says_that_the_nodes_go_on():
    node, _ = rviz()
    assert node.at_exit == "rviz2 has ended; the other nodes go on, and Ctrl-C ends them"


def test_a_configuration_of_rviz_is_taken_as_it_is(tmp_path):
    path = tmp_path / "own.rviz"
    path.write_text("Visualization Manager: {Displays: []}")
    node, manager = rviz(rviz_config=str(path))
    assert manager == {"Displays": []}
    assert node.arguments == ("-d", str(path))


def test_the_window_of_a_temporary_configuration_says_how_to_keep_changes():
    node, _ = rviz()
    title = "planar_2r - RViz: give rviz_config:=FILE to keep changes"
    assert node.arguments[2:] == ("-t", title)


@pytest.mark.parametrize("robot", ["ur5", "panda"])
def test_standard_arms_start_in_task_space_without_further_arguments(robot):
    assert len(started(robot=robot, mode="cartesian_impedance")) == 4


def test_an_end_effector_that_no_rule_finds_is_asked_for_before_any_node_starts(tmp_path):
    path = tmp_path / "arms.urdf"
    path.write_text(TWO_ARMS)
    with pytest.raises(ArgumentError) as refusal:
        started(robot=str(path), mode="operational_space")
    assert str(refusal.value) == (
        "mode:=operational_space: robot 'arms' has 2 tips (left, right), and no rule says which "
        "one is the end effector; name its frame by frame:=NAME"
    )
    assert len(started(robot=str(path), mode="operational_space", frame="left")) == 4
    assert len(started(robot=str(path))) == 4
    config = tmp_path / "config.yaml"
    config.write_text(
        "/**/controller_node:\n  ros__parameters: {mode: operational_space, task: {frame: left}}\n"
    )
    assert len(started(robot=str(path), config=str(config))) == 4
    config.write_text("/**:\n  ros__parameters: {mode: operational_space}\n")
    with pytest.raises(ArgumentError, match=r"^mode:=operational_space: .* by frame:=NAME$"):
        started(robot=str(path), config=str(config))


def test_an_end_effector_that_the_robot_does_not_have_is_named():
    with pytest.raises(UnknownNameError, match=r"^no frame 'tool' in robot 'ur5'"):
        started(robot="ur5", mode="cartesian_impedance", frame="tool")


LINK = (
    "<link name='{}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' "
    "iyz='0'/></inertial></link>"
)
TWO_ARMS = (
    f"<robot name='arms'>{LINK.format('base')}{LINK.format('left')}{LINK.format('right')}"
    + "".join(
        f"<joint name='{name}_joint' type='revolute'><parent link='base'/><child link='{name}'/>"
        "<axis xyz='0 1 0'/><limit lower='-1' upper='1' effort='50' velocity='2'/></joint>"
        for name in ("left", "right")
    )
    + "</robot>"
)


def test_a_configuration_of_rviz_that_does_not_exist_is_named():
    with pytest.raises(ArgumentError) as refusal:
        started(rviz_config="none.rviz")
    assert str(refusal.value) == (
        "rviz_config:=none.rviz: no such file; give a configuration of rviz2"
    )


def test_a_motion_of_another_robot_is_refused_before_any_node_starts(tmp_path):
    path = tmp_path / "motion.csv"
    path.write_text("time,q.elbow\n0,0\n1,1\n")
    with pytest.raises(TrajectoryError, match=rf"^{path}: .*'elbow'"):
        started(motion="file", file=str(path))


def test_in_one_process_each_node_has_its_own_part_of_a_parameter_file():
    (node, _) = started(composed="true", rate="250", mode="pd")
    assert node.executable == "composed_nodes"
    tree = yaml.safe_load(node.parameters[-1].text)
    found = {name: part["ros__parameters"] for name, part in tree.items()}
    assert found == {
        "/**/simulator_node": {"rate": 250.0},
        "/**/feedforward_node": {"rate": 250.0},
        "/**/controller_node": {"rate": 250.0, "mode": "pd", "require_effort_limits": False},
    }
