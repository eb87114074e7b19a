"""Profiles of drivers under a real controller_manager: claims, activation and a motion.

Mock hardware has the interface names of each driver, in its namespace. The descriptions are small
ones; with DRIVER_DESCRIPTIONS, a folder of NAME.urdf, they are the drivers' own, expanded.
"""

import os
import re
import signal
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("controller_manager_msgs.srv", reason="needs ros2_control")

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from controller_manager_msgs.srv import ListControllers
from sensor_msgs.msg import JointState

from action_client import Client, moveit_goal
from controllers_build import environment, installed_controllers, missing_of_manager
from driven_arm import STATES, urdf
from robot_dynamics.cli import main
from robot_dynamics.export.controllers_config import CONTROLLER, FRONT
from robot_dynamics.export.drivers import DRIVERS
from ros_system import PATIENCE, Peer, free_domain, wait_for

LACKING = missing_of_manager()
pytestmark = pytest.mark.skipif(
    bool(LACKING), reason=f"needs ros2_control and ros2_controllers; {LACKING} not found"
)

UNDER_MANAGER = [one for one in DRIVERS.values() if one.takes_effort and not one.bridge]
WAY = 0.2  # rad of every joint
ACCURACY = 1e-3  # rad; mock hardware goes to every commanded position in the next cycle


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Install prefix of the controllers."""
    return installed_controllers(tmp_path_factory.mktemp("controllers"))


def description(driver):
    """The URDF of a driver with mock hardware that has its interfaces."""
    own = Path(os.environ.get("DRIVER_DESCRIPTIONS", "")) / f"{driver.name}.urdf"
    joints = driver.joints.value if driver.joints else 2
    small = urdf("of the driver", STATES, finger=None, effort=1000.0, joints=joints)
    root = ElementTree.fromstring(own.read_text() if own.is_file() else small)
    for plugin in root.iterfind("ros2_control/hardware/plugin"):
        plugin.text = "mock_components/GenericSystem"
    return ElementTree.tostring(root, encoding="unicode")


class Started:
    """The launch file with the exported files of a driver."""

    def __init__(self, driver, prefix, folder, *arguments):
        self.space = "" if driver.namespace is None else driver.namespace.value
        robot, model, config = (folder / name for name in ("arm.urdf", "arm.so", "cm.yaml"))
        robot.write_text(description(driver))
        chosen = [str(robot), "--driver", driver.name]
        assert main(["export", "model", *chosen, "-o", str(model)]) == 0
        assert main(["export", "config", *chosen, "-o", str(config)]) == 0
        self._file, domain = folder / "launch.log", free_domain()
        words = [f"robot:={robot}", f"config:={config}", *arguments]
        words += [f"namespace:={self.space}"] if self.space else []
        own = {"ROS_DOMAIN_ID": str(domain), "ROS_HOME": str(folder)}
        with self._file.open("wb") as output:
            self._process = subprocess.Popen(
                ["ros2", "launch", "robot_dynamics_controllers", "arm.launch.py", *words],
                env={**environment(prefix), **own, "RCUTILS_COLORIZED_OUTPUT": "0"},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.peer = Peer(domain)

    def name(self, name):
        """A name in the namespace."""
        return f"/{self.space}/{name}" if self.space else f"/{name}"

    def controllers(self):
        """Controllers by name, once all are active."""
        service, found = self.name("controller_manager/list_controllers"), {}

        def active():
            assert self._process.poll() is None, self._file.read_text()
            answer = self.peer.call(ListControllers, service, ListControllers.Request())
            found.update({one.name: one for one in answer.controller})
            return FRONT in found and all(one.state == "active" for one in found.values())

        wait_for(active, f"active controllers:\n{self._file.read_text()}")
        ended = re.compile(r"spawner-\d+\]: process has finished")
        wait_for(lambda: ended.search(self._file.read_text()), "the end of the spawner")
        return found

    def close(self):
        os.killpg(self._process.pid, signal.SIGINT)
        try:
            self._process.wait(PATIENCE)
        finally:
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
            self.peer.close()


@pytest.mark.parametrize("driver", UNDER_MANAGER, ids=lambda one: one.name)
def test_the_controllers_claim_the_interfaces_of_the_driver_and_move_it(driver, prefix, tmp_path):
    claims = Started(driver, prefix, tmp_path, "hardware:=urdf")
    try:
        found = claims.controllers()
        names = [x.removeprefix(f"{CONTROLLER}/") for x in found[FRONT].claimed_interfaces]
        joints = {name.partition("/")[0] for name in names}
        expected = {f"{name}/{kind}" for name in joints for kind in driver.interfaces.value}
        assert set(found[CONTROLLER].claimed_interfaces) == expected
    finally:
        claims.close()
    moved = Started(driver, prefix, tmp_path, "hardware:=mock")
    try:
        moved.controllers()
        states = moved.peer.listen(JointState, moved.name("joint_states"), 1000)
        client = Client(
            moved.peer, FollowJointTrajectory, moved.name(f"{FRONT}/follow_joint_trajectory")
        )
        wait_for(lambda: states, "states")
        begin = states[-1]
        way = np.full(len(begin.name), WAY)
        status, result = client.send(moveit_goal(begin, way, 2.0)).end()
        assert status == GoalStatus.STATUS_SUCCEEDED, result.error_string
        goal = dict(zip(begin.name, np.array(begin.position) + way, strict=True))

        def there():
            now = dict(zip(states[-1].name, states[-1].position, strict=True))
            return max(abs(now[name] - q) for name, q in goal.items()) < ACCURACY

        wait_for(there, f"{goal}")
    finally:
        moved.close()
