"""Follow a motion in simulation with feedforward and by PD alone, without ROS."""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console

from robot_dynamics.cli.arguments import add_robot, duration, folder, load_robot, positive
from robot_dynamics.cli.picture import draw
from robot_dynamics.cli.tracking import Comparison, tracking_table
from robot_dynamics.control import (
    Friction,
    Gains,
    Measured,
    Reference,
    continuous_joints,
    effort_limits,
    gains_for,
    pd_feedforward,
    saturate,
)
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.robot import Robot
from robot_dynamics.robot.robot import Array
from robot_dynamics.simulation import Controller, Plant, simulate, with_mass_scaled
from robot_dynamics.trajectory import State, excitation, interpolate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command line of the verb."""
    add_robot(parser)
    parser.add_argument(
        "--rate", type=positive, default=1000.0, help="control rate, Hz (default: 1000)"
    )
    parser.add_argument(
        "--duration", type=duration, default=6.0, help="duration of the motion, s (default: 6)"
    )
    parser.add_argument(
        "--mass-error",
        type=float,
        default=0.0,
        metavar="PERCENT",
        help="how much heavier every link is than the model says (default: 0)",
    )
    parser.add_argument(
        "--output", type=folder, default=None, help="folder for a picture (default: none)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Simulate and print the tracking errors."""
    robot = load_robot(arguments.robot)
    console = Console(width=None if Console().is_terminal else 110)
    dynamics = Dynamics(robot)
    gains = gains_for(dynamics)
    motion = interpolate(excitation(robot, arguments.duration))
    real = robot
    if arguments.mass_error:
        real = with_mass_scaled(robot, 1.0 + arguments.mass_error / 100.0)
    plant = Plant(real, step=1.0 / arguments.rate)
    logs = [
        simulate(plant, controller(dynamics, gains, feedforward), motion, rate=arguments.rate)
        for feedforward in (True, False)
    ]
    comparison = Comparison(f"masses {arguments.mass_error:+g} %", *logs)
    console.print(tracking_table(comparison, robot))
    if arguments.output is not None:
        picture = arguments.output / f"{robot.name}.png"
        draw([comparison], robot, picture)
        console.print(f"picture: {picture}", soft_wrap=True)
    return 0


def controller(dynamics: Dynamics, gains: Gains, feedforward: bool) -> Controller:
    """PD with or without the torques that the model asks for, within the effort limits."""
    robot: Robot = dynamics.robot
    friction, limit, turning = Friction.of(robot), effort_limits(robot), continuous_joints(robot)
    none = np.zeros(robot.dof)

    def command(_t: float, desired: State, measured: Measured) -> Array:
        tau = dynamics.inverse(*desired) + friction.smooth(desired.qd) if feedforward else none
        law = pd_feedforward(Reference(desired.q, desired.qd, tau), measured, gains, turning)
        return saturate(law, limit).tau

    return command
