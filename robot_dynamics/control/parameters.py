"""Parameters of the controller: one table for nodes, ros2_control, configuration and documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from robot_dynamics.control.collision import REACTIONS, Collision
from robot_dynamics.control.fields import SCALAR, VECTOR
from robot_dynamics.control.friction import DEFAULT_SLIP, DEFAULT_WIDTH
from robot_dynamics.control.gains import DEFAULT_BANDWIDTH, DEFAULT_DAMPING_RATIO
from robot_dynamics.control.laws import ALL_MODES
from robot_dynamics.control.limits import UNLIMITED
from robot_dynamics.control.settings import (
    FEEDBACK,
    HOLD,
    ON_REFERENCE_TIMEOUT,
    ON_STATE_TIMEOUT,
    ZERO_EFFORT,
    Settings,
)
from robot_dynamics.control.task_settings import CONTROLLED, ForceFeedback, TaskSettings
from robot_dynamics.control.task_space import PROJECTORS
from robot_dynamics.control.two_masses import ENCODERS, LINK
from robot_dynamics.formulations import DEFAULT_FORMULATION, FORMULATIONS
from robot_dynamics.kinematics.selection import SELECTION_AXES

HIGHEST = UNLIMITED
"""Largest gain or limit accepted, in SI units; a larger one is a mistake."""

LARGEST_LOAD = 1e5
"""Largest value accepted for loads and drives, in SI units; a larger one is a mistake."""

LARGEST_GRAVITY = 30.0
"""Largest gravity accepted, m/s^2: more than on Jupiter."""

NODES, ROS2_CONTROL = "nodes", "ros2_control"
BOTH = (NODES, ROS2_CONTROL)
"""Users of parameters: the Python nodes, and the controller of ros2_control."""

LOWER, REFUSE = "lower", "refuse"

PER_JOINT = ("drive", "gains", "limits", "friction", "rotor", "elasticity", "bands")
"""First words of the names of parameters that every joint has."""

Value = bool | float | str | tuple[float, ...] | tuple[str, ...]


@dataclass(frozen=True)
class Parameter:
    """A parameter of the controller.

    Args:
        name: Its name; one of every joint has that of the joint behind the first word.
        type: As generate_parameter_library names it.
        default: Value where none is given; None if it depends on robot and loop.
        about: Meaning.
        unit: Unit of the numbers; of a joint that rotates, or slides.
        low: Least value, of every entry of a list.
        high: Greatest value.
        note: What to know beyond meaning and unit.
        choices: Allowed words.
        length: Number of entries of a list, if it is fixed.
        fixed: Users that read it only when they start.
        users: Users that have it.
        of_model: Whether ros2_control has the value of the model in place of the default.
    """

    name: str
    type: str
    default: Value | None
    about: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    note: str = ""
    choices: tuple[str, ...] = ()
    length: int | None = None
    fixed: tuple[str, ...] = ()
    users: tuple[str, ...] = BOTH
    of_model: bool = False

    @property
    def per_joint(self) -> bool:
        """Return whether every joint has one."""
        return self.name.partition(".")[0] in PER_JOINT

    @property
    def description(self) -> str:
        """Meaning, unit and note in one line."""
        quantity = ", ".join(filter(None, (self.about, self.unit)))
        return "; ".join(filter(None, (quantity, self.note)))

    @property
    def is_list(self) -> bool:
        """Return whether it has several entries."""
        return self.type.endswith("_array")

    @property
    def shape(self) -> tuple[int | str, ...]:
        """Shape of its numbers."""
        return VECTOR if self.per_joint else (self.length,) if self.length else SCALAR

    @property
    def words(self) -> tuple[str, ...]:
        """Words for the numbers 0, 1, ...; empty for numbers."""
        return ("false", "true") if self.type == "bool" else self.choices

    def number(self, value: Value) -> float | list[float]:
        """Return a value as a number, or as several."""
        if isinstance(value, tuple):
            return [self.choices.index(x) if isinstance(x, str) else x for x in value]
        return float(self.choices.index(value) if isinstance(value, str) else value)

    @property
    def preset(self) -> Value | None:
        """Default of ros2_control; None where the model gives it."""
        return None if self.of_model else self.default


MOVING, MOVING_RATE = "rad/s or m/s", "N m s/rad or N s/m"
EFFORT, STIFFNESS = "N m or N", "N m/rad or N/m"
_FEEDBACK = ForceFeedback()

# fmt: off
_TABLE = (
    Parameter("model", "string", "", "File of the robot, which robot-dynamics export model writes; "
              "read when the controller is configured", users=(ROS2_CONTROL,)),
    Parameter("joints", "string_array", (), "Joints of the model, for a check",
              note="by default they are those of the model", fixed=BOTH, users=(ROS2_CONTROL,)),
    Parameter("formulation", "string", DEFAULT_FORMULATION, "Equations that the kernels are "
              "compiled from", choices=tuple(FORMULATIONS), fixed=BOTH, users=(NODES,)),
    Parameter("mode", "string", Settings.mode, "Control law", choices=tuple(ALL_MODES)),
    Parameter("feedback", "string", Settings.feedback, "Where the loop is closed: in this "
              "controller, or in drives that take positions and efforts, with the gains "
              "drive.<joint>.kp and kd", choices=FEEDBACK, fixed=(NODES,)),
    Parameter("drive_velocity", "bool", Settings.drive_velocity, "Whether drives that close the "
              "loop take velocities; false adds their damping of the desired velocity to the "
              "efforts", fixed=(NODES,), users=(NODES,)),
    Parameter("bandwidth", "double", DEFAULT_BANDWIDTH, "Natural frequency of each joint under the "
              "default gains", "rad/s", 0.1, 1000.0, fixed=BOTH, users=(NODES,)),
    Parameter("damping_ratio", "double", DEFAULT_DAMPING_RATIO, "Damping ratio of each joint under "
              "the default gains", "", 0.01, 10.0, fixed=BOTH, users=(NODES,)),
    Parameter("fade", "double", Settings.fade, "Time to fade to another mode or other gains", "s",
              0.0, 10.0),
    Parameter("integral_time", "double", Settings.integral_time, "Time within which the feedback "
              "of the mode feedforward becomes a lasting effort while a joint moves, against "
              "friction and load that the model lacks", "s", 0.0, 100.0, "0 for never"),
    Parameter("settling_time", "double", Settings.settling_time, "Time to hold the measured "
              "position before following references, once states arrive and commands are received",
              "s", 0.0, 60.0, "longer than the brakes take to open"),
    Parameter("approach_time", "double", Settings.approach_time, "Least time to join a reference "
              "that begins beside the measured position, or jumps a little", "s", 1e-3, 60.0,
              "more if a joint would exceed a tenth of its speed limit"),
    Parameter("reference_timeout", "double", Settings.reference_timeout, "Age of the last "
              "reference at which the joints come to rest", "s", 1e-3, 3600.0),
    Parameter("state_timeout", "double", Settings.state_timeout, "Age of the last measured state "
              "at which feedback stops", "s", 1e-3, 3600.0),
    Parameter("velocity_filter", "double", 0.0, "Cutoff frequency of the filter that estimates "
              "velocities by positions where joint_states have none", "Hz", 0.0, 1000.0,
              "0 to estimate none; lags by 1 / (pi velocity_filter), 0.01 s at 30 Hz", fixed=BOTH,
              users=(NODES,)),
    Parameter("open_loop_timeout", "double", Settings.open_loop_timeout, "Time without measured "
              "states, after state_timeout, at which commands end", "s", 1e-3, 3600.0, "brakes "
              "that monitor the commands then close, and a controller of ros2_control reports an "
              "error"),
    Parameter("resume_by_itself", "bool", Settings.resume_by_itself, "Follow again as soon as "
              "messages return; false: when ~/resume is called"),
    Parameter("on_reference_timeout", "string", Settings.on_reference_timeout, "Reaction when "
              "references stop: come to rest and hold, or only compensate gravity",
              choices=ON_REFERENCE_TIMEOUT),
    Parameter("on_state_timeout", "string", Settings.on_state_timeout, "Reaction when states stop: "
              "come to rest and hold by the model, or fade the efforts to zero",
              choices=ON_STATE_TIMEOUT),
    Parameter("on_slow_states", "string", LOWER, "Reaction to joint_states that are too slow or "
              "too late for the feedback: lower its bandwidth, or refuse references",
              choices=(LOWER, REFUSE), users=(NODES,)),
    Parameter("trust_measured_effort", "bool", False, "Begin with the efforts of joint_states; "
              "only if these are in N m or N, not currents", users=(NODES,)),
    Parameter("require_effort_limits", "bool", True, "Refuse a robot with joints without an effort "
              "limit; false for a simulation", fixed=BOTH, users=(NODES,)),
    Parameter("on_deactivate", "string", HOLD, "Last command on deactivation, after coming to "
              "rest: the holding efforts, or zero", choices=(HOLD, ZERO_EFFORT), users=(NODES,)),
    Parameter("compensate_gravity", "bool", True, "Compensate gravity; false for arms that do so "
              "themselves"),
    Parameter("compensate_friction", "bool", True, "Add the friction at the desired velocity"),
    Parameter("compensate_velocity_terms", "bool", True, "Add Coriolis and centrifugal efforts; "
              "false for arms that do so themselves"),
    Parameter("compensate_rotor_inertia", "bool", True, "Add the effort that accelerates the "
              "rotors, rotor.<joint>.inertia"),
    Parameter("encoders", "string", LINK, "Side of elastic joints in joint_states; with both, the "
              "positions of the links and the velocities of the motors", choices=ENCODERS,
              fixed=(NODES,), users=(NODES,)),
    Parameter("resonance_share", "double", 0.0, "Largest natural frequency of feedback over the "
              "lowest resonance of an elastic joint", "", 0.0, 1.0, "0 for any stable one",
              fixed=(NODES,), users=(NODES,)),
    Parameter("friction_width", "double", DEFAULT_WIDTH, "Speed at which compensated Coulomb "
              "friction reaches 76 %", MOVING, 1e-6, 10.0),
    Parameter("gravity", "double_array", None, "Gravitational acceleration in axes of the root "
              "link", "m/s^2", -LARGEST_LOAD, LARGEST_LOAD, "empty for that of the robot",
              length=3),
    Parameter("gravity_from_imu", "bool", False, "Take gravity from the topic imu, whose frame "
              "must be fixed to the root link", users=(NODES,)),
    Parameter("imu", "string", "", "IMU on the root link that turns gravity, by its state "
              "interfaces <name>/linear_acceleration.x to z", note="empty for none", fixed=BOTH,
              users=(ROS2_CONTROL,)),
    Parameter("imu_frame", "string", "", "Frame of that IMU, fixed to the root link",
              note="empty for the root link", fixed=BOTH, users=(ROS2_CONTROL,)),
    Parameter("imu_filter", "double", 0.5, "Time constant of the low-pass on the IMU", "s", 1e-3,
              60.0, fixed=(ROS2_CONTROL,)),
    Parameter("load_ramp", "double", 0.5, "Duration of the ramp to another payload or gravity", "s",
              0.0, 60.0),
    Parameter("base_motion", "string", "none", "Motion of the base: from the topic imu "
              "(sensor_msgs/Imu, in a frame fixed to the root link), from odom (nav_msgs/Odometry "
              "of the root link), or none", choices=("none", "imu", "odom"), fixed=BOTH,
              users=(NODES,)),
    Parameter("base_filter", "double", 0.01, "Time constant of the low-pass on the motion of the "
              "base", "s", 1e-4, 10.0, fixed=BOTH, users=(NODES,)),
    Parameter("base_timeout", "double", 0.2, "Time without a message after which the base counts "
              "as still, under gravity in the last known direction", "s", 1e-3, 60.0, fixed=BOTH,
              users=(NODES,)),
    Parameter("payload.mass", "double", 0.0, "Mass", "kg", 0.0, LARGEST_LOAD, of_model=True),
    Parameter("payload.com", "double_array", (0.0,) * 3, "Centre of mass in the frame of payloads",
              "m", -LARGEST_LOAD, LARGEST_LOAD, length=3, of_model=True),
    Parameter("payload.inertia", "double_array", (0.0,) * 6, "Inertia about the centre of mass in "
              "axes of the frame of payloads: xx, xy, xz, yy, yz, zz", "kg m^2", -LARGEST_LOAD,
              LARGEST_LOAD, length=6, of_model=True),
    Parameter("payload.frame", "string", "", "Frame of payloads, a link or frame; empty for the "
              "only tip", users=(NODES,)),
    Parameter("command_interfaces", "string_array", ("effort",), "Command interfaces of each "
              "joint: [effort], [position, effort], or [position, velocity, effort]",
              choices=("position", "velocity", "effort"), fixed=BOTH,
              users=(ROS2_CONTROL,)),
    Parameter("force_torque_sensor", "string", "", "Sensor in place of the topic force_torque, by "
              "its state interfaces <name>/force.x to torque.z", note="empty for the topic",
              fixed=BOTH, users=(ROS2_CONTROL,)),
    Parameter("force_torque_frame", "string", "", "Frame of that sensor, fixed to the end effector",
              note="empty for the end effector", fixed=BOTH, users=(ROS2_CONTROL,)),
    Parameter("reference_effort_interface", "bool", False, "Export reference interfaces "
              "<joint>/effort, in place of the feedforward of the model", fixed=BOTH,
              users=(ROS2_CONTROL,)),
    Parameter("actuator_space", "bool", False, "Command efforts of actuators, in the places of the "
              "joints that they drive; false: efforts of joints, as for hardware with "
              "transmissions of its own", fixed=BOTH),
    Parameter("actuator_coupling", "double_array", (), "Movement of every actuator per rad or m of "
              "every joint, row by row, one row per actuator in the order of joints; empty for the "
              "<transmission> elements of the URDF", "", -HIGHEST, HIGHEST, fixed=BOTH),
    Parameter("model_check", "string", "strict", "Reaction to a robot_description that differs "
              "from the model: strict refuses it, warn logs a warning", choices=("strict", "warn"),
              fixed=BOTH, users=(ROS2_CONTROL,)),
    Parameter("state_publish_rate", "double", 50.0, "Rate of ~/controller_state and ~/efforts",
              "Hz", 1.0, 1000.0, fixed=BOTH, users=(ROS2_CONTROL,)),
    Parameter("reference_lead", "double", 1.0, "Periods by which references of a preceding "
              "controller are ahead of the states that they are compared with; "
              "joint_trajectory_controller writes those of the next cycle", "", 0.0, 10.0,
              fixed=BOTH, users=(ROS2_CONTROL,)),
    Parameter("collision.reaction", "string", Collision.reaction, "Reaction to an external effort "
              "beyond limits.<joint>.external_effort: none (it is not computed), report, stop and "
              "hold, float under gravity compensation and damping, or retreat a little and hold",
              choices=REACTIONS),
    Parameter("collision.gain", "double", Collision.gain, "Reciprocal of the time constant of "
              "external efforts", "1/s", 1.0, 1000.0),
    Parameter("collision.time", "double", Collision.time, "Time beyond the threshold that counts "
              "as a contact", "s", 0.0, 1.0),
    Parameter("collision.use_bands", "bool", False, "Thresholds are those of bands.<joint>, by "
              "regime and speed, instead of limits.<joint>.external_effort and the uncertainty of "
              "friction", users=(NODES,)),
    Parameter("collision.factor", "double", Collision.factor, "Threshold over the half-width of a "
              "band", "", 0.1, 100.0, users=(NODES,)),
    Parameter("task.frame", "string", "", "The end effector, a link or frame; empty for tool0, or "
              "for the tip that no finger joint moves", users=(NODES,)),
    Parameter("task.axes", "string", TaskSettings.axes, "Axes of stiffness, errors and directions: "
              "of the root link, or of the end effector's target (frame)", choices=SELECTION_AXES),
    Parameter("task.stiffness", "double_array", (), "Stiffness in x, y, z, rx, ry, rz, or all 36 "
              "of a matrix row by row", "N/m, N and N m/rad", -HIGHEST, HIGHEST, "empty for twice "
              "the bandwidth at typical inertia, or what the joints can exert", users=(NODES,)),
    Parameter("task.damping_ratio", "double", TaskSettings.damping_ratio, "Damping ratio of the "
              "end effector in every direction", "", 0.0, 10.0),
    Parameter("task.damping", "double_array", (), "Damping in place of damping_ratio, 6 or 36",
              "N s/m, N s and N m s/rad", -HIGHEST, HIGHEST, "empty for none", users=(NODES,)),
    Parameter("task.inertia", "double_array", (), "Desired inertia of the mode operational_space, "
              "6 or 36", "kg, kg m and kg m^2", -HIGHEST, HIGHEST, "empty for the typical one of "
              "the end effector", users=(NODES,)),
    Parameter("task.largest_error", "double_array", (0.05,) * 3 + (0.3,) * 3, "Error that counts "
              "at most in every direction", "m and rad", 0.0, HIGHEST, length=6),
    Parameter("task.controlled", "string_array", None, "What is controlled in the six directions: "
              "motion, force or free; empty for motion wherever the arm can move",
              choices=CONTROLLED, length=6),
    Parameter("task.free_axis", "double_array", (0.0,) * 3, "Axis of the end effector about which "
              "it may turn, a direction; zeros for none", "", -HIGHEST, HIGHEST, length=3),
    Parameter("task.posture_frequency", "double", TaskSettings.posture_frequency,
              "Natural frequency of the return to the posture in the null space", "rad/s", 0.0,
              1000.0),
    Parameter("task.settling", "double", TaskSettings.settling, "Rate at which motion in the null "
              "space dies out", "1/s", 0.0, 1000.0),
    Parameter("task.projector", "string", TaskSettings.projector, "Projector into the null space: "
              "consistent moves no end effector; kinematic needs no inertia", choices=PROJECTORS,
              users=(NODES,)),
    Parameter("task.speed", "double_array", TaskSettings.speed, "Largest speed of the target",
              "m/s and rad/s", 0.0, 100.0, length=2),
    Parameter("task.acceleration", "double_array", TaskSettings.acceleration, "Largest "
              "acceleration of the target", "m/s^2 and rad/s^2", 0.0, 1000.0, length=2),
    Parameter("task.twist_timeout", "double", 0.1, "Time after a target_twist at which the end "
              "effector comes to rest", "s", 1e-3, 10.0),
    Parameter("task.wrench_timeout", "double", 0.5, "Time after a target_wrench at which it fades "
              "to zero", "s", 1e-3, 10.0),
    Parameter("task.force_feedback", "bool", False, "Correct the force by the topic force_torque, "
              "in directions of force"),
    Parameter("task.force_proportional", "double", _FEEDBACK.proportional, "Gain on the error of "
              "the force", "", 0.0, 10.0),
    Parameter("task.force_integral", "double", _FEEDBACK.integral, "Rate at which an error of the "
              "force disappears, relative to the rate at which damping stops the end effector, 2 "
              "damping_ratio bandwidth by default", "", 0.0, 1.0),
    Parameter("task.force_largest", "double_array", _FEEDBACK.largest, "Largest correction",
              "N and N m", 0.0, HIGHEST, length=2),
    Parameter("task.force_timeout", "double", _FEEDBACK.timeout, "Age of the last force_torque "
              "from which the correction fades to zero", "s", 1e-3, 10.0),
    Parameter("drive.kp", "double", 0.0, "Gain of the drive on the position error", STIFFNESS, 0.0,
              HIGHEST, "with feedback drive, from the configuration of the driver"),
    Parameter("drive.kd", "double", 0.0, "Gain of the drive on the velocity error", MOVING_RATE,
              0.0, HIGHEST, "as kp"),
    Parameter("gains.p", "double", None, "Gain on the position error", STIFFNESS, 0.0, HIGHEST,
              "by default from the bandwidth and the inertia, and in ros2_control the update rate; "
              "there, p or d of one joint ends feedback by the mass matrix for all"),
    Parameter("gains.d", "double", None, "Gain on the velocity error", MOVING_RATE, 0.0, HIGHEST,
              "by default as p"),
    Parameter("gains.i", "double", 0.0, "Gain on the integral of the position error",
              "N m/(rad s) or N/(m s)", 0.0, HIGHEST),
    Parameter("gains.i_clamp_max", "double", 0.0, "Largest effort of the integral part", EFFORT,
              0.0, HIGHEST, "0 for any"),
    Parameter("limits.effort", "double", 0.0, "Effort limit of the joint", EFFORT, 0.0, HIGHEST,
              "0 for that of the URDF", fixed=(NODES,), of_model=True),
    Parameter("limits.velocity", "double", 0.0, "Velocity limit of the joint, above which a "
              "controller brakes", MOVING, 0.0, HIGHEST, "0 for that of the URDF, without a brake",
              fixed=(NODES,), of_model=True),
    Parameter("limits.effort_rate", "double", None, "Largest change of effort", "N m/s or N/s", 0.0,
              HIGHEST, "0 for any. Default: twice effort limit times bandwidth, and times "
              "damping_ratio if that is above 1"),
    Parameter("limits.soft_margin", "double", 0.0, "Width of a spring and a damper inside both "
              "ends of the position range", "rad or m", 0.0, HIGHEST, "0 for none"),
    Parameter("limits.tracking_error", "double", None, "Position error that stops the arm",
              "rad or m", 0.0, HIGHEST, "0 for none. Default: 0.5 rad or 0.1 m, or a quarter of "
              "the range of the joint if that is less"),
    Parameter("limits.external_effort", "double", None, "External effort that counts as a contact, "
              "besides the uncertainty of friction", EFFORT, 0.0, HIGHEST, "0 for none. Default: a "
              "tenth of the effort limit"),
    Parameter("bands.moving", "double", 0.0, "Half-width of the 95 % band while moving slowly",
              EFFORT, 0.0, LARGEST_LOAD, "0 for that of limits.<joint>.external_effort",
              users=(NODES,)),
    Parameter("bands.per_speed", "double", 0.0, "Growth of the half-width with speed", MOVING_RATE,
              0.0, LARGEST_LOAD, users=(NODES,)),
    Parameter("bands.slow", "double", 0.0, "Half-width while reversing or at rest", EFFORT, 0.0,
              LARGEST_LOAD, users=(NODES,)),
    Parameter("bands.slow_speed", "double", 0.0, "Speed below which the joint reverses or rests",
              MOVING, 0.0, LARGEST_LOAD, users=(NODES,)),
    Parameter("friction.viscous", "double", None, "Viscous friction", MOVING_RATE, 0.0,
              LARGEST_LOAD, "by default that of the robot"),
    Parameter("friction.coulomb", "double", None, "Sliding friction", EFFORT, 0.0, LARGEST_LOAD,
              "by default that of the robot"),
    Parameter("friction.stiction", "double", 0.0, "Excess of friction near rest over sliding "
              "friction", EFFORT, -LARGEST_LOAD, LARGEST_LOAD, "negative, down to -coulomb, where "
              "friction bends as it rises", of_model=True),
    Parameter("friction.stribeck", "double", DEFAULT_WIDTH, "Speed at which the stiction has "
              "fallen to 1/e", MOVING, 1e-6, LARGEST_LOAD, of_model=True),
    Parameter("friction.load", "double", 0.0, "Sliding friction per effort that the joint "
              "transmits to the links", "", 0.0, 0.9, of_model=True),
    Parameter("friction.offset", "double", 0.0, "Constant effort at all speeds", EFFORT,
              -LARGEST_LOAD, LARGEST_LOAD, of_model=True),
    Parameter("friction.width", "double", 0.0, "friction_width of this joint", MOVING, 0.0, 10.0,
              "0 for the common one", of_model=True),
    Parameter("friction.memory", "double", 0.0, "Part of dry friction with presliding: it "
              "depends on the displacement", "", 0.0, 1.0, of_model=True),
    Parameter("friction.slip", "double", DEFAULT_SLIP, "Displacement over which the presliding "
              "part builds up", "rad or m", 1e-9, 10.0, users=(NODES,)),
    Parameter("friction.slip_ratio", "double", 1.0, "Ratio of the slip distances of neighbouring "
              "elements", "", 1.0, 100.0, users=(NODES,)),
    Parameter("friction.elastic", "double", 1.0, "Part of dry friction up to which an element is a "
              "spring", "", 0.0, 1.0, users=(NODES,)),
    Parameter("rotor.inertia", "double", 0.0, "Inertia of motor and gears at the motor", "kg m^2",
              0.0, LARGEST_LOAD, of_model=True),
    Parameter("rotor.ratio", "double", 1.0, "Turns of the motor per rad or m of the joint",
              "rad/rad or rad/m", -LARGEST_LOAD, LARGEST_LOAD),
    Parameter("elasticity.stiffness", "double", 0.0, "Stiffness between motor and link",
              "N m/rad or N/m", 0.0, HIGHEST, "0 for a rigid joint", users=(NODES,)),
    Parameter("elasticity.damping", "double", 0.0, "Damping between motor and link",
              "N m s/rad or N s/m", 0.0, LARGEST_LOAD, users=(NODES,)),
)
# fmt: on

PARAMETERS: Mapping[str, Parameter] = {one.name: one for one in _TABLE}
"""The parameters by name."""

OF_ROS2_CONTROL: Mapping[str, Parameter] = {
    name: one for name, one in PARAMETERS.items() if ROS2_CONTROL in one.users
}
"""The parameters of the controller of ros2_control."""

_READ_BY_CONTROLLER = ("model", "task.twist_timeout", "task.wrench_timeout")

OF_SETTINGS: Mapping[str, Parameter] = {
    name: one
    for name, one in OF_ROS2_CONTROL.items()
    if ROS2_CONTROL not in one.fixed and name not in _READ_BY_CONTROLLER
}
"""The parameters on which settings and load of the step depend."""
