"""A client that reads the page of viewer_node without drawing it.

    python -m benchmark.nodes.page_reader ADDRESS

Connects as a browser does and reads all that comes, so that the page is made and sent; a browser
usually runs on another machine.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from urllib.parse import urlsplit

import viser
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol


def main() -> int:
    """Read until SIGINT, or until the page ends."""
    protocol = Subprotocol(f"viser-v{viser.__version__}")
    address = urlsplit(sys.argv[1])
    connection = connect(
        f"ws://{address.netloc}{address.path}",
        origin=Origin(f"http://{address.netloc}"),
        subprotocols=[protocol],
        max_size=None,
        compression=None,
    )
    with suppress(KeyboardInterrupt, ConnectionClosed), connection:
        for count, _message in enumerate(connection):
            if count == 0:
                print("page is watched", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
