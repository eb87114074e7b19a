"""Hostile bytes on the socket of viewer_node: fuzz_viewer_socket.py [SECONDS [SEED]]."""

from __future__ import annotations

import logging
import os
import socket
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1] / "helpers"), str(Path(__file__).parent)]

from bounded import main
from websockets.exceptions import InvalidHandshake

from browser import unused_port
from page_client import CAMERA, deliver, message_bytes, page_socket, update
from ros_system import free_domain, lasting_node, wait_for

HELD = 0.01  # rad: the arm holds to 1e-3 rad; the slowest motion of the page is far larger

MARK = Path(tempfile.gettempdir()) / f"executed-{os.getpid()}"

HOSTILE = (
    None, True, -1, 2**63, 1e308, float("nan"), float("inf"), "", "/etc/passwd", "../../x", "\0",
    f"__import__('pathlib').Path('{MARK}').touch()", "<script>fetch('/')</script>", "${7*7}",
    b"\xff" * 9, [], [[[]]], {}, {"value": 1}, [1e308] * 3, "x" * 5000, "\n[INFO] moved\x1b[2J",
)  # fmt: skip


DRAG = {
    "type": "TransformControlsUpdateMessage",
    "name": "/target",
    "wxyz": [1.0, 0.0, 0.0, 0.0],
    "position": [0.5, 0.0, 0.5],
    "owner": "",
}


class Arm:
    """An arm that real nodes hold, with the page of a viewer_node beside it."""

    def __init__(self, stack):
        from rclpy.parameter import Parameter

        from robot_dynamics.nodes.composition import composed
        from robot_dynamics.nodes.runtime.process import Process
        from robot_dynamics.nodes.viewer_node import ViewerNode

        domain = free_domain()
        waits = {"wait": True}  # without a motion of its own
        nodes = composed("planar_2r", rate=250.0, domain=domain, trajectory_node=waits)
        self.nodes = stack.enter_context(nodes)
        context = lasting_node("viewer_keeper", domain).context
        given = [Parameter("urdf_path", value="planar_2r"), Parameter("port", value=unused_port())]
        self.viewer = ViewerNode(context=context, parameter_overrides=given)
        stack.enter_context(Process([self.viewer], context)).start()
        wait_for(lambda: self.viewer.driven, "states")
        self.page, self.lines, self.faults = self.viewer._page, [], []
        wait_for(lambda: self.viewer._desired.complete, "a reference")
        self.q = self.nodes.simulator.plant.q.copy()
        gate, loop = (logging.getLogger(name) for name in (GATE, "asyncio"))
        gate.propagate = False
        for logger, records in ((gate, self.lines), (loop, self.faults)):
            handler = logging.Handler()
            handler.emit = lambda record, records=records: records.append(record.getMessage())
            logger.addHandler(handler)

    @property
    def moved(self):
        return np.abs(self.nodes.simulator.plant.q - self.q).max()

    @property
    def handles(self):
        """Controls of the page, without the one that enables motion and that of heavy robots."""
        handles = list(self.page.server.gui._gui_input_handle_from_uuid.values())
        controls = self.viewer._controls
        return [handle for handle in handles if handle not in (controls.enable, controls.robot)]

    def settle(self):
        """Wait until the page has gone on."""
        shown = self.page._moments
        wait_for(lambda: self.page._moments > shown, "a page that goes on")

    def check(self):
        """Nothing moved, nothing changed, nothing was executed, nothing failed unseen."""
        nodes = self.nodes
        assert self.moved < HELD, f"the arm moved by {self.moved:.3g} rad"
        assert nodes.controller.parameters.mode == "feedforward", "the mode changed"
        assert nodes.simulator.parameters.mass_factor == 1.0, "the masses changed"
        assert not nodes.controller.arm.load.payload.target[0], "the payload changed"
        assert not self.viewer._enabled, "motion was enabled"
        assert not MARK.exists(), "a message was executed"
        assert self.page.server._share_tunnel is None, "the page was shared"
        assert not self.faults, self.faults


GATE = "robot_dynamics.viewer.gate"


def changed(rng, message):
    """The message with some of its values, keys or types replaced."""
    message = {**message}
    for _ in range(rng.choice([1, 1, 2, 4])):
        key = rng.choice([*message, "extra"])
        value = rng.choice(HOSTILE)
        if isinstance(message.get(key), dict):
            value = {rng.choice(["value", "update_cb", "removed", "props"]): value}
        message[key] = value
    return message


def flipped(rng, raw):
    """The bytes with some of them changed, added or cut off."""
    raw = bytearray(raw)
    for _ in range(rng.choice([1, 2, 8])):
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    return bytes(raw[: rng.randrange(len(raw) + 1)] if rng.random() < 0.3 else raw)


def types():
    from viser._messages import Message

    return [kind.__name__ for kind in Message.get_subclasses()]


def valid(rng, arm):
    handle = rng.choice(arm.handles)
    value = handle.value
    if hasattr(handle, "options"):
        value = rng.choice(handle.options)
    elif hasattr(handle, "min") and isinstance(value, float):
        value = rng.uniform(handle.min, handle.max)
    return rng.choice([CAMERA, DRAG, update(handle, value)])


def message(rng, arm):
    """The bytes of one message."""
    kind = rng.randrange(6)
    if kind == 0:
        return rng.randbytes(rng.choice([0, 1, 9, 1000, 70_000]))
    if kind == 1:
        return rng.choice(["", "text", "{}", message_bytes(CAMERA).decode("latin-1")])
    if kind == 2:
        return flipped(rng, message_bytes(valid(rng, arm)))
    if kind == 3:
        return message_bytes({**valid(rng, arm), "type": rng.choice(types())})
    return message_bytes(changed(rng, valid(rng, arm)) if kind == 4 else valid(rng, arm))


def raw_request(rng, arm):
    """Bytes that are no request, straight into the port."""
    url = urlsplit(arm.page.address)
    lines = [f"GET {url.path} HTTP/1.1", f"Host: {url.netloc}", "Upgrade: websocket"]
    text = "\r\n".join(changed_line(rng, line) for line in lines) + "\r\n\r\n"
    with socket.create_connection((url.hostname, url.port), 30.0) as plain:
        plain.sendall(flipped(rng, text.encode()) + rng.randbytes(20) + b"\r\n\r\n")


def changed_line(rng, line):
    return rng.choice([line, line, line.upper(), line + "x" * 9000, line.replace(" ", "\t"), ""])


def stranger(rng, arm):
    """A connection with one thing wrong, which must be refused."""
    address, origin, headers = arm.page.address, None, None
    wrong = rng.choice(["http://evil.example", "null", "http://127.0.0.1:1", "x", "http://[::1]"])
    kind = rng.randrange(3)
    if kind == 0:
        origin = wrong
    elif kind == 1:
        headers = {"Host": rng.choice(["evil.example", "127.0.0.1.evil.example", "a@127.0.0.1"])}
    else:
        token = address.split("/")[3]
        address = address.replace(
            token, rng.choice(["", "x", token[:-1], token + "a", token[::-1]])
        )
    try:
        page_socket(address, origin=origin, headers=headers).close()
    except InvalidHandshake:
        return
    raise AssertionError(f"a connection was admitted: {address}, {origin}, {headers}")


def one(rng):
    """One connection; returns whether a message was taken."""
    arm = ARM[0]
    logging.disable(logging.NOTSET)
    arm.lines.clear()
    kind, visits = rng.randrange(8), arm.page.visits
    allowed = 1
    if kind == 0:
        raw_request(rng, arm)
    elif kind == 1:
        stranger(rng, arm)
    else:
        with page_socket(arm.page.address) as browser:
            allowed = rng.choice([1, 1, 5])
            deliver(arm.page, browser, [message(rng, arm) for _ in range(allowed)])
        wait_for(lambda: arm.page.visits == visits + 2, "a browser that left")
    arm.settle()
    arm.check()
    assert len(arm.lines) <= allowed, arm.lines
    assert all(line.isprintable() and len(line) < 250 for line in arm.lines), arm.lines
    return kind > 1 and not arm.lines


ARM = []

if __name__ == "__main__":
    with ExitStack() as stack:
        ARM.append(Arm(stack))
        main("viewer socket", one)
