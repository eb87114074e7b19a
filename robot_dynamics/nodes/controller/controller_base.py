"""ControllerBase: what the files of controller_node know of it."""

from __future__ import annotations

from robot_dynamics.control import Actuators, Controller, Model
from robot_dynamics.control.sampling.loop_tuning import LoopTuning
from robot_dynamics.nodes.controller.controller_parameters import ControllerParameters
from robot_dynamics.nodes.ros.messages import JointReader
from robot_dynamics.nodes.ros.state_reader import StateReader
from robot_dynamics.nodes.runtime.loop_topics import LoopPublisher
from robot_dynamics.nodes.runtime.online_model import OnlineModel
from robot_dynamics.nodes.runtime.robot_node import RobotNode


class ControllerBase(RobotNode[ControllerParameters]):
    """The arm of controller_node; known once configured.

    Attributes:
        arm: The model with its loads.
        controller: Computes the commands.
        tuning: Feedback that fits the sampling of the states.
        states: The measured motion.
        reference: The desired motion.
        command: Publisher of the commands.
        output: Names of the commands in their order, the actuators if they are commanded, and the
            label of commands.
        cycles: Number of cycles with a command.
        refusal: Reason for which references are not followed; empty if they are.
        state_refusal: Reason for which the last joint_states were refused; empty if they were not.
    """

    PARAMETERS = ControllerParameters

    arm: OnlineModel
    controller: Controller
    tuning: LoopTuning
    states: StateReader
    reference: JointReader
    command: LoopPublisher
    output: tuple[tuple[str, ...], Actuators | None, str]
    cycles: int
    refusal: str
    state_refusal: str

    @property
    def listened_to(self) -> bool:
        """Return whether a node receives commands: discovery may take seconds."""
        return self.command.subscriber_count > 0

    def prepare_mode(self, mode: str, model: Model) -> None:
        """Compile a mode before the loop uses it."""
        raise NotImplementedError
