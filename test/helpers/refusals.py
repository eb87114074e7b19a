"""Errors as a user reads them."""

import pytest


def refusal(call, error):
    """The one line of the error that a call ends with."""
    with pytest.raises(error) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)
