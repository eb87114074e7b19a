"""Plots beside the robot: the numbers that their curves show, and of which seconds."""

import numpy as np
import pytest

pytest.importorskip("viser")

import viser

from robot_dynamics import read_urdf
from robot_dynamics.viewer.effort_causes import CAUSES, EffortCauses
from robot_dynamics.viewer.plots import MOST_CURVES, WINDOW_S, Plots
from robot_dynamics.viewer.snapshot import Snapshot

N = 12


@pytest.fixture
def server(free_port):
    server = viser.ViserServer(port=free_port, verbose=False)
    yield server
    server.stop()


@pytest.fixture
def plots(server):
    """Plots of a row of joints, all but the first without an effort limit."""
    inertia = "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
    text = "<link name='link_0'/>"
    for k in range(N):
        text += (
            f"<link name='link_{k + 1}'><inertial><mass value='1'/>{inertia}</inertial></link>"
            f"<joint name='joint_{k}' type='continuous'><parent link='link_{k}'/>"
            f"<child link='link_{k + 1}'/><axis xyz='0 0 1'/></joint>"
        )
    robot = read_urdf(f"<robot name='row'>{text}</robot>")
    limit = np.array([50.0, *np.full(N - 1, np.inf)])
    return Plots(server, robot, [link.name for link in robot.links[1:]], limit)


def handles(curves):
    return [handle for handle, _ in curves._plots]


def test_curves_show_positions_errors_in_thousandths_and_efforts_in_percent(plots):
    q, zero, tau = np.linspace(0.1, 1.2, N), np.zeros(N), np.full(N, 20.0)
    for t in (0.0, 0.5):
        plots.add(Snapshot(t, q, zero, zero, tau, q_d=q + 0.002))
    plots.draw()
    position, error, effort = (np.array(plot.data) for plot in handles(plots._motion))
    assert position.shape == error.shape == effort.shape == (1 + MOST_CURVES, 2)
    np.testing.assert_array_equal(position[:, 1], [0.5, *q[:MOST_CURVES]])
    np.testing.assert_allclose(error[1:], 2.0)
    np.testing.assert_array_equal(effort[:2, 1], [0.5, 40.0])
    np.testing.assert_array_equal(effort[2:], 20.0)
    titles = [plot.title for plot in handles(plots._motion)]
    assert all(title.endswith("; first 10 of 12") for title in titles)


def test_the_efforts_of_the_chosen_joint_are_taken_apart(plots):
    rng = np.random.default_rng(0)
    q, tau = np.zeros(N), rng.normal(size=N)
    causes = EffortCauses(rng.normal(size=(len(CAUSES), N)), rng.normal(size=(N, N)))
    plots.joint.value = "joint_11"
    for t in (0.0, 0.5):
        plots.take_apart(Snapshot(t, q, q, q, tau), causes)
    plots.draw()
    by_cause, by_link = (np.array(plot.data)[1:, 1] for plot in handles(plots._parts))
    expected = [tau[11], causes.total[11], *causes.by_cause[:, 11]]
    np.testing.assert_array_equal(by_cause, expected)
    np.testing.assert_array_equal(by_link, causes.by_link[:MOST_CURVES, 11])
    titles = [plot.title for plot in handles(plots._parts)]
    assert [title.endswith("; first 10 of 12") for title in titles] == [False, True]


def test_the_last_seconds_are_shown_until_a_motion_begins_anew(plots):
    q = np.zeros(N)

    def times(*fed):
        for t in fed:
            plots.add(Snapshot(t, q, q, q, q))
        plots.draw()
        return handles(plots._motion)[0].data[0].tolist()

    assert times(0.0, 1.0, WINDOW_S, WINDOW_S + 0.5) == [1.0, WINDOW_S, WINDOW_S + 0.5]
    assert times(0.25, 0.5) == [0.25, 0.5]


def test_plots_are_high_enough_for_several_ticks(plots):
    for plot in handles(plots._motion):
        y = plot.axes[1]
        assert 4 * y["space"] < plot.height - 80  # of title, legend and times
