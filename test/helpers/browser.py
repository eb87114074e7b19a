"""A real browser for the page: Debian's chromium, headless, drawing by software."""

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    """Chromium with a profile of its own; skips where there is none."""
    api = pytest.importorskip("playwright.sync_api")
    pytest.importorskip("viser")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no chromium on the PATH; apt-get install chromium")
    profile = tmp_path_factory.mktemp("chromium")
    with api.sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(Path(profile)),
            executable_path=chromium,
            args=list(SWITCHES),
            viewport={"width": 900, "height": 560},
            device_scale_factor=0.5,  # a quarter of what software has to draw
        )
        context.set_default_timeout(120e3)  # ms, as it draws by software while other tests run
        yield context
        context.close()


@pytest.fixture
def free_port() -> int:
    """Return a free port of this machine."""
    return unused_port()


def unused_port() -> int:
    """Return a free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
