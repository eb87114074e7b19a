"""Profiles of drivers: what they configure, what they refuse, and what is said of them.

The URDFs here have the interfaces and the numbers of the drivers' own descriptions, on an arm of
two joints and a finger.
"""

import json
import re
import runpy

import pytest
import yaml

from driven_arm import STATES, urdf
from robot_dynamics.cli import main
from robot_dynamics.cli.driven_arm import added_by
from robot_dynamics.control.added_efforts import (
    DRIVE_FEEDBACK,
    FRICTION,
    GRAVITY,
    VELOCITY_TERMS,
)
from robot_dynamics.export.drivers import DRIVERS
from robot_dynamics.robot import share_folder
from robot_dynamics.robot.urdf.ros2_control import Interfaces, offered, read_hardware

STRETCHED = 9.81 * (0.2 + 0.5 + 0.42)  # N m: 1 kg each of two links and of the finger at 0.02 m


@pytest.fixture
def export(tmp_path, capsys):
    """Run `export config`; return status, parameters by node (None if refused), output, errors."""

    def export(text, *words):
        path, output = tmp_path / "arm.urdf", tmp_path / "controllers.yaml"
        path.write_text(text)
        status = main(["export", "config", str(path), *words, "-o", str(output)])
        nodes = None
        if status == 0:
            (tree,) = yaml.safe_load(output.read_text()).items()
            assert tree[0] == "/**"
            nodes = {name: values["ros__parameters"] for name, values in tree[1].items()}
        return status, nodes, *capsys.readouterr()

    return export


# -- the table --------------------------------------------------------------------------------


@pytest.mark.parametrize("driver", DRIVERS.values(), ids=DRIVERS)
def test_every_fact_names_a_file_of_a_repository_with_commit_and_date(driver):
    for name, fact in driver.facts:
        assert re.search(r"\(?\d{4}-\d\d-\d\d\)", driver.source(fact)), name


@pytest.mark.parametrize("driver", DRIVERS.values(), ids=DRIVERS)
def test_gains_of_drives_and_efforts_of_a_profile_fit_each_other(driver):
    arms = [x.value for x in (driver.drive_kp, driver.drive_kd, driver.effort_limits) if x]
    assert {len(values) for values in arms} <= {driver.joints and driver.joints.value}
    assert (driver.drive_kp is None) == (driver.drive_kd is None)
    assert set(driver.adds.value) <= {GRAVITY, FRICTION, VELOCITY_TERMS}
    if driver.closes_loop:  # a drive needs the position that it pulls to
        assert "position" in driver.interfaces.value


def test_drivers_lists_all_and_one_with_sources_and_questions(capsys):
    assert main(["drivers"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n{name} " in out for name in DRIVERS)
    assert main(["drivers", "openarm"]) == 0
    out = capsys.readouterr().out
    assert "drive kp: 70, 70, 70, 60, 10, 10, 10\n  by enactic/openarm_ros2 73ef898" in out
    assert "to find out: what do the motors do when commands stop?" in out
    assert main(["drivers", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == list(DRIVERS)


def test_the_page_of_drivers_has_the_table():
    script = share_folder() / "docs" / "make_driver_table.py"
    if not script.is_file():
        pytest.skip("the documentation is not installed")
    module = runpy.run_path(str(script))
    page = module["PAGE"].read_text(encoding="utf-8")
    assert module["with_table"](page) == page, "run python docs/make_driver_table.py"


def test_an_unknown_driver_is_named(capsys):
    assert main(["drivers", "frnaka"]) == 1
    assert "no driver 'frnaka' in robot_dynamics" in (err := capsys.readouterr().err)
    assert "did you mean 'franka'?" in err


# -- the configuration ------------------------------------------------------------------------


def test_a_ur_leaves_out_gravity_and_friction_at_500_hz(export):
    plugin = "ur_robot_driver/URPositionHardwareInterface"
    status, nodes, out, err = export(urdf(plugin, STATES, joints=6))
    assert (status, err.splitlines()[0]) == (0, "driver ur, by the hardware of the URDF")
    assert nodes["controller_manager"]["update_rate"] == 500
    arm = nodes["arm_controller"]
    assert arm["command_interfaces"] == ["effort"]
    assert (arm["compensate_gravity"], arm["compensate_friction"]) == (False, False)
    assert "to find out: adds: are the friction scales the defaults" in out


def test_a_trajectory_controller_of_another_name_stands_in_front(export):
    _, nodes, *_ = export(urdf("own/Hardware"))
    assert "joint_trajectory_controller" not in nodes
    front = nodes["arm_trajectory_controller"]
    assert front["joints"] == ["joint1", "joint2"]
    assert front["command_joints"] == ["arm_controller/joint1", "arm_controller/joint2"]
    assert front["constraints"]["joint1"] == {
        "trajectory": 0.5, "goal": 0.1, "max_deceleration_on_cancel": 4.0,
    }  # fmt: skip
    assert front["type"] == nodes["controller_manager"]["arm_trajectory_controller"]["type"]


def test_tolerances_of_a_slider_are_round_numbers(export):
    _, nodes, *_ = export(urdf("own/Hardware").replace('"revolute"', '"prismatic"'))
    tolerances = nodes["arm_trajectory_controller"]["constraints"]["joint1"]
    assert (tolerances["trajectory"], tolerances["goal"]) == (0.1, 0.02)


def test_a_franka_limits_the_rate_of_efforts_and_leaves_its_finger_out(export):
    plugin = "franka_hardware/FrankaHardwareInterface"
    status, nodes, _, err = export(urdf(plugin, finger=None, joints=7))
    assert status == 0
    limits = nodes["arm_controller"]["limits"]
    assert limits == {f"joint{k}": {"effort_rate": 990.0} for k in range(1, 8)}
    assert "left out: finger_joint1 at 0.02 (not of the arm of franka)" in err


def test_a_flexiv_leaves_out_velocity_terms_too(export):
    _, nodes, *_ = export(urdf("flexiv_hardware/FlexivHardwareInterface", joints=7))
    assert nodes["arm_controller"]["compensate_velocity_terms"] is False


def test_a_kuka_claims_position_and_effort(export):
    plugin = "lbr_ros2_control::SystemInterface"
    _, nodes, *_ = export(urdf(plugin, ("position", "effort"), joints=7))
    assert nodes["arm_controller"]["command_interfaces"] == ["position", "effort"]
    assert nodes["controller_manager"]["update_rate"] == 100


def test_drives_of_two_arms_get_the_gains_of_each(export):
    plugin = "openarm_hardware/OpenArm_v10HW"
    text = urdf(plugin, STATES, finger=STATES, effort=1000.0, joints=14)
    status, nodes, *_ = export(text)
    assert status == 0
    arm = nodes["arm_controller"]
    assert arm["feedback"] == "drive"
    assert arm["command_interfaces"] == ["position", "velocity", "effort"]
    kp, kd = ([row[kind] for row in arm["drive"].values()] for kind in ("kp", "kd"))
    assert kp == [70.0, 70.0, 70.0, 60.0, 10.0, 10.0, 10.0] * 2
    assert kd == [2.75, 2.5, 2.0, 2.0, 0.7, 0.6, 0.5] * 2


def test_gains_of_the_urdf_take_the_place_of_those_of_the_profile(export):
    plugin = "openarm_hardware/OpenArm_v10HW"
    text = urdf(plugin, STATES, finger=STATES, effort=1000.0, joints=7)
    gain = '</plugin><param name="kp2">55</param><param name="kd7">0.25</param>'
    status, nodes, *_ = export(text.replace("</plugin>", gain))
    assert status == 0
    drive = nodes["arm_controller"]["drive"]
    assert drive["joint2"] == {"kp": 55.0, "kd": 2.5}
    assert drive["joint7"] == {"kp": 10.0, "kd": 0.25}
    status, _, _, err = export(text.replace("</plugin>", gain.replace("55", "stiff")))
    assert (status, refused(err)) == (
        1,
        "<ros2_control>: kp2 holds 'stiff'; give a number",
    )


def test_a_bridge_gets_parameters_of_the_nodes(export):
    text = urdf(effort=1000.0, joints=6)
    status, nodes, *_ = export(text, "--driver", "z1", "--joints", "joint1,joint2,joint3,joint4,"
                               "joint5,joint6")  # fmt: skip
    assert status == 0
    assert set(nodes) == {"feedforward_node", "controller_node"}
    assert nodes["feedforward_node"]["rate"] == 500.0
    assert nodes["controller_node"]["drive"]["joint1"] == {"kp": 512.0, "kd": 25.6}


def test_without_a_driver_the_rate_is_given_and_the_model_stands_beside(export, tmp_path):
    status, nodes, out, err = export(urdf(), "--rate", "250", "--joints", "joint1,joint2")
    assert (status, err) == (0, "left out: finger_joint1 at 0.02 (not of --joints)\n")
    assert nodes["controller_manager"]["update_rate"] == 250
    assert nodes["arm_controller"]["model"] == str(tmp_path / "arm.so")
    assert out == f"wrote {tmp_path / 'controllers.yaml'}: 2 joints, 250 Hz, effort\n"


def test_the_file_of_identified_drives_is_not_overwritten(tmp_path, capsys):
    path = tmp_path / "arm.urdf"
    path.write_text(urdf())
    assert main(["export", "config", str(path), "-o", str(tmp_path / "arm.yaml")]) == 1
    assert refused(capsys.readouterr().err) == (
        f"{tmp_path / 'arm.yaml'}: has the name of the file of `identify` for arm.urdf; choose "
        "another one, such as arm_controllers.yaml"
    )
    assert not (tmp_path / "arm.yaml").exists()


def test_driver_none_ignores_the_hardware(export):
    plugin = "franka_hardware/FrankaHardwareInterface"
    _, nodes, *_ = export(urdf(plugin), "--driver", "none")
    assert nodes["controller_manager"]["update_rate"] == 1000
    assert "compensate_gravity" not in nodes["arm_controller"]


# -- refusals ---------------------------------------------------------------------------------


def refused(capsys_error):
    """The last line of the errors, which is the refusal."""
    return capsys_error.splitlines()[-1].removeprefix("robot-dynamics export: ")


def test_effort_alone_is_refused_on_drives_that_add_their_position_term(export):
    text = urdf("openarm_hardware/OpenArm_v10HW", STATES, finger=STATES, effort=1000.0, joints=7)
    status, _, _, err = export(text, "--interfaces", "effort")
    assert status == 1
    assert refused(err) == (
        "interfaces effort: the drives of openarm always add kp times their position command, up "
        "to 70 N m/rad, and would pull the arm to that of an unclaimed interface, 0; claim "
        "position,velocity,effort"
    )


def test_effort_alone_is_refused_where_it_moves_nothing(export):
    text = urdf("lbr_ros2_control::SystemInterface", ("position", "effort"), joints=7)
    status, _, _, err = export(text, "--interfaces", "effort")
    assert (status, refused(err)) == (
        1,
        "interfaces effort: kuka_fri moves nothing without position; claim position,effort",
    )


def test_gravity_beyond_the_effort_limits_is_refused_with_its_numbers(export):
    status, _, _, err = export(urdf(effort=1.0), "--joints", "joint1,joint2")
    assert status == 1
    found = re.fullmatch(
        r"arm\.urdf: joint 'joint1': gravity needs up to ([\d.]+) N m, beyond its effort limit of "
        r"1 N m, at joint1 .*, joint2 .*; 2 of 2 joints cannot hold the arm: correct the effort "
        r"limits or the masses of the URDF, or narrow the ranges",
        refused(err),
    )
    assert float(found[1]) == pytest.approx(STRETCHED, rel=5e-4)  # four digits are printed


def test_an_arm_that_adds_gravity_itself_may_have_low_limits(export):
    plugin = "franka_hardware/FrankaHardwareInterface"
    status, *_ = export(urdf(plugin, finger=None, effort=1.0, joints=7))
    assert status == 0


def test_a_limit_far_above_that_of_the_drive_is_refused(export):
    text = urdf(effort=100.0, joints=6)
    status, _, _, err = export(text, "--driver", "piper", "--tip", "tool")
    assert (status, refused(err)) == (
        1,
        "arm.urdf: joint 'joint1' has an effort limit of 100 N m, the drives of piper 10 N m; set "
        'effort="10" in its <limit>',
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--interfaces", "efort"], "no interface 'efort' in ros2_control (interfaces: position, "),
        (
            ["--driver", "z1", "--tip", "tool", "--model", "arm.so"],
            "driver z1 has no ros2_control, and the parameters are those of our nodes; leave out "
            "--interfaces and --model",
        ),
    ],
)
def test_options_that_mean_nothing_are_refused(export, words, message):
    status, _, _, err = export(urdf(effort=1000.0, joints=6), *words)
    assert status == 1
    assert message in err


def test_an_interface_that_the_urdf_does_not_offer_is_refused(export):
    plugin = "ur_robot_driver/URPositionHardwareInterface"
    status, _, _, err = export(urdf(plugin, ("position", "velocity"), joints=6))
    assert (status, refused(err)) == (
        1,
        "arm.urdf: joint 'joint1' offers position, velocity in <ros2_control>, not effort; take a "
        "description of the driver that does, or leave the joint out with --joints",
    )


@pytest.mark.parametrize("action", ["config", "model"])
def test_a_driver_without_efforts_is_refused_with_what_serves(action, tmp_path, capsys):
    path = tmp_path / "arm.urdf"
    path.write_text(urdf("kortex_driver/KortexMultiInterfaceHardware", ("position",)))
    assert main(["export", action, str(path), "-o", str(tmp_path / "out")]) == 1
    assert refused(capsys.readouterr().err) == (
        "driver gen3 takes position, no effort, so no controller of this package runs on it; for "
        "studies joint_trajectory_with_effort and `robot-dynamics effort` give the efforts of its "
        "trajectories, and `identify` its model"
    )


@pytest.mark.parametrize(("driver", "joints"), [("ur", 7), ("z1", 5)])
def test_another_number_of_joints_than_that_of_the_arm_is_refused(export, driver, joints):
    text = urdf(effort=1000.0, joints=joints)
    status, _, _, err = export(text, "--driver", driver, "--tip", "tool")
    names = ", ".join(f"joint{k}" for k in range(1, joints + 1))
    assert (status, refused(err)) == (
        1,
        f"driver {driver} has 6 joints per arm, robot 'arm' {joints} ({names}); choose those of "
        "the arm with --joints or --tip, or another driver",
    )


def test_a_model_of_another_number_of_joints_is_refused(tmp_path, capsys):
    output = tmp_path / "arm.so"
    assert main(["export", "model", "planar_2r", "--driver", "franka", "-o", str(output)]) == 1
    said = refused(capsys.readouterr().err)
    assert said.startswith("driver franka has 7 joints per arm, robot 'planar_2r' 2 (")


# -- <ros2_control> ---------------------------------------------------------------------------


def test_hardware_of_a_urdf_is_read_joint_by_joint():
    hardware = read_hardware(urdf("own/Hardware", ("effort",), finger=("position",)))
    assert [one.plugin for one in hardware] == ["own/Hardware"]
    known = offered(hardware)
    assert known["joint2"] == Interfaces(("effort",), STATES)
    assert known["finger_joint1"] == Interfaces(("position",), STATES)


@pytest.mark.parametrize(
    ("plugin", "commands", "expected"),
    [
        (
            "own/Hardware",
            ("position", "effort"),
            [
                "model controller, command_interfaces: [effort]",
                "model controller, command_interfaces: [position, effort]",
                "joint_trajectory_controller with efforts of joint_trajectory_with_effort",
                "identify, by the efforts that it reports",
            ],
        ),
        (
            "openarm_hardware/OpenArm_v10HW",
            STATES,
            [
                "model controller, command_interfaces: [position, velocity, effort], feedback: "
                "drive",
                "identify, by the efforts that it reports: torque of the motor, N m",
            ],
        ),
        (
            "kortex_driver/KortexMultiInterfaceHardware",
            ("position",),
            [
                "none that commands efforts; joint_trajectory_with_effort for studies",
                "identify, by the efforts that it reports: torque, N m",
            ],
        ),
    ],
)
def test_info_names_the_wirings_that_fit(plugin, commands, expected, tmp_path, capsys):
    path = tmp_path / "arm.urdf"
    path.write_text(urdf(plugin, commands))
    assert main(["info", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["wirings"] == expected
    (hardware,) = found["hardware"]
    assert hardware["joints"]["joint1"] == {"command": list(commands), "state": list(STATES)}
    assert main(["info", str(path)]) == 0
    out = capsys.readouterr().out
    assert all(f"wiring: {wiring}" in out for wiring in expected)


# -- robots without a profile, and options of one -----------------------------------------------

SWITCHED = "compensate_gravity", "compensate_friction", "compensate_velocity_terms"


@pytest.mark.parametrize(
    ("words", "left_out"),
    [
        ((), ()),
        (("--adds", "gravity"), SWITCHED[:1]),
        (("--adds", "gravity,velocity-terms"), (SWITCHED[0], SWITCHED[2])),
        (("--adds", "none"), ()),
        (("--driver", "franka"), SWITCHED[:2]),
        (("--driver", "franka", "--adds", "gravity"), SWITCHED[:1]),
        (("--driver", "franka", "--adds", "none"), ()),
    ],
)
def test_what_the_robot_adds_itself_is_left_out_also_without_a_profile(export, words, left_out):
    status, nodes, _, err = export(urdf("some/Hardware", effort=1000.0, joints=7), *words)
    assert status == 0, err
    controller = nodes["arm_controller"]
    assert {name: controller[name] for name in SWITCHED if name in controller} == dict.fromkeys(
        left_out, False
    )


def test_an_unknown_effort_of_the_robot_is_refused_with_the_known_ones(export):
    _, _, _, err = export(urdf("some/Hardware"), "--adds", "gravitation")
    assert "no effort 'gravitation' in --adds" in err
    assert "did you mean 'gravity'?" in err


def test_a_model_knows_what_the_robot_adds_and_refuses_to_add_it_again():
    driver = DRIVERS["openarm"]
    assert added_by(None, None) == () and added_by(None, (GRAVITY,)) == (GRAVITY,)
    assert added_by(driver, None) == driver.added
    assert added_by(driver, (GRAVITY,)) == (GRAVITY, DRIVE_FEEDBACK)
