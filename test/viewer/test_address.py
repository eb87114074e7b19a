"""Hosts and ports of a page that cannot be served."""

import pytest

from robot_dynamics.viewer.address import PortError, check_free


def test_a_host_that_is_not_this_machine_is_named_as_such():
    host = "203.0.113.7"  # of documents, and of no machine
    with pytest.raises(PortError) as error:
        check_free(host, 8080)
    assert str(error.value) == (
        f"host {host} is none of this machine; give 127.0.0.1, 0.0.0.0 or an address of this "
        "machine"
    )


def test_a_port_beyond_the_last_one_is_refused():
    with pytest.raises(PortError, match="port 65536 does not exist; choose one from 1 to 65535"):
        check_free("127.0.0.1", 65536)
