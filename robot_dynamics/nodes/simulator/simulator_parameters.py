"""Parameters of simulator_node."""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.units import NS_PER_S
from robot_dynamics.nodes.ros.load_messages import check_gravity
from robot_dynamics.nodes.ros.node_parameters import listed, parameter
from robot_dynamics.nodes.runtime.drive_parameters import ActuatorParameters
from robot_dynamics.nodes.runtime.robot_node import LoopParameters
from robot_dynamics.simulation import Imperfections

HOLD, ZERO_EFFORT = "hold", "zero_effort"


@dataclass(frozen=True)
class SimulatorParameters(ActuatorParameters, LoopParameters):
    """Parameters of simulator_node."""

    step: float = parameter(
        0.001, "Longest time step of the integration, s", low=1e-5, high=0.01, read_only=True
    )
    initial_positions: tuple[float, ...] = parameter(
        (),
        "Initial positions in the order of joints, rad or m; empty for the middle of their ranges, "
        "or a bent pose if the end effector of the arm is singular there",
        read_only=True,
    )
    command_timeout: float = parameter(
        0.1, "Age of the last command at which on_command_timeout applies, s", low=0.0, high=3600.0
    )
    on_command_timeout: str = parameter(
        HOLD,
        "Reaction when commands stop: hold the joints, or apply zero effort",
        one_of=(HOLD, ZERO_EFFORT),
    )
    brake_time: float = parameter(
        0.2,
        "Time from the first command after the start or a reset to the opening of the brakes, in "
        "which the controller receives the joint positions, s",
        low=0.0,
        high=10.0,
    )
    publish_clock: bool = parameter(
        False,
        "Keep simulated time, from zero, and publish it on /clock for nodes with use_sim_time",
        read_only=True,
    )
    real_time_factor: float = parameter(
        1.0,
        "Simulated time per real time, s/s; other than 1 only with publish_clock",
        low=0.001,
        high=100.0,
        read_only=True,
    )
    lockstep: bool = parameter(
        False,
        "Simulate one cycle per command and stand still in between; simulated time from zero",
        read_only=True,
    )
    position_noise: float = parameter(
        0.0, "Standard deviation of positions in joint_states, rad or m", low=0.0, high=1.0
    )
    velocity_noise: float = parameter(
        0.0, "Standard deviation of velocities in joint_states, rad/s or m/s", low=0.0, high=100.0
    )
    effort_noise: float = parameter(
        0.0, "Standard deviation of efforts in joint_states, N m or N", low=0.0, high=1000.0
    )
    position_resolution: float = parameter(
        0.0, "Step of the encoders in joint_states, rad or m; 0 for none", low=0.0, high=1.0
    )
    velocity_resolution: float = parameter(
        0.0, "Step of velocities in joint_states, rad/s or m/s; 0 for none", low=0.0, high=10.0
    )
    effort_resolution: float = parameter(
        0.0, "Step of efforts in joint_states, N m or N; 0 for none", low=0.0, high=100.0
    )
    stamp_jitter: float = parameter(
        0.0, "Largest delay of the stamps of joint_states, s", low=0.0, high=0.1
    )
    frame_id: str = parameter(
        "",
        "Frame in the header of joint_states; rviz shows efforts once it knows the pose of this "
        "frame; empty for the link of the end effector",
        read_only=True,
    )
    delay: float = parameter(
        0.0, "Age of joint_states when they are published, whole cycles, s", low=0.0, high=1.0
    )
    loss: float = parameter(
        0.0, "Fraction of the joint_states that are never published", low=0.0, high=0.99
    )
    noise_seed: int = parameter(0, "Seed of noise and losses", low=0, high=2**31 - 1)
    mass_factor: float = parameter(
        1.0, "Factor on mass and inertia of every link of the URDF", low=0.01, high=100.0
    )
    mass_error: float = parameter(
        0.0, "Largest relative error of the mass of each link, drawn at random", low=0.0, high=0.99
    )
    mass_seed: int = parameter(0, "Seed of the mass errors", low=0, high=2**31 - 1)
    encoders: str = listed("encoders")
    joint_stops: bool = parameter(True, "Stop the joints at their position limits", read_only=True)
    gravity: tuple[float, ...] = listed("gravity")

    base_motion: str = parameter(
        "",
        "Motion of the base, which the topic imu measures: "
        "sine:AXIS:AMPLITUDE:HZ or the path of a CSV with t, x, y, z, qx, qy, qz, qw",
        read_only=True,
    )

    @property
    def world(self) -> tuple[object, ...]:
        """Parameters whose change needs another plant."""
        return self.mass_factor, self.mass_error, self.mass_seed, self.gravity

    @property
    def imperfections(self) -> Imperfections:
        """Errors of joint_states."""
        return Imperfections(
            position_noise=self.position_noise,
            velocity_noise=self.velocity_noise,
            effort_noise=self.effort_noise,
            position_resolution=self.position_resolution,
            velocity_resolution=self.velocity_resolution,
            effort_resolution=self.effort_resolution,
            time_jitter=self.stamp_jitter * NS_PER_S,
            delay=round(self.delay * self.rate),
            loss=self.loss,
            seed=self.noise_seed,
        )

    def check(self) -> None:
        """See `RobotParameters.check`."""
        if self.real_time_factor != 1.0 and not self.publish_clock:
            raise ArgumentError(
                f"parameter 'real_time_factor' is {self.real_time_factor:g} but the time "
                "is not published; set publish_clock, and use_sim_time of the other nodes"
            )
        if self.lockstep and self.loss:
            raise ArgumentError(
                f"parameter 'loss' is {self.loss:g} in lockstep, where a lost state is never "
                "answered; set loss to 0"
            )
        check_gravity(self.gravity)
