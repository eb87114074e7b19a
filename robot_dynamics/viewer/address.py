"""Address of the page, with its token, and its visibility in the network."""

from __future__ import annotations

import errno
import ipaddress
import os
import re
import secrets
import socket

from robot_dynamics.errors import ArgumentError, RobotDynamicsError

LOOPBACK = "127.0.0.1"
PORT = 8080

TOKEN_VARIABLE = "ROBOT_DYNAMICS_PAGE_TOKEN"
"""Environment variable with the token of a page; without it every page has a random one."""


class PortError(RobotDynamicsError, OSError):
    """A port that cannot be served."""


def page_token() -> str:
    """Return the secret part of a page's address: without it the page refuses every request.

    Raises:
        ArgumentError: If `TOKEN_VARIABLE` is too short, or has characters that an address has not.
    """
    token = os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(16)
    if not re.fullmatch(r"[A-Za-z0-9_-]{16,}", token):
        raise ArgumentError(
            f"{TOKEN_VARIABLE} must have at least 16 characters, each a letter, a digit, - or _; "
            "unset it for a random token"
        )
    return token


def address(host: str, port: int, token: str) -> str:
    """Return the URL of a page."""
    name = socket.gethostname() if host in ("0.0.0.0", "::") else host
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/{token}/"


def announcement(host: str, port: int, token: str) -> str:
    """Return the log line with the address of a page and who can open it."""
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost"
    who = "this machine only" if local else "anyone in the network with this address can move it"
    return f"viewer: {address(host, port, token)} ({who})"


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
            if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
                remedy = "give 127.0.0.1, 0.0.0.0 or an address of this machine"
                raise PortError(f"host {host} is none of this machine; {remedy}") from None
            taken = error.errno == errno.EADDRINUSE
            why = "is in use" if taken else f"cannot be served ({error.strerror})"
            raise PortError(f"port {port} of {host} {why}; choose another port") from None
        except OverflowError:
            raise PortError(f"port {port} does not exist; choose one from 1 to 65535") from None
