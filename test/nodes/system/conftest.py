"""Nodes that balance an arm in real time fall behind where they get no processor: tried again."""

import pytest

from starvation import ATTEMPTS, counts, most_grown, waited


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Repeat a test of an arm that failed while its nodes were kept waiting for a processor."""
    arm = pyfuncitem.funcargs.get("arm")
    if not hasattr(arm, "processes"):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    pids = lambda: [process.pid for process in arm.processes.values()]  # noqa: E731
    for attempt in range(1, ATTEMPTS + 1):
        before = waited(pids())
        try:
            pyfuncitem.obj(**given)
            return True
        except (AssertionError, pytest.fail.Exception):  # the latter of a wait in vain
            if counts(attempt, most_grown(before, waited(pids()))):
                raise
        arm.restore()
    return True
