"""Diagnostics and `robot-dynamics doctor` name what holds the arm."""

from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import pytest

pytest.importorskip("rclpy", reason="rclpy comes with ROS 2 or the extra 'ros'")

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.duration import Duration
from std_msgs.msg import Float64MultiArray, String

from robot_dynamics.nodes.machine import Finding
from robot_dynamics.nodes.ros import arm_findings as module
from robot_dynamics.nodes.ros.arm_findings import arm_findings
from robot_dynamics.nodes.ros.topics import DESCRIPTION_QOS, keepers_of
from ros_system import PATIENCE, wait_for

COMMON = {"urdf_path": "planar_2r", "rate": 100.0}
PATIENT = {**COMMON, "standby": True, "standby_timeout": 10.0}  # a busy machine is no takeover
DEVICE = "forward_effort_controller"
ALONE = f"nothing stands by: without commands, {DEVICE} may keep the last one"


def test_brakes_of_a_simulator_close_and_onlookers_keep_nothing():
    assert keepers_of(["simulator_node", "peer"]) == []
    assert keepers_of(["recorder_node", "viewer_node", "controller_node_standby"]) == []
    assert keepers_of(["recorder_node", DEVICE, "controller_node_standby"]) == [DEVICE]


def test_what_commands_and_what_stands_by_is_reported(start, peer, domain, monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    assert arm_findings() == []
    start("simulator_node", COMMON, ["-r", f"__node:={DEVICE}"])
    controller = start("controller_node", COMMON)
    reports = peer.listen(DiagnosticArray, "/diagnostics")

    def report(node):
        found = [s for msg in reports[-20:] for s in msg.status if s.name.strip("/") == node]
        if not found:
            return "", {}
        return found[-1].message, {pair.key: pair.value for pair in found[-1].values}

    controller.wait_for_log("holding")
    wait_for(lambda: ALONE in report("controller_node")[0], "the fault")
    assert report("controller_node")[1]["stands by"] == "nothing"
    assert report("controller_node")[1]["commands"] == "controller_node"
    remedy = f"{ALONE}; start a controller that stands by (docs/hardware.md)"
    found = "controller_node commands; stands by: nothing"
    assert arm_findings() == [Finding("/effort_command", found, remedy)]

    name = "controller_node_standby"
    standby = start("controller_node", PATIENT, ["-r", f"__node:={name}"])
    standby.wait_for_log("standing by")
    wait_for(lambda: ALONE not in report("controller_node")[0], "the end of the fault")
    assert name in report("controller_node")[1]["stands by"]
    wait_for(lambda: report(name)[1].get("commands") == "another node", "its report")
    found = f"controller_node commands; stands by: {name}"
    assert arm_findings() == [Finding("/effort_command", found)]


def test_a_lease_counts_until_it_ends_and_a_publisher_without_one_is_named(
    peer, domain, monkeypatch
):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    monkeypatch.setattr(module, "DISCOVERY_S", 2 * PATIENCE)
    monkeypatch.setattr(module, "LONGEST_DISCOVERY_S", 2 * PATIENCE)
    first, second = (
        peer.node.create_publisher(String, "/left/effort_command/lease", DESCRIPTION_QOS)
        for _ in range(2)
    )
    first.publish(String(data="peer 1"))
    lease = peer.node.create_publisher(String, "/right/effort_command/lease", DESCRIPTION_QOS)
    lease.publish(String(data="another 2"))
    peer.node.create_publisher(Float64MultiArray, "/right/effort_command", 1)
    begin = monotonic()
    with ThreadPoolExecutor() as executor:
        asked = executor.submit(arm_findings)
        for publisher in (first, second, lease):
            wait_for(publisher.get_subscription_count, "the doctor")
        second.publish(String(data="standby:spare_standby 3"))
        first.publish(String(data="peer"))
        for publisher in (first, second, lease):
            assert publisher.wait_for_all_acked(Duration(seconds=PATIENCE))
        # What arrived is read within 3 s; "peer" stays silent, so the doctor waits to the end
        monkeypatch.setattr(module, "LONGEST_DISCOVERY_S", monotonic() - begin + 3.0)
        left, right = asked.result()
    assert left == Finding("/left/effort_command", "spare_standby commands; stands by: nothing")
    found = "another commands; stands by: nothing; no answer from peer"
    remedy = (
        "peer publishes /right/effort_command without a lease: ask again, and stop it if it stays "
        "silent"
    )
    assert right == Finding("/right/effort_command", found, remedy)
