"""A controller on a simulated arm, with time passed in."""

import numpy as np

from robot_dynamics.control import Controller, Measured, Reference, Settings
from robot_dynamics.simulation.compiled_plant import fastest_plant
from robot_dynamics.trajectory import Follower, Waypoints

STEP = 1e-3
READY = Settings().settling_time + 0.01  # s: the arm is held where it is before it follows
Q0 = np.array([0.3, -0.7])


class Bench:
    """A simulated arm, a follower and a controller on one clock, which may be cut from each other.

    The first command comes before the first reference.
    """

    def __init__(self, model, settings=None, robot=None, q=Q0, task=None, **plant):
        robot = robot or model.dynamics.robot
        self.model = model
        options = {"dynamics": model.dynamics, "limit_effort": False, **plant}
        self.plant = fastest_plant(robot, q, **options)
        self.controller = Controller(model, settings, task)
        self.follower = Follower(robot.joint_names, q)
        self.now = 100.0  # the clock need not begin at zero
        self.efforts, self.statuses = [], []

    def run(self, seconds, *, states=True, references=True, brakes=False):
        for _ in range(round(seconds / STEP)):
            if states:
                self.controller.set_state(Measured(self.plant.q, self.plant.qd), self.now)
            if references:
                self._refer()
            command = self.controller.update(self.now)
            tau = self.efforts[-1] if command is None else command.tau  # drives keep the last one
            if not brakes:
                self.plant.step(tau)
            self.efforts.append(tau)
            self.statuses.append(self.controller.status)
            self.now += STEP
        return self

    def _refer(self):
        due = self.follower.sample(self.now)
        reference = Reference(due.q, due.qd, self.model.feedforward(*due))
        self.controller.set_reference(reference, self.now)

    def push(self, *displacement, speed=1.0, references=True):
        """Move the arm by hand against its controller, at a speed in rad/s."""
        cycles = round(np.abs(displacement).max() / speed / STEP)
        for _ in range(cycles):
            q = self.plant.q + np.array(displacement) / cycles
            self.plant.reset(q, np.array(displacement) / cycles / STEP)
            self.controller.set_state(Measured(self.plant.q, self.plant.qd), self.now)
            if references:
                self._refer()
            self.efforts.append(self.controller.update(self.now).tau)
            self.now += STEP
        self.plant.reset(self.plant.q)
        return self

    def move(self, *q, seconds=1.0):
        self.follower.accept(Waypoints(self.plant.robot.joint_names, [seconds], [q]), self.now)

    def largest_step(self, last=None):
        efforts = np.array(self.efforts[-last:] if last else self.efforts)
        return np.abs(np.diff(efforts, axis=0)).max()


# Efforts of a second-long oscillation of this arm change by at most 0.1 N m a millisecond; a gap
# of 20 N m that fades over 0.2 s by 15/8 * 20 * 1e-3 / 0.2 = 0.19
SMOOTH = 0.3
