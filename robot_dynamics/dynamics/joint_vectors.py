"""Joint vectors: from values by joint name, and back; from one number or n, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from robot_dynamics.errors import ArgumentError, ShapeError, check_known
from robot_dynamics.foundation.arrays import Array, frozen, real_numbers
from robot_dynamics.foundation.numbers import counted
from robot_dynamics.foundation.scalars import entries_of, package_of


def joint_vector(joints: Sequence[str], robot: str, values: Mapping[str, Any]) -> Array:
    """Order values as joints are; joints that are left out get 0.

    Args:
        joints: Names of the n joints.
        robot: Name of the robot, for messages.
        values: A number, or one for each of N states, by name of joint.

    Returns:
        Shape (n,) or (N, n), float64.

    Raises:
        UnknownNameError: If there is no such joint.
        ArgumentError: If a value is no number, or their numbers of states differ.
    """
    for name in values:
        check_known("joint", name, f"robot '{robot}'", joints)
    if not joints:  # NumPy stacks no empty list
        return np.zeros(0)
    columns = [real_numbers(name, values.get(name, 0.0)) for name in joints]
    try:
        return np.stack(np.broadcast_arrays(*columns), axis=-1).astype(np.float64)
    except ValueError:
        shapes = ", ".join(f"{name} {np.shape(value)}" for name, value in values.items())
        raise ArgumentError(f"joints have values of different shapes: {shapes}") from None


def by_joint(joints: Sequence[str], vector: Any) -> dict[str, Any]:
    """The entries of joint vectors (n,) or (N, n) by name: floats, or arrays (N,).

    Raises:
        ArgumentError: If there is not one entry per joint.
    """
    array = real_numbers("vector", vector)
    if array.ndim not in (1, 2) or array.shape[-1] != len(joints):
        raise ArgumentError(
            f"a joint vector must have shape ({len(joints)},) or (N, {len(joints)}), "
            f"got {array.shape}"
        )
    return {
        name: array[..., k] if array.ndim > 1 else float(array[k]) for k, name in enumerate(joints)
    }


def taken_by_name(joints: Sequence[str], robot: str, argument: Any) -> Any:
    """A mapping by joint name, or a data frame with a column per joint, as an array.

    So is a vector of numbers of CasADi. Anything else is returned as it is.

    Raises:
        UnknownNameError: If the mapping has another joint, or the frame lacks one.
    """
    if isinstance(argument, np.ndarray | list | tuple):
        return argument
    if isinstance(argument, Mapping):
        return joint_vector(joints, robot, argument)
    if package_of(argument) == "casadi":
        return entries_of(argument) if hasattr(argument, "full") else argument
    columns = getattr(argument, "columns", None)
    if columns is None or not hasattr(argument, "to_numpy"):
        return argument
    for name in joints:
        check_known("column", name, "the data frame", list(columns))
    return argument[list(joints)].to_numpy()


def per_joint(
    what: str,
    values: npt.ArrayLike,
    n: int,
    *,
    positive: bool = False,
    may_be_infinite: bool = False,
) -> Array:
    """Check a setting of n joints that cannot be negative; one number serves all joints.

    Args:
        what: Name of the setting, for the message.
        values: One number, or n.
        n: Number of joints.
        positive: Refuse zero as well.
        may_be_infinite: Accept infinity, for "no limit".

    Returns:
        Read-only array, shape (n,).

    Raises:
        ShapeError: If there are neither one nor n numbers.
        ArgumentError: If there is anything but numbers in range.
    """
    array = np.atleast_1d(real_numbers(what, values)).astype(np.float64)
    if array.shape == (1,):
        array = np.repeat(array, n)
    if array.shape != (n,):
        raise ShapeError(
            f"{what} has shape {array.shape} for {counted(n, 'joint')}; give one number a joint"
        )
    wrong = np.isnan(array) | (array < 0.0)
    if positive:
        wrong |= array == 0.0
    if not may_be_infinite:
        wrong |= np.isinf(array)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        finite = "" if may_be_infinite else "finite "
        least = "above zero" if positive else "zero or more"
        raise ArgumentError(f"{what}[{i}] is {array[i]}; give a {finite}number, {least}")
    return frozen(array)
