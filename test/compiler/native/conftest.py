"""A small robot and its kernels, compiled once for a file."""

import pytest

from programs import chain, everything_program, inverse_program


def compile_native(program, **options):
    from robot_dynamics.compiler.native import native_kernel  # there is Python without llvmlite

    return native_kernel.compile_native(program, **options)


@pytest.fixture(scope="module")
def arm():
    return chain(5)


@pytest.fixture(scope="module")
def kernel(arm):
    return compile_native(inverse_program(arm), use_cache=False)


@pytest.fixture(scope="module")
def careful(arm):
    """The same kernel with finite arguments only."""
    return compile_native(inverse_program(arm), finite=True, use_cache=False)


@pytest.fixture(scope="module")
def mixed():
    """Kernel of every operation, with three inputs and outputs of different shapes."""
    return compile_native(everything_program(), use_cache=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache of its own for every test."""
    place = tmp_path / "cache"
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE", str(place))
    from robot_dynamics.compiler.native import cache

    cache._say_once.cache_clear()
    return place


@pytest.fixture
def short_arm():
    return chain(3)
