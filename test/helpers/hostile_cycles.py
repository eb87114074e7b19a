"""Cycles of a controller that meet everything: jumps, gaps, NaN, changes, stops and contacts."""

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.control.laws import ALL_MODES, TASK_MODES

LEAD = 2e-3  # s, of commanded positions
PERIOD = 1e-3
MODES = len(ALL_MODES) - len(TASK_MODES)

SHORT = {
    "settling_time": 0.02,
    "state_timeout": 0.03,
    "reference_timeout": 0.05,
    "open_loop_timeout": 0.1,
}
"""Times of the settings, s."""


class HostileCycles:
    """Fills what arrives and the settings of a step, cycle by cycle.

    Args:
        rng: Random numbers.
        arrived: Fields of what arrives, by name.
        settings: Fields of the settings, by name.
        tasks: Whether modes in task space are among them.
    """

    def __init__(self, rng, arrived, settings, *, tasks=False):
        self.rng, self.arrived, self.settings, self.tasks = rng, arrived, settings, tasks
        self.n = len(arrived["state_q"])
        for name, value in SHORT.items():  # so that a short sequence reaches every status
            settings[name][0] = value
        self.q, self.qd = rng.uniform(-1.0, 1.0, self.n), np.zeros(self.n)
        self.now, self._event, self._until = 0.0, "", 0.0
        self._rest, self._rested = self.q, 0.0  # where the reference began to move, and when

    def _changed(self):
        """Change a setting or begin an event, now and then."""
        rng, arrived, settings = self.rng, self.arrived, self.settings
        kind = rng.choice(
            ["mode", "gains", "load", "gap", "silence", "nan", "jump", "fast", "resume", "hit",
             "halt", "inertia_weighted", "drives", "integral", "reaction", "teleport", "end",
             "unheard", "stall", "base", *["rest"] * 4, *["target"] * 8 * self.tasks]
        )  # fmt: skip
        self._event, self._until = (
            kind,
            self.now + rng.choice([0.005, 0.05, 0.3, 1.5], p=[0.4, 0.3, 0.2, 0.1]),
        )
        if kind in ("mode", "gains", "inertia_weighted", "drives", "integral", "reaction"):
            settings["settings_edition"][0] += 1.0
        if kind == "mode":
            settings["mode"][0] = rng.integers(len(ALL_MODES) if self.tasks else MODES)
        elif kind == "gains":
            settings["kp"][:] = rng.uniform(0.0, 200.0, self.n)
            settings["kd"][:] = rng.uniform(0.0, 20.0, self.n)
        elif kind == "inertia_weighted":
            settings["inertia_weighted"][0] = rng.integers(2)
        elif kind == "drives":
            settings["drive_feedback"][0] = rng.integers(2)
            settings["drive_velocity"][0] = rng.integers(2)
        elif kind == "integral":
            settings["ki"][:] = rng.uniform(0.0, 50.0, self.n)
        elif kind == "reaction":
            settings["reaction"][0] = rng.integers(5)
        elif kind == "load":
            arrived["payload_goal"][0] = rng.uniform(0.0, 2.0)
            arrived["gravity_goal"][:] = rng.uniform(-9.0, 9.0, 3)
        elif kind in ("resume", "rest"):
            arrived["resume"][0] = 1.0
        elif kind == "halt":
            arrived["halted"][0] = rng.integers(2)
        elif kind == "end":
            arrived["ending"][0] = rng.integers(3)
            arrived["end_tau"][:] = rng.uniform(-5.0, 5.0, self.n)
        elif kind == "base":
            arrived["base"][:3] = arrived["gravity_goal"]
            arrived["base"][3:] = rng.uniform(-0.5, 0.5, 12)
        elif kind == "target":
            self._targets()

    def _targets(self):
        """Give a target, a measured wrench, or give one up."""
        rng, arrived = self.rng, self.arrived
        kind = rng.choice(
            ["pose", "twist", "push", "posture", "measured_wrench", "drops_target", "drops_pose"]
        )
        if kind.startswith("drops"):
            arrived[kind][0] = 1.0
            return
        arrived[f"{kind}_came"][0] = self.now
        if kind == "pose":
            arrived["pose_rotation"][:] = Rotation.random(rng=rng).as_matrix().ravel()
            arrived["pose_position"][:] = rng.uniform(-0.5, 0.5, 3)
        elif kind == "posture":
            arrived["posture_given"][:] = rng.uniform(-4.0, 4.0, self.n)
        elif kind == "measured_wrench":
            arrived["measured_wrench"][:] = rng.uniform(-20.0, 20.0, 6)
        else:
            arrived[f"{kind}_given"][:] = rng.uniform(-0.3, 0.3, 6) * (
                50.0 if kind == "push" else 1
            )
            arrived[f"{kind}_lasts"][0] = rng.uniform(0.0, 0.5)

    def next(self):
        """Fill in the next cycle."""
        rng, arrived, settings, n = self.rng, self.arrived, self.settings, self.n
        stalls = self._event == "stall" and rng.random() < 0.1
        self.now += PERIOD * rng.uniform(0.5, 1.5) + (0.15 if stalls else 0.0)
        for name in ("state_new", "resume", "unheard", "drops_target", "drops_pose"):
            arrived[name][0] = 0.0
        if self.now > self._until and rng.random() < 0.005:
            self._changed()
        elif self.now > self._until:
            self._event = ""
            arrived["halted"][0] = arrived["ending"][0] = 0.0
            settings["resume_by_itself"][0] = float(rng.random() < 0.6)
            arrived["resume"][0] = float(rng.random() < 0.02)
        arrived["now"][0] = self.now
        arrived["unheard"][0] = float(self._event == "unheard")
        w = 1.0 + np.arange(n) % 3 + 0.01 * np.arange(n)  # no two joints move alike
        fast = 8.0 if self._event == "fast" else 1.0
        if self._event == "rest":  # the reference comes to the arm
            self._rest, self._rested = self.q, self.now
        phase = w * (self.now - self._rested)
        desired = self._rest + 0.4 - 0.4 * np.cos(phase), fast * 0.4 * w * np.sin(phase)
        if self._event == "jump":
            desired = desired[0] + rng.uniform(-0.5, 0.5, n), desired[1]
        if self._event != "silence" and rng.random() < 0.7:
            arrived["reference_came"][0] = self.now
            arrived["came_before"][:] = arrived["came_after"]
            for name in ("came_after", "came_reference"):
                arrived[name][:] = np.ravel(desired)
            arrived["came_ahead"][0] = arrived["came_reference_age"][0] = rng.uniform(0.0, 0.005)
            arrived["came_share"][0], arrived["lead"][0] = rng.random(), LEAD
            arrived["came_qdd"][:] = 0.04 * np.cos(phase)
            arrived["came_has_tau"][0] = rng.integers(2)
            arrived["came_tau"][:] = rng.uniform(-2.0, 2.0, n)
            if self._event == "nan":
                arrived["came_after"][rng.integers(2 * n)] = rng.choice([np.nan, np.inf, 1e301])
        if self._event == "target" and rng.random() < 0.1:  # a stream of poses
            arrived["pose_position"][:] += rng.uniform(-0.01, 0.01, 3)
            arrived["pose_came"][0] = self.now
            arrived["pose_stamp"][0] = rng.integers(2) * (self.now + 9.0 - rng.uniform(0.0, 0.02))
        if self._event == "rest":
            self.qd[:] = 0.0
        self.qd += 0.05 * (desired[1] + 20.0 * (desired[0] - self.q) - self.qd)
        if self._event == "hit":
            self.qd[rng.integers(n)] = 0.0
        if self._event == "teleport" and rng.random() < 0.02:
            self.q = rng.uniform(-1.0, 1.0, n)
        self.q = self.q + PERIOD * self.qd
        if self._event != "gap" and self.now > 0.01 and rng.random() < 0.9:
            arrived["state_new"][0] = 1.0
            arrived["state_q"][:], arrived["state_qd"][:] = self.q, self.qd
            arrived["state_came"][0] = arrived["state_stamp"][0] = self.now
            if self._event == "nan":
                arrived["state_q"][rng.integers(n)] = rng.choice([np.nan, -np.inf, 1e9])
