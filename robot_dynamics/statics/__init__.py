"""Statics: forces at the hand, efforts of the joints, and the compliance between them."""

from robot_dynamics.statics.compliance import (
    EndpointStiffness,
    endpoint_compliance,
    endpoint_stiffness,
    principal_compliances,
)
from robot_dynamics.statics.ellipsoids import (
    Ellipsoid,
    force_ellipsoid,
    inertia_ellipsoid,
    velocity_ellipsoid,
)
from robot_dynamics.statics.link_balance import CouplingForces, coupling_forces
from robot_dynamics.statics.wrenches import (
    Balance,
    balancing_wrench,
    joint_efforts,
    moved_wrench,
    wrench_transform,
)

__all__ = [
    "Balance",
    "CouplingForces",
    "Ellipsoid",
    "EndpointStiffness",
    "balancing_wrench",
    "coupling_forces",
    "endpoint_compliance",
    "endpoint_stiffness",
    "force_ellipsoid",
    "inertia_ellipsoid",
    "joint_efforts",
    "moved_wrench",
    "principal_compliances",
    "velocity_ellipsoid",
    "wrench_transform",
]
