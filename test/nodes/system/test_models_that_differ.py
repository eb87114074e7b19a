"""feedforward_node and controller_node that are not set alike: one line names the difference."""

import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import InertiaStamped

from ros_system import wait_for

COMMON = {"urdf_path": "planar_2r", "rate": 100.0}
ALIKE = "gravity and payload agree with those of the reference"


@pytest.fixture
def nodes(start, namespace):
    """Start both nodes with parameters of their own; the processes, and the namespace."""

    def nodes(feedforward=(), controller=()):
        own = {"feedforward_node": dict(feedforward), "controller_node": dict(controller)}
        arguments, name = namespace
        processes = [start(node, {**COMMON, **values}, arguments) for node, values in own.items()]
        for process in processes:
            process.wait_for_log("gravity ")
        return *processes, name

    return nodes


@pytest.mark.parametrize(
    ("feedforward", "controller", "what"),
    [
        (
            {"compensate_gravity": False},
            {},
            "gravity differs: {0}/feedforward_node has none, as compensate_gravity is false, "
            "{0}/controller_node has 0, 0, -9.81 m/s^2",
        ),
        (
            {},
            {"payload.mass": 1.5, "payload.frame": "endpoint"},
            "mass of the payload differs: {0}/feedforward_node has none, {0}/controller_node has "
            "1.5 kg",
        ),
    ],
    ids=["gravity", "payload"],
)
def test_a_setting_of_one_node_only_is_named_and_reported(
    nodes, peer, feedforward, controller, what
):
    reports = peer.listen(DiagnosticArray, "/diagnostics")
    _, process, name = nodes(feedforward, controller)
    line = f"{what.format(name)}; the arm sags or rises by it; set both nodes alike"
    process.wait_for_log(line)

    def reported():
        return any(
            status.name == f"{name[1:]}/controller_node" and line in status.message
            for msg in list(reports)
            for status in msg.status
        )

    wait_for(reported, "the fault")
    assert process.log.count(line) == 1


def test_a_payload_that_reaches_both_nodes_is_one_line_in_each_and_no_difference(nodes, peer):
    feedforward, controller, name = nodes(controller={"compensate_gravity": False})
    controller.wait_for_log("gravity differs")
    models = peer.listen(DiagnosticStatus, f"{name}/reference/model")
    payloads = peer.publisher(InertiaStamped, f"{name}/payload")
    wait_for(lambda: payloads.get_subscription_count() == 2, "both nodes")
    msg = InertiaStamped()
    msg.header.frame_id, msg.inertia.m, msg.inertia.com.z = "endpoint", 0.5, 0.1
    payloads.publish(msg)
    for process in (feedforward, controller):
        process.wait_for_log("payload: 0.5 kg at (0, 0, 0.1) m of endpoint")
    announced = {"mass of the payload": "0.5 kg", "gravity": "0, 0, -9.81 m/s^2"}
    wait_for(
        lambda: any(
            announced.items() <= {entry.key: entry.value for entry in model.values}.items()
            for model in list(models)
        ),
        "the announcement",
    )
    assert "payload differs" not in controller.log


def test_nodes_that_agree_again_are_told(nodes, peer):
    from rcl_interfaces.srv import SetParameters
    from rclpy.parameter import Parameter

    _, controller, name = nodes(feedforward={"gravity": "[0.0, 9.81, 0.0]"})
    controller.wait_for_log("gravity differs")
    given = Parameter("gravity", value=[0.0, 9.81, 0.0]).to_parameter_msg()
    request = SetParameters.Request(parameters=[given])
    answer = peer.call(SetParameters, f"{name}/controller_node/set_parameters", request)
    assert answer.results[0].successful
    controller.wait_for_log(ALIKE)
