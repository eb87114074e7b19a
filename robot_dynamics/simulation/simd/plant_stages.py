"""One step of the plant for all batch members: the equations of `Plant.step` without branches.

The scalar plant branches on the case of a joint. Here the case is a number per joint, which
selects between values. Newton's method repeats until the cases of all members are stable, in most
steps after one round. A member that has converged keeps its values, so that its motion does not
depend on the other members.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.algorithms import composite_body
from robot_dynamics.compiler.graph.piecewise import clip, maximum, minimum, select
from robot_dynamics.compiler.native.loop.loop_steps import Repeat, When
from robot_dynamics.control.friction import ELEMENTS, slipped
from robot_dynamics.control.limits import LARGEST_FINITE
from robot_dynamics.control.two_masses import IMPLICIT, TwoMasses
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.simulation.passive import ATTEMPTS, ROUNDS, SWEEPS
from robot_dynamics.simulation.plant import ROUNDS as MEMORY_ROUNDS
from robot_dynamics.simulation.plant import SLOWEST
from robot_dynamics.simulation.simd.stage import Item, LoopStage
from robot_dynamics.simulation.simd.symbolic_inertias import SymbolicInertias

FORWARD, BACKWARD, AT_UPPER, AT_LOWER, STUCK = 1.0, -1.0, 2.0, -2.0, 0.0
"""Cases of a joint: it slides forward or backward, rests at a stop, or sticks."""

UNKNOWN = 0.25
"""Case before the first guess: equal to no other, and neither forward nor backward."""

IMMOVABLE = 1e20
"""Inertia of a joint with imposed velocity; the effect of other joints vanishes in rounding."""

BASE_SIZE = 45
"""Columns of a reference table for a moving base, at the end of a row: `BaseMotion.numbers` at the
beginning, the middle and the end of the step."""

DIVERGED = 1e4
"""Norm of positions and velocities, rad and rad/s, beyond which a member has diverged and stops."""


class PlantStages:
    """Equations of the plant of one structure.

    Args:
        inertias: Base parameters of the structure.
        passive: Whether joints have dry friction or stops.
        stribeck: Whether friction at rest may exceed that of sliding.
        load_or_offset: Whether friction may grow with the load, or have an offset.
        has_memory: Whether friction may have a presliding part; only with `passive`.
        velocity_terms: Whether Coriolis and centrifugal efforts act; not on an arm that adds them
            to its commands itself.
    """

    def __init__(
        self,
        inertias: SymbolicInertias,
        *,
        passive: bool = True,
        stribeck: bool = False,
        load_or_offset: bool = False,
        has_memory: bool = False,
        velocity_terms: bool = True,
    ) -> None:
        self.inertias, self._passive, self._has_memory = inertias, passive, has_memory
        self._velocity_terms = velocity_terms
        self._stribeck, self._load_or_offset = stribeck, load_or_offset
        self.n = inertias.arm.dof
        self._masses = masses = TwoMasses.of(inertias.robot)
        of_links = composite_body.elimination_parents(inertias.arm)
        self._parents = (*of_links, *masses.joints)
        pairs = []
        for k in range(self.n):
            i = k
            while i >= 0:
                pairs.append((i, k))
                i = self._parents[i]
        for k, joint in enumerate(masses.joints, self.n):
            pairs += [(k, k), (joint, k)]
        self._pairs = pairs

    @property
    def _offset(self) -> tuple[str, ...]:
        return ("offset",) if self._load_or_offset else ()

    @property
    def sizes(self) -> dict[str, int]:
        """Arrays of the plant and their numbers of entries."""
        n, size = self.n, self._masses.size
        parameters = {"body": len(self.inertias), "gravity": 3, "h": 1}
        of_joints = (
            *("viscous", "coulomb", "stiction", "stribeck", "lower", "upper", "rotor", "tau"),
            *(("load", "offset") if self._load_or_offset else ()),
        )
        of_masses = (
            *("q", "qd", "c", "dry", "low", "high", "cases", "guess", "v", "p", "acting"),
            *("q2", "v2", "q3", "v3", "q4", "v4", "a1", "a2", "a3", "next_q", "next_qd"),
        )
        return {
            **parameters,
            **dict.fromkeys(of_joints, n),
            **dict.fromkeys(of_masses, size),
            **dict.fromkeys(self._of_springs, size - n),
            **dict.fromkeys(self._pushes, n),
            "A": len(self._pairs),
            "unsettled": 1,
            "alive": 1,
            **(self._of_memory if self._has_memory else {}),
        }

    @property
    def _of_memory(self) -> dict[str, int]:
        n, size = self.n, self._masses.size
        of_joints = dict.fromkeys(("memory", "share"), n)
        of_masses = dict.fromkeys(("momentum", "spring"), size)
        of_elements = dict.fromkeys(("slip", "elastic", "z", "slope"), ELEMENTS * n)
        return {**of_joints, **of_masses, **of_elements, "rigid": len(self._pairs)}

    def steps(self, integrator: str) -> tuple[Item, ...]:
        """One step of the plant under the efforts `tau`."""
        euler = integrator == "semi_implicit_euler"
        advance = (self._euler(),) if euler else self._runge_kutta()
        end = (*advance, self._arrive())
        if not self._passive:
            return (self._equations(), self._glide(), *end)
        dry, stops, cases = self._dry(), self._stops(), self._find_cases()
        # Recomputing these is cheaper than loading; the last step's impulses are overwritten by now
        bounds = (stops,) if self._load_or_offset or self._has_memory else (dry, stops)
        newton = Repeat(ROUNDS - 2, "unsettled", (*bounds, self._solve(), cases))
        sweep = When("unsettled", (*bounds, self._sweep(), cases))
        again = When("unsettled", (self._begin(), Repeat(ATTEMPTS, "unsettled", (newton, sweep))))
        rounds: tuple[Item, ...] = (self._first_round(), again)
        if self._has_memory:
            soft = Repeat(MEMORY_ROUNDS, "alive", (self._springs(), *rounds))
            rounds = (soft, self._spring_effort())
        return (dry, stops, self._equations(), *rounds, *end)

    # -- equations of motion ---------------------------------------------------------------------

    @property
    def _of_springs(self) -> tuple[str, ...]:
        return ("stiffness", "spring_damping") if self._masses.joints else ()

    @property
    def _pushes(self) -> tuple[str, ...]:
        return ("push",) if self._masses.joints else ()

    def _inertia(self, x: dict[str, Array], M: Array, more: Any = 0.0) -> Array:
        """Return the inertia of links and motors, shape (N, N), from the mass matrix (n, n).

        `more` is added to that of the rotors, shape (n,).
        """
        masses, n = self._masses, self.n
        if masses.joints:
            links, M = M, np.zeros((masses.size, masses.size), dtype=object)
            M[:n, :n] = links
        return M + np.diag(masses.at_drives(x["rotor"] + more))

    def _pull(self, x: dict[str, Array], q: str, v: str) -> Any:
        """Return the efforts of the springs at links and motors; zero without."""
        if not self._masses.joints:
            return 0.0
        displacement, rate = self._masses.extensions(x[q]), self._masses.extensions(x[v])
        return self._masses.pull(x["stiffness"] * displacement + x["spring_damping"] * rate)

    def _motion(
        self, x: dict[str, Array], q: str, qd: str, qdd: Array, halves: int = 0
    ) -> tuple[Array, Array]:
        """Return mass matrix (n, n) and efforts of an acceleration (n,), without rotors.

        The base is where it is so many halves of a step after the beginning of the step.
        """
        of_robot = x["body"], x["gravity"]
        q_links = x[q][: self.n]
        M = self.inertias.mass_matrix(*of_robot, q_links)
        rates = x[qd][: self.n] if self._velocity_terms else np.zeros(self.n)
        base = base_row(x["reference"], halves) if self.inertias.base_moves else None
        return M, self.inertias.efforts(*of_robot, (q_links, rates, qdd), base)

    @property
    def _base(self) -> tuple[str, ...]:
        return ("reference",) if self.inertias.base_moves else ()

    def _equations(self) -> LoopStage:
        """Set up A v = c + p of `resolve`."""
        masses, n = self._masses, self.n

        def function(**x: Array) -> dict[str, Any]:
            h = x["h"][0]
            # c = M qd + h (tau - b), and h b - M qd is h times the effort of the acceleration
            # -qd / h: cheaper than a product with the matrix
            M, tau = self._motion(x, "q", "qd", -x["qd"][:n] / h)
            drive = x["tau"] - x["offset"] if self._load_or_offset else x["tau"]
            tau = tau - x["push"] if self._pushes else tau
            push = masses.at_drives(drive) - masses.at_links(tau)
            c = masses.at_drives(x["rotor"]) * x["qd"] + h * push
            A = self._inertia(x, M, h * x["viscous"])
            if masses.joints:
                spring, held = self._implicit_springs(x)
                A, c = A + spring, c + held
            A = np.array([A[pair] for pair in self._pairs])
            if self._has_memory:
                return {"rigid": A, "momentum": c, "v": 1.0 * x["qd"]}
            return {"A": A, "c": c}

        reads = ("q", "qd", "tau", "body", "gravity", "rotor", "viscous", "h", *self._offset)
        reads += (*self._base, *self._of_springs, *self._pushes)
        writes = ("rigid", "momentum", "v") if self._has_memory else ("A", "c")
        return LoopStage("equations", function, reads, writes)

    def _implicit_springs(self, x: dict[str, Array]) -> tuple[Array, Array]:
        """Return what springs add to A and c; see `two_masses.IMPLICIT`."""
        masses, h = self._masses, x["h"][0]
        soft, damping = IMPLICIT * h * h * x["stiffness"], h * x["spring_damping"]
        displacement, rate = masses.extensions(x["q"]), masses.extensions(x["qd"])
        held = masses.pull(h * x["stiffness"] * displacement - soft * rate)
        return masses.coupling(soft + damping), held

    def _glide(self) -> LoopStage:
        """Compute the velocities without dry friction and stops."""

        def function(**x: Array) -> dict[str, Any]:
            return {"v": self._solution(self._matrix(x["A"]), x["c"])}

        return LoopStage("glide", function, ("A", "c"), ("v",))

    def _solution(self, A: Array, c: Array) -> Array:
        factors = composite_body.factorise(A, self._parents)
        return composite_body.solve(*factors, self._parents, c)

    # -- friction and stops ----------------------------------------------------------------------

    def _matrix(self, A: Array) -> Array:
        full: Any = np.zeros((self._masses.size, self._masses.size), dtype=object)
        for (i, k), entry in zip(self._pairs, A, strict=True):
            full[i, k] = full[k, i] = entry
        return np.array(full)

    def _dry(self) -> LoopStage:
        """Compute the largest impulses of dry friction."""
        drives, at_drives = self._masses.drives, self._masses.at_drives

        def function(**x: Array) -> dict[str, Any]:
            h, dry = x["h"][0], x["coulomb"]
            if self._stribeck:
                dry = dry + x["stiction"] * np.exp(-((x["qd"][drives] / x["stribeck"]) ** 2))
            if self._load_or_offset:  # effort borne by the links in the last step
                borne = x["tau"] - x["offset"]
                if not self._has_memory:
                    borne = borne + x["p"][drives] / h - x["viscous"] * x["qd"][drives]
                dry = dry + x["load"] * abs(borne)
            if self._has_memory:
                share = dry * x["memory"] / ELEMENTS
                return {"dry": at_drives(h * dry * (1.0 - x["memory"])), "share": share}
            return {"dry": at_drives(h * dry)}

        at_rest = ("stiction", "stribeck", "qd") if self._stribeck else ()
        load_or_offset = ("load", "offset", "tau") if self._load_or_offset else ()
        borne = ("p", "viscous", "qd") if self._load_or_offset and not self._has_memory else ()
        memory = ("memory",) if self._has_memory else ()
        reads = dict.fromkeys(("coulomb", "h", *at_rest, *load_or_offset, *borne, *memory))
        writes = ("dry", "share") if self._has_memory else ("dry",)
        return LoopStage("dry", function, tuple(reads), writes)

    def _springs(self) -> LoopStage:
        """Take the elements of presliding friction as springs; see `Plant`."""

        def function(**x: Array) -> dict[str, Any]:
            h, v, z, slip, elastic, share = self._elements(x)
            displacement = (
                h * np.array([select(abs(one), SLOWEST, SLOWEST, one) for one in v]) / slip
            )
            slope = (slipped(z, displacement, elastic) - z) / displacement
            stiffness = self._masses.at_drives(h * h * sum(share * slope / slip))
            soft = [
                entry + stiffness[i] if i == k else entry
                for (i, k), entry in zip(self._pairs, x["rigid"], strict=True)
            ]
            c = x["momentum"] - self._masses.at_drives(h * share * sum(z))
            return {"A": np.array(soft), "c": c, "slope": slope.ravel()}

        reads = ("h", "v", "z", "slip", "elastic", "share", "rigid", "momentum")
        return LoopStage("springs", function, reads, ("A", "c", "slope"))

    def _spring_effort(self) -> LoopStage:
        """Compute the mean effort of these elements."""

        def function(**x: Array) -> dict[str, Any]:
            h, v, z, slip, _, share = self._elements(x)
            slope = x["slope"].reshape(z.shape)
            spring = share * sum(z + slope * (h * v / slip))
            return {"spring": self._masses.at_drives(spring)}

        reads = ("h", "v", "z", "slip", "elastic", "share", "slope")
        return LoopStage("spring_effort", function, reads, ("spring",))

    def _elements(self, x: dict[str, Array]) -> tuple[Any, ...]:
        z, slip, elastic = (x[name].reshape(ELEMENTS, self.n) for name in ("z", "slip", "elastic"))
        return x["h"][0], x["v"][self._masses.drives], z, slip, elastic, x["share"]

    def _stops(self) -> LoopStage:
        """Compute the velocities that the stops allow; see `Passive`."""

        def function(**x: Array) -> dict[str, Any]:
            h = x["h"][0]
            q, at_links = x["q"][: self.n], self._masses.at_links
            low = np.array([minimum(v, 0.0) for v in (x["lower"] - q) / h])
            high = np.array([maximum(v, 0.0) for v in (x["upper"] - q) / h])
            return {"low": at_links(low, -LARGEST_FINITE), "high": at_links(high, LARGEST_FINITE)}

        return LoopStage("stops", function, ("lower", "upper", "q", "h"), ("low", "high"))

    def _first_round(self) -> LoopStage:
        """Solve for the cases of the last step, and test whether the solution keeps them."""

        def function(**x: Array) -> dict[str, Any]:
            A, unknown = self._matrix(x["A"]), np.full(self._masses.size, UNKNOWN)
            cases, _ = self._cases(A, {**x, "v": x[guess], "cases": unknown})
            v, p = self._solved(A, {**x, "cases": cases})
            found, changes = self._cases(A, {**x, "v": v, "p": p, "cases": cases})
            return {"v": v, "p": p, "cases": found, "unsettled": x["alive"] * changes}

        guess = "v" if self._has_memory else "qd"
        reads = ("A", "c", guess, "p", "dry", "low", "high", "alive")
        return LoopStage("first_round", function, reads, ("v", "p", "cases", "unsettled"))

    def _cases(self, A: Array, x: dict[str, Array]) -> tuple[Array, Any]:
        """Return the cases of velocities and impulses, and by how much they changed."""
        found, changes = [], 0.0
        for i in range(self._masses.size):
            rho, dry, before = A[i, i], x["dry"][i], x["cases"][i]
            w = rho * x["v"][i] - x["p"][i]
            ahead = select(dry + rho * x["high"][i], w, AT_UPPER, FORWARD)
            back = select(w, rho * x["low"][i] - dry, AT_LOWER, BACKWARD)
            # A joint that would reverse is guessed to stick first, as in `passive`
            ahead = select(before, -0.5, STUCK, ahead)
            back = select(0.5, before, STUCK, back)
            case = select(dry, w, ahead, select(w, -dry, back, STUCK))
            found.append(case)
            changes = changes + abs(case - before)
        return np.array(found), changes

    def _solved(self, A: Array, x: dict[str, Array]) -> tuple[Array, Array]:
        """Return the velocities and impulses of given cases."""
        free = [_slides(case) for case in x["cases"]]
        slide = -x["cases"] * x["dry"]  # of those that slide
        fixed = [
            select(1.5, case, high, select(case, -1.5, low, 0.0))
            for case, low, high in zip(x["cases"], x["low"], x["high"], strict=True)
        ]
        B = A.copy()
        for i, is_free in enumerate(free):
            B[i, i] = select(0.5, is_free, A[i, i], IMMOVABLE)
        push = _chosen(free, x["c"] + slide, IMMOVABLE * np.array(fixed))
        v = _chosen(free, self._solution(B, push), fixed)
        return v, _chosen(free, slide, A @ v - x["c"])

    def _begin(self) -> LoopStage:
        """Prepare the sweeps."""
        return LoopStage("begin", lambda qd: {"guess": qd}, ("qd",), ("guess",))

    def _find_cases(self) -> LoopStage:
        """Update the cases of members that have not converged, and test them again."""

        def function(**x: Array) -> dict[str, Any]:
            open_ = x["unsettled"][0]
            found, changes = self._cases(self._matrix(x["A"]), x)
            cases = where(open_, found, x["cases"])
            return {"cases": cases, "unsettled": np.array([select(0.0, open_, changes, 0.0)])}

        reads = ("A", "v", "p", "dry", "low", "high", "cases", "unsettled")
        return LoopStage("find_cases", function, reads, ("cases", "unsettled"))

    def _solve(self) -> LoopStage:
        """Solve for velocities and impulses of members that have not converged."""

        def function(**x: Array) -> dict[str, Any]:
            v, p = self._solved(self._matrix(x["A"]), x)
            open_ = x["unsettled"][0]
            return {"v": where(open_, v, x["v"]), "p": where(open_, p, x["p"])}

        reads = ("A", "c", "cases", "dry", "low", "high", "v", "p", "unsettled")
        return LoopStage("solve", function, reads, ("v", "p"))

    def _sweep(self) -> LoopStage:
        """Improve the first guesses of members whose cases cycle; see `passive.sweep`.

        The sweeps start from the last guess, not from the last iterate of Newton's method.
        """

        def function(**x: Array) -> dict[str, Any]:
            A, c = self._matrix(x["A"]), x["c"]
            rows = list(zip(x["guess"], x["low"], x["high"], strict=True))
            new = [clip(v, low, high) for v, low, high in rows]
            for _ in range(SWEEPS):
                for i in range(len(new)):
                    rest = c[i] - sum((A[i, j] * new[j] for j in range(len(new)) if j != i), 0.0)
                    sliding = maximum(abs(rest) - x["dry"][i], 0.0) / A[i, i]
                    sliding = select(0.0, rest, sliding, -sliding)
                    new[i] = clip(sliding, x["low"][i], x["high"][i])
            p = A @ np.array(new) - c
            # This guess has not been solved yet, so its cases are unknown
            better = {"guess": new, "v": new, "p": p, "cases": np.full(len(new), UNKNOWN)}
            return {name: where(x["unsettled"][0], rows, x[name]) for name, rows in better.items()}

        reads = ("A", "c", "dry", "low", "high", "guess", "v", "p", "cases", "unsettled")
        return LoopStage("sweep", function, reads, ("guess", "v", "p", "cases"))

    # -- integration -----------------------------------------------------------------------------

    def _euler(self) -> LoopStage:
        def function(**x: Array) -> dict[str, Any]:
            return {"next_q": x["q"] + x["h"][0] * x["v"], "next_qd": 1.0 * x["v"]}

        return LoopStage("euler", function, ("q", "v", "h"), ("next_q", "next_qd"))

    def _runge_kutta(self) -> tuple[LoopStage, ...]:
        passive, masses = self._passive, self._masses

        def acting(**x: Array) -> dict[str, Any]:
            push = x["p"] / x["h"][0] if passive else 0.0
            viscous = masses.at_drives(x["viscous"])
            acting = masses.at_drives(x["tau"]) + push - viscous * x["v"]
            if self._has_memory:
                acting = acting - x["spring"]
            if self._load_or_offset:
                acting = acting - masses.at_drives(x["offset"])
            return {"acting": acting}

        def acceleration(x: dict[str, Array], q: str, v: str, halves: int) -> Array:
            M, b = self._motion(x, q, v, np.zeros(self.n), halves)
            b = b - x["push"] if self._pushes else b
            push = x["acting"] - masses.at_links(b) + self._pull(x, q, v)
            return self._solution(self._inertia(x, M), push)

        def quarter(i: int, q: str, v: str, share: float) -> LoopStage:
            def function(**x: Array) -> dict[str, Any]:
                a = acceleration(x, q, v, int(i > 1))
                h = share * x["h"][0]
                ends = {f"q{i + 1}": x["q"] + h * x[v], f"v{i + 1}": x["qd"] + h * a}
                return {f"a{i}": a, **ends}

            reads = dict.fromkeys((q, v, "q", "qd", *parameters))
            return LoopStage(
                f"quarter{i}", function, tuple(reads), (f"a{i}", f"q{i + 1}", f"v{i + 1}")
            )

        def last(**x: Array) -> dict[str, Any]:
            a4 = acceleration(x, "q4", "v4", 2)
            h = x["h"][0]
            q = x["q"] + h / 6.0 * (x["qd"] + 2.0 * (x["v2"] + x["v3"]) + x["v4"])
            qd = x["qd"] + h / 6.0 * (x["a1"] + 2.0 * (x["a2"] + x["a3"]) + a4)
            if not passive:
                return {"next_q": q, "next_qd": qd}
            free = [_slides(case) for case in x["cases"]]
            moved = x["q"] + h * x["v"]
            return {"next_q": _chosen(free, q, moved), "next_qd": _chosen(free, qd, x["v"])}

        state = ("q", "qd", "v2", "v3", "q4", "v4", "a1", "a2", "a3")
        held = ("v", "cases") if passive else ()
        springs = (*self._of_springs, *self._pushes)
        parameters = ("body", "gravity", "rotor", "acting", "h", *self._base, *springs)
        spring = ("spring",) if self._has_memory else ()
        reads = ("tau", "viscous", "v", "h", *self._offset, *(("p",) if passive else ()), *spring)
        return (
            LoopStage("acting", acting, reads, ("acting",)),
            quarter(1, "q", "qd", 0.5),
            quarter(2, "q2", "v2", 0.5),
            quarter(3, "q3", "v3", 1.0),
            LoopStage("quarter4", last, (*state, *held, *parameters), ("next_q", "next_qd")),
        )

    def _arrive(self) -> LoopStage:
        """Take over the new state; a member that diverged keeps its position, at rest."""
        kept = ("q", "qd", "p") if self._passive else ("q", "qd")
        memory = ("z", "slip", "elastic") if self._has_memory else ()

        def function(**x: Array) -> dict[str, Any]:
            # A NaN propagates through the sums
            size = x["next_q"] @ x["next_q"] + x["next_qd"] @ x["next_qd"]
            alive = select(size, DIVERGED**2, x["alive"][0], 0.0)
            new = {"q": x["next_q"], "qd": x["next_qd"], "p": x.get("p")}
            still = np.zeros(self._masses.size)
            old = {"q": x["q"], "qd": still, "p": still}
            present = {name: where(alive, new[name], old[name]) for name in kept}
            if self._has_memory:
                z, slip, elastic = (x[name].reshape(ELEMENTS, self.n) for name in memory)
                displacement = (present["q"] - x["q"])[self._masses.drives] / slip
                present["z"] = slipped(z, displacement, elastic).ravel()
            return {**present, "alive": np.array([alive])}

        reads = ("next_q", "next_qd", "q", "alive", *(("p",) if self._passive else ()), *memory)
        return LoopStage("arrive", function, reads, (*kept, *memory[:1], "alive"))


def base_row(reference: Array, halves: int = 0) -> Array:
    """Return the motion of the base that a row of a reference table ends with, shape (15,).

    Args:
        reference: The row.
        halves: Time after the beginning of the step, in halves of a step.
    """
    at = len(reference) - BASE_SIZE + 15 * halves
    return reference[at : at + 15]


def _slides(case: Any) -> Any:
    """Return 1 for a joint that slides, 0 for one whose velocity friction or a stop imposes."""
    return select(abs(abs(case) - 1.0), 0.5, 1.0, 0.0)


def _chosen(flags: Any, new: Any, old: Any) -> Array:
    """Return entries of `new` where the flag is 1, of `old` where it is 0."""
    choices = zip(flags, new, old, strict=True)
    return np.array([select(0.5, flag, a, b) for flag, a, b in choices])


def where(condition: Any, new: Any, old: Any) -> Array:
    """Return `new` for members whose condition is above zero, else `old`."""
    return np.array([select(0.0, condition, a, b) for a, b in zip(new, old, strict=True)])
