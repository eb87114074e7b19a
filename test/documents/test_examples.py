"""The examples run as they stand, and what each shows is true by an oracle of its own."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from oracles import example_folder, pin_model
from robot_dynamics import read_urdf
from robot_dynamics.formulations import FORMULATIONS, inverse_dynamics
from robot_dynamics.robot import find_robot
from robot_dynamics.trajectory.trajectory_files import read_trajectory

FOLDER = Path(__file__).parents[2] / "examples"
LINES = 40
DEMONSTRATION = "identify_and_follow.py"  # `make demo IDENTIFY=1`: a program, no model to copy

BRIDGE = "drive_bridge.py"  # a node

# float64 on both sides; a wrong sign gives 1e-1 and more
ROUND_OFF = 1e-9


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs an example in an empty folder; its names, and what it printed."""
    monkeypatch.chdir(tmp_path)

    def run(name, **replaced):
        text = (FOLDER / name).read_text(encoding="utf-8")
        for before, after in replaced.values():
            assert before in text
            text = text.replace(before, after)
        script = tmp_path / name
        script.write_text(text, encoding="utf-8")
        return runpy.run_path(str(script), run_name="__main__"), capsys.readouterr().out

    return run


def needs_example_robots():
    if example_folder() is None:
        pytest.skip("example-robot-data is not installed")


def test_examples_are_short():
    long = {path.name for path in FOLDER.glob("*.py") if path.read_text().count("\n") > LINES}
    assert long <= {DEMONSTRATION, "wipe_a_table.py", "policy_gradient_with_jax.py", BRIDGE}
    assert len((FOLDER / BRIDGE).read_text().splitlines()) <= 60


def test_every_example_is_named_in_their_list():
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    shipped = {path.name for path in FOLDER.iterdir() if path.suffix in (".py", ".ipynb")}
    assert {name for name in shipped if f"({name})" not in listed} == set()


def test_gravity_torques_are_those_of_pinocchio(run):
    needs_example_robots()
    names, printed = run("gravity_torques.py")
    oracle = pin_model(names["robot"])
    for pose, q in names["poses"].items():
        tau = oracle.gravity(q)
        assert np.abs(names["arm"].gravity(q) - tau).max() < ROUND_OFF * np.abs(tau).max()
        assert pose in printed


def test_a_payload_compiled_in_and_one_given_with_the_call_take_the_same(run):
    needs_example_robots()
    names, printed = run("payload.py")
    assert np.allclose(names["tau_input"], names["tau_loaded"], rtol=0, atol=ROUND_OFF)
    expected = pin_model(names["loaded"]).inverse(names["q"], names["qd"], names["qdd"])
    assert np.allclose(names["tau_loaded"], expected, rtol=0, atol=1e-7)  # N m, of 60
    assert "panda_joint4" in printed


def test_formulations_agree(run):
    names, printed = run("compare_formulations.py")
    assert set(names["differences"]) == set(FORMULATIONS)
    assert max(names["differences"].values()) < ROUND_OFF
    assert all(name in printed for name in FORMULATIONS)


def test_the_equations_that_are_printed_are_those_of_the_arm(run):
    needs_example_robots()
    _, printed = run("count_operations.py")
    q, qd, qdd = np.random.default_rng(0).uniform(-2.0, 2.0, (3, 2))
    scope = {"cos": np.cos, "sin": np.sin}
    for name, values in (("q", q), ("qd", qd), ("qdd", qdd)):
        scope |= {f"{name}{i}": value for i, value in enumerate(values, start=1)}
    exec(printed.split("planar_2r:\n\n", 1)[1], scope)
    planar = read_urdf(find_robot("planar_2r"))
    expected = inverse_dynamics(planar, q, qd, qdd, formulation="newton_euler")
    assert np.allclose([scope["tau1"], scope["tau2"]], expected, rtol=ROUND_OFF)


def test_the_c_function_computes_what_python_does(run):
    needs_example_robots()
    try:
        names, _ = run("c_function.py")
    except SystemExit as refusal:
        pytest.skip(str(refusal))
    motion = names["q"], names["qd"], names["qdd"]
    expected = inverse_dynamics(names["arm"].robot, *motion, formulation="newton_euler")
    assert np.allclose(names["tau"], expected, rtol=0, atol=ROUND_OFF)


def test_the_effort_of_a_trajectory_is_that_of_its_motion(run):
    names, _ = run("trajectory_with_effort.py")
    read = read_trajectory("motion_with_effort.csv")
    robot = names["arm"].robot
    for row in zip(read.positions, read.velocities, read.accelerations, read.effort, strict=True):
        expected = inverse_dynamics(robot, *row[:3], formulation="newton_euler")
        assert np.allclose(row[3], expected, rtol=0, atol=ROUND_OFF)


def test_a_simulated_arm_follows_better_with_feedforward(run):
    needs_example_robots()
    _, printed = run("simulate_and_plot.py")
    pd, feedforward = (
        np.array(line.split("[")[1].strip("] ").split(), dtype=float)
        for line in printed.splitlines()
        if "RMS" in line
    )
    assert (feedforward < 0.5 * pd).all()  # 10 % of the load is left to feedback
    assert Path("tracking.png").read_bytes()[:4] == b"\x89PNG"


def test_many_states_are_those_that_come_one_by_one(run):
    needs_example_robots()
    names, printed = run("million_states.py", fewer=("N = 1_000_000", "N = 1_000"))
    for k in (0, 17, 999):
        state = names["states"][:, k]
        expected = inverse_dynamics(names["arm"].robot, *state, formulation="newton_euler")
        assert np.allclose(names["tau"][k], expected, rtol=0, atol=ROUND_OFF)
    assert names["worst"] < 1e-5  # single precision
    assert "float32" in printed


def test_a_law_of_ones_own_follows_better_than_its_feedback_alone(run):
    needs_example_robots()
    names, _ = run("own_control_law.py")
    with_model, without = (log.rms_error for log in names["logs"].values())
    assert (with_model < 0.5 * without).all()


def test_an_end_effector_wipes_a_table_with_the_asked_force(run):
    _, output = run("wipe_a_table.py")
    pressing, wiping = (re.findall(r"[\d.]+ to [\d.]+", line)[0] for line in output.splitlines())
    for text in (pressing, wiping):
        # Half a newton, as the stiff table moves the end effector while it slides
        assert all(9.5 < float(force) < 10.5 for force in text.split(" to "))


@pytest.mark.thorough
def test_predictive_control_brings_the_end_effector_to_its_target(run):
    needs_example_robots()
    pytest.importorskip("casadi", reason="CasADi is not installed")
    names, _ = run("mpc_with_casadi.py")
    assert names["misses"][-1] < 1e-3  # m, of 0.3 at the start
    assert np.abs(names["solution"].value(names["tau"])).max() <= names["limits"].max() + 1e-6


@pytest.mark.thorough
def test_a_policy_learns_through_the_dynamics(run):
    pytest.importorskip("jax", reason="JAX is not installed")
    names, _ = run("policy_gradient_with_jax.py")
    assert names["losses"][-1] < 0.1 * names["losses"][0]


@pytest.mark.thorough
def test_a_network_learns_the_friction_that_the_model_lacks(run):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    names, _ = run("dynamics_loss_with_torch.py")
    assert names["losses"][-1] < 0.01 * names["losses"][0]


def test_a_bridge_passes_commands_on_and_holds_where_they_end():
    pytest.importorskip("sensor_msgs.msg")
    from builtin_interfaces.msg import Time
    from sensor_msgs.msg import JointState

    names, now = runpy.run_path(str(FOLDER / BRIDGE)), [0.0]
    drives = names["Drives"]()
    bridge = names["Bridge"](drives, lambda: now[0])
    assert list(bridge.cycle(Time()).position) == [0.0, 0.0]  # nothing moves before a command
    seen, send = [], drives.send

    def spy(*command):
        seen.append(command)
        send(*command)

    drives.send = spy
    given = {"position": [0.2, 0.1], "velocity": [0.5, 0.4], "effort": [3.0, 2.0]}
    bridge.receive(JointState(name=["joint_2", "joint_1"], **given))
    bridge.cycle(Time())
    q, qd, kp, kd, tau = seen[-1]
    assert [x.tolist() for x in (q, qd, tau)] == [[0.1, 0.2], [0.4, 0.5], [2.0, 3.0]]
    assert (kp is names["KP"], kd is names["KD"]) == (True, True)
    bridge.receive(JointState(name=["joint_1", "joint_2"], **{**given, "effort": [np.nan, 0.0]}))
    now[0] = 2.0 * names["TIMEOUT"]
    for _ in range(2000):
        state = bridge.cycle(Time())
    assert seen[-1][1].tolist() == [0.0, 0.0]
    at_rest = np.array([0.1, 0.2]) + np.array([2.0, 3.0]) / names["KP"]  # the last effort stays
    assert np.allclose(state.position, at_rest, rtol=0, atol=1e-6)
