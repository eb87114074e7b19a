"""A monitor of an arm with an unknown payload."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import InertiaStamped
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from arm_system import NAMES, RATE, ArmSystem
from robot_dynamics.robot import find_robot
from ros_system import wait_for

MASS, OUT = 3.0, 0.1  # kg, m beyond the endpoint
START = [-1.2, 0.4]
POSES = [[-0.4, 0.9], [-1.0, -0.9], [-0.2, 0.2]]

BODY = f"""<link name="endpoint"><inertial><origin xyz="{OUT} 0 0"/><mass value="{MASS}"/>
<inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial>"""


@pytest.fixture(scope="module")
def loaded_urdf(tmp_path_factory):
    text = find_robot("planar_2r").read_text()
    assert text.count('<link name="endpoint">') == 1
    path = tmp_path_factory.mktemp("loaded") / "loaded.urdf"
    path.write_text(text.replace('<link name="endpoint">', BODY))
    return path


@pytest.fixture(scope="module")
def arm(start_for_module, peer, loaded_urdf):
    own = {
        "simulator": {"urdf_path": str(loaded_urdf), "initial_positions": START},
        "controller": {"state_timeout": 0.5, "reference_timeout": 0.5},
    }
    return ArmSystem(start_for_module, peer, {"rate": RATE, "urdf_path": "planar_2r"}, own)


def statuses(messages):
    return [s for msg in messages for s in msg.status if s.name == "monitor_node"]


def test_an_unknown_load_is_reported_estimated_and_published(arm, start_for_module, peer):
    residuals = peer.listen(JointState, "effort_residual", 100)
    loads = peer.listen(InertiaStamped, "payload")
    reports = peer.listen(DiagnosticArray, "/diagnostics", 100)
    parameters = {"urdf_path": "planar_2r", "use_sim_time": True}
    parameters |= {"residual_share": 0.02, "residual_window": 1.0}
    start_for_module("monitor_node", {**parameters, "patience": 0.5})
    wait_for(lambda: residuals, "residuals")
    assert list(residuals[-1].name) == NAMES

    for pose in POSES:
        arm.send(NAMES, (1.5, pose))
        wait_for(arm.follows, "a motion")
        wait_for(lambda: not arm.follows(), "its end")

    def warning():
        return [s for s in statuses(reports) if "does not fit joint_1" in s.message]

    wait_for(warning, "a warning")
    assert warning()[-1].level == DiagnosticStatus.WARN
    assert not loads  # not published before the service call

    answer = peer.call(Trigger, "/monitor_node/estimate_payload", Trigger.Request())
    assert answer.success, answer.message
    wait_for(lambda: loads, "a payload")
    load = loads[-1]
    assert load.header.frame_id == "endpoint"
    # A tenth: slow motion, filtered, and what second moments would explain
    assert load.inertia.m == pytest.approx(MASS, rel=0.1)
    assert load.inertia.com.x == pytest.approx(OUT, abs=0.1)
    assert load.inertia.com.z == pytest.approx(0.0, abs=0.1)

    wait_for(
        lambda: peer.get_parameter("controller_node", "payload.mass"),
        "the payload in the controller",
    )
    weight = MASS * 9.81  # N m at least at an arm that is stretched out, before
    wait_for(lambda: np.abs(residuals[-1].effort).max() < 0.1 * weight, "efforts that fit")
    wait_for(lambda: statuses(reports)[-1].message == "ok", "a report that says so")


SILENT = ["-r", "joint_states:=other_states", "-r", "payload:=other_payload"]


@pytest.mark.parametrize(
    ("robot", "reason"),
    [
        ("planar_2r", "not known well enough: "),
        ("ur5", "name the frame that carries the load in the parameter payload.frame"),
    ],
    ids=["nothing was seen", "several tips"],
)
def test_a_load_that_is_not_known_is_not_published(start, peer, robot, reason):
    loads = peer.listen(InertiaStamped, "other_payload")
    name = f"monitor_of_{robot}"
    start("monitor_node", {"urdf_path": robot}, [*SILENT, "-r", f"__node:={name}"])
    answer = peer.call(Trigger, f"/{name}/estimate_payload", Trigger.Request())
    if answer.message == f"{name} is not active":  # it has just been configured
        wait_for(lambda: peer.node.count_publishers("/effort_residual"), "a monitor")
        answer = peer.call(Trigger, f"/{name}/estimate_payload", Trigger.Request())
    assert not answer.success
    assert answer.message.startswith(reason)
    assert not loads


@pytest.mark.thorough
def test_states_with_a_constant_stamp_show_external_efforts_after_one_line(start, peer):
    found = peer.listen(JointState, "stamped/external_effort")
    node = start("monitor_node", {"urdf_path": "planar_2r"}, [*SILENT, "-r", "__node:=stamped"])
    out = peer.publisher(JointState, "other_states")
    msg = JointState(name=NAMES, position=[0.3, 0.4], velocity=[0.0, 0.0], effort=[200.0, 100.0])
    msg.header.stamp.sec = 7

    def observed():
        out.publish(msg)
        return found and min(map(abs, found[-1].effort)) > 1.0

    wait_for(observed, "external efforts")
    line = "joint_states always have the stamp 7 s; they count from their arrival"
    assert node.log.count(line) == 1
