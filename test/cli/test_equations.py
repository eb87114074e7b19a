"""robot-dynamics equations: what it prints computes the torques, in every language."""

import ctypes
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.cli import main
from robot_dynamics.control import Friction
from robot_dynamics.robot import find_robot
from robot_dynamics.robot.base_motion import BaseMotion
from robot_dynamics.spatial import Inertia, inertial_parameters
from robot_dynamics.version import __version__

ROOT = Path(__file__).parents[2]
STATE = np.array([0.3, 0.9]), np.array([0.7, -1.1]), np.array([1.5, -0.4])
SEARCH = ["--as", "c", "--search"]
STRICT = [
    *("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic"),
    *("-shared", "-fPIC"),
]
PATIENCE = 300.0  # s
ROUND_OFF = 1e-13  # the same straight-line equations, other sines


@pytest.fixture
def equations(capsys):
    """The verb with its arguments: exit status, standard output and error."""

    def equations(*words):
        status = main(["equations", *words])
        return status, *capsys.readouterr()

    return equations


@pytest.fixture(scope="module")
def tau():
    """Efforts of the shipped planar arm, by the method of Dynamics."""
    return Dynamics(read_urdf(find_robot("planar_2r"))).inverse(*STATE)


def test_python_runs_as_printed(equations, tau):
    namespace = {}
    exec(equations("planar_2r", "--as", "python")[1], namespace)
    assert np.allclose(namespace["planar_2r_inverse"](*STATE), tau, rtol=ROUND_OFF)


def test_text_is_arithmetic_in_the_symbols_of_the_field(equations, tau):
    lines = equations("planar_2r")[1].split("\n")
    values = {"cos": np.cos, "sin": np.sin}
    for name, numbers in zip(("q", "qd", "qdd"), STATE, strict=True):
        values |= {f"{name}{i + 1}": number for i, number in enumerate(numbers)}
    for line in filter(None, lines):
        exec(line, values)
    assert np.allclose([values["tau1"], values["tau2"]], tau, rtol=ROUND_OFF)


@pytest.mark.parametrize("language", ["c", "c-float"])
def test_c_compiles_under_every_warning_and_computes_the_efforts(
    equations, language, tau, tmp_path
):
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    source = tmp_path / "arm.c"
    source.write_text(equations("planar_2r", "--as", language)[1])
    library = tmp_path / "arm.so"
    subprocess.run([compiler, *STRICT, source, "-o", library, "-lm"], check=True)
    double = np.float64, ROUND_OFF, "planar_2r_inverse"
    single = np.float32, 1e-5, "planar_2r_inverse_f"
    scalar, tolerance, name = double if language == "c" else single
    arrays = [np.asarray(a, dtype=scalar) for a in STATE]
    result = np.zeros(2, dtype=scalar)
    function = getattr(ctypes.CDLL(str(library)), name)
    function(*(ctypes.c_void_p(a.ctypes.data) for a in (*arrays, result)))
    assert np.allclose(result, tau, rtol=tolerance)


def test_latex_is_one_aligned_block(equations):
    _, text, _ = equations("planar_2r", "--as", "latex")
    assert text.startswith(r"\begin{align*}") and text.rstrip().endswith(r"\end{align*}")
    assert text.count("&=") == text.count(r"\\") + 1


@pytest.mark.thorough
def test_a_search_finds_fewer_operations_and_says_nothing_in_a_pipe(equations):
    _, plain, _ = equations("ur5", "--as", "c")
    _, searched, said = equations("ur5", "--as", "c", "--search")
    assert said == ""
    assert operations(searched) < operations(plain)


def operations(source):
    """Multiplications and additions that the head of a source announces."""
    counts = re.search(r"(\d+) multiplications, (\d+) additions", source)
    return sum(map(int, counts.groups()))


def test_a_search_shows_its_progress_on_a_terminal():
    pty = pytest.importorskip("pty", reason="terminals of this kind are Unix's")
    ours, theirs = pty.openpty()
    with ThreadPoolExecutor() as pool:
        reading = pool.submit(read_to_its_end, ours)  # a terminal that nobody reads takes no more
        try:
            done = subprocess.run(
                [sys.executable, "-m", "robot_dynamics", "equations", "planar_2r", *SEARCH],
                env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
                stdout=subprocess.PIPE,
                stderr=theirs,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
        finally:
            os.close(theirs)
        shown = reading.result()
    os.close(ours)
    assert "searching" in shown
    assert re.search(r"\d+ %", shown)
    assert done.stdout.startswith("/*")


def read_to_its_end(terminal):
    """All that is shown until everybody has closed the other side, which is an error here."""
    shown = b""
    with suppress(OSError):
        while part := os.read(terminal, 4096):
            shown += part
    return shown.decode(errors="ignore")


def test_a_search_of_another_formulation_is_refused(equations):
    status, _, said = equations("planar_2r", "--search", "--formulation", "kane")
    assert status == 1
    assert said == (
        "robot-dynamics equations: --search: only augmented_body is searched, not kane; leave one "
        "of the two options out\n"
    )


def test_a_frame_that_is_not_there_is_one_line(equations):
    status, _, said = equations("planar_2r", "--kernel", "pose", "--frame", "nose")
    assert status == 1
    assert said.startswith("robot-dynamics equations: no frame 'nose' in robot 'planar_2r'")
    assert said.count("\n") == 1


@pytest.mark.parametrize("option", [["--symbolic"], ["--symbolic", "base"]])
def test_symbolic_equations_list_values_and_the_number_of_operations(equations, option, tau):
    _, text, _ = equations("planar_2r", *option)
    assert re.match(
        r"# planar_2r_inverse_of_\w+: \d+ multiplications, \d+ additions, 4 sines", text
    )
    values = {"cos": np.cos, "sin": np.sin}
    for name, numbers in zip(("q", "qd", "qdd"), STATE, strict=True):
        values |= {f"{name}{i + 1}": number for i, number in enumerate(numbers)}
    for name, number in re.findall(r"^# (\w+) = (\S+) ", text, re.MULTILINE):
        values[name] = float(number)
    exec(text, values)
    assert np.allclose([values["tau1"], values["tau2"]], tau, rtol=1e-12)


def test_c_with_a_payload_a_wrench_and_gravity_as_inputs(equations, tmp_path):
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    source, library = tmp_path / "arm.c", tmp_path / "arm.so"
    words = [
        "planar_2r",
        "--as",
        "c",
        "--frame",
        "link_2",
        "--with",
        "wrench",
        "payload",
        "gravity",
    ]
    source.write_text(equations(*words)[1])
    assert " * variant: wrench@link_2+payload@link_2+gravity\n" in source.read_text()
    subprocess.run([compiler, *STRICT, source, "-o", library, "-lm"], check=True)
    load = Inertia.from_com(2.0, [0.1, 0.2, -0.1], np.diag([0.1, 0.2, 0.15]))
    wrench, gravity = np.array([1.0, 2, 3, 4, 5, 6]), np.array([0.5, 0.0, -1.62])
    result = np.zeros(2)
    name = "planar_2r_inverse_wrench_link_2_payload_link_2_gravity"
    function = getattr(ctypes.CDLL(str(library)), name)
    arrays = (*STATE, wrench, inertial_parameters(load), gravity, result)
    function(*(ctypes.c_void_p(a.ctypes.data) for a in arrays))
    expected = Dynamics(read_urdf(find_robot("planar_2r"))).inverse(
        *STATE, wrench=wrench, payload=load, gravity=gravity, frame="link_2"
    )
    assert np.allclose(result, expected, rtol=ROUND_OFF)


def test_c_explains_itself(equations):
    _, text, _ = equations("panda", "--as", "c", "--with", "payload", "gravity", "--frame",
                           "panda_hand")  # fmt: skip
    head = " ".join(text.partition("*/")[0].replace("\n * ", "\n").split())
    for fact in (
        f"generator: robot_dynamics {__version__}",
        "license: Apache-2.0",
        "joints: 0 panda_joint1 (rad), 1 panda_joint2 (rad)",
        "7 panda_finger_joint1 (m)",
        "tau[8]: output: joint efforts, N m or N, positive along the joint axes",
        "payload[10]: input: load at frame 'panda_hand': mass, kg; first moment (mass times mass "
        "centre) x, y, z, kg m; inertia xx, xy, xz, yy, yz, zz about the origin of the frame, "
        "kg m^2; all in its axes",
        "gravity[3]: input: gravitational acceleration x, y, z, m/s^2, in the axes of the root "
        "link 'panda_link0'; (0.0, 0.0, -9.81) in the robot description",
        "left out: rotor inertia, joint and effort limits, damping and friction of the joints in "
        "the robot description; --with friction adds them",
        "intermediate values of type double; no heap, no state",
    ):
        assert fact in head, fact


def test_a_matrix_says_how_it_is_stored(equations):
    assert (
        "M[2, 2]: output: mass matrix, kg m^2, kg m or kg; row by row, entry i, j at 2 i + j"
        in (equations("planar_2r", "--as", "c", "--kernel", "mass_matrix")[1])
    )


def compiled(text, folder, *flags):
    """A library of C source."""
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    (folder / "arm.c").write_text(text)
    command = [compiler, *STRICT, *flags, folder / "arm.c", "-o", folder / "arm.so", "-lm"]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(folder / "arm.so"))


def called(function, *arrays):
    function(*(ctypes.c_void_p(a.ctypes.data) for a in arrays))
    return arrays[-1]


def test_several_kernels_stand_in_one_file_under_a_chosen_name(equations, tmp_path):
    words = ["--kernel", "inverse", "--kernel", "forward", "--name", "left_arm"]
    library = compiled(equations("planar_2r", "--as", "c", *words)[1], tmp_path)
    tau = called(library.left_arm_inverse, *STATE, np.zeros(2))
    qdd = called(library.left_arm_forward, *STATE[:2], tau, np.zeros(2))
    assert np.allclose(qdd, STATE[2], rtol=1e-12)  # a solution of two equations


def test_a_base_that_moves_is_an_input_of_c(equations, tmp_path):
    arm = read_urdf(find_robot("planar_2r"))
    words = ["planar_2r", "--as", "c", "--name", "arm", "--kernel", "inverse", "--kernel"]
    text = equations(*words, "inverse_derivatives", "--base", "moving")[1]
    library = compiled(text, tmp_path)
    base = BaseMotion((0.1, 0.2, 0.3, np.sqrt(0.86)), np.arange(6.0), np.arange(1.0, 7.0))
    numbers, efforts, wrench = base.numbers(arm), np.zeros(2), np.zeros(6)
    called(library.arm_inverse_moving_base, *STATE, numbers, efforts, wrench)
    expected = Dynamics(arm, base="moving").inverse(*STATE, base=base)
    assert np.allclose(efforts, expected.tau, rtol=ROUND_OFF)
    assert np.allclose(wrench, expected.base_wrench, rtol=ROUND_OFF)
    assert library.arm_inverse_derivatives_moving_base


def test_a_floating_base_is_the_first_joint_of_c(equations, tmp_path):
    _, text, _ = equations("planar_2r", "--as", "c", "--name", "arm", "--base", "floating")
    head = " ".join(text.partition("*/")[0].replace("\n * ", "\n").split())
    for fact in (
        "q[9]: input: joint positions in the order of joints, rad or m; at 0 to 6 position x, y, "
        "z, m, and unit quaternion x, y, z, w of floating_base",
        "tau[8]: output: joint efforts, N m or N, positive along the joint axes; at 0 to 5 force "
        "x, y, z and moment x, y, z, in axes of the link, of floating_base",
    ):
        assert fact in head, fact
    dog = Dynamics(read_urdf(find_robot("planar_2r")), base="floating")
    state = dog.integrate(dog.neutral(), np.arange(1.0, 9.0)), np.arange(8.0), np.ones(8)
    found = called(compiled(text, tmp_path).arm_inverse_floating_base, *state, np.zeros(8))
    assert np.allclose(found, dog.inverse(*state), rtol=ROUND_OFF, atol=1e-10)


def test_a_name_that_is_no_identifier_is_one_line(equations):
    status, _, said = equations("planar_2r", "--as", "c", "--name", "x; system(1)")
    assert status == 1
    assert said == (
        "robot-dynamics equations: name: got 'x; system(1)'; give a name of ASCII characters: a "
        "letter, then alphanumeric ones and single underscores\n"
    )


@pytest.mark.parametrize("option", [["--with", "gravity"], ["--symbolic"], ["--symbolic", "base"]])
def test_default_values_are_constants_with_all_digits(equations, option, tau, tmp_path):
    _, text, _ = equations("planar_2r", "--as", "c", "--name", "arm", *option)
    name = re.search(r"(\w+_default)\(", text).group(1)
    found = called(getattr(compiled(text, tmp_path), name), *STATE, np.zeros(2))
    assert np.allclose(found, tau, rtol=ROUND_OFF)


def test_sines_and_cosines_can_be_replaced(equations, tmp_path):
    flags = ["-DROBOT_DYNAMICS_SIN(x)=(0.0*(x))", "-DROBOT_DYNAMICS_COS(x)=(1.0+0.0*(x))"]
    library = compiled(equations("planar_2r", "--as", "c", "--kernel", "gravity")[1], tmp_path,
                       *flags)  # fmt: skip
    arm = Dynamics(read_urdf(find_robot("planar_2r")))
    found = called(library.planar_2r_gravity, STATE[0], np.zeros(2))
    assert np.allclose(found, arm.gravity(np.zeros(2)), rtol=ROUND_OFF)


def test_friction_of_the_urdf_is_an_option(equations, tmp_path):
    path = tmp_path / "rough.urdf"
    text = find_robot("planar_2r").read_text()
    path.write_text(text.replace("</joint>", '<dynamics damping="0.5" friction="2"/></joint>'))
    robot = read_urdf(path)
    words = ["--as", "c", "--with", "friction", "--name", "arm"]
    words += ["--kernel", "inverse", "--kernel", "forward"]
    library = compiled(equations(str(path), *words)[1], tmp_path)
    found = called(library.arm_inverse_friction, *STATE, np.zeros(2))
    expected = Dynamics(robot).inverse(*STATE) + Friction.of(robot).smooth(STATE[1])
    assert np.allclose(found, expected, rtol=ROUND_OFF)
    qdd = called(library.arm_forward_friction, *STATE[:2], found, np.zeros(2))
    assert np.allclose(qdd, STATE[2], rtol=1e-12)  # a solution of two equations


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["planar_2r", "--frame", "endpoint"],
            "--frame: kernel 'inverse' is about no frame; add --with wrench or --with payload, or "
            "leave it out",
        ),
        (
            ["planar_2r", "--kernel", "mass_matrix", "--with", "gravity"],
            "--with gravity: kernel 'mass_matrix' does not depend on it",
        ),
        (
            ["planar_2r", "--symbolic", "--search"],
            "--search: there is no search with --symbolic; leave one out",
        ),
        (
            ["planar_2r", "--symbolic", "--sorted", "--base", "moving"],
            "only the kernel 'inverse', without friction, wrench and moving base, is sorted as "
            "M, C and G",
        ),
        (
            ["planar_2r", "--symbolic", "--sorted", "--base", "floating"],
            "robot 'planar_2r' has a floating or planar joint, whose equations are not sorted as "
            "M, C and G; leave sorting out, or weld the joint with robot.with_fixed_base()",
        ),
    ],
)
def test_options_that_do_not_fit_are_one_line(equations, words, message):
    status, _, said = equations(*words)
    assert status == 1
    assert said == f"robot-dynamics equations: {message}\n"
