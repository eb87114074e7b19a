"""A model library loaded by ctypes, with its vectors by the names of their fields."""

import ctypes
from pathlib import Path

import numpy as np

from robot_dynamics.export.model_library import ModelRequest, write_library
from robot_dynamics.robot import find_robot, read_urdf, urdf_text
from robot_dynamics.robot.endpoint import end_effector_by_rule

TEXT, SIZE, INT, REAL = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_double
POINTER = ctypes.POINTER(REAL)


def structure(*fields):
    return type("Structure", (ctypes.Structure,), {"_fields_": fields})


FIELD = structure(
    ("name", TEXT), ("about", TEXT), ("offset", SIZE), ("size", SIZE), ("per_joint", INT),
    ("choices", ctypes.POINTER(TEXT)),
)  # fmt: skip
LAYOUT = structure(
    ("size", SIZE), ("field_count", SIZE), ("fields", ctypes.POINTER(FIELD)), ("initial", POINTER)
)
JOINT = structure(
    ("name", TEXT), ("rotates", INT),
    *((name, REAL) for name in ("lower", "upper", "velocity", "effort")),
)  # fmt: skip
STATUS = structure(
    *((x, TEXT) for x in ("name", "words", "words_in_task")), ("level", INT), ("log_level", INT),
    ("remedy", TEXT),
    ("has_states", INT),
)  # fmt: skip
CAUSE = structure(
    *((x, TEXT) for x in ("name", "text", "value_quantity", "limit_quantity", "remedy")),
    ("format", TEXT), ("whole_from", REAL), ("whole_below", REAL),
)  # fmt: skip
QUANTITY = structure(*((x, TEXT) for x in ("name", "of_rotation", "of_translation")))


def table(kind, name, count):
    return (count, SIZE), (name, ctypes.POINTER(kind))


MODEL = structure(
    ("abi_version", ctypes.c_uint32), ("size", ctypes.c_uint32),
    *((name, TEXT) for name in ("robot", "fingerprint", "command", "version")),
    *table(JOINT, "joints", "joint_count"),
    *table(TEXT, "modes", "mode_count"),
    ("modes_in_task", ctypes.POINTER(INT)), ("modes_follow", ctypes.POINTER(INT)),
    *table(TEXT, "laws", "law_count"),
    *table(STATUS, "statuses", "status_count"),
    *table(CAUSE, "causes", "cause_count"),
    *table(CAUSE, "refusals", "refusal_count"),
    *table(CAUSE, "flaws", "flaw_count"),
    *table(CAUSE, "obstacles", "obstacle_count"),
    *table(QUANTITY, "quantities", "quantity_count"),
    ("root", TEXT),
    *(("link_count", SIZE), ("links", ctypes.c_void_p)),
    *(("tree_joint_count", SIZE), ("tree", ctypes.c_void_p)),
    *(("frame_count", SIZE), ("frame_list", ctypes.c_void_p)),
    *((name, TEXT) for name in ("payload_frame", "end_effector", "projector")),
    ("base_moves", INT), ("transmissions", POINTER),
    *((name, LAYOUT) for name in ("state", "arrived", "settings", "parameters", "refusal")),
    ("step", ctypes.CFUNCTYPE(None, *4 * [POINTER])),
    ("configure", ctypes.CFUNCTYPE(None, *5 * [POINTER])),
    ("frames", ctypes.CFUNCTYPE(None, *2 * [POINTER])),
    ("reference", ctypes.CFUNCTYPE(None, *3 * [POINTER])),
    ("hold", ctypes.CFUNCTYPE(None, *4 * [POINTER])),
    ("check_load", ctypes.CFUNCTYPE(None, *5 * [POINTER])),
    ("check_wrench", ctypes.CFUNCTYPE(None, *5 * [POINTER])),
    ("imu_gravity", ctypes.CFUNCTYPE(None, *5 * [POINTER])),
)  # fmt: skip


class LoadedModel:
    """A model library."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.model = MODEL.in_dll(self.library, "robot_dynamics_model")
        assert self.model.size == ctypes.sizeof(MODEL)
        self.n = self.model.joint_count
        self.joint_names = [self.model.joints[i].name.decode() for i in range(self.n)]

    def initial(self, name):
        """Initial values of a vector."""
        layout = getattr(self.model, name)
        return np.ctypeslib.as_array(layout.initial, (layout.size,)).copy()

    def views(self, name, vector):
        """Fields of a vector, by name."""
        layout = getattr(self.model, name)
        fields = [layout.fields[i] for i in range(layout.field_count)]
        return {f.name.decode(): vector[f.offset : f.offset + f.size] for f in fields}

    def call(self, name, *vectors):
        """Call a function with vectors, the last of which are its results."""
        getattr(self.model, name)(*(vector.ctypes.data_as(POINTER) for vector in vectors))

    def configured(self, **given):
        """Settings, load, effective parameters and refusal of parameters."""
        parameters = self.initial("parameters")
        for name, value in given.items():
            self.views("parameters", parameters)[name.replace("__", ".")][:] = value
        found = {"settings": self.initial("settings"), "load": np.zeros(19)}
        found |= {"effective": parameters * 0.0, "refusal": self.initial("refusal")}
        self.call("configure", parameters, *found.values())
        return found

    def refusal(self, vector):
        """Refusal as name, joint, value and limit; None without one."""
        number, joint, value, limit, *_ = vector
        if not number:
            return None
        return self.model.refusals[int(number)].name.decode(), int(joint), value, limit

    def notice(self, vector):
        """Return the name and the joint of what a check reports but accepts; None if nothing."""
        number, joint = vector[-2:]
        return (self.model.refusals[int(number)].name.decode(), int(joint)) if number else None


def request_of(name, **options):
    """Request of a known robot with locked fingers."""
    whole = read_urdf(find_robot(name))
    locked = {joint: 0.0 for joint in whole.joint_names if "finger" in joint}
    robot = whole.with_locked(locked) if locked else whole
    options.setdefault("endpoint", end_effector_by_rule(robot))
    options.setdefault("end_effector", options["endpoint"])
    return ModelRequest(urdf_text(name), whole, locked, **options)


def built(request, folder):
    """Compile a request, and return the path of the library."""
    path = Path(folder) / "model.so"
    write_library(request, path)
    return path
