"""Draw the pictures of README and tutorials from the running program.

python docs/make_pictures.py             # all of them, on an idle machine
python docs/make_pictures.py demo course # those of `PICTURES`

It needs chromium and playwright for what a browser shows, and the package in a sourced ROS 2
workspace, Xvfb and ImageMagick for what rviz2 shows.
"""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

from PIL import Image
from playwright.sync_api import Page as Tab
from playwright.sync_api import sync_playwright

from robot_dynamics import cli as verb
from robot_dynamics.viewer.live_view import LiveView
from robot_dynamics.viewer.page import Page

DOCS = Path(__file__).resolve().parent
FIGURES = DOCS / "figures"
PICTURE, STILL = DOCS / "page.webp", FIGURES / "view.webp"

SIZE = (1100, 620)
PANEL = 296  # width of the controls, which the moving picture leaves out so that it can be read

FRAMES = 26
FRAME_S = 0.3  # of the motion; shown twice as fast

WINDOW = (1200, 800)  # of rviz2, as config/robot_dynamics.rviz sets it
VIEW = (404, 112, 1144, 612)  # its middle, without the panels, bars and buttons around it
LAUNCH_S = 75.0  # until the arm moves, on a machine without a graphics card

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


def draw(*words: str) -> None:
    """Run a command as a shell does.

    Raises:
        RuntimeError: If it fails.
    """
    if verb.main([*words]) != 0:
        raise RuntimeError(" ".join(words))


def keep(picture: Path | bytes, name: str) -> None:
    """Store a picture that a program drew, small."""
    image = Image.open(io.BytesIO(picture) if isinstance(picture, bytes) else picture)
    image.convert("RGB").save(FIGURES / f"{name}.webp", quality=85, method=6)


def draw_simulation() -> None:
    """Draw what `simulate` draws."""
    draw("simulate", "planar_2r", "--output", ".", "-q")
    shutil.copy("planar_2r.png", FIGURES / "simulate.png")


def draw_demo() -> None:
    """Draw what `demo` draws, of nodes in real time."""
    draw("demo", "planar_2r", "--output", ".", "-q")
    keep(Path("planar_2r.png"), "demo")


def write_motion() -> None:
    """Write the trajectory of the tutorial."""
    text = (DOCS / "ros-tutorial.md").read_text(encoding="utf-8")
    Path("motion.csv").write_text(text.split("```csv\n")[1].split("```")[0], encoding="utf-8")


def draw_motion() -> None:
    """Draw a recording of the trajectory of the tutorial."""
    write_motion()
    draw("simulate", "planar_2r", "--motion", "motion.csv", "--record", "run.mcap", "-q")
    draw("plot", "run.mcap")
    keep(Path("run.png"), "own_motion")


def draw_identification() -> None:
    """Draw a recorded excitation of an arm that is heavier than its model, and its report."""
    draw("excite", "planar_2r", "--duration", "10", "--output", "excitation.csv", "-q")
    heavier = ("--motion", "excitation.csv", "--mass-error", "20", "--record", "run.mcap")
    draw("simulate", "planar_2r", *heavier, "-q")
    draw("plot", "run.mcap")
    keep(Path("run.png"), "excitation")
    draw("identify", "planar_2r", "run.mcap", "--output", "found.urdf", "--report", "report.html")
    with browser_tab((900, 600)) as tab:
        tab.goto(Path("report.html").absolute().as_uri())
        edge = tab.get_by_text("Friction", exact=True).first.bounding_box()
        assert edge is not None
        area = {"x": 0, "y": 0, "width": 900, "height": edge["y"] - 10}
        keep(tab.screenshot(full_page=True, clip=area), "report")


def draw_course() -> None:
    """Take the first figure of two notebooks."""
    for name in ("gupta", "computed_torque"):
        text = (DOCS.parent / "examples" / f"{name}.ipynb").read_text(encoding="utf-8")
        outputs = (out for cell in json.loads(text)["cells"] for out in cell.get("outputs", ()))
        figures = (
            out["data"]["image/png"] for out in outputs if "image/png" in out.get("data", {})
        )
        keep(base64.b64decode(next(figures)), f"course_{name}")


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


@contextmanager
def browser_tab(size: tuple[int, int]) -> Iterator[Tab]:
    """Open a page of a browser without a window.

    Raises:
        FileNotFoundError: If there is no chromium.
    """
    chromium = shutil.which("chromium")
    if chromium is None:
        raise FileNotFoundError("no chromium on the PATH; apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(SWITCHES))
        yield browser.new_page(viewport={"width": size[0], "height": size[1]})
        browser.close()


def draw_page() -> None:
    """Take the page of a Panda: moving without its controls, and a still of all."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    page = Page(port=port)
    view = LiveView(page, "panda")
    with browser_tab(SIZE) as tab:
        tab.goto(page.address)
        settle(view, tab)
        shots = frames(view, tab, FRAMES)
    page.close()
    shots[FRAMES // 2].save(STILL, quality=80, method=6)
    first, *others = (shot.crop((PANEL, 0, *SIZE)) for shot in shots)
    first.save(
        PICTURE, save_all=True, append_images=others, duration=150, loop=0, quality=55, method=6
    )


@contextmanager
def screen(size: tuple[int, int]) -> Iterator[str]:
    """Open a screen in memory; its name is the value of DISPLAY."""
    width, height = size
    words = ["Xvfb", "-displayfd", "1", "-screen", "0", f"{width}x{height}x24"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield f":{server.stdout.readline().strip()}"
        server.terminate()


def draw_rviz() -> None:
    """Take the view of rviz2 that the tutorial launches, in simulated time for slow machines."""
    write_motion()
    launch = ["ros2", "launch", "robot_dynamics", "bringup.launch.py", "robot:=planar_2r"]
    launch += ["motion:=file", f"file:={Path('motion.csv').absolute()}", "rviz:=true"]
    launch += ["composed:=true", "use_sim_time:=true"]
    with screen(WINDOW) as display:
        shown = {**os.environ, "DISPLAY": display}
        with subprocess.Popen(launch, env=shown, start_new_session=True) as nodes:
            sleep(LAUNCH_S)
            subprocess.run(["import", "-window", "root", "window.png"], env=shown, check=True)
            os.killpg(nodes.pid, signal.SIGINT)
    Image.open("window.png").crop(VIEW).save("view.png")
    keep(Path("view.png"), "rviz")


PICTURES: dict[str, Callable[[], None]] = {
    "simulation": draw_simulation,
    "demo": draw_demo,
    "motion": draw_motion,
    "identification": draw_identification,
    "course": draw_course,
    "page": draw_page,
    "rviz": draw_rviz,
}


def main(names: list[str]) -> None:
    """Write the pictures of these names, or all."""
    for name in names or PICTURES:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            PICTURES[name]()
            os.chdir(DOCS)
        print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
