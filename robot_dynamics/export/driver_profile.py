"""The profile of a driver: facts about it, each with its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Generic, TypeVar

from robot_dynamics.control.added_efforts import DRIVE_FEEDBACK

T = TypeVar("T")


@dataclass(frozen=True)
class Fact(Generic[T]):
    """A value and its source.

    Args:
        value: The value.
        source: Key of `Driver.sources`, a colon, and the file there.
        question: What its user has to find out, because the sources do not say for certain.
    """

    value: T
    source: str
    question: str = ""


@dataclass(frozen=True)
class Driver:
    """Facts about the driver of an arm.

    Args:
        name: Its name on the command line.
        arms: The arms.
        sources: Repository, commit and date by key.
        rate: Update rate of the driver's own configuration, Hz.
        interfaces: Command interfaces that the controller claims of each joint.
        adds: Efforts that the robot adds to the commands: of `added_efforts.SWITCHES`.
        effort_state: Meaning of the effort that it reports.
        joints: Number of joints of an arm, if that of all arms is the same.
        plugins: Hardware components that identify it in a URDF.
        bridge: Whether it has no ros2_control hardware, so that a node passes the commands on.
        namespace: Namespace of its controller_manager.
        prefix: Argument of its xacro for the prefix of names.
        left_out: Pattern of joints that are no joints of the arm, such as fingers.
        effort_rate: Largest rate of the commanded effort, N m/s.
        effort_limits: Largest commanded efforts of the joints in order, N m; one for all of them.
        drive_kp: Position gains that the drive adds itself, in order of the joints, N m/rad; the
            parameters kp1, kp2, ... of the hardware in a URDF take their places.
        drive_kd: Velocity gains likewise, N m s/rad; kd1, kd2, ...
        watchdog: What happens when commands stop.
        setup: What to set in the robot.
    """

    name: str
    arms: str
    sources: Mapping[str, str]
    rate: Fact[float]
    interfaces: Fact[tuple[str, ...]]
    adds: Fact[tuple[str, ...]]
    effort_state: Fact[str]
    joints: Fact[int] | None = None
    plugins: tuple[str, ...] = ()
    bridge: bool = False
    namespace: Fact[str] | None = None
    prefix: Fact[str] | None = None
    left_out: Fact[str] | None = None
    effort_rate: Fact[float] | None = None
    effort_limits: Fact[tuple[float, ...]] | None = None
    drive_kp: Fact[tuple[float, ...]] | None = None
    drive_kd: Fact[tuple[float, ...]] | None = None
    watchdog: Fact[str] | None = None
    setup: tuple[Fact[str], ...] = ()

    @property
    def takes_effort(self) -> bool:
        """Return whether it accepts efforts."""
        return "effort" in self.interfaces.value

    @property
    def closes_loop(self) -> bool:
        """Return whether its drives always add their own position and velocity feedback."""
        return self.drive_kp is not None

    @property
    def added(self) -> tuple[str, ...]:
        """Return all efforts that robot and drives add to the commands."""
        return (*self.adds.value, *((DRIVE_FEEDBACK,) if self.closes_loop else ()))

    @property
    def facts(self) -> list[tuple[str, Fact[object]]]:
        """Return the facts by name, those of `setup` last."""
        named = [(field.name, getattr(self, field.name)) for field in fields(self)]
        found = [(name, fact) for name, fact in named if isinstance(fact, Fact)]
        return found + [("setup", fact) for fact in self.setup]

    @property
    def questions(self) -> list[str]:
        """Return what its user has to find out, a line each."""
        questions = [(name, fact) for name, fact in self.facts if fact.question]
        named = [
            (x.value if name == "setup" else name.replace("_", " "), x) for name, x in questions
        ]
        return [f"to find out: {what}: {fact.question}" for what, fact in named]

    def source(self, fact: Fact[object]) -> str:
        """Return repository, commit, date and file of a fact."""
        key, _, file = fact.source.partition(": ")
        return f"{self.sources[key]}, {file}" if file else self.sources[key]
