"""Robot: a kinematic tree, with its transformations as methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy.typing as npt

from robot_dynamics.robot import transforms
from robot_dynamics.robot.kinematic_tree import STANDARD_GRAVITY, JointType, KinematicTree
from robot_dynamics.spatial import Pose

__all__ = ["STANDARD_GRAVITY", "Robot"]


@dataclass(frozen=True, eq=False, repr=False)
class Robot(KinematicTree):
    """A tree of links and joints in its zero reference position, which does not change.

    Each method calls the function of `transforms` that documents it.

    Args:
        name: Name in the URDF.
        links: Root link first; links[k + 1] is carried by joints[k].
        joints: Depth first, in document order.
        gravity: Gravitational acceleration in the axes of the root link, shape (3,), m/s^2.
        frames: Named frames other than the links' own.
        tips: Names of the end links and frames; by default the moving links that carry no other.

    Raises:
        RobotError: If links and joints are no tree.
        UnknownNameError: If a joint is on an unknown link.

    Examples:
        >>> from robot_dynamics import read_urdf
        >>> from robot_dynamics.robot import find_robot
        >>> robot = read_urdf(find_robot("planar_2r"))
        >>> robot.dof, robot.joint_names, robot.tips
        (2, ('joint_1', 'joint_2'), ('endpoint',))
        >>> robot.limits.effort
        array([500., 200.])
    """

    def with_gravity(self, gravity: npt.ArrayLike) -> Robot:
        """Set another gravity vector: `transforms.with_gravity`.

        Args:
            gravity: Gravitational acceleration in axes of the root link, shape (3,), m/s^2.

        Returns:
            The robot under that gravity.

        Raises:
            RobotError: If it is anything but three finite numbers.
        """
        return transforms.with_gravity(self, gravity)

    def with_limits(
        self, velocity: Mapping[str, float] | None = None, effort: Mapping[str, float] | None = None
    ) -> Robot:
        """Lower limits of joints, or give those that are unknown: `transforms.with_limits`.

        Args:
            velocity: New velocity limits, rad/s or m/s, by name of the joint.
            effort: New effort limits, N m or N, by name of the joint.

        Returns:
            The robot with these limits.

        Raises:
            UnknownNameError: If there is no such joint.
            RobotError: If a limit is not positive, or above that of the robot.
        """
        return transforms.with_limits(self, velocity or {}, effort or {})

    def with_locked(self, positions: Mapping[str, float]) -> Robot:
        """Fix joints at given positions, and their followers: `transforms.lock`.

        Args:
            positions: Position of every joint to fix, rad or m, by name.

        Returns:
            The robot without these joints; their links keep their mass.

        Raises:
            UnknownNameError: If there is no such joint.
            RobotError: If a joint is fixed already or follows another, or a position is not finite.

        Examples:
            >>> from robot_dynamics import read_urdf
            >>> from robot_dynamics.robot import find_robot
            >>> panda = read_urdf(find_robot("panda"))
            >>> panda.dof  # a finger follows the other
            8
            >>> panda.with_locked({"panda_finger_joint1": 0.02}).dof
            7
        """
        return transforms.lock(self, positions)

    def with_joint_elasticity(
        self,
        stiffness: Mapping[str, float] | npt.ArrayLike,
        damping: Mapping[str, float] | npt.ArrayLike = 0.0,
    ) -> Robot:
        """Put springs between motors and links: `transforms.with_joint_elasticity`.

        Args:
            stiffness: N m/rad or N/m by name of the joint; or one number for all joints, or n.
            damping: Damping of the springs in the same form, N m s/rad or N s/m.

        Returns:
            The robot with these springs.

        Raises:
            UnknownNameError: If there is no such joint.
            RobotError: If a number is out of range, or a joint has no motor of its own.
        """
        return transforms.with_joint_elasticity(self, stiffness, damping)

    def with_payload(
        self,
        frame: str,
        mass: float,
        com: npt.ArrayLike = (0.0, 0.0, 0.0),
        inertia: npt.ArrayLike | None = None,
    ) -> Robot:
        """Attach a body to a link: `transforms.with_payload`.

        Com and inertia are in the axes of `frame`: `transforms.with_payload`.

        Args:
            frame: Link or named frame that carries it.
            mass: Mass, kg.
            com: Mass centre in `frame`, shape (3,), m.
            inertia: Inertia about the mass centre in axes of `frame`, shape (3, 3), kg m^2; by
                default a point mass.

        Returns:
            The robot that carries the body.

        Raises:
            UnknownNameError: If there is no such frame.
            RobotError: If the body is physically impossible.

        Examples:
            >>> from robot_dynamics import Dynamics, read_urdf
            >>> from robot_dynamics.robot import find_robot
            >>> robot = read_urdf(find_robot("planar_2r")).with_payload("endpoint", mass=2.0)
            >>> Dynamics(robot).gravity([0.0, 0.0]).round(2)
            array([206.01,  58.86])
        """
        return transforms.with_payload(self, frame, mass, com, inertia)

    def with_floating_base(self) -> Robot:
        """Put the robot on a floating joint, free in space: `transforms.with_free_base`.

        Gravity is in axes of the new root "world".

        Returns:
            The robot, whose q begins with seven entries of the base and qd with six.

        Raises:
            RobotError: If the robot has a floating or planar base already.
        """
        return transforms.with_free_base(self, JointType.FLOATING)

    def with_planar_base(self) -> Robot:
        """Put the robot on a planar joint, free on the floor: `transforms.with_free_base`.

        Gravity is in axes of the new root "world".

        Returns:
            The robot, whose q begins with four entries of the base and qd with three.

        Raises:
            RobotError: If the robot has a floating or planar base already.
        """
        return transforms.with_free_base(self, JointType.PLANAR)

    def with_fixed_base(self) -> Robot:
        """Weld all floating and planar joints at zero: `transforms.weld_base`.

        Returns:
            The robot without these joints.
        """
        return transforms.weld_base(self)

    def subchain(self, base: str, tip: str) -> Robot:
        """Cut out the links and joints from `base` to `tip`: `transforms.subchain`.

        Args:
            base: Link that becomes the root.
            tip: Link where the chain ends.

        Returns:
            The robot of this chain.

        Raises:
            UnknownNameError: If there is no such link.
            RobotError: If `base` does not carry `tip`, or a joint follows one that is left out.
        """
        return transforms.subchain(self, base, tip)

    def mounted(self, orientation: npt.ArrayLike | Pose) -> Robot:
        """Rotate the root link in the world: `transforms.mount`.

        Args:
            orientation: Roll, pitch, yaw of the root link in its present axes, shape (3,), rad; or
                a rotation matrix (3, 3) or a pose.

        Returns:
            The robot in that orientation: only its gravity differs.

        Raises:
            RobotError: If it is no orientation.

        Examples:
            >>> import numpy as np
            >>> from robot_dynamics import read_urdf
            >>> from robot_dynamics.robot import find_robot
            >>> on_wall = read_urdf(find_robot("ur5")).mounted([0.0, np.pi / 2, 0.0])
            >>> on_wall.gravity + 0.0
            array([9.81, 0.  , 0.  ])
        """
        return transforms.mount(self, orientation)
