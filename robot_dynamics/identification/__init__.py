"""Identify inertias and friction of a robot from recorded motions."""

from robot_dynamics.identification.drive_gains import (
    DriveGains,
    GainRatios,
    identify_drive_gains,
    identify_gain_ratios,
)
from robot_dynamics.identification.estimation import Identification, identify
from robot_dynamics.identification.excitation.excitation_search import Excitation, excite
from robot_dynamics.identification.excitation.motion_families import MotionBounds
from robot_dynamics.identification.export.parameter_file import (
    Drives,
    read_parameters,
    write_elasticity,
    write_parameters,
)
from robot_dynamics.identification.export.write_back import with_identified, write_urdf
from robot_dynamics.identification.joint_resonance import ResonanceFit, identify_resonance
from robot_dynamics.identification.joint_stiffness import ElasticityFit, identify_elasticity
from robot_dynamics.identification.partial import (
    FrictionFit,
    GravityFit,
    identify_friction,
    identify_gravity,
)
from robot_dynamics.identification.payload_estimation import Payload, identify_payload
from robot_dynamics.identification.validation import Report, validate
from robot_dynamics.recordings.recording import Recording

__all__ = [
    "DriveGains",
    "Drives",
    "ElasticityFit",
    "Excitation",
    "FrictionFit",
    "GainRatios",
    "GravityFit",
    "Identification",
    "MotionBounds",
    "Payload",
    "Recording",
    "Report",
    "ResonanceFit",
    "excite",
    "identify",
    "identify_drive_gains",
    "identify_elasticity",
    "identify_friction",
    "identify_gain_ratios",
    "identify_gravity",
    "identify_payload",
    "identify_resonance",
    "read_parameters",
    "validate",
    "with_identified",
    "write_elasticity",
    "write_parameters",
    "write_urdf",
]
