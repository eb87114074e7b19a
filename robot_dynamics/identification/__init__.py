"""Identification: from a recorded motion to a robot that fits."""

from robot_dynamics.identification.drive_gains import DriveGains, identify_drive_gains
from robot_dynamics.identification.estimation import Identification, identify
from robot_dynamics.identification.excitation.excitation_search import Excitation, excite
from robot_dynamics.identification.excitation.motion_families import Room
from robot_dynamics.identification.payload_estimation import Payload, identify_payload
from robot_dynamics.identification.recordings.recording import Recording
from robot_dynamics.identification.validation import Report, validate
from robot_dynamics.identification.written.parameter_file import (
    Drives,
    read_parameters,
    write_parameters,
)
from robot_dynamics.identification.written.write_back import with_identified, write_urdf

__all__ = [
    "DriveGains",
    "Drives",
    "Excitation",
    "Identification",
    "Payload",
    "Recording",
    "Report",
    "Room",
    "excite",
    "identify",
    "identify_drive_gains",
    "identify_payload",
    "read_parameters",
    "validate",
    "with_identified",
    "write_parameters",
    "write_urdf",
]
