"""Interface of controller_node for its parts."""

from __future__ import annotations

from abc import abstractmethod

from robot_dynamics.control import Actuators, Controller
from robot_dynamics.control.sampling.loop_tuning import LoopTuning
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.nodes.controller.controller_parameters import ControllerParameters
from robot_dynamics.nodes.controller.standby import Lease, Standby
from robot_dynamics.nodes.ros.messages import JointReader
from robot_dynamics.nodes.runtime.intra_process import LoopPublisher
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
        standby: Monitors the commands of another controller; None in the primary controller.
        lease: The right to command; None in a standby controller.
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
    command: LoopPublisher
    named: LoopPublisher
    standby: Standby | None
    lease: Lease | None
    output: tuple[tuple[str, ...], Actuators | None]
    saturated: Array
    cycles: int
    refusal: str

    @property
    @abstractmethod
    def inhibited(self) -> bool:
        """Whether this node must not command, as another one does."""

    @property
    @abstractmethod
    def listened_to(self) -> bool:
        """Return whether a node receives commands: discovery may take seconds."""
