"""What the parts of controller_node know of the whole."""

from __future__ import annotations

from abc import abstractmethod

from robot_dynamics.arrays import Array
from robot_dynamics.control import Actuators, Controller
from robot_dynamics.control.sampling.loop_tuning import LoopTuning
from robot_dynamics.nodes.controller.controller_parameters import ControllerParameters
from robot_dynamics.nodes.controller.standby import Standby, Watch
from robot_dynamics.nodes.ros.messages import JointReader
from robot_dynamics.nodes.runtime.exchange import Outlet
from robot_dynamics.nodes.runtime.online_model import OnlineModel
from robot_dynamics.nodes.runtime.robot_node import RobotNode


class ControllerBase(RobotNode[ControllerParameters]):
    """The members of controller_node that its report and its stand-by use.

    Attributes:
        controller: Decides on the efforts.
        arm: The model with its loads.
        tuning: Feedback as the states that come allow it.
        states: Measured motion.
        reference: Desired motion.
        command: Publishes efforts.
        named: Publishes them with names.
        standby: Watches another one's commands, if it only stands by.
        watch: Its right to command, if it does not stand by.
        output: Names of the commands in their order, and the actuators if these are theirs.
        saturated: Cycles in which the effort of each joint was cut at its limit, shape (n,).
        cycles: All cycles.
        refusal: Why references are not followed; empty if they are.
    """

    controller: Controller
    arm: OnlineModel
    tuning: LoopTuning
    states: JointReader
    reference: JointReader
    command: Outlet
    named: Outlet
    standby: Standby | None
    watch: Watch | None
    output: tuple[tuple[str, ...], Actuators | None]
    saturated: Array
    cycles: int
    refusal: str

    @property
    @abstractmethod
    def doubled(self) -> bool:
        """Whether another node commands, and this one only stands by."""

    @property
    @abstractmethod
    def listened_to(self) -> bool:
        """Whether anybody receives commands: the middleware may take seconds to introduce us."""
