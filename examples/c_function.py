"""Write a robot's inverse dynamics as one C99 function, compile it with cc, and call it."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.robot import find_robot

arm = Dynamics(read_urdf(find_robot("ur5")))
Path("ur5.c").write_text(arm.c_source("inverse"))
print("ur5.c:", len(arm.c_source("inverse").splitlines()), "lines, no headers but math.h")

compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
if compiler is None:
    raise SystemExit("no C compiler; ur5.c is ready for one")
subprocess.run(
    [compiler, "-O2", "-std=c99", "-shared", "-fPIC", "ur5.c", "-o", "ur5.so", "-lm"], check=True
)

doubles = np.ctypeslib.ndpointer(np.float64, shape=(6,), flags="C_CONTIGUOUS")
inverse = ctypes.CDLL("./ur5.so").ur5_inverse
inverse.argtypes, inverse.restype = [doubles] * 4, None

q, qd, qdd = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 6))
tau = np.empty(6)
inverse(q, qd, qdd, tau)
print("tau from C:     ", tau.round(6))
print("tau from Python:", arm.inverse(q, qd, qdd).round(6), "N m")
