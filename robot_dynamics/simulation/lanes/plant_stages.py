"""One step of the plant, written once for all lanes: what `Plant.step` does, without a branch.

Where the scalar plant asks which case a joint is in, here every case is a number per joint, and
what depends on it is a choice between values. Newton's method goes round until the cases of all
lanes stay as they are; a lane that is done computes the same once more meanwhile, so that no
lane's motion depends on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robot_dynamics.algorithms import composite_body
from robot_dynamics.arrays import Array
from robot_dynamics.compiler.graph.piecewise import clip, maximum, minimum, select
from robot_dynamics.compiler.native.loop.loop_steps import Repeat, Run, Step, When
from robot_dynamics.reduction.augmented_body_columns import inverse_dynamics
from robot_dynamics.simulation.lanes.body_letters import BodyLetters
from robot_dynamics.simulation.lanes.stage import stage
from robot_dynamics.simulation.passive import ATTEMPTS, ROUNDS, SWEEPS

FORWARD, BACKWARD, AT_UPPER, AT_LOWER, STUCK = 1.0, -1.0, 2.0, -2.0, 0.0
"""Cases of a joint: it slides forward or backward, lies at a stop, or sticks."""

UNKNOWN = 0.25
"""Before the first guess: like no case, and neither forward nor backward."""

DIVERGED = 1e4
"""A joint beyond this position or speed, rad or rad/s, has diverged: the lane stands still."""


class PlantStages:
    """Programs of the plant of one structure.

    Args:
        letters: The structure.
        stribeck: Whether friction at rest may exceed that of sliding.
        uneven: Whether friction may grow with the load, or have an offset.
    """

    def __init__(
        self, letters: BodyLetters, *, stribeck: bool = False, uneven: bool = False
    ) -> None:
        self.letters, self._stribeck, self._uneven = letters, stribeck, uneven
        self.n = letters.tree.dof
        self._parents = composite_body.elimination_parents(letters.tree)
        pairs = []
        for k in range(self.n):
            i = k
            while i >= 0:
                pairs.append((i, k))
                i = self._parents[i]
        self._pairs = pairs

    @property
    def sizes(self) -> dict[str, int]:
        """Arrays of the plant and their numbers of entries."""
        n = self.n
        parameters = {"body": len(self.letters), "gravity": 3, "h": 1}
        of_joints = (
            *("viscous", "coulomb", "stiction", "stribeck", "lower", "upper", "rotor"),
            *(("load", "offset") if self._uneven else ()),
            *("q", "qd", "tau", "c", "dry", "low", "high", "cases", "guess", "v", "p", "acting"),
            *("q2", "v2", "q3", "v3", "q4", "v4", "a1", "a2", "a3", "next_q", "next_qd"),
        )
        return {
            **parameters,
            **dict.fromkeys(of_joints, n),
            "A": len(self._pairs),
            "unsettled": 1,
            "alive": 1,
        }

    def steps(self, integrator: str) -> tuple[Step, ...]:
        """One step of the plant under the efforts `tau`."""
        again = (self._solve(), self._find_cases())
        sweep = When("unsettled", (self._sweep(), self._find_cases()))
        newton = Repeat(ROUNDS - 1, "unsettled", again)
        passive = (
            self._equations(),
            self._find_cases(),
            Repeat(ATTEMPTS, "unsettled", (newton, sweep)),
        )
        advance = {"semi_implicit_euler": self._euler, "runge_kutta": self._runge_kutta}[integrator]
        return (*passive, *advance(), self._arrive())

    # -- equations of motion ---------------------------------------------------------------------

    def _motion(self, x: dict[str, Array], q: str, qd: str, qdd: Array) -> tuple[Array, Array]:
        """Mass matrix, shape (n, n), and efforts of an acceleration, shape (n,), without rotors."""
        tree = self.letters.robot_with(x["body"], x["gravity"])
        joints = tree.coupling
        positions = joints.positions(x[q])
        M = joints.square(composite_body.mass_matrix(tree, positions))
        tau = inverse_dynamics(tree, positions, joints.rates(x[qd]), joints.rates(qdd), {})
        return M, joints.efforts(tau)

    def _accelerations(self, M: Array, b: Array, tau: Array) -> Array:
        L, inverse_D = composite_body.factorise(M, self._parents)
        return composite_body.solve(L, inverse_D, self._parents, tau - b)

    def _stage(self, name: str, function: Callable[..., dict[str, Any]], *inputs: str) -> Run:
        return stage(name, function, self.sizes, dict.fromkeys(inputs))

    def _equations(self) -> Run:
        """A v = c + p of `resolve`, and the bounds of v and p."""

        def function(**x: Array) -> dict[str, Any]:
            h = x["h"][0]
            # c = M qd + h (tau - b), and h b - M qd is h times the effort of the acceleration
            # -qd / h: cheaper than a product with the matrix
            M, tau = self._motion(x, "q", "qd", -x["qd"] / h)
            drive = x["tau"] - x["offset"] if self._uneven else x["tau"]
            c = x["rotor"] * x["qd"] + h * (drive - tau)
            A = M + np.diag(x["rotor"] + h * x["viscous"])
            dry = x["coulomb"]
            if self._stribeck:
                dry = dry + x["stiction"] * np.exp(-((x["qd"] / x["stribeck"]) ** 2))
            if self._uneven:  # borne by the bodies, a step ago
                dry = dry + x["load"] * abs(drive + x["p"] / h - x["viscous"] * x["qd"])
            low = [minimum(room, 0.0) for room in (x["lower"] - x["q"]) / h]
            high = [maximum(room, 0.0) for room in (x["upper"] - x["q"]) / h]
            return {
                "A": np.array([A[pair] for pair in self._pairs]),
                "c": c,
                "dry": h * dry,
                "low": np.array(low),
                "high": np.array(high),
                "cases": np.full(self.n, UNKNOWN),
                "v": x["qd"],
                "guess": x["qd"],
            }

        friction = ("viscous", "coulomb", *(("stiction", "stribeck") if self._stribeck else ()))
        friction += ("load", "offset", "p") if self._uneven else ()
        state = ("q", "qd", "tau", "body", "gravity", "rotor", "lower", "upper", "h")
        return self._stage("equations", function, *state, *friction)

    # -- friction and stops ----------------------------------------------------------------------

    def _matrix(self, A: Array) -> Array:
        full: Any = np.zeros((self.n, self.n), dtype=object)
        for (i, k), entry in zip(self._pairs, A, strict=True):
            full[i, k] = full[k, i] = entry
        return np.array(full)

    def _find_cases(self) -> Run:
        """The case of every joint, and whether any is another than before."""

        def function(**x: Array) -> dict[str, Any]:
            rho = self._matrix(x["A"]).diagonal()
            found, changes = [], 0.0
            for i in range(self.n):
                dry, w = x["dry"][i], rho[i] * x["v"][i] - x["p"][i]
                before = x["cases"][i]
                ahead = select(dry + rho[i] * x["high"][i], w, AT_UPPER, FORWARD)
                back = select(w, rho[i] * x["low"][i] - dry, AT_LOWER, BACKWARD)
                # A joint that would reverse is guessed to stick first, as in `passive`
                ahead = select(before, -0.5, STUCK, ahead)
                back = select(0.5, before, STUCK, back)
                case = select(dry, w, ahead, select(w, -dry, back, STUCK))
                found.append(case)
                changes = changes + abs(case - before)
            return {"cases": np.array(found), "unsettled": np.array([x["alive"][0] * changes])}

        inputs = ("A", "v", "p", "dry", "low", "high", "cases", "alive")
        return self._stage("find_cases", function, *inputs)

    def _solve(self) -> Run:
        """The velocities and impulses of these cases."""

        def function(**x: Array) -> dict[str, Any]:
            A, n = self._matrix(x["A"]), self.n
            free = [_slides(case) for case in x["cases"]]
            slide = -x["cases"] * x["dry"]  # of those that slide
            fixed = [
                select(1.5, case, high, select(case, -1.5, low, 0.0))
                for case, low, high in zip(x["cases"], x["low"], x["high"], strict=True)
            ]
            B: Any = np.zeros((n, n), dtype=object)
            rhs = []
            for i in range(n):
                others = sum((A[i, j] * fixed[j] for j in range(n) if j != i), 0.0)
                push = x["c"][i] + slide[i] - others
                rhs.append(select(0.5, free[i], push, fixed[i]))
                B[i, i] = select(0.5, free[i], A[i, i], 1.0)
                for j in range(i):
                    B[i, j] = B[j, i] = A[i, j] * (free[i] * free[j])
            factors = composite_body.factorise(np.array(B), self._parents)
            v = composite_body.solve(*factors, self._parents, np.array(rhs))
            v = _chosen(free, v, fixed)
            p = _chosen(free, slide, A @ v - x["c"])
            return {"v": v, "p": p}

        return self._stage("solve", function, "A", "c", "cases", "dry", "low", "high")

    def _sweep(self) -> Run:
        """Better first guesses for the lanes that go round in circles; see `passive.sweep`.

        They come from the last guess, and not from where Newton's method went.
        """

        def function(**x: Array) -> dict[str, Any]:
            A, c = self._matrix(x["A"]), x["c"]
            rows = list(zip(x["guess"], x["low"], x["high"], strict=True))
            new = [clip(v, low, high) for v, low, high in rows]
            for _ in range(SWEEPS):
                for i in range(self.n):
                    rest = c[i] - sum((A[i, j] * new[j] for j in range(self.n) if j != i), 0.0)
                    sliding = maximum(abs(rest) - x["dry"][i], 0.0) / A[i, i]
                    sliding = select(0.0, rest, sliding, -sliding)
                    new[i] = clip(sliding, x["low"][i], x["high"][i])
            p = A @ np.array(new) - c
            unsettled = x["unsettled"][0]

            def taken(better: Any, present: Any) -> Any:
                return select(0.0, unsettled, better, present)

            return {
                "guess": np.array([taken(a, b) for a, b in zip(new, x["guess"], strict=True)]),
                "v": np.array([taken(a, b) for a, b in zip(new, x["v"], strict=True)]),
                "p": np.array([taken(a, b) for a, b in zip(p, x["p"], strict=True)]),
                # Of this guess nothing has been solved yet, whichever cases it has
                "cases": np.array([taken(UNKNOWN, case) for case in x["cases"]]),
            }

        inputs = ("A", "c", "dry", "low", "high", "guess", "v", "p", "cases", "unsettled")
        return self._stage("sweep", function, *inputs)

    # -- integration -----------------------------------------------------------------------------

    def _euler(self) -> tuple[Step, ...]:
        def function(**x: Array) -> dict[str, Any]:
            return {"next_q": x["q"] + x["h"][0] * x["v"], "next_qd": 1.0 * x["v"]}

        return (self._stage("euler", function, "q", "v", "h"),)

    def _runge_kutta(self) -> tuple[Step, ...]:
        def acting(**x: Array) -> dict[str, Any]:
            acting = x["tau"] + x["p"] / x["h"][0] - x["viscous"] * x["v"]
            return {"acting": acting - x["offset"] if self._uneven else acting}

        def quarter(i: int, q: str, v: str, share: float) -> Run:
            def function(**x: Array) -> dict[str, Any]:
                M, b = self._motion(x, q, v, np.zeros(self.n))
                a = self._accelerations(M + np.diag(x["rotor"]), b, x["acting"])
                h = share * x["h"][0]
                ends = {f"q{i + 1}": x["q"] + h * x[v], f"v{i + 1}": x["qd"] + h * a}
                return {f"a{i}": a, **ends}

            inputs = (q, v, "q", "qd", "body", "gravity", "rotor", "acting", "h")
            return self._stage(f"quarter{i}", function, *inputs)

        def last(**x: Array) -> dict[str, Any]:
            M, b = self._motion(x, "q4", "v4", np.zeros(self.n))
            a4 = self._accelerations(M + np.diag(x["rotor"]), b, x["acting"])
            h, free = x["h"][0], [_slides(case) for case in x["cases"]]
            q = x["q"] + h / 6.0 * (x["qd"] + 2.0 * (x["v2"] + x["v3"]) + x["v4"])
            qd = x["qd"] + h / 6.0 * (x["a1"] + 2.0 * (x["a2"] + x["a3"]) + a4)
            moved = x["q"] + h * x["v"]
            return {
                "next_q": _chosen(free, q, moved),
                "next_qd": _chosen(free, qd, x["v"]),
            }

        inputs = ("q", "qd", "v", "v2", "v3", "q4", "v4", "a1", "a2", "a3", "cases")
        parameters = ("body", "gravity", "rotor", "acting", "h")
        offset = ("offset",) if self._uneven else ()
        return (
            self._stage("acting", acting, "tau", "p", "viscous", "v", "h", *offset),
            quarter(1, "q", "qd", 0.5),
            quarter(2, "q2", "v2", 0.5),
            quarter(3, "q3", "v3", 1.0),
            self._stage("quarter4", last, *inputs, *parameters),
        )

    def _arrive(self) -> Run:
        """The new state; a lane that diverged stays where it was, at rest."""

        def function(**x: Array) -> dict[str, Any]:
            alive = x["alive"][0]
            for value in (*x["next_q"], *x["next_qd"]):
                alive = alive * select(abs(value), DIVERGED, 1.0, 0.0)

            def kept(new: Any, old: Any) -> Any:
                return select(0.0, alive, new, old)

            return {
                "q": np.array([kept(a, b) for a, b in zip(x["next_q"], x["q"], strict=True)]),
                "qd": np.array([kept(a, 0.0) for a in x["next_qd"]]),
                "p": np.array([kept(a, 0.0) for a in x["p"]]),
                "alive": np.array([alive]),
            }

        return self._stage("arrive", function, "next_q", "next_qd", "q", "p", "alive")


def _slides(case: Any) -> Any:
    """1 for a joint that slides, 0 for one whose velocity friction or a stop dictates."""
    return select(abs(abs(case) - 1.0), 0.5, 1.0, 0.0)


def _chosen(free: Any, sliding: Any, held: Any) -> Array:
    """Of every joint `sliding` if it is, else `held`."""
    choices = zip(free, sliding, held, strict=True)
    return np.array([select(0.5, is_free, a, b) for is_free, a, b in choices])
