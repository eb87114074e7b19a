"""Draw the pictures of README and tutorial from the running program.

`page.webp` is the page of a Panda in a real browser, `figures/view.webp` a still of the whole page,
`figures/simulate.png` what `robot-dynamics simulate planar_2r` draws. Run it as
`python docs/make_pictures.py`; it needs chromium and playwright.
"""

from __future__ import annotations

import io
import shutil
import socket
import sys
import tempfile
from pathlib import Path
from time import sleep

from PIL import Image
from playwright.sync_api import Page as Tab
from playwright.sync_api import sync_playwright

from robot_dynamics import cli as verb
from robot_dynamics.viewer.live_view import LiveView
from robot_dynamics.viewer.page import Page

DOCS = Path(__file__).parent
PICTURE, STILL = DOCS / "page.webp", DOCS / "figures" / "view.webp"

SIZE = (1100, 620)
PANEL = 296  # width of the controls, which the moving picture leaves out so that it can be read

FRAMES = 26
FRAME_S = 0.3  # of the motion; shown twice as fast

SWITCHES = ("--headless", "--no-sandbox", "--disable-gpu", "--use-gl=angle",
            "--use-angle=swiftshader", "--enable-unsafe-swiftshader")  # fmt: skip


def frames(view: LiveView, tab: Tab, count: int) -> list[Image.Image]:
    """Return the motion as the browser draws it."""
    pictures = []
    for _ in range(count):
        for _ in range(5):
            view.tick(FRAME_S / 5)
        sleep(0.5)  # until it is drawn, by software
        pictures.append(Image.open(io.BytesIO(tab.screenshot(timeout=120e3))).convert("RGB"))
    return pictures


def draw_simulation() -> None:
    """Let the command draw its picture."""
    with tempfile.TemporaryDirectory() as folder:
        verb.main(["simulate", "planar_2r", "--output", folder, "-q"])
        shutil.copy(Path(folder) / "planar_2r.png", DOCS / "figures" / "simulate.png")


def settle(view: LiveView, tab: Tab) -> None:
    """Let the page load, fade in and fill its plots, without the browser's remark on its speed."""
    tab.get_by_role("button", name="reset").wait_for(timeout=120e3)
    for _ in range(150):
        view.tick(0.04)
        sleep(0.08)
    tab.evaluate(
        "document.querySelectorAll('.mantine-Notification-root').forEach(note => note.remove())"
    )
    sleep(3.0)


def main() -> int:
    """Write the pictures."""
    draw_simulation()
    chromium = shutil.which("chromium")
    if chromium is None:
        print("no chromium on the PATH; apt-get install chromium", file=sys.stderr)
        return 1
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    page = Page(port=port)
    view = LiveView(page, "panda")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(SWITCHES))
        tab = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
        tab.goto(page.address)
        settle(view, tab)
        shots = frames(view, tab, FRAMES)
        browser.close()
    page.close()
    shots[FRAMES // 2].save(STILL, quality=80, method=6)
    first, *others = (shot.crop((PANEL, 0, *SIZE)) for shot in shots)
    first.save(
        PICTURE, save_all=True, append_images=others, duration=150, loop=0, quality=55, method=6
    )
    print(f"{PICTURE.name}: {PICTURE.stat().st_size / 1024:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
