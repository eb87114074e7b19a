"""Statics: forces at the end effector, efforts of the joints, and the compliance between them."""

from robot_dynamics.statics.end_effector_statics import (
    Balance,
    Ellipsoid,
    EndpointStiffness,
    balancing_wrench,
    endpoint_compliance,
    endpoint_stiffness,
    force_ellipsoid,
    inertia_ellipsoid,
    joint_efforts,
    moved_wrench,
    principal_compliances,
    velocity_ellipsoid,
    wrench_transform,
)
from robot_dynamics.statics.link_balance import CouplingForces, coupling_forces

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
