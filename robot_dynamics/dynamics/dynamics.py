"""Dynamics: the equations of one robot, compiled, behind ordinary methods.

This is the class that most users meet. A kernel is traced, simplified and
compiled when it is first asked for, and kept on disk for the next time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.compiler.kernel import Kernel
from robot_dynamics.compiler.native.entry.native_entry import (
    WithNativeMethods,
    enter,
    entries_of,
    native_method,
)
from robot_dynamics.dynamics.compiled_robot import SOLVED, CompiledRobot
from robot_dynamics.dynamics.joint_vectors import by_joint, joint_vector, taken_by_name
from robot_dynamics.dynamics.results import (
    CentreOfMass,
    CentroidalMatrix,
    Energy,
    ForwardDerivatives,
    ForwardSecondDerivatives,
    FramePlacement,
    InverseDerivatives,
    InverseRates,
    InverseSecondDerivatives,
    Momentum,
)
from robot_dynamics.dynamics.variant import Variant, payload_numbers
from robot_dynamics.errors import ArgumentError
from robot_dynamics.foundation.arrays import Array
from robot_dynamics.foundation.lazy import cached_property, imported
from robot_dynamics.robot import manifold
from robot_dynamics.robot.base_motion import BaseMotion
from robot_dynamics.robot.endpoint import only_tip
from robot_dynamics.spatial import Inertia

if TYPE_CHECKING:
    from robot_dynamics.algorithms.base_parameters import BaseParameters


Base = BaseMotion | npt.ArrayLike | None
"""Motion of a moving base, or its numbers (`BaseMotion.numbers`), shape (15,) or (N, 15)."""


class Dynamics(CompiledRobot, metaclass=WithNativeMethods):
    """Compiled equations of motion of a robot.

    Every method takes one state or many: shape (n,), (N, n) or (N, k, n) with n = `robot.dof`
    entries in the order of `robot.joint_names`, and answers in the same shape. A mapping by joint
    name, in which joints left out are 0, or a data frame with a column per joint will do as well.
    Positions are in rad or m, efforts in N m or N. Followers of mimic joints move with their
    leaders, whose efforts carry theirs.

    Args:
        robot: Any robot.
        formulation: One of `robot_dynamics.formulations.FORMULATIONS`, or a function of the same
            signature, such as a `SimplifiedModel`.
        base: "fixed", "moving" or "floating"; by default as the robot has it. On a moving base,
            methods take its motion as `base`, and return the wrench that it exerts on the robot
            beside efforts and accelerations. On a floating one, q, qd, qdd and tau begin with
            those of the base: see `free_joints`.
        cache: Keep compiled kernels on disk.
        backend: Builds kernels, as a `robot_dynamics.compiler.kernel.Backend`; by default of
            native code.
        search: Search for the frames and the grouping of parameters that take the fewest
            operations, when a kernel of the default formulation is first built: a second for an
            arm, half a minute for a humanoid. Without it they are chosen by rule.
        progress: Called during the search with the number of steps done and of all steps.

    Raises:
        UnknownNameError: If there is no such formulation.

    Examples:
        >>> from robot_dynamics import Dynamics, read_urdf
        >>> from robot_dynamics.robot import find_robot
        >>> arm = Dynamics(read_urdf(find_robot("planar_2r")))
        >>> arm
        Dynamics('planar_2r', 2 joints, augmented_body)
        >>> arm.gravity([0.0, 0.0]).round(2)  # stretched out horizontally
        array([166.77,  39.24])
    """

    # -- torques of motions -----------------------------------------------------------------

    @native_method
    def inverse(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        qdd: npt.ArrayLike,
        *,
        wrench: npt.ArrayLike | None = None,
        frame: str | None = None,
        payload: Inertia | None = None,
        gravity: npt.ArrayLike | None = None,
        base: Base = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Compute the joint efforts of a motion: tau = M qdd + b.

        A wrench, payload or gravity vector given here is an input of the compiled equations:
        another value needs no compilation.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m; (nq,) or (N, nq) on a floating or
                planar base.
            qd: Joint velocities, shape (n,) or (N, n), rad/s or m/s.
            qdd: Joint accelerations, same shape, rad/s^2 or m/s^2.
            wrench: Force (N) and moment (N m) about the origin of `frame` that the robot exerts on
                its surroundings there, in the axes of `frame`, shape (6,) or (N, 6).
            frame: Link or named frame of the wrench and payload; by default the only tip.
            payload: Load that `frame` carries, in that frame.
            gravity: Gravitational acceleration in axes of the root link, shape (3,) or (N, 3),
                m/s^2; by default `robot.gravity`.
            base: Motion of the root link, for a moving base alone.
            out: Array to write the result to.
            threads: Largest number of threads for many states.

        Returns:
            Joint efforts, shape as qd, N m or N; on a moving base, a named tuple with the wrench of
            the base.

        Raises:
            ShapeError: If a shape does not fit; the message names the argument.
            ArgumentError: If an argument is not a finite number, or `frame` is needed.
            UnknownNameError: If there is no such frame.

        Examples:
            >>> from robot_dynamics import Dynamics, read_urdf
            >>> from robot_dynamics.robot import find_robot
            >>> arm = Dynamics(read_urdf(find_robot("planar_2r")))
            >>> arm.inverse([0.3, 0.9], [0.7, -1.1], [1.5, -0.4]).round(2)
            array([163.62,  22.45])
            >>> lifting = [0.0, 0.0, 50.0, 0.0, 0.0, 0.0]  # N along z of the last link
            >>> arm.inverse([0.0, 0.0], [0.0, 0.0], [0.0, 0.0], wrench=lifting).round(2)
            array([266.77,  89.24])
        """
        motion = (q, qd, qdd)
        return self._call("inverse", motion, wrench, frame, payload, gravity, out, threads, base)

    @native_method
    def bias(self, q: npt.ArrayLike, qd: npt.ArrayLike, *, base: Base = None) -> Array:
        """Compute the joint efforts at zero acceleration: b of tau = M qdd + b.

        They contain Coriolis, centrifugal and gravity efforts.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m; (nq,) or (N, nq) on a floating or
                planar base.
            qd: Joint velocities, shape (n,) or (N, n), rad/s or m/s.
            base: Motion of the root link, for a moving base alone.

        Returns:
            Joint efforts, shape as qd, N m or N; on a moving base, a named tuple with the wrench of
            the base.

        Raises:
            ShapeError: If a shape does not fit; the message names the argument.
            ArgumentError: If an argument is not a finite number, or `base` is missing on a moving
                base.
        """
        return self._call("bias", (q, qd), base=base)

    @native_method
    def gravity(self, q: npt.ArrayLike, *, base: Base = None) -> Array:
        """Compute the joint efforts that hold the robot at rest.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m; (nq,) or (N, nq) on a floating or
                planar base.
            base: Motion of the root link, for a moving base alone.

        Returns:
            Joint efforts, shape (n,) or (N, n), N m or N; on a moving base, a named tuple with the
            wrench of the base.

        Raises:
            ShapeError: If a shape does not fit; the message names the argument.
            ArgumentError: If an argument is not a finite number, or `base` is missing on a moving
                base.

        Examples:
            >>> from robot_dynamics import Dynamics, read_urdf
            >>> from robot_dynamics.robot import find_robot
            >>> arm = Dynamics(read_urdf(find_robot("ur5")))
            >>> arm.gravity([0.0, -1.0, 1.0, 0.0, 0.0, 0.0]).round(1) + 0.0
            array([  0. , -39.2, -15.7,   0. ,   0. ,   0. ])
        """
        return self._call("gravity", (q,), base=base)

    @native_method
    def inverse_derivatives(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike, *, base: Base = None
    ) -> InverseDerivatives:
        """Differentiate the joint efforts of a motion by positions, velocities and accelerations.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m; (nq,) or (N, nq) on a floating or
                planar base.
            qd: Joint velocities, shape (n,) or (N, n), rad/s or m/s.
            qdd: Joint accelerations, shape (n,) or (N, n), rad/s^2 or m/s^2.
            base: Motion of the root link, for a moving base alone.

        Returns:
            Named tuple of dtau_dq, dtau_dqd and M, shape (n, n) each, or (N, n, n): row i, column j
            is the derivative of tau[i] by q[j].

        Raises:
            ShapeError: If a shape does not fit; the message names the argument.
            ArgumentError: If an argument is not a finite number, or `base` is missing on a moving
                base.
        """
        return self._call("inverse_derivatives", (q, qd, qdd), base=base)

    @native_method
    def inverse_rates(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        qdd: npt.ArrayLike,
        jerk: npt.ArrayLike,
        snap: npt.ArrayLike,
        *,
        wrench: npt.ArrayLike | None = None,
        frame: str | None = None,
        payload: Inertia | None = None,
        gravity: npt.ArrayLike | None = None,
    ) -> InverseRates:
        """Compute the joint efforts of a motion, and differentiate them twice by time.

        Motors of elastic joints need them; see docs/elastic-joints.md.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m.
            qd: Joint velocities, same shape, rad/s or m/s.
            qdd: Joint accelerations, same shape, rad/s^2 or m/s^2.
            jerk: Their derivatives by time, shape (n,) or (N, n), rad/s^3 or m/s^3.
            snap: The derivatives of these, rad/s^4 or m/s^4.
            wrench: As in `inverse`, constant in time in the axes of `frame`.
            frame: Link or named frame of the wrench and payload; by default the only tip.
            payload: Load that `frame` carries, in that frame.
            gravity: As in `inverse`, constant in time.

        Returns:
            Named tuple of tau, rate and second_rate, shape (n,) or (N, n) each.

        Raises:
            RobotError: If the robot has floating or planar joints.
        """
        return self._call(
            "inverse_rates", (q, qd, qdd, jerk, snap), wrench, frame, payload, gravity
        )

    @native_method
    def inverse_second_derivatives(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike, *, base: Base = None
    ) -> InverseSecondDerivatives:
        """Differentiate the joint efforts of a motion twice.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m; (nq,) or (N, nq) on a floating or
                planar base.
            qd: Joint velocities, shape (n,) or (N, n), rad/s or m/s.
            qdd: Joint accelerations, shape (n,) or (N, n), rad/s^2 or m/s^2.
            base: Motion of the root link, for a moving base alone.

        Returns:
            Named tuple of d2tau_dq2, d2tau_dqdqd, d2tau_dqd2 and dM_dq, shape (n, n, n) each, or
            (N, n, n, n): entry i, j, k of d2tau_dqdqd is the derivative of tau[i] by q[j] and
            qd[k], that of dM_dq the derivative of M[i, j] by q[k].

        Raises:
            ShapeError: If a shape does not fit; the message names the argument.
            ArgumentError: If an argument is not a finite number, or `base` is missing on a moving
                base.
        """
        return self._call("inverse_second_derivatives", (q, qd, qdd), base=base)

    # -- motions of torques -----------------------------------------------------------------

    @native_method
    def mass_matrix(self, q: npt.ArrayLike) -> Array:
        """Compute M of tau = M qdd + b, symmetric.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m; (nq,) or (N, nq) on a floating or
                planar base.

        Returns:
            Shape (n, n), or (N, n, n) for many states; kg m^2, kg m or kg by the joints' types.

        Raises:
            ShapeError: If a shape does not fit; the message names the argument.
            ArgumentError: If an argument is not a finite number.

        Examples:
            >>> from robot_dynamics import Dynamics, read_urdf
            >>> from robot_dynamics.robot import find_robot
            >>> arm = Dynamics(read_urdf(find_robot("planar_2r")))
            >>> arm.mass_matrix([0.0, 0.0]).round(2)
            array([[22.1,  6.7],
                   [ 6.7,  2.7]])
        """
        return self._call("mass_matrix", (q,))

    @native_method
    def forward(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        tau: npt.ArrayLike,
        *,
        wrench: npt.ArrayLike | None = None,
        frame: str | None = None,
        payload: Inertia | None = None,
        gravity: npt.ArrayLike | None = None,
        base: Base = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Compute the joint accelerations that efforts produce.

        The route depends on the formulation: see `robot_dynamics.formulations.FORWARD_ROUTES`.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m; (nq,) or (N, nq) on a floating or
                planar base.
            qd: Joint velocities, shape (n,) or (N, n), rad/s or m/s.
            tau: Joint efforts, shape (n,) or (N, n), N m or N.
            wrench: Force (N) and moment (N m) that the robot exerts at `frame`, in its axes, shape
                (6,) or (N, 6).
            frame: Link or named frame of the wrench and payload; by default the only tip.
            payload: Load that `frame` carries, in that frame.
            gravity: Gravitational acceleration in axes of the root link, shape (3,) or (N, 3),
                m/s^2; by default `robot.gravity`.
            base: Motion of the root link, for a moving base alone.
            out: Array to write the result to.
            threads: Largest number of threads for many states.

        Returns:
            Joint accelerations, shape as qd, rad/s^2 or m/s^2; on a moving base, a named tuple with
            the wrench of the base.

        Raises:
            SingularMassMatrixError: If a joint moves no inertia.
            ShapeError: If a shape does not fit; the message names the argument.
            ArgumentError: If an argument is not a finite number, or `frame` is needed.
            UnknownNameError: If there is no such frame.

        Examples:
            >>> from robot_dynamics import Dynamics, read_urdf
            >>> from robot_dynamics.robot import find_robot
            >>> arm = Dynamics(read_urdf(find_robot("planar_2r")))
            >>> arm.forward([0.0, 0.0], [0.0, 0.0], [166.77, 39.24]).round(6) + 0.0
            array([0., 0.])
        """
        motion = (q, qd, tau)
        return self._call("forward", motion, wrench, frame, payload, gravity, out, threads, base)

    @native_method
    def forward_derivatives(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, tau: npt.ArrayLike, *, base: Base = None
    ) -> ForwardDerivatives:
        """Differentiate the joint accelerations that efforts produce.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m; (nq,) or (N, nq) on a floating or
                planar base.
            qd: Joint velocities, shape (n,) or (N, n), rad/s or m/s.
            tau: Joint efforts, shape (n,) or (N, n), N m or N.
            base: Motion of the root link, for a moving base alone.

        Returns:
            Named tuple of dqdd_dq, dqdd_dqd and dqdd_dtau (the inverse of M), shapes as in
            `inverse_derivatives`.

        Raises:
            SingularMassMatrixError: If a joint accelerates nothing.
            ShapeError: If a shape does not fit; the message names the argument.
            ArgumentError: If an argument is not a finite number, or `base` is missing on a moving
                base.
        """
        return self._call("forward_derivatives", (q, qd, tau), base=base)

    @native_method
    def forward_second_derivatives(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, tau: npt.ArrayLike, *, base: Base = None
    ) -> ForwardSecondDerivatives:
        """Differentiate the joint accelerations that efforts produce twice.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m; (nq,) or (N, nq) on a floating or
                planar base.
            qd: Joint velocities, shape (n,) or (N, n), rad/s or m/s.
            tau: Joint efforts, shape (n,) or (N, n), N m or N.
            base: Motion of the root link, for a moving base alone.

        Returns:
            Named tuple of d2qdd_dq2, d2qdd_dqdqd, d2qdd_dqd2 and d2qdd_dtaudq, shapes as in
            `inverse_second_derivatives`: entry i, j, k of d2qdd_dtaudq is the derivative of
            qdd[i] by tau[j] and q[k].

        Raises:
            RobotError: If the robot has more than twelve joints.
            SingularMassMatrixError: If a joint accelerates nothing.
            ShapeError: If a shape does not fit; the message names the argument.
        """
        return self._call("forward_second_derivatives", (q, qd, tau), base=base)

    @native_method
    def energy(self, q: npt.ArrayLike, qd: npt.ArrayLike, *, base: Base = None) -> Energy:
        """Compute kinetic and potential energy, J.

        The potential energy is that of all links in the field of `robot.gravity`, zero at the
        height of the root link's origin.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m; (nq,) or (N, nq) on a floating or
                planar base.
            qd: Joint velocities, shape (n,) or (N, n), rad/s or m/s.
            base: Motion of the root link, for a moving base alone.

        Returns:
            Named tuple of T and U, scalars, or shape (N,).

        Raises:
            ShapeError: If a shape does not fit; the message names the argument.
            ArgumentError: If an argument is not a finite number, or `base` is missing on a moving
                base.
        """
        return self._call("energy", (q, qd), base=base)

    @native_method
    def momentum(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        *,
        wrench: npt.ArrayLike | None = None,
        frame: str | None = None,
        payload: Inertia | None = None,
        gravity: npt.ArrayLike | None = None,
        base: Base = None,
    ) -> Momentum:
        """Compute the generalized momentum and its rate of change.

        With joint efforts tau, and efforts tau_ext by contacts, dp/dt = tau + tau_ext + rate.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m; (nq,) or (N, nq) on a floating or
                planar base.
            qd: Joint velocities, shape (n,) or (N, n), rad/s or m/s.
            wrench: Force (N) and moment (N m) that the robot exerts at `frame`, in its axes, shape
                (6,) or (N, 6).
            frame: Link or named frame of the wrench and payload; by default the only tip.
            payload: Load that `frame` carries, in that frame.
            gravity: Gravitational acceleration in axes of the root link, shape (3,) or (N, 3),
                m/s^2; by default `robot.gravity`.
            base: Motion of the root link, for a moving base alone.

        Returns:
            Named tuple of p = M qd and rate = C^T qd - g, shape (n,) or (N, n) each.

        Raises:
            ShapeError: If a shape does not fit; the message names the argument.
            ArgumentError: If an argument is not a finite number, or `frame` is needed.
            UnknownNameError: If there is no such frame.
        """
        return self._call("momentum", (q, qd), wrench, frame, payload, gravity, base=base)

    @native_method
    def centre_of_mass(self, q: npt.ArrayLike) -> CentreOfMass:
        """Compute the centre of mass of all links but the root, and its Jacobian.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m; (nq,) or (N, nq) on a floating or
                planar base.

        Returns:
            Named tuple of centre, shape (3,) or (N, 3), m, in the root link, and jacobian, shape
            (3, n) or (N, 3, n): its velocity for unit joint velocities, in axes of the root link.

        Raises:
            ShapeError: If a shape does not fit; the message names the argument.
            ArgumentError: If an argument is not a finite number.
        """
        return self._call("centre_of_mass", (q,))

    @native_method
    def centroidal_matrix(self, q: npt.ArrayLike) -> CentroidalMatrix:
        """Compute the centroidal momentum matrix: `centroidal_momentum` is A @ qd.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m; (nq,) or (N, nq) on a floating or
                planar base.

        Returns:
            Named tuple of A, shape (6, n) or (N, 6, n), and the centre of mass.

        Raises:
            ShapeError: If a shape does not fit; the message names the argument.
            ArgumentError: If an argument is not a finite number.
        """
        return self._call("centroidal_matrix", (q,))

    @native_method
    def centroidal_momentum(self, q: npt.ArrayLike, qd: npt.ArrayLike) -> Array:
        """Compute the momentum of all links about their centre of mass.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m; (nq,) or (N, nq) on a floating or
                planar base.
            qd: Joint velocities, shape (n,) or (N, n), rad/s or m/s.

        Returns:
            Momentum, N s, over angular momentum, N m s, in axes of the root link, shape (6,) or
            (N, 6).

        Raises:
            ShapeError: If a shape does not fit; the message names the argument.
            ArgumentError: If an argument is not a finite number.
        """
        return self._call("centroidal_momentum", (q, qd))

    # -- the manifold of q ------------------------------------------------------------------

    def neutral(self) -> Array:
        """Return the positions with all joints at zero, shape (nq,).

        Quaternions are (0, 0, 0, 1).
        """
        return manifold.neutral(self.robot)

    def integrate(self, q: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """Move from q with constant velocities for unit time, on the manifold of q.

        Args:
            q: Positions, shape (nq,) or (N, nq), rad or m.
            v: Velocities times time, shape (n,) or (N, n), rad or m.

        Returns:
            Positions, shape as q; quaternions, and cosines with sines, keep length one.
        """
        return manifold.integrate(self.robot, *self._vectors(q, v))

    def difference(self, q0: npt.ArrayLike, q1: npt.ArrayLike) -> Array:
        """Compute the velocities that lead from q0 to q1 in unit time; `integrate` undoes it.

        Args:
            q0: Positions, shape (nq,) or (N, nq), rad or m.
            q1: Positions, same shape.

        Returns:
            Velocities times time, shape (n,) or (N, n), rad or m.
        """
        return manifold.difference(self.robot, *self._vectors(q0, q1))

    # -- parameters and kinematics ----------------------------------------------------------

    @native_method
    def regressor(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike, *, base: Base = None
    ) -> Array:
        """Compute Y of tau = Y @ values, with one column per base parameter.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m; (nq,) or (N, nq) on a floating or
                planar base.
            qd: Joint velocities, shape (n,) or (N, n), rad/s or m/s.
            qdd: Joint accelerations, shape (n,) or (N, n), rad/s^2 or m/s^2.
            base: Motion of the root link, for a moving base alone.

        Returns:
            Shape (n, p), or (N, n, p); the columns are in the order of `base_parameters`. On a
            moving base six rows for its wrench come first.

        Raises:
            ShapeError: If a shape does not fit; the message names the argument.
            ArgumentError: If an argument is not a finite number, or `base` is missing on a moving
                base.

        Examples:
            >>> import numpy as np
            >>> from robot_dynamics import Dynamics, read_urdf
            >>> from robot_dynamics.robot import find_robot
            >>> arm = Dynamics(read_urdf(find_robot("planar_2r")))
            >>> q, qd, qdd = [0.3, 0.9], [0.7, -1.1], [1.5, -0.4]
            >>> Y = arm.regressor(q, qd, qdd)
            >>> Y.shape
            (2, 6)
            >>> values = [parameter.value for parameter in arm.base_parameters]
            >>> np.allclose(Y @ values, arm.inverse(q, qd, qdd))
            True
        """
        return self._call("regressor", (q, qd, qdd), base=base)

    @cached_property
    def base_parameters(self) -> BaseParameters:
        """The fewest numbers that the efforts depend on, each with what it gathers.

        On a moving base, those of the base wrench too.
        """
        robot = self.robot.with_floating_base() if self.base == "moving" else self.robot
        found: BaseParameters = imported(
            "robot_dynamics.algorithms.base_parameters"
        ).base_parameters(robot)
        return found

    @cached_property
    def on_moving_base(self) -> Dynamics:
        """The equations of the same robot on a moving base."""
        if self.base == "moving":
            return self
        how: dict[str, Any] = {"cache": self._cache, "backend": self._backend}
        return Dynamics(self.robot, self.formulation, base="moving", search=self._search, **how)

    def pose(self, q: npt.ArrayLike, frame: str | None = None) -> FramePlacement:
        """Compute where a link or named frame is, by default the only tip.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m; (nq,) or (N, nq) on a floating or
                planar base.
            frame: Link or named frame; by default the only tip.

        Returns:
            Named tuple of rotation, shape (3, 3) or (N, 3, 3), and position, shape (3,) or (N, 3),
            m, in the root link.

        Raises:
            UnknownNameError: If there is no such frame.
            ArgumentError: If no frame is given and the robot has several tips.

        Examples:
            >>> from robot_dynamics import Dynamics, read_urdf
            >>> from robot_dynamics.robot import find_robot
            >>> arm = Dynamics(read_urdf(find_robot("planar_2r")))
            >>> arm.pose([0.5, -0.5], "endpoint").position.round(3) + 0.0
            array([1.878, 0.   , 0.479])
        """
        return self._kernel_at("pose", frame)(*self._vectors(q))

    def jacobian(self, q: npt.ArrayLike, frame: str | None = None) -> Array:
        """Compute the geometric Jacobian of a link or named frame, by default the only tip.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m; (nq,) or (N, nq) on a floating or
                planar base.
            frame: Link or named frame; by default the only tip.

        Returns:
            Shape (6, n) or (N, 6, n): linear over angular velocity of the frame's origin, in axes
            of the root link, for unit joint velocities.

        Raises:
            UnknownNameError: If there is no such frame.
            ArgumentError: If no frame is given and the robot has several tips.

        Examples:
            >>> from robot_dynamics import Dynamics, read_urdf
            >>> from robot_dynamics.robot import find_robot
            >>> arm = Dynamics(read_urdf(find_robot("planar_2r")))
            >>> J = arm.jacobian([0.5, -0.5], "endpoint")
            >>> J[[0, 2]].round(3) + 0.0  # velocities along x and z
            array([[-0.479,  0.   ],
                   [ 1.878,  1.   ]])
        """
        return self._kernel_at("jacobian", frame)(*self._vectors(q))

    def jacobian_derivative(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, frame: str | None = None
    ) -> Array:
        """Differentiate the Jacobian of a frame in time.

        The acceleration of the frame is J @ qdd + Jd @ qd.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m; (nq,) or (N, nq) on a floating or
                planar base.
            qd: Joint velocities, shape (n,) or (N, n), rad/s or m/s.
            frame: Link or named frame; by default the only tip.

        Returns:
            Shape (6, n) or (N, 6, n), per s, rows and axes as in `jacobian`.

        Raises:
            UnknownNameError: If there is no such frame.
            ArgumentError: If no frame is given and the robot has several tips.
        """
        return self._kernel_at("jacobian_derivative", frame)(*self._vectors(q, qd))

    def drift(self, q: npt.ArrayLike, qd: npt.ArrayLike, frame: str | None = None) -> Array:
        """Compute the acceleration of a frame without joint accelerations, Jd @ qd.

        Args:
            q: Joint positions, shape (n,) or (N, n), rad or m; (nq,) or (N, nq) on a floating or
                planar base.
            qd: Joint velocities, shape (n,) or (N, n), rad/s or m/s.
            frame: Link or named frame; by default the only tip.

        Returns:
            Linear over angular acceleration, shape (6,) or (N, 6), axes of the root link.

        Raises:
            UnknownNameError: If there is no such frame.
            ArgumentError: If no frame is given and the robot has several tips.
        """
        return self._kernel_at("drift", frame)(*self._vectors(q, qd))

    # -- joints by name ---------------------------------------------------------------------

    def vector(
        self, values: Mapping[str, npt.ArrayLike] | None = None, /, **named: npt.ArrayLike
    ) -> Array:
        """Order values by joint name as `robot.joint_names` are; what is left out is 0.

        Args:
            values: A number, or one for each of N states, by name of joint.
            named: The same, for joints whose names are Python names.

        Returns:
            Shape (n,) or (N, n).

        Raises:
            UnknownNameError: If there is no such joint.

        Examples:
            >>> from robot_dynamics import Dynamics, read_urdf
            >>> from robot_dynamics.robot import find_robot
            >>> arm = Dynamics(read_urdf(find_robot("planar_2r")))
            >>> arm.vector(joint_2=0.5)
            array([0. , 0.5])
        """
        return joint_vector(self.robot.joint_names, self.robot.name, {**(values or {}), **named})

    def named(self, vector: npt.ArrayLike) -> dict[str, Any]:
        """Return the entries of joint vectors by joint name.

        Args:
            vector: One value per joint, shape (n,) or (N, n).

        Returns:
            Dictionary by joint name, of floats, or of arrays (N,).

        Raises:
            ArgumentError: If there is not one entry per joint.
        """
        return by_joint(self.robot.joint_names, vector)

    def _vectors(self, *arguments: Any) -> tuple[Any, ...]:
        """Arguments with those that are given by joint name as arrays."""
        if all(type(argument) is np.ndarray for argument in arguments):
            return arguments
        joints, name = self.robot.joint_names, self.robot.name
        return tuple([taken_by_name(joints, name, argument) for argument in arguments])

    # -- from a call to its kernel ----------------------------------------------------------

    @property
    def _takes_entries(self) -> bool:
        """Return whether native entries take calls: none takes the motion of a base."""
        return self.base != "moving"

    def _call(
        self,
        name: str,
        inputs: tuple[npt.ArrayLike, ...],
        wrench: npt.ArrayLike | None = None,
        frame: str | None = None,
        payload: Inertia | None = None,
        gravity: npt.ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
        base: Base = None,
    ) -> Any:
        """Call the kernel of a method, with the inputs that the caller gives beside the motion.

        Each combination of frame and inputs finds its kernel once: a control loop that gives a
        payload at every cycle pays for one look into a dictionary.
        """
        try:
            kernel = self._resolved[name, frame, wrench is None, payload is None, gravity is None]
        except (KeyError, TypeError, ValueError):  # the last two of a frame that is no name
            kernel = self._resolve(name, wrench, frame, payload, gravity)
        beside: tuple[npt.ArrayLike, ...] = () if wrench is None else (wrench,)
        if base is not None or self._takes_base(name):
            beside = (self._base_numbers(name, base), *beside)
        if payload is not None:
            beside += (self._payload_numbers(payload),)
        if gravity is not None:
            beside += (gravity,)
        for values in inputs:
            if type(values) is not np.ndarray:
                inputs = self._vectors(*inputs)
                break
        if out is None and threads is None:  # keywords take 0.15 us
            return kernel(*inputs, *beside)
        return kernel(*inputs, *beside, out=out, threads=threads)

    def _resolve(
        self,
        name: str,
        wrench: npt.ArrayLike | None,
        frame: str | None,
        payload: Inertia | None,
        gravity: npt.ArrayLike | None,
    ) -> Kernel:
        """Find the kernel of a method for `_call`, and check what is the same in every call.

        The native entry that takes the place of the method goes to the kernel: from the second
        call on, an ordinary call reaches native code without a Python frame in between.
        Any other call (keywords, lists, batches) comes back to the method.
        """
        if name in SOLVED:
            self._check_invertible()
        if wrench is None and payload is None and gravity is None and frame is None:
            kernel = self.kernel(name)
            if kernel.has_entry and self._takes_entries:
                enter(self, name, kernel)
            else:
                self._resolved[name, None, True, True, True] = kernel
                if self._takes_entries:
                    self._resolved[name] = kernel
            return kernel
        place = None
        if wrench is not None or payload is not None:
            place = only_tip(self._tree) if frame is None else frame
        elif frame is not None:
            raise ArgumentError(f"frame '{frame}' is given without a wrench or payload there")
        if payload is not None:
            self._payload_numbers(payload)  # refuse what is no load before the frame
        variant = Variant(
            wrench_at=None if wrench is None else place,
            payload_at=None if payload is None else place,
            gravity=gravity is not None,
        )
        kernel = self.kernel(name, variant)
        self._resolved[name, frame, wrench is None, payload is None, gravity is None] = kernel
        if kernel.has_entry and self._takes_entries:
            enter(self, name, kernel, frame)
        return kernel

    def _kernel_at(self, name: str, frame: str | None) -> Kernel:
        """Find the kernel of a method about a frame, once for each frame."""
        try:
            return self._resolved[name, frame]
        except (KeyError, TypeError, ValueError):  # as in `_call`
            place = only_tip(self._tree) if frame is None else frame
            kernel = self._resolved[name, frame] = self.kernel(name, Variant(frame=place))
            return kernel

    def _base_numbers(self, name: str, base: Base) -> npt.ArrayLike:
        """The input `base` of a kernel on a moving base.

        Raises:
            ArgumentError: If it is missing, or the base is none that takes it.
        """
        if self.base != "moving":
            raise ArgumentError(
                f"base is given, but the base of robot '{self.robot.name}' is {self.base}; make "
                'Dynamics(robot, base="moving")'
            )
        if base is None:
            raise ArgumentError(f"{name} needs base=BaseMotion(...): the base moves")
        return base.numbers(self.robot) if isinstance(base, BaseMotion) else base

    def _payload_numbers(self, payload: Inertia) -> Array:
        """The input `payload` of a load; that of the last load is kept."""
        load, numbers = self._last_payload
        if load is not payload:
            numbers = payload_numbers(payload)
            self._last_payload = payload, numbers
            entries_of(self).remember(payload, numbers)
        return numbers
