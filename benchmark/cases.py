"""The robots that are timed, as one URDF text that this package and every peer reads."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from lxml import etree

from robot_dynamics import Robot, read_urdf
from robot_dynamics.robot import find_robot

# What no dynamics depends on and some readers stumble over: meshes, simulator and ROS extensions
_LEAVE_OUT = ("visual", "collision", "transmission", "gazebo", "material", "mimic")


@dataclass(frozen=True)
class Source:
    """Where a robot comes from and which of its joints are held fixed."""

    title: str
    robot: str
    locked: tuple[str, ...] = ()


SOURCES = {
    "ur5": Source("UR5", "ur5"),
    "panda": Source(
        "Panda, fingers locked", "panda", ("panda_finger_joint1", "panda_finger_joint2")
    ),
    "tiago": Source("TIAGo without hand", "tiago_no_hand"),
    "talos": Source("Talos reduced", "talos_reduced"),
}
"""The robots by the name that `--robots` takes; all from the package example-robot-data."""


@dataclass(frozen=True)
class Case:
    """A robot to time, with one random state.

    Attributes:
        key: Short name.
        title: Name in tables.
        path: URDF file, identical for all contenders.
        robot: The robot that this package reads from it.
        q: Joint positions, shape (n,), in the order of `robot.joint_names`.
        qd: Joint velocities, shape (n,).
        qdd: Joint accelerations, shape (n,).
        tau: Joint efforts, shape (n,).
    """

    key: str
    title: str
    path: Path
    robot: Robot
    q: npt.NDArray[np.float64]
    qd: npt.NDArray[np.float64]
    qdd: npt.NDArray[np.float64]
    tau: npt.NDArray[np.float64]

    def states(self, count: int) -> tuple[npt.NDArray[np.float64], ...]:
        """Random positions, velocities and accelerations, shape (count, n) each."""
        rng = np.random.default_rng(1)
        q, qd, qdd = rng.uniform(-2.0, 2.0, (3, count, self.robot.dof))
        return q, qd, qdd


@contextmanager
def quiet() -> Iterator[None]:
    """Without warnings: what a URDF leaves out is no business of a benchmark."""
    log = logging.getLogger("robot_dynamics")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)


def make_case(key: str, title: str, urdf: bytes, folder: Path) -> Case:
    """Write a URDF where all contenders can read it, and read it."""
    path = folder / f"{key}.urdf"
    path.write_bytes(urdf)
    with quiet():
        robot = read_urdf(path)
    rng = np.random.default_rng(0)
    q, qd, qdd, tau = rng.uniform(-2.0, 2.0, (4, robot.dof))
    return Case(key, title, path, robot, q, qd, qdd, tau)


def cases(keys: Sequence[str], folder: Path) -> list[Case]:
    """The chosen robots of `SOURCES`."""
    return [make_case(key, SOURCES[key].title, stripped_urdf(SOURCES[key]), folder) for key in keys]


def stripped_urdf(source: Source) -> bytes:
    """URDF of a robot with its locked joints fixed and nothing that dynamics does not need."""
    tree = etree.parse(str(find_robot(source.robot)), etree.XMLParser(remove_comments=True))
    root = tree.getroot()
    for element in list(root.iter(*_LEAVE_OUT)):
        element.getparent().remove(element)
    for joint in root.iter("joint"):
        if joint.get("name") in source.locked:
            joint.set("type", "fixed")
    return etree.tostring(root, xml_declaration=True, encoding="utf-8")


def chain_urdf(n: int) -> bytes:
    """URDF of a serial arm of n revolute joints with arbitrary inertias.

    Successive axes are parallel or at right angles, as on industrial arms, and every third link
    is offset in two directions.
    """
    rng = np.random.default_rng(n)
    lines = [f'<robot name="chain{n}">', '<link name="link0"/>']
    for k in range(1, n + 1):
        mass = rng.uniform(1.0, 4.0)
        com = rng.uniform(-0.1, 0.1, 3)
        a, b, c = mass * rng.uniform(0.002, 0.01, 3)  # second moments of the mass distribution
        cross = 0.2 * mass * rng.uniform(-0.002, 0.002, 3)
        tilt = rng.choice((0.0, np.pi / 2, -np.pi / 2))
        offset = 0.1 if k % 3 == 0 else 0.0
        lines.append(
            f'<link name="link{k}"><inertial><origin xyz="{com[0]} {com[1]} {com[2]}"/>'
            f'<mass value="{mass}"/><inertia ixx="{b + c}" iyy="{a + c}" izz="{a + b}" '
            f'ixy="{cross[0]}" ixz="{cross[1]}" iyz="{cross[2]}"/></inertial></link>'
            f'<joint name="joint{k}" type="revolute"><parent link="link{k - 1}"/>'
            f'<child link="link{k}"/><origin xyz="0.3 0 {offset}" rpy="{tilt} 0 0"/>'
            '<axis xyz="0 0 1"/><limit lower="-3" upper="3" velocity="3" effort="100"/></joint>'
        )
    return "\n".join([*lines, "</robot>"]).encode()
