"""Parameters of tests that `make test` takes, and those that only `make test-thorough` takes."""

import pytest


def first(kept, values):
    """Return parameters: `make test` takes those of `kept`, `make test-thorough` the others."""
    values = list(values)
    assert set(kept) <= set(values), "a test is to keep what there is not"
    return [
        value
        if value in kept
        else pytest.param(
            *(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.thorough
        )
        for value in values
    ]
