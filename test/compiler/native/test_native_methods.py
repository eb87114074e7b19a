"""Entries that take the place of methods, and methods that a subclass or a test replaces."""

import gc
import inspect
import pickle
import sys
import threading
import weakref
from abc import ABC, abstractmethod
from unittest import mock

import numpy as np
import pytest

from robot_dynamics import Dynamics, read_urdf
from robot_dynamics.compiler.native.entry import native_entry
from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot import find_robot
from robot_dynamics.spatial import Inertia

LOAD = Inertia.from_com(1.0, (0.1, 0.0, 0.0), 0.01 * np.eye(3))
NATIVE = pytest.mark.skipif(not native_entry.available(), reason="no native entries here")
CALLS = 4  # the entry takes the place of a method in the first


@pytest.fixture(scope="module")
def robot():
    return read_urdf(find_robot("planar_2r"))


@pytest.fixture
def state(robot):
    return np.random.default_rng(0).normal(size=(3, robot.dof))


def test_a_method_of_a_subclass_is_called_every_time(robot, state):
    class Doubled(Dynamics):
        def inverse(self, *args, **kwargs):
            return 2.0 * super().inverse(*args, **kwargs)

    expected = 2.0 * Dynamics(robot).inverse(*state)
    arm = Doubled(robot)
    for _ in range(CALLS):
        np.testing.assert_array_equal(arm.inverse(*state), expected)


def test_a_method_of_a_mixed_in_class_is_called_every_time(robot, state):
    class Silent:
        def bias(self, q, qd):
            return "silence"

    class Mixed(Silent, Dynamics):
        pass

    arm = Mixed(robot)
    assert [arm.bias(*state[:2]) for _ in range(CALLS)] == ["silence"] * CALLS


@pytest.mark.parametrize("owner", ["Dynamics", "subclass", "object"])
def test_a_patched_method_is_called_before_and_after_the_first_call(robot, state, owner):
    class Mine(Dynamics):
        pass

    arm = Mine(robot)
    target = {"Dynamics": Dynamics, "subclass": Mine, "object": arm}[owner]
    expected = arm.inverse(*state).copy()
    for _ in range(2):
        with mock.patch.object(target, "inverse", return_value="patched"):
            assert [arm.inverse(*state) for _ in range(CALLS)] == ["patched"] * CALLS
        for _ in range(CALLS):
            np.testing.assert_array_equal(arm.inverse(*state), expected)


def test_a_method_set_on_the_class_is_obeyed_by_robots_that_are_in_use(robot, state, monkeypatch):
    arm, other = Dynamics(robot), Dynamics(robot)
    for each in (arm, other):
        each.gravity(state[0])
    monkeypatch.setattr(Dynamics, "gravity", lambda self, q: type(self).__name__)
    assert [arm.gravity(state[0]), other.gravity(state[0])] == ["Dynamics", "Dynamics"]


def test_a_subclass_may_have_abstract_methods(robot):
    class Named(ABC):
        @abstractmethod
        def title(self): ...

    class Titled(Dynamics, Named):
        def title(self):
            return self.robot.name

    assert Titled(robot).title() == robot.name


@pytest.mark.parametrize("name", ["inverse", "forward", "bias", "energy", "inverse_derivatives"])
def test_help_and_signature_stay_those_of_the_method(robot, state, name):
    arm, method = Dynamics(robot), getattr(Dynamics, name)
    assert inspect.isfunction(method)
    parameters = list(inspect.signature(method).parameters.values())[1:]
    arguments = state[:2] if name in ("bias", "energy") else state
    for _ in range(3):
        entry = getattr(arm, name)
        assert inspect.isbuiltin(entry) == native_entry.available()
        shown = [(p.name, p.kind, p.default) for p in inspect.signature(entry).parameters.values()]
        assert shown == [(p.name, p.kind, p.default) for p in parameters]
        assert inspect.getdoc(entry) == inspect.getdoc(method)
        assert entry.__name__ == name
        entry(*arguments)


def python_calls(function):
    """Names of the Python functions that a call enters."""
    names = []

    def note(frame, event, _argument):
        if event == "call":
            names.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return names[1:]


@NATIVE
@pytest.mark.parametrize("method", ["inverse", "forward"])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"gravity": np.array([0.0, 0.0, -1.62])},
        {"wrench": np.ones(6)},
        {"payload": LOAD, "frame": "link_2"},
        {"frame": "link_2", "gravity": np.array([0.0, 0.0, -1.62]), "payload": LOAD},
    ],
)
def test_a_call_with_inputs_beside_the_motion_enters_no_python(robot, state, method, given):
    arm, expected = Dynamics(robot), getattr(Dynamics(robot), method)(*state, **given)
    assert method not in arm.__dict__
    for _ in range(2):
        getattr(arm, method)(*state, **given)
    for _ in range(2):
        assert python_calls(lambda: getattr(arm, method)(*state, **given)) == []
        np.testing.assert_array_equal(getattr(arm, method)(*state, **given), expected)
        getattr(arm, method)(*state)  # whose entry takes the place
    assert python_calls(lambda: getattr(arm, method)(*state)) == []


def test_looking_at_methods_compiles_nothing(robot):
    built = mock.Mock(side_effect=RuntimeError("compiled"))
    arm = Dynamics(robot, backend=built)
    for name in ("inverse", "forward", "mass_matrix", "regressor"):
        assert hasattr(arm, name) and name in dir(arm)
        inspect.signature(getattr(arm, name))
        inspect.getdoc(getattr(arm, name))
    pickle.dumps(Dynamics(robot).inverse)
    mock.create_autospec(arm.inverse)
    built.assert_not_called()
    with pytest.raises(RuntimeError, match="compiled"):
        arm.inverse([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])


@NATIVE
@pytest.mark.parametrize("first", [{}, {"gravity": np.array([0.0, 0.0, -1.62])}, {"threads": 1}])
@pytest.mark.parametrize("method", ["inverse", "forward"])
def test_a_name_bound_before_the_first_call_enters_no_python(robot, state, method, first):
    arm = Dynamics(robot)
    early, expected = getattr(arm, method), getattr(Dynamics, method)(Dynamics(robot), *state)
    early(*state, **first)
    for _ in range(2):
        np.testing.assert_array_equal(early(*state), expected)
    assert python_calls(lambda: early(*state)) == []
    np.testing.assert_array_equal(early(*[x.tolist() for x in state]), expected)
    # Kernels of one sample and of many may fuse other multiplications: two roundings of 17 N m
    many = early(*[np.stack([x, x]) for x in state])
    np.testing.assert_allclose(many, [expected] * 2, rtol=0.0, atol=1e-14)
    assert python_calls(lambda: early(*state)) == []


def test_a_name_bound_early_refuses_what_the_method_refuses(robot, state):
    calls = [
        ((state[0], state[1]), {}),
        ((state[0], state[1], np.ones(3)), {}),
        ((state[0], state[1], [np.nan, 0.0]), {}),
        ((*state, state[0]), {}),
        (tuple(state), {"frame": "link_2"}),
        (tuple(state), {"weight": 1.0}),
        (tuple(state), {"payload": 3.0}),
    ]
    arm = Dynamics(robot)
    early = arm.inverse
    for _ in range(2):
        for arguments, given in calls:
            with pytest.raises((ArgumentError, TypeError)) as expected:
                Dynamics.inverse(arm, *arguments, **given)
            with pytest.raises(type(expected.value)) as found:
                early(*arguments, **given)
            assert str(found.value) == str(expected.value)
        early(*state)


def test_a_name_bound_early_is_pickled_with_its_robot(robot, state):
    early = Dynamics(robot).inverse
    before = pickle.dumps(early)
    expected = early(*state)
    for each in (before, pickle.dumps(early)):
        np.testing.assert_array_equal(pickle.loads(each)(*state), expected)


def test_a_name_bound_early_stays_the_method_that_it_was(robot, state, monkeypatch):
    arm = Dynamics(robot)
    early = arm.gravity
    monkeypatch.setattr(Dynamics, "gravity", lambda self, q: "patched")
    np.testing.assert_array_equal(early(state[0]), Dynamics(robot).kernel("gravity")(state[0]))
    assert arm.gravity(state[0]) == "patched"


def test_threads_that_make_the_first_call_together_get_the_same(robot, state):
    expected = Dynamics(robot).inverse(*state)
    for _ in range(10):
        early, start, found = Dynamics(robot).inverse, threading.Barrier(4), []

        def call(early=early, start=start, found=found):
            start.wait()
            found.extend(early(*state) for _ in range(20))

        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        np.testing.assert_array_equal(found, [expected] * 80)


def test_a_robot_is_freed_with_the_names_that_are_bound_to_it(robot, state):
    arm = Dynamics(robot)
    names = [arm.inverse, arm.forward]  # one of them is called
    names[0](*state)
    known = weakref.ref(arm)
    del arm
    gc.collect()
    assert known() is not None
    names[0](*state)
    names.clear()
    gc.collect()
    assert known() is None


def test_a_moving_base_has_the_same_result_by_an_early_name(robot, state):
    arm = Dynamics(robot, base="moving")
    early, base = arm.inverse, np.array([0.0, 0.0, -9.81, *[0.1] * 12])
    for _ in range(3):
        for one, other in zip(
            early(*state, base=base), arm.inverse(*state, base=base), strict=True
        ):
            np.testing.assert_array_equal(one, other)
        with pytest.raises(ArgumentError, match="inverse needs base"):
            early(*state)


def test_a_kernel_takes_its_inputs_in_order_alone(robot, state):
    arm, moon = Dynamics(robot), np.array([0.0, 0.0, -1.62])
    for _ in range(2):
        arm.inverse(*state)
        arm.inverse(*state, gravity=moon)
    with pytest.raises(TypeError, match="gravity"):
        arm.kernel("inverse")(*state, gravity=moon)
    with pytest.raises(TypeError, match="4 positional arguments but 5 were given"):
        arm.inverse(*state, moon)


@NATIVE
def test_batches_enter_no_python(robot, state):
    arm = Dynamics(robot)
    batch = [np.tile(x, (9, 1)) for x in state]
    columns = [np.asfortranarray(x) for x in batch]
    arm.inverse(*state)
    for arrays in (batch, columns, [*batch[:2], state[2]]):
        for how in ({}, {"threads": 1}, {"out": np.empty_like(arrays[0])}):
            arm.inverse(*arrays, **how)
            assert python_calls(lambda: arm.inverse(*arrays, **how)) == []  # noqa: B023


def test_each_payload_is_the_one_that_the_call_gives(robot, state):
    arm = Dynamics(robot)
    heavy = Inertia.from_com(2.0, (0.1, 0.0, 0.0), 0.01 * np.eye(3))
    expected = [
        Dynamics(robot).inverse(*state, payload=load, frame="link_2") for load in (LOAD, heavy)
    ]
    for _ in range(2):
        for load, tau in zip((LOAD, heavy), expected, strict=True):
            found = arm.inverse(*state, payload=load, frame="link_2")
            np.testing.assert_array_equal(found, tau)


@pytest.mark.parametrize("frame", [["link_2"], 3])
def test_a_frame_that_is_no_name_is_refused_in_every_call(robot, state, frame):
    arm = Dynamics(robot)
    for _ in range(2):
        with pytest.raises(ArgumentError, match="a frame is given by its name"):
            arm.inverse(*state, wrench=np.ones(6), frame=frame)
        with pytest.raises(ArgumentError, match="a frame is given by its name"):
            arm.pose(state[0], frame)
