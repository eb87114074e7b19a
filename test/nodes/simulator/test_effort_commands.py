"""Commands in either form, what they are of, and which state a named one answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState

from joint_messages import named_effort_msg
from robot_dynamics import read_urdf
from robot_dynamics.control import Actuators
from robot_dynamics.errors import ArgumentError, RobotError, ShapeError
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.runtime.drive_parameters import ActuatorParameters, actuators_of
from robot_dynamics.nodes.simulator.effort_commands import CommandReader, Commands, Form, Pairing
from robot_dynamics.robot import find_robot

PLANAR = find_robot("planar_2r")
ROBOT = read_urdf(PLANAR)
JOINTS = ROBOT.joint_names
ARM = ("shoulder", "elbow", "wrist")
TURNED = np.array([1, 0])  # joint_2 first

REMOTE = [1.0, 0.0, 1.0, 1.0]
"""Both motors on the base: p1 = q1, p2 = q1 + q2."""

TENTH = NS_PER_S // 10

GEARED = PLANAR.read_text().replace(
    "</robot>",
    """<transmission name="gear"><type>transmission_interface/SimpleTransmission</type>
    <joint name="joint_1"/><actuator name="motor_1"><mechanicalReduction>100</mechanicalReduction>
    </actuator></transmission>
    <transmission name="direct"><type>transmission_interface/SimpleTransmission</type>
    <joint name="joint_2"/><actuator name="motor_2"/></transmission></robot>""",
)


def plain(*efforts):
    return np.array(efforts)


def named(names, *efforts):
    return named_effort_msg(names, np.array(efforts), Time())


# -- one command ----------------------------------------------------------------------------------


def test_efforts_must_be_one_finite_number_per_joint():
    reader = CommandReader(ARM)
    np.testing.assert_array_equal(reader.plain(np.array([1.0, 2.0, 3.0])), [1, 2, 3])
    with pytest.raises(ShapeError, match=r"2 efforts for 3 joints \(shoulder, elbow, wrist\); "):
        reader.plain(np.array([1.0, 2.0]))
    with pytest.raises(ArgumentError, match="effort of joint 'elbow' is nan; the message is ignor"):
        reader.plain(np.array([1.0, np.nan, 3.0]))


@given(st.permutations((*ARM, "gripper")))
def test_named_efforts_are_matched_by_name_in_any_order_and_company(names):
    efforts = {"shoulder": 1.0, "elbow": 2.0, "wrist": 3.0, "gripper": np.nan}
    reader = CommandReader(ARM)
    for _ in range(2):  # as first message, and as one like the last
        msg = named_effort_msg(names, np.array([efforts[name] for name in names]), Time())
        np.testing.assert_array_equal(reader.named(msg), [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (
            JointState(name=["wrist", "shoulder"], effort=[1.0, 2.0]),
            "effort_command_named: names wrist, shoulder, but not elbow; the message is ignored; "
            "command all of shoulder, elbow, wrist together",
        ),
        (
            JointState(),
            "effort_command_named: names nothing, but not shoulder, elbow, wrist; the message is "
            "ignored; command all of shoulder, elbow, wrist together",
        ),
        (
            JointState(name=[*ARM, "elbow"], effort=[1.0, 2.0, 3.0, 4.0]),
            "effort_command_named: 'elbow' stands twice; the message is ignored; name each joint "
            "once",
        ),
        (
            JointState(name=[*ARM], effort=[1.0, 2.0]),
            "effort_command_named: effort has 2 entries for 3 names; the message is ignored; give "
            "one per name",
        ),
        (
            JointState(name=[*ARM], position=[1.0, 2.0, 3.0]),
            "effort_command_named: effort has 0 entries for 3 names; the message is ignored; give "
            "one per name",
        ),
        (
            JointState(name=[*ARM[::-1]], effort=[1.0, np.nan, 3.0]),
            "effort_command_named: effort of 'elbow' is nan; the message is ignored",
        ),
        (
            JointState(name=[*ARM], effort=[-np.inf, 1.0, 3.0]),
            "effort_command_named: effort of 'shoulder' is -inf; the message is ignored",
        ),
    ],
)
def test_a_faulty_named_command_is_refused_with_one_line(message, error):
    reader = CommandReader(ARM)
    for _ in range(2):  # what was refused once is not remembered as good
        with pytest.raises(ArgumentError) as refusal:
            reader.named(message)
        assert str(refusal.value) == error
    good = named_effort_msg(ARM, np.array([1.0, 2.0, 3.0]), Time())
    np.testing.assert_array_equal(reader.named(good), [1.0, 2.0, 3.0])


# -- both forms ------------------------------------------------------------------------------------


def test_both_forms_end_up_in_the_order_of_the_robot():
    commands = Commands(ROBOT, TURNED)
    assert (commands.names, commands.form, commands.at) == (JOINTS[::-1], Form.NONE, None)
    commands.read_plain(plain(2.0, 1.0), 5.0)
    assert (commands.tau.tolist(), commands.form, commands.at) == ([1.0, 2.0], Form.PLAIN, 5.0)
    commands.read_named(named(JOINTS, 3.0, 4.0), 6.0)
    assert (commands.tau.tolist(), commands.form, commands.at) == ([3.0, 4.0], Form.NAMED, 6.0)


def test_named_commands_are_at_work_until_they_stop():
    commands = Commands(ROBOT, TURNED)
    assert not commands.named_is_fresh(5.0, timeout=0.5)
    commands.read_plain(plain(2.0, 1.0), 5.0)
    assert not commands.named_is_fresh(5.0, timeout=0.5)
    commands.read_named(named(JOINTS, 3.0, 4.0), 6.0)
    assert commands.named_is_fresh(6.5, timeout=0.5)
    assert not commands.named_is_fresh(6.6, timeout=0.5)
    commands.renew_named(6.6)
    assert commands.named_is_fresh(7.0, timeout=0.5)


def test_a_refused_command_changes_nothing():
    commands = Commands(ROBOT, TURNED)
    commands.read_plain(plain(2.0, 1.0), 5.0)
    for read, msg in (
        (commands.read_plain, plain(np.nan, 1.0)),
        (commands.read_plain, plain(1.0)),
        (commands.read_named, named(JOINTS, np.nan, 1.0)),
        (commands.read_named, named(JOINTS[:1], 1.0)),
    ):
        with pytest.raises(ArgumentError):
            read(msg, 6.0)
    assert (commands.tau.tolist(), commands.form, commands.at) == ([1.0, 2.0], Form.PLAIN, 5.0)
    assert not commands.named_is_fresh(6.0, timeout=0.5)


def test_after_forgetting_there_is_no_command():
    commands = Commands(ROBOT, TURNED)
    commands.read_named(named(JOINTS, 3.0, 4.0), 6.0)
    commands.forget()
    assert (commands.tau.tolist(), commands.form, commands.at) == ([0.0, 0.0], Form.NONE, None)
    assert not commands.named_is_fresh(6.0, timeout=0.5)


# -- efforts of actuators --------------------------------------------------------------------------


def test_efforts_of_actuators_reach_the_joints_by_virtual_work():
    commands = Commands(ROBOT, np.arange(2), Actuators.of_coupling(JOINTS, REMOTE, ("a", "b")))
    assert commands.names == ("a", "b")
    commands.read_plain(plain(5.0, 2.0), 1.0)
    assert commands.tau.tolist() == [7.0, 2.0]  # the second motor pushes off the base
    commands.read_named(named(("b", "a"), 2.0, 5.0), 1.0)
    assert commands.tau.tolist() == [7.0, 2.0]
    with pytest.raises(ArgumentError, match="but not a, b"):
        commands.read_named(named(JOINTS, 1.0, 1.0), 2.0)


def test_other_actuators_may_take_over():
    commands = Commands(ROBOT, np.arange(2))
    commands.use(Actuators.of_coupling(JOINTS, np.diag([2.0, 3.0]), ("a", "b")))
    assert commands.names == ("a", "b")
    commands.read_plain(plain(1.0, 1.0), 1.0)
    assert commands.tau.tolist() == [2.0, 3.0]


def asked(**values):
    return ActuatorParameters(actuator_space=True, **values)


def test_actuators_are_those_of_the_urdf_unless_a_coupling_is_given():
    urdf = read_urdf(GEARED)
    assert actuators_of(ActuatorParameters(), urdf, JOINTS, GEARED) is None
    of_urdf = actuators_of(asked(), urdf, JOINTS[::-1], GEARED)
    assert of_urdf.names == ("motor_2", "motor_1")
    assert of_urdf.matrix.tolist() == [[1.0, 0.0], [0.0, 100.0]]
    given = actuators_of(asked(actuator_coupling=tuple(REMOTE)), urdf, JOINTS[::-1], GEARED)
    assert given.names == ("joint_2_actuator", "joint_1_actuator")
    assert given.matrix.ravel().tolist() == REMOTE


def test_a_robot_without_transmissions_has_no_actuators():
    with pytest.raises(RobotError) as error:
        actuators_of(asked(), ROBOT, JOINTS, PLANAR)
    assert str(error.value) == (
        "no <transmission> of robot 'planar_2r' drives joints 'joint_1', 'joint_2'; add one to "
        "the URDF, or give the coupling matrix"
    )


def test_a_coupling_without_actuator_space_is_refused():
    with pytest.raises(ArgumentError) as error:
        actuators_of(ActuatorParameters(actuator_coupling=tuple(REMOTE)), ROBOT, JOINTS, PLANAR)
    assert str(error.value) == (
        "parameter 'actuator_coupling' is given but 'actuator_space' is false; set it to true, or "
        "leave the coupling empty"
    )


# -- stamps ----------------------------------------------------------------------------------------


def test_in_lockstep_only_the_first_answer_to_a_state_counts():
    pairing = Pairing()
    pairing.published = 100
    assert pairing.is_first_answer(100)
    pairing.answered()
    pairing.published = 200
    assert not pairing.is_first_answer(100)
    assert pairing.is_first_answer(200)
    assert pairing.twice == 1


def test_in_lockstep_an_answer_to_no_state_is_refused():
    pairing = Pairing()
    pairing.published = 3 * NS_PER_S
    with pytest.raises(ArgumentError) as error:
        pairing.is_first_answer(NS_PER_S)
    assert str(error.value) == (
        "effort_command_named: stamp is 2 s before that of the last joint_states; the message is "
        "ignored; in lockstep copy the stamp of the joint_states that it answers, or leave it zero"
    )


def test_in_lockstep_an_answer_from_before_a_reset_does_not_count():
    pairing = Pairing()
    pairing.published = 100
    pairing.forget()
    assert not pairing.is_first_answer(100)
    pairing.published = 200
    assert not pairing.is_first_answer(100)
    assert pairing.is_first_answer(200)


def test_a_command_of_another_time_is_refused():
    pairing = Pairing()
    pairing.published = 10 * NS_PER_S
    pairing.check(10 * NS_PER_S - TENTH, 10 * NS_PER_S, TENTH)
    pairing.check(10 * NS_PER_S + TENTH, 10 * NS_PER_S, TENTH)
    for stamp, apart in ((9 * NS_PER_S, "1 s before"), (12 * NS_PER_S, "2 s after")):
        with pytest.raises(ArgumentError) as error:
            pairing.check(stamp, 10 * NS_PER_S, TENTH)
        assert str(error.value) == (
            f"effort_command_named: stamp is {apart} that of the last joint_states; the message "
            "is ignored; copy the stamp of the joint_states that it answers, and set use_sim_time "
            "alike in all nodes"
        )


def test_late_states_have_timely_answers():
    """With delayed sensors the last state is old, and an answer may have its stamp or the time."""
    pairing = Pairing()
    pairing.published = 9 * NS_PER_S
    pairing.check(9 * NS_PER_S, 10 * NS_PER_S, TENTH)
    pairing.check(10 * NS_PER_S, 10 * NS_PER_S, TENTH)


def test_a_command_that_was_overtaken_is_refused():
    pairing = Pairing()
    pairing.published = NS_PER_S
    pairing.check(NS_PER_S, NS_PER_S, TENTH)
    pairing.check(NS_PER_S, NS_PER_S, TENTH)  # the same state, answered anew
    with pytest.raises(ArgumentError, match="older than the previous one; the message is ignored"):
        pairing.check(NS_PER_S - 1, NS_PER_S, TENTH)


def test_a_controller_that_no_state_reaches_may_go_on_from_its_last_one():
    pairing = Pairing()
    for time in (NS_PER_S, 2 * NS_PER_S, 3 * NS_PER_S):
        pairing.published = time
        pairing.check(NS_PER_S, time, TENTH)


def test_when_time_goes_back_commands_go_on():
    pairing = Pairing()
    for time in (100 * NS_PER_S, 50 * NS_PER_S):
        pairing.published = time
        pairing.check(time, time, TENTH)


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 5)), max_size=12))
def test_answers_to_the_last_state_count_as_they_would_have_if_looked_at_closely(events):
    quick, close = Pairing(), Pairing()
    now = 0
    for publishes, time in events:
        if publishes:
            now += time * TENTH
            quick.published = now
            close.published = now
            continue
        stamp = time * TENTH
        refused = []
        for pairing, skips in ((quick, quick.answers_last(stamp)), (close, False)):
            try:
                if not skips:
                    pairing.check(stamp, now, 2 * TENTH)
                refused.append("")
            except ArgumentError as error:
                refused.append(str(error))
        assert refused[0] == refused[1]


@given(st.integers(1, 2**62), st.integers(1, 2**62))
def test_a_stamp_of_zero_answers_the_last_state(last, now):
    pairing = Pairing()
    pairing.published = last
    assert pairing.is_first_answer(0)
    pairing.check(0, now, TENTH)
