"""Pinocchio as an oracle, with mimic joints coupled, and the URDFs of example-robot-data.

Both packages are optional: without them `pin_model` skips the test that asks for
it, and `example_urdfs` is empty.
"""

from __future__ import annotations

import logging
import re
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.robot.transforms import merge_fixed
from robot_dynamics.robot.urdf.reader import read_urdf
from robot_dynamics.robot.urdf_writer import urdf_of
from robot_dynamics.spatial import RIGHT_ANGLE


def pin_model(robot, source=None):
    """Pinocchio's model of a robot; skips the test where Pinocchio is not installed.

    Args:
        robot: Robot that gives joint order, coupling and gravity.
        source: Path or text of the URDF that Pinocchio reads; by default `robot` as URDF text.
    """
    pin = pytest.importorskip("pinocchio", reason="pinocchio (package pin) is not installed")
    return PinModel(pin, robot, source)


class PinModel:
    """Dynamics of a robot by Pinocchio, in the order of `robot.joint_names`.

    The tree is built without mimic joints; these are coupled here by the matrix
    E of q_all = E q + e, written out from the mimic tags.
    """

    def __init__(self, pin, robot, source=None):
        self.pin = pin
        if source is None:
            source = urdf_of(robot)
        text, base = str(source), []
        if robot.joints and robot.joints[0].type.free and not text.lstrip().startswith("<"):
            base = [ROOTS[robot.joints[0].type.value](pin)]
        if text.lstrip().startswith("<"):
            self.model = pin.buildModelFromXML(text)
        else:
            self.model = pin.buildModelFromUrdf(text, *base)
        self.model.gravity.linear = np.array(robot.gravity, dtype=float)
        self.data = self.model.createData()
        moving = [joint for joint in robot.joints if joint.type.value != "fixed"]
        names = {self._own_name(robot, name) for name in self.model.names} - {"universe"}
        assert names == {joint.name for joint in moving}, "joints differ from Pinocchio's"
        # Columns of E: the independent joints; rows: Pinocchio's velocity vector
        column = {name: i for i, name in enumerate(robot.joint_names)}
        self.E = np.zeros((self.model.nv, len(column)))
        self.e = np.zeros(self.model.nv)
        self.free = []  # where Pinocchio and this package have floating and planar joints in q
        at = 0
        for joint in moving:
            theirs = next(
                self.model.joints[i]
                for i, name in enumerate(self.model.names)
                if self._own_name(robot, name) == joint.name
            )
            row, extra = theirs.idx_v, theirs.nq if joint.type.free else joint.mimic is None
            if joint.type.free:
                first = column[f"{joint.name}.x"]
                self.E[row : row + theirs.nv, first : first + theirs.nv] = np.eye(theirs.nv)
                place = slice(theirs.idx_q, theirs.idx_q + theirs.nq)
                self.free.append((place, at, theirs.nv))
            elif joint.mimic is None:
                self.E[row, column[joint.name]] = 1.0
            else:
                self.E[row, column[joint.mimic.joint]] = joint.mimic.multiplier
                self.e[row] = joint.mimic.offset
            at += extra

    @staticmethod
    def _own_name(robot, name):
        return robot.joints[0].name if name == "root_joint" else name

    def positions(self, q):
        """Pinocchio's configuration vector (a continuous joint has cosine and sine)."""
        q, configuration = np.asarray(q, dtype=float), np.zeros(self.model.nq)
        rest = list(q)
        for place, at, n in reversed(self.free):
            configuration[place] = q[at : at + place.stop - place.start]
            rest[at : at + place.stop - place.start] = [0.0] * n
        angles = self.E @ np.array(rest) + self.e
        for joint in list(self.model.joints)[1:]:
            angle = angles[joint.idx_v]
            if joint.nv > 1:
                continue
            if joint.nq == 2:
                configuration[joint.idx_q : joint.idx_q + 2] = np.cos(angle), np.sin(angle)
            else:
                configuration[joint.idx_q] = angle
        return configuration

    def inverse(self, q, qd, qdd):
        """Joint efforts, shape (n,), N m or N."""
        v, a = self.E @ np.asarray(qd, dtype=float), self.E @ np.asarray(qdd, dtype=float)
        return self.E.T @ self.pin.rnea(self.model, self.data, self.positions(q), v, a)

    def mass_matrix(self, q):
        """Joint-space inertia, shape (n, n)."""
        M = np.triu(self.pin.crba(self.model, self.data, self.positions(q)))
        M = M + np.triu(M, 1).T
        return self.E.T @ M @ self.E

    def bias(self, q, qd):
        """Coriolis, centrifugal and gravity efforts, shape (n,)."""
        return self.inverse(q, qd, np.zeros(self.E.shape[1]))

    def gravity(self, q):
        """Gravity efforts, shape (n,)."""
        zero = np.zeros(self.E.shape[1])
        return self.inverse(q, zero, zero)

    def forward(self, q, qd, tau):
        """Joint accelerations, shape (n,), without friction."""
        return np.linalg.solve(self.mass_matrix(q), np.asarray(tau) - self.bias(q, qd))

    def inverse_derivatives(self, q, qd, qdd):
        """dtau/dq and dtau/dqd, shape (n, n) each, and the mass matrix."""
        v, a = self.E @ np.asarray(qd, dtype=float), self.E @ np.asarray(qdd, dtype=float)
        parts = self.pin.computeRNEADerivatives(self.model, self.data, self.positions(q), v, a)
        by_q, by_qd = (self.E.T @ part @ self.E for part in parts[:2])
        return by_q, by_qd, self.mass_matrix(q)

    def energy(self, q, qd):
        """Kinetic and potential energy of all links, the root included, J."""
        configuration, v = self.positions(q), self.E @ np.asarray(qd, dtype=float)
        kinetic = self.pin.computeKineticEnergy(self.model, self.data, configuration, v)
        potential = self.pin.computePotentialEnergy(self.model, self.data, configuration)
        root = self.model.inertias[0]  # which Pinocchio leaves out of its sum
        return kinetic, potential - root.mass * root.lever @ self.model.gravity.linear

    def momentum(self, q, qd):
        """M qd, and C^T qd - g by the matrix of Christoffel symbols."""
        x, v = self.positions(q), self.E @ np.asarray(qd, dtype=float)
        C = self.pin.computeCoriolisMatrix(self.model, self.data, x, v)
        return self.mass_matrix(q) @ qd, self.E.T @ (C.T @ v) - self.gravity(q)

    def centre_of_mass(self, q):
        """Centre of mass of all links but the root, and its Jacobian."""
        x = self.positions(q)
        centre = self.pin.centerOfMass(self.model, self.data, x).copy()
        jacobian = self.pin.jacobianCenterOfMass(self.model, self.data, x)
        return centre, jacobian.reshape(3, self.model.nv) @ self.E  # a vector for a single joint

    def centroidal_matrix(self, q):
        """Momentum about the centre of mass for unit velocities, linear over angular, (6, n)."""
        A = self.pin.computeCentroidalMap(self.model, self.data, self.positions(q))
        return A.reshape(6, -1) @ self.E

    def articulated_forward(self, q, qd, tau):
        """Joint accelerations by pin.aba, shape (n,); for robots without mimic joints."""
        v, efforts = self.E @ np.asarray(qd, dtype=float), self.E @ np.asarray(tau, dtype=float)
        return self.E.T @ self.pin.aba(self.model, self.data, self.positions(q), v, efforts)

    def frame_pose(self, q, frame):
        """Pose of a link in the root: rotation (3, 3) and position (3,)."""
        self.pin.framesForwardKinematics(self.model, self.data, self.positions(q))
        place = self.data.oMf[self.model.getFrameId(frame, self.pin.FrameType.BODY)]
        return place.rotation.copy(), place.translation.copy()

    def frame_jacobian(self, q, frame):
        """Jacobian of a link, linear rows over angular rows, axes of the root, shape (6, n)."""
        place = self.model.getFrameId(frame, self.pin.FrameType.BODY)
        J = self.pin.computeFrameJacobian(
            self.model,
            self.data,
            self.positions(q),
            place,
            self.pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
        )
        return J.reshape(6, -1) @ self.E  # flat for a single joint

    def frame_jacobian_derivative(self, q, qd, frame):
        """Derivative of `frame_jacobian` in time, shape (6, n)."""
        at, v = self.positions(q), self.E @ np.asarray(qd, dtype=float)
        self.pin.computeJointJacobiansTimeVariation(self.model, self.data, at, v)
        self.pin.updateFramePlacements(self.model, self.data)
        place = self.model.getFrameId(frame, self.pin.FrameType.BODY)
        axes = self.pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        Jd = self.pin.getFrameJacobianTimeVariation(self.model, self.data, place, axes)
        return Jd.reshape(6, -1) @ self.E

    def frame_drift(self, q, qd, frame):
        """Acceleration of a link without joint accelerations, linear over angular, shape (6,)."""
        at, v = self.positions(q), self.E @ np.asarray(qd, dtype=float)
        self.pin.forwardKinematics(self.model, self.data, at, v, 0.0 * v)
        place = self.model.getFrameId(frame, self.pin.FrameType.BODY)
        axes = self.pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return self.pin.getFrameClassicalAcceleration(self.model, self.data, place, axes).vector


ROOTS = {
    "floating": lambda pin: pin.JointModelFreeFlyer(),
    "planar": lambda pin: pin.JointModelPlanar(),
}
"""Joints that Pinocchio puts under the root link of a URDF."""


def relative_error(ours, theirs):
    """Worst difference over the largest entry of either side (1e-300 for zero against zero)."""
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    scale = max(np.max(np.abs(theirs), initial=0.0), np.max(np.abs(ours), initial=0.0), 1e-300)
    return float(np.max(np.abs(ours - theirs), initial=0.0) / scale)


# -- example-robot-data ---------------------------------------------------------------------


@cache
def example_folder():
    """Folder `robots` of the PyPI package example-robot-data, or None."""
    for entry in map(Path, sys.path):
        folder = entry / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
        if folder.is_dir():
            return folder
    return None


@cache
def all_example_urdfs():
    """Every URDF of example-robot-data, sorted; empty where it is not installed."""
    folder = example_folder()
    return [] if folder is None else sorted(folder.rglob("*.urdf"))


# Refused by read_urdf; test/robot/urdf/test_example_urdfs.py asserts what it says about each.
REFUSED_EXAMPLES = {"ur3.urdf", "alex_psyonic_hands.urdf"}

# Their hands have joints without any inertia: inverse dynamics only.
SINGULAR_EXAMPLES = {"romeo.urdf", "romeo_laas_small.urdf"}


@cache
def invertible_examples():
    """Return the robots with an invertible mass matrix."""
    return [path for path in example_urdfs() if path.name not in SINGULAR_EXAMPLES]


@cache
def example_urdfs():
    """The URDFs of example-robot-data that read_urdf reads; those with legs have a fixed root."""
    return [path for path in all_example_urdfs() if path.name not in REFUSED_EXAMPLES]


@cache
def distinct_examples():
    """One URDF of each robot that moves: files that differ in limits or pictures count once.

    Those with most joints come first, so that parallel test runs end together.
    """
    robots = {}
    for path in example_urdfs():
        tree = merge_fixed(example_robot(path))
        if tree.dof:
            robots.setdefault(_mechanics(tree), (len(tree.joints), path))
    return [path for _, path in sorted(robots.values(), reverse=True)]


@cache
def characteristic_examples():
    """One URDF of each arrangement of joints; of long robots, the shortest of each kind.

    Kinds differ by whether joints slide and whether they follow others.
    """
    robots = {}
    for (parents, rotates, follows), path in _by_arrangement().items():
        many = len(rotates) > FEW_JOINTS
        key = (follows, all(rotates)) if many else (parents, rotates, follows)
        robots.setdefault(key, path)
    return list(robots.values())


@cache
def arranged_examples():
    """One URDF of each arrangement of joints, of long robots too; most joints come first."""
    return list(reversed(_by_arrangement().values()))


@cache
def _by_arrangement():
    robots = {}
    for path in reversed(distinct_examples()):
        tree = merge_fixed(example_robot(path))
        rotates = tuple(joint.type.rotates for joint in tree.joints)
        robots.setdefault((tree.parents, rotates, len(rotates) != tree.dof), path)
    return robots


FEW_JOINTS = 12


def has_few_joints(path, most=FEW_JOINTS):
    """Return whether all kernels of a robot compile in seconds, not a minute."""
    return len(merge_fixed(example_robot(path)).joints) <= most


def all_but_longest(paths):
    """Return the examples without the longest one, which takes a formulation a minute.

    One arm of it, `tiago`, is an example as well.
    """
    return [path for path in paths if path.stem != "tiago_dual"]


def examples(always, paths=None):
    """Parameters: `make test` takes the examples of `always`, `make test-thorough` the others."""
    return [
        pytest.param(path, id=example_id(path), marks=() if path in always else THOROUGH)
        for path in (distinct_examples() if paths is None else paths)
    ]


THOROUGH = pytest.mark.thorough


def _mechanics(tree):
    """Every number that the dynamics of a tree depend on, to nine decimals."""
    numbers = [tree.parents, tree.coupling.leader, tree.coupling.multiplier, tree.coupling.offset]
    for joint, link in zip(tree.joints, tree.links[1:], strict=True):
        body, X = link.inertia, joint.origin
        numbers += [joint.type.rotates, joint.axis, X.rotation, X.translation]
        numbers += [body.mass, body.first_moment, body.second_moment]
    flat = np.concatenate([np.ravel(a).astype(float) for a in numbers])
    return tuple((np.round(flat, 9) + 0.0).tolist())  # + 0.0: no negative zeros


FOLDERS = ("_description", "_data")


def example_id(path):
    """Short name of an example in test reports."""
    return f"{variants_of(path)}/{path.stem}"


def variants_of(path):
    """Name of the folder of an example, which has the variants of one robot."""
    folder = next(parent.name for parent in path.parents if parent.name.endswith(FOLDERS))
    return folder.rsplit("_", 1)[0]


@cache
def example_robot(path):
    """An example as a Robot, read once; its warnings are not the caller's business."""
    logger = logging.getLogger("robot_dynamics.robot")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        return read_urdf(path, require_inertia=path.name not in SINGULAR_EXAMPLES)
    finally:
        logger.setLevel(level)


def with_exact_right_angles(path):
    """Text of a URDF whose right angles, printed with 11 decimals, have all their digits.

    So they are read here (`rotation_from_rpy`), and so Pinocchio has to get them where a comparison
    cannot bear the difference of 5e-12: accelerations under badly conditioned mass matrices.
    """

    def exact(printed):
        right = np.pi / 2.0 * round(float(printed[0]) / (np.pi / 2.0))
        return repr(right) if abs(float(printed[0]) - right) < RIGHT_ANGLE else printed[0]

    number = re.compile(r"[-+]?\d*\.\d{9,}(e[-+]?\d+)?|[-+]?\d\S*e-\d+", re.IGNORECASE)
    rpy = re.compile(r"rpy\s*=\s*[\"'][^\"']*")
    return rpy.sub(lambda angles: number.sub(exact, angles[0]), path.read_text())
