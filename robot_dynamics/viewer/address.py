"""Address of the page and its visibility in the network."""

from __future__ import annotations

import errno
import ipaddress
import socket

from robot_dynamics.errors import RobotDynamicsError

LOOPBACK = "127.0.0.1"
PORT = 8080


class PortError(RobotDynamicsError, OSError):
    """A port that cannot be served."""


def address(host: str, port: int) -> str:
    """Return the URL of a page."""
    name = socket.gethostname() if host in ("0.0.0.0", "::") else host
    return f"http://{name}:{port}"


def announcement(host: str, port: int) -> str:
    """Return the log line with the address of a page and who can open it."""
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost"
    who = "this machine only" if local else "open to the network: anyone in it can move the robot"
    return f"viewer: {address(host, port)} ({who})"


def check_free(host: str, port: int) -> None:
    """Refuse a port that is taken; the server itself would silently take the next one.

    Raises:
        PortError: If the port is taken or may not be used.
    """
    protocol = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(protocol, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            why = "is in use" if taken else f"cannot be served ({error.strerror})"
            raise PortError(f"port {port} of {host} {why}; choose another port") from None
        except OverflowError:
            raise PortError(f"port {port} does not exist; choose one from 1 to 65535") from None
