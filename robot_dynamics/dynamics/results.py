"""Named tuples that kernels with several results return; they pickle like any other."""

from __future__ import annotations

from typing import NamedTuple

from robot_dynamics.compiler.kernel import results_of
from robot_dynamics.foundation.arrays import Array


@results_of("pose")
class FramePlacement(NamedTuple):
    """Where a frame is.

    Attributes:
        rotation: Its axes in the root link, shape (3, 3) or (N, 3, 3).
        position: Its origin in the root link, shape (3,) or (N, 3), m.
    """

    rotation: Array
    position: Array


@results_of("energy")
class Energy(NamedTuple):
    """Mechanical energy, J, of shape () or (N,).

    Attributes:
        T: Kinetic energy.
        U: Potential energy in the field of `robot.gravity`.
    """

    T: Array
    U: Array


@results_of("momentum")
class Momentum(NamedTuple):
    """Generalized momentum, shape (n,) or (N, n) each.

    Attributes:
        p: M qd, N m s or N s.
        rate: Its rate of change without joint efforts, C^T qd - g, N m or N.
    """

    p: Array
    rate: Array


@results_of("inverse_rates")
class InverseRates(NamedTuple):
    """Joint efforts of a motion and their derivatives by time, shape (n,) or (N, n) each.

    Attributes:
        tau: Efforts, N m or N.
        rate: Their rates of change, per s.
        second_rate: The rates of change of these, per s^2.
    """

    tau: Array
    rate: Array
    second_rate: Array


@results_of("inverse_derivatives")
class InverseDerivatives(NamedTuple):
    """Derivatives of joint efforts, shape (n, n) or (N, n, n): row by effort, column by joint.

    Attributes:
        dtau_dq: By positions.
        dtau_dqd: By velocities.
        M: By accelerations: the mass matrix.
    """

    dtau_dq: Array
    dtau_dqd: Array
    M: Array


@results_of("forward_derivatives")
class ForwardDerivatives(NamedTuple):
    """Derivatives of joint accelerations, shape (n, n) or (N, n, n): row by acceleration.

    Attributes:
        dqdd_dq: By positions.
        dqdd_dqd: By velocities.
        dqdd_dtau: By efforts: the inverse of the mass matrix.
    """

    dqdd_dq: Array
    dqdd_dqd: Array
    dqdd_dtau: Array


@results_of("inverse_second_derivatives")
class InverseSecondDerivatives(NamedTuple):
    """Second derivatives of joint efforts, shape (n, n, n) or (N, n, n, n): entry i of effort i.

    Those by accelerations and velocities, and by accelerations twice, are zero.

    Attributes:
        d2tau_dq2: By positions j and k.
        d2tau_dqdqd: By position j and velocity k.
        d2tau_dqd2: By velocities j and k.
        dM_dq: By acceleration j and position k: of the mass matrix.
    """

    d2tau_dq2: Array
    d2tau_dqdqd: Array
    d2tau_dqd2: Array
    dM_dq: Array


@results_of("forward_second_derivatives")
class ForwardSecondDerivatives(NamedTuple):
    """Second derivatives of joint accelerations, shape (n, n, n) or (N, n, n, n).

    Entry i is of acceleration i. Those by efforts and velocities, and by efforts twice, are zero.

    Attributes:
        d2qdd_dq2: By positions j and k.
        d2qdd_dqdqd: By position j and velocity k.
        d2qdd_dqd2: By velocities j and k.
        d2qdd_dtaudq: By effort j and position k: of the inverse mass matrix.
    """

    d2qdd_dq2: Array
    d2qdd_dqdqd: Array
    d2qdd_dqd2: Array
    d2qdd_dtaudq: Array


@results_of("centre_of_mass")
class CentreOfMass(NamedTuple):
    """Centre of mass of all links but the root.

    Attributes:
        centre: In the root link, shape (3,) or (N, 3), m.
        jacobian: Shape (3, n) or (N, 3, n), axes of the root link.
    """

    centre: Array
    jacobian: Array


@results_of("centroidal_matrix")
class CentroidalMatrix(NamedTuple):
    """Momentum of all links about their centre of mass, for unit joint velocities.

    Attributes:
        A: Linear over angular, axes of the root link, shape (6, n) or (N, 6, n).
        centre: Centre of mass in the root link, shape (3,) or (N, 3), m.
    """

    A: Array
    centre: Array
