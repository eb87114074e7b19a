"""Gate: which browsers may open the page, and which of their messages reach it.

viser checks neither Origin nor Host, and sets any attribute of a control to what a client sends.
The gate stands between the sockets and viser, for HTTP and websockets alike.
"""

from __future__ import annotations

import hmac
import ipaddress
import logging
import math
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

import msgspec
import viser
import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from robot_dynamics.errors import RobotDynamicsError, shown
from robot_dynamics.spatial import UNIT_LENGTH

LARGEST_MESSAGE = 2**16
"""Longest message of a browser, bytes; a camera or a value of a control needs a few hundred."""

HEADERS = {
    "Referrer-Policy": "no-referrer",  # the address contains the token
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}

POLICY = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; connect-src 'self' data: blob: "
    "ws://{host} wss://{host}; frame-ancestors 'none'; form-action 'none'; base-uri 'none'"
)
"""Content-Security-Policy of the page, which loads and sends nothing from or to other hosts."""

CAMERA = {"wxyz": 4, "position": 3, "look_at": 3, "up_direction": 3, "fov": 0, "near": 0, "far": 0,
          "image_height": 0, "image_width": 0}  # fmt: skip
"""Fields of the message with which a browser reports its camera, with their lengths."""

DRAG = {"wxyz": 4, "position": 3}
"""Fields of the message with which a browser drags a handle in the scene, with their lengths."""

DRAG_ENDS = ("TransformControlsDragStartMessage", "TransformControlsDragEndMessage")
"""Messages around a drag, of which the page has no use."""

FARTHEST_M = 1e3
"""Farthest place of a handle along an axis, m."""

POLICY_VIOLATION = 1008

logger = logging.getLogger(__name__)

_starting = threading.Lock()


class _RefusedError(Exception):
    """A message that does not reach the page; one that our page never sends ends its connection."""

    def __init__(self, problem: str, *, ends: bool = True) -> None:
        super().__init__(problem)
        self.ends = ends


class Gate:
    """Admits browsers that know the token of a page, and only valid values of its controls.

    Args:
        host: Address that the page is served on.
        token: Secret first part of every path.

    Attributes:
        visits: Number of times that a browser has connected or left.
    """

    def __init__(self, host: str, token: str) -> None:
        self._token = token
        machine = socket.gethostname().lower()
        self._names = {"localhost", machine, f"{machine}.local", host.lower()}
        self.visits = 0
        self._gui: viser.GuiApi | None = None
        self._scene: viser.SceneApi | None = None
        self._serves = False

    def server(self, host: str, port: int) -> viser.ViserServer:
        """Start a viser server behind this gate.

        Raises:
            RobotDynamicsError: If this version of viser does not serve through websockets.
        """
        sockets = websockets.asyncio.server
        with _starting:
            serve = sockets.serve
            sockets.serve = partial(self._serve, serve)  # type: ignore[assignment, misc]
            try:
                server = viser.ViserServer(host=host, port=port, verbose=False)
            finally:
                sockets.serve = serve  # type: ignore[misc]
        if not self._serves:
            server.stop()
            raise RobotDynamicsError(
                f"viser {viser.__version__} serves in a way that cannot be guarded; "
                "install viser 1.1"
            )
        self._gui, self._scene = server.gui, server.scene
        return server

    def _serve(self, serve: Callable[..., Any], handler: Any, *args: Any, **options: Any) -> Any:
        self._serves = True
        answer = partial(self._answer, options["process_request"])
        guarded = {**options, "process_request": answer, "max_size": LARGEST_MESSAGE}
        return serve(partial(self._connected, handler), *args, **guarded)

    # -- requests -----------------------------------------------------------------------------

    def _answer(
        self,
        answer: Callable[[ServerConnection, Request], Response | None],
        connection: ServerConnection,
        request: Request,
    ) -> Response | None:
        """Refuse a request, or let viser answer it below the token."""
        if problem := self._problem(request):
            logger.warning("the page refused a request: %s", problem)
            return connection.respond(HTTPStatus.FORBIDDEN, f"refused: {problem}\n")
        socket, (_, token, *rest) = "Upgrade" in request.headers, _parts(request)
        if not (socket or rest):
            moved = connection.respond(HTTPStatus.PERMANENT_REDIRECT, "")
            moved.headers["Location"] = f"/{token}/"
            return moved
        request.path = "/" + "".join(rest)
        response = answer(connection, request)
        if response is not None:
            response.headers.update(HEADERS)
            policy = POLICY.format(host=request.headers["Host"])
            response.headers["Content-Security-Policy"] = policy
        return response

    def _problem(self, request: Request) -> str:
        """Return why a request is not of the page's own browser; "" if it is."""
        hosts, origins = (request.headers.get_all(name) for name in ("Host", "Origin"))
        if len(hosts) != 1 or not self._is_ours(hosts[0]):  # a foreign page can rebind its name
            return "its Host is not this machine; open the address that the viewer printed"
        ours = [f"http://{hosts[0]}"], [f"https://{hosts[0]}"]
        if origins not in ours and (origins or "Upgrade" in request.headers):
            return "its Origin is another page; open the address that the viewer printed"
        token = _parts(request)[1]
        if not hmac.compare_digest(token.encode("ascii", "replace"), self._token.encode()):
            return "its address has no valid token; open the address that the viewer printed"
        return ""

    def _is_ours(self, host: str) -> bool:
        """Return whether a Host is a number or a name of this machine: no DNS can rebind these."""
        match = re.fullmatch(r"(\[[0-9a-f:.]+\]|[\w.-]+?)\.?(:\d+)?", host.lower(), re.ASCII)
        name = match[1] if match else ""
        try:
            return bool(ipaddress.ip_address(name.strip("[]")))
        except ValueError:
            return name in self._names

    # -- messages -----------------------------------------------------------------------------

    async def _connected(
        self, handler: Callable[[ServerConnection], Awaitable[None]], connection: ServerConnection
    ) -> None:
        """Let viser handle a connection that receives only valid messages."""
        receive = partial(self._receive, connection, connection.recv)
        connection.recv = receive  # type: ignore[method-assign, assignment]
        self.visits += 1
        try:
            await handler(connection)
        finally:
            self.visits += 1

    async def _receive(
        self, connection: ServerConnection, receive: Callable[[], Awaitable[str | bytes]]
    ) -> bytes:
        while True:
            raw = await receive()
            try:
                message = self._checked(raw)
                if message["type"] not in DRAG_ENDS:
                    return msgspec.msgpack.encode(message)
            except _RefusedError as refused:
                logger.warning("the page refused a message of a browser: %s", refused)
                if refused.ends:
                    await connection.close(POLICY_VIOLATION, "refused; the log says why")

    def _checked(self, raw: str | bytes) -> Mapping[str, object]:
        """Return what a message says, with valid values and nothing else in it."""
        message = _decoded(raw)
        kind = message.get("type")
        if kind == "ViewerCameraMessage":
            return {"type": kind, **{name: _field(message, name) for name in CAMERA}}
        if kind in DRAG_ENDS:
            return {"type": kind}
        if kind == "TransformControlsUpdateMessage":
            name = message.get("name")
            known = {} if self._scene is None else self._scene._handle_from_transform_controls_name
            handle = known.get(name) if isinstance(name, str) else None
            return {"type": kind, "name": name, **valid_drag(handle, message)}
        updates, uuid = message.get("updates"), message.get("uuid")
        if kind != "GuiUpdateMessage":
            raise _RefusedError(f"its type {shown(kind)} is none that the page sends")
        if not isinstance(updates, dict) or list(updates) != ["value"] or not isinstance(uuid, str):
            raise _RefusedError("it sets something other than the value of a control")
        handles = {} if self._gui is None else self._gui._gui_input_handle_from_uuid
        value = valid_value(handles.get(uuid), updates["value"])
        return {"type": kind, "uuid": uuid, "updates": {"value": value}}


def valid_value(handle: Any, value: Any) -> object:
    """Return a value that a control can have; a slider rounds, and the ends of its range clip it.

    Raises:
        _RefusedError: If the control is not there, or cannot have the value.
    """
    match handle:
        case None:
            raise _RefusedError("its control is not on the page", ends=False)
        case viser.GuiDropdownHandle():
            valid = isinstance(value, str) and value in handle.options
        case viser.GuiCheckboxHandle() | viser.GuiButtonHandle():
            valid = isinstance(value, bool)
        case viser.GuiSliderHandle():
            low, high, step = handle.min, handle.max, handle.step
            valid = _finite(value) and low - step <= value <= high + step
            value = min(max(value, low), high) if valid else value
        case viser.GuiVector3Handle():
            valid = isinstance(value, list) and len(value) == 3 and all(map(_finite, value))
            valid = valid and all(map(_between, handle.min, value, handle.max))
        case _:
            valid = False
    if not valid or handle.disabled or not handle.visible:
        problem = f"{shown(handle.label)} cannot be {shown(value)}"
        raise _RefusedError(problem, ends=False)
    return value


def valid_drag(handle: Any, message: Mapping[str, object]) -> dict[str, object]:
    """Return the pose to which a handle in the scene is dragged.

    Raises:
        _RefusedError: If the handle is not there, or the message holds no pose.
    """
    if handle is None or not handle.visible:
        raise _RefusedError("its handle is not on the page", ends=False)
    pose = {name: _numbers(message.get(name), length) for name, length in DRAG.items()}
    turn, place = pose["wxyz"], pose["position"]
    if turn is None or abs(math.hypot(*turn) - 1.0) > UNIT_LENGTH:
        problem = f"the end effector cannot be turned to {shown(message.get('wxyz'))}"
        raise _RefusedError(problem, ends=False)
    if place is None or max(map(abs, place)) > FARTHEST_M:
        problem = f"the end effector cannot be moved to {shown(message.get('position'))}"
        raise _RefusedError(problem, ends=False)
    return {**pose}


def _numbers(value: object, length: int) -> list[float] | None:
    """Return a list of finite numbers; None if a value is none of this length."""
    if not isinstance(value, list) or len(value) != length or not all(map(_finite, value)):
        return None
    return [float(number) for number in value]


def _decoded(raw: str | bytes) -> dict[str, Any]:
    try:
        message = msgspec.msgpack.decode(raw) if isinstance(raw, bytes) else raw
    except Exception:  # of bytes that are no msgpack, or nested too deeply
        raise _RefusedError("it is not msgpack") from None
    if not isinstance(message, dict) or not all(isinstance(key, str) for key in message):
        raise _RefusedError("it is not a mapping")
    return message


def _field(camera: Mapping[str, object], name: str) -> object:
    value, length = camera.get(name), CAMERA[name]
    numbers = value if isinstance(value, list) and length else [value]
    if len(numbers) != max(length, 1) or not all(map(_finite, numbers)):
        raise _RefusedError(f"'{name}' of its camera is {shown(value)}")
    return value


def _between(low: float, value: float, high: float) -> bool:
    return low <= value <= high


def _finite(value: object) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _parts(request: Request) -> list[str]:
    """Return a path without query as "", its first part, and the rest if a slash follows."""
    path, _, _ = request.path.partition("?")
    return path.split("/", 2) if path.startswith("/") else ["", ""]
