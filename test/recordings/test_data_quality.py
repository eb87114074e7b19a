from dataclasses import replace

import numpy as np
import pytest

from recorded_motion import Simulated
from robot_dynamics.errors import RecordingError
from robot_dynamics.identification import identify
from robot_dynamics.recordings.data_quality import quality_warnings
from robot_dynamics.robot import find_robot, read_urdf

ARM = Simulated.of("ur5")
MOTION = ARM.recording(duration=10.0)
JOINT = ARM.urdf.joint_names


def texts(recording):
    return " | ".join(warning.text for warning in quality_warnings(ARM.urdf, recording))


def test_a_good_recording_gives_no_warning():
    assert texts(MOTION) == ""


def test_a_joint_that_never_moves_is_named():
    q, qd = MOTION.q.copy(), MOTION.qd.copy()
    q[:, 2], qd[:, 2] = 0.3, 0.0
    still = replace(MOTION, q=q, qd=qd)
    assert f"joint '{JOINT[2]}' hardly moves" in texts(still)


def test_a_constant_effort_is_named_and_its_joint_not_to_be_used():
    tau = MOTION.tau.copy()
    tau[:, 3] = 1.0
    constant = replace(MOTION, tau=tau)
    assert f"the effort of joint '{JOINT[3]}' is constant (1)" in texts(constant)
    assert identify(ARM.urdf, constant).report.fits[3].verdict == "do not use"
    with pytest.raises(RecordingError, match="efforts of all joints are constant"):
        identify(ARM.urdf, replace(MOTION, tau=np.ones_like(tau)))


def test_efforts_of_the_wrong_sign_are_refused():
    with pytest.raises(RecordingError, match="have the wrong sign"):
        identify(ARM.urdf, replace(MOTION, tau=-MOTION.tau))


def test_positions_in_degrees_are_refused():
    with pytest.raises(RecordingError, match="are positions in degrees"):
        identify(ARM.urdf, replace(MOTION, q=np.degrees(MOTION.q), qd=np.degrees(MOTION.qd)))


def test_a_joint_that_leans_on_its_stop_is_named():
    q, highest = MOTION.q.copy(), ARM.urdf.limits.upper[2]
    q[:, 2] = np.minimum(q[:, 2] + highest - 0.9 * MOTION.q[:, 2].max(), highest)
    part = 100 * np.mean(q[:, 2] > highest - 1e-3)
    said = texts(replace(MOTION, q=q, qd=None))
    assert f"joint '{JOINT[2]}' is at its position limit in {part:.0f} % of the samples" in said


def test_a_joint_whose_zero_is_elsewhere_is_named_and_not_taken_for_degrees():
    shifted = MOTION.q + np.array([0.0, 0.0, 9.0, 0.0, 0.0, 0.0])
    said = texts(replace(MOTION, q=shifted))
    assert f"joint '{JOINT[2]}' is" in said and "beyond its limits" in said
    assert "degrees" not in said


@pytest.mark.thorough
def test_currents_taken_for_efforts_are_named():
    currents = replace(MOTION, tau=MOTION.tau / np.array([13.0, 13.0, 9.0, 11.0, 12.0, 10.0]))
    assert "are they motor currents or motor torques? Give drive gains" in texts(currents)
    report = identify(ARM.urdf, currents, physical=False).report
    assert report.verdict == "do not use"  # however well bodies of a tenth of the mass fit
    assert "motor currents" in report.reasons[0]
    assert "currents" not in texts(replace(currents, unit_known=True))


@pytest.mark.thorough
def test_saturated_efforts_are_named_and_do_not_count():
    tau = MOTION.tau.copy()
    limit = 0.7 * np.abs(tau[:, 1]).max()
    joints = tuple(
        replace(joint, limits=replace(joint.limits, effort=limit)) if joint.name == JOINT[1]
        else joint
        for joint in ARM.urdf.joints
    )  # fmt: skip
    robot = replace(ARM.urdf, joints=joints)
    tau[:, 1] = np.clip(tau[:, 1], -limit, limit)
    cut = replace(MOTION, tau=tau)
    found = identify(robot, cut)
    assert any(
        f"joint '{JOINT[1]}' is at its effort limit" in w.text
        for w in found.report.quality_warnings
    )
    true = ARM.recording(noise=0.0, duration=10.0)
    error = np.sqrt(np.mean((found.predict(true) - true.tau)[250:-250, 1] ** 2))
    assert error < 0.1 * np.sqrt(np.mean(true.tau[:, 1] ** 2))


@pytest.mark.thorough
def test_a_limit_of_the_urdf_that_efforts_go_beyond_is_not_believed():
    joints = tuple(
        replace(joint, limits=replace(joint.limits, effort=5.0)) for joint in ARM.urdf.joints
    )
    found = identify(replace(ARM.urdf, joints=joints), MOTION)
    assert "the limit is not believed" in " ".join(
        warning.text for warning in found.report.quality_warnings
    )
    assert found.report.verdict == "good"


def test_one_joint_of_the_wrong_sign_is_named():
    tau = MOTION.tau.copy()
    tau[:, 1] *= -1.0
    assert f"efforts of joint '{JOINT[1]}' have the wrong sign" in texts(replace(MOTION, tau=tau))


def test_gaps_and_slow_sampling_are_named():
    kept = np.ones(len(MOTION.time), dtype=bool)
    kept[1000:1200] = False
    gap = replace(
        MOTION, time=MOTION.time[kept], q=MOTION.q[kept], qd=MOTION.qd[kept], tau=MOTION.tau[kept]
    )
    assert "1 gap, the longest of 0.804 s at 3.996 s" in texts(gap)
    slow = ARM.recording(rate=25.0, duration=20.0)
    assert "25 samples per second are few" in texts(slow)


def test_velocities_that_are_not_those_of_the_positions_are_named():
    assert "differ by" in texts(replace(MOTION, qd=2.0 * MOTION.qd))


def test_vibration_above_the_filter_is_named():
    shaking = 30.0 * np.sin(2 * np.pi * 40.0 * MOTION.time)[:, None]
    assert "is faster than the filter's cutoff" in texts(replace(MOTION, tau=MOTION.tau + shaking))


def test_another_number_of_joints_is_refused():
    with pytest.raises(RecordingError, match="6 joints, but robot 'planar_2r' has 2"):
        quality_warnings(read_urdf(find_robot("planar_2r")), MOTION)


def test_a_finger_that_slides_through_half_its_range_moves():
    panda = Simulated.of("panda")
    motion = panda.recording(duration=10.0)
    q = motion.q.copy()
    q[:, -1] = 0.02 + 0.01 * q[:, -1] / np.abs(q[:, -1]).max()
    moving = replace(motion, q=q, qd=None)
    assert not any(
        "hardly moves" in warning.text for warning in quality_warnings(panda.urdf, moving)
    )
