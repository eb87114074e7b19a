"""The browser's end of a page's websocket, which sends what a test chooses."""

import threading
from urllib.parse import urlsplit

import msgspec
import viser
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from ros_system import PATIENCE, wait_for

CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": [1.0, 0.0, 0.0, 0.0],
    "position": [1.0, 1.0, 1.0],
    "look_at": [0.0, 0.0, 0.0],
    "up_direction": [0.0, 0.0, 1.0],
    "fov": 0.8,
    "near": 0.01,
    "far": 1000,
    "image_height": 560,
    "image_width": 900,
}
"""Message of a browser that has connected."""


def page_socket(address, *, origin=None, headers=None):
    """Connect to the page of an address; by default as a browser that has opened it does."""
    url = urlsplit(address)
    return connect(
        f"ws://{url.netloc}{url.path.rstrip('/')}",
        origin=origin if origin is not None else f"http://{url.netloc}",
        additional_headers=headers,
        subprotocols=[f"viser-v{viser.__version__}"],
        max_size=None,
        compression=None,
    )


def message_bytes(message):
    """Return a message as a browser encodes it."""
    return msgspec.msgpack.encode(message)


def deliver(page, browser, messages):
    """Send messages, and wait until the page has handled them or has ended the connection."""
    try:
        for message in messages:
            raw = isinstance(message, (str, bytes))
            browser.send(message if raw else message_bytes(message))
        read = browser.ping()
    except ConnectionClosed:
        return
    wait_for(lambda: read.is_set() or browser.close_code is not None, "messages that are read")
    for _ in range(3):  # reading, handling and its callbacks take a turn of the loop each
        done = threading.Event()
        page.server._event_loop.call_soon_threadsafe(done.set)
        assert done.wait(PATIENCE), "the loop of the page stands still"


def update(handle, value):
    """Return the message that sets the value of a control."""
    return {"type": "GuiUpdateMessage", "uuid": handle._impl.uuid, "updates": {"value": value}}
