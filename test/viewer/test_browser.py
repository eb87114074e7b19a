"""The page in a real browser: it opens, draws, and what is clicked changes what the robot does."""

import importlib.util
import io
import os
import signal
import subprocess
import sys
import threading
from html import escape
from pathlib import Path
from time import monotonic, sleep
from urllib.request import urlopen

import numpy as np
import pytest

pytest.importorskip("viser")
Image = pytest.importorskip("PIL.Image")

import viser  # noqa: E402

from robot_dynamics import Dynamics, read_urdf  # noqa: E402
from robot_dynamics.control import effort_limits  # noqa: E402
from robot_dynamics.foundation.flag import Flag  # noqa: E402
from robot_dynamics.robot import urdf_text  # noqa: E402
from robot_dynamics.viewer.address import PortError  # noqa: E402
from robot_dynamics.viewer.controls import StackControls  # noqa: E402
from robot_dynamics.viewer.live_arm import BY_HAND  # noqa: E402
from robot_dynamics.viewer.live_view import LiveView  # noqa: E402
from robot_dynamics.viewer.page import Page, tick_until  # noqa: E402
from robot_dynamics.viewer.snapshot import Snapshot  # noqa: E402

ROOT = Path(__file__).parents[2]

PATIENCE_S = 120.0  # of a machine that draws by software while other tests run

KNOWN = ("THREE.Clock", "GPU stall", "GroupMarkerNotSet")  # warnings of the browser's own libraries


def until(condition, what: str) -> None:
    end = monotonic() + PATIENCE_S
    while not condition():
        assert monotonic() < end, f"{what} did not happen within {PATIENCE_S:g} s"
        sleep(0.1)


@pytest.fixture
def view(free_port):
    """The page of a two-link arm, ticking in a thread."""
    page = Page(port=free_port)
    view = LiveView(page, "planar_2r")
    ended = Flag()
    thread = threading.Thread(target=tick_until, args=(ended, view.tick), daemon=True)
    thread.start()
    yield view
    ended.set()
    thread.join()
    page.close()


@pytest.fixture
def tab(browser, view):
    """A tab with the page, and what it said on its console."""
    tab = browser.new_page()
    said: list[str] = []
    tab.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    tab.on("pageerror", lambda error: said.append(f"error: {error}"))
    foreign: list[str] = []
    tab.on("request", lambda request: foreign.append(request.url))
    tab.goto(view.page.address)
    tab.get_by_role("button", name="reset").wait_for()
    yield tab
    tab.close()
    assert [x for x in said if x.startswith("error") and not any(k in x for k in KNOWN)] == []
    ours = (view.page.address, "data:", "blob:")
    assert [url for url in foreign if not url.startswith(ours)] == []  # works without a network


def picture(tab) -> np.ndarray:
    """Return a screenshot of the tab, shape (height, width, 3)."""
    return np.asarray(Image.open(io.BytesIO(tab.screenshot())).convert("RGB"))


def drawn(tab) -> bool:
    """Return whether the middle of the scene is as dark or coloured as a robot."""
    scene = picture(tab)[75:250, 150:230].astype(int)
    return bool((np.ptp(scene, axis=2) > 40).mean() > 0.002)


def stands_still(view) -> bool:
    """Return whether the time of the arm stands still, after the current tick."""
    at = view.arm.time
    sleep(0.3)
    return view.arm.time == at


def number_field(tab, label: str):
    return (
        tab.locator(f"label:has-text('{label}')")
        .locator("xpath=ancestor::*[.//input][1]//input[@type='text' or @inputmode]")
        .last
    )


@pytest.mark.thorough  # half a minute until software has drawn the first picture
def test_page_draws_a_robot_that_controls_change(view, tab):
    until(lambda: drawn(tab), "a drawn robot")
    if folder := os.environ.get("SCREENSHOTS"):
        Image.fromarray(picture(tab)).save(Path(folder) / "page.png")

    payload = number_field(tab, "payload, kg")
    payload.fill("3")
    payload.press("Enter")
    until(lambda: view.arm.payload.mass == 3.0, "a payload of 3 kg")

    moving = view.arm.time
    until(lambda: view.arm.time > moving + 1.0, "motion")
    tab.get_by_role("checkbox").first.check(force=True)  # pause
    until(lambda: view.controls.pause.value, "pause")
    until(lambda: stands_still(view), "an arm that stands still")

    tab.get_by_role("button", name="reset").click()
    until(lambda: not view.arm.snapshot().qd.any(), "a reset")

    tab.get_by_role("checkbox").first.uncheck(force=True)
    drag_a_joint(view, tab)


def drag_a_joint(view, tab) -> None:
    """By end effector, a slider moves its joint and no other."""
    view.controls.motion.value = BY_HAND
    thumb = tab.get_by_role("slider").last
    until(lambda: view.arm.motion == BY_HAND and thumb.is_visible(), "sliders of the joints")
    before = view.arm.snapshot().q
    thumb.focus()
    for _ in range(10):
        thumb.press("ArrowRight")
    until(lambda: view.arm.snapshot().q[1] > before[1], "a joint that follows its slider")
    np.testing.assert_array_equal(view.arm.snapshot().q[0], before[0])


def pixel(view, tab, point) -> np.ndarray:
    """Return where the initial camera shows a point of the scene, shape (2,), pixels of the tab."""
    x, y, width, height = tab.locator("canvas").first.evaluate(
        "canvas => { const r = canvas.getBoundingClientRect(); "
        "return [r.x, r.y, r.width, r.height]; }"
    )
    camera = view.page.server.initial_camera
    eye = np.array(camera.position)
    ahead = np.array(camera.look_at) - eye
    ahead /= np.linalg.norm(ahead)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    way = point - eye
    scale = height / (2.0 * np.tan(camera.fov / 2.0) * (way @ ahead))
    across, up = scale * (way @ right), scale * (way @ np.cross(right, ahead))
    return np.array([x + width / 2.0 + across, y + height / 2.0 - up])


@pytest.mark.thorough  # the browser draws a drag slowly
def test_hand_follows_the_handle_that_is_dragged_in_the_scene(view, tab):
    view.controls.motion.value = BY_HAND
    until(lambda: view.arm.motion == BY_HAND, "sliders of the joints")
    bent = np.array([-1.2, 2.4])  # the end effector is beside the base, in the middle of the scene
    view.controls.sliders.move(bent)
    until(lambda: far(view.arm.snapshot().q, bent) < 0.1, "a bent arm")
    tab.set_viewport_size({"width": 1200, "height": 560})  # room between the panels
    view.controls.mode.value = "cartesian_impedance"
    until(lambda: view.arm.target is not None, "a mode of the end effector")
    at = view.arm.target
    upwards = int(np.argmax(np.abs(at.rotation[2])))
    arrow = at.rotation[:, upwards] * 0.08 * view.page.size
    seen = view.arm.time
    until(lambda: view.arm.time > seen + 1.0, "a handle that is drawn")
    end_effector, tip = pixel(view, tab, at.translation), pixel(view, tab, at.translation + arrow)
    tab.mouse.move(*tip)
    drawn(tab)
    tab.mouse.down()
    for share in (0.2, 0.4, 0.6, 0.8, 1.0):
        tab.mouse.move(*(tip + share * (tip - end_effector)))
        drawn(tab)
    tab.mouse.up()
    if folder := os.environ.get("SCREENSHOTS"):
        Image.fromarray(picture(tab)).save(Path(folder) / "target.png")
    arm, axis = view.arm, at.rotation[:, upwards]

    def dragged() -> np.ndarray:
        return arm.target.translation - at.translation

    until(lambda: dragged() @ axis > 0.05, "a target that was dragged")
    np.testing.assert_allclose(np.cross(dragged(), axis), 0.0, atol=1e-6)  # along its arrow
    until(
        lambda: (
            far(
                arm.dynamics.pose(arm.snapshot().q, arm.end_effectors[0]).position,
                arm.target.translation,
            )
            < 0.01
        ),
        "an end effector that follows",
    )


def far(a, b) -> float:
    return float(np.linalg.norm(a - b))


@pytest.mark.thorough
def test_browser_that_comes_back_and_a_second_one_see_the_same(view, browser):
    view.controls.payload.value = 2.5
    for _ in range(2):
        tab = browser.new_page()
        tab.goto(view.page.address)
        field = number_field(tab, "payload, kg")
        field.wait_for()
        assert field.input_value() == "2.5"
        tab.close()
    until(lambda: not view.page.watched, "browsers that have left")
    at = view.arm.time
    until(lambda: view.arm.time > at + 0.2, "an arm that goes on")


@pytest.mark.thorough  # it loads the meshes of a Panda
def test_the_moving_picture_of_the_readme_shows_an_arm_that_moves(free_port, browser):
    pytest.importorskip("pinocchio", reason="example-robot-data is not installed")
    script = ROOT / "docs" / "make_pictures.py"
    spec = importlib.util.spec_from_file_location("make_pictures", script)
    picture = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(picture)
    page = Page(port=free_port)
    view, tab = LiveView(page, "panda"), browser.new_page()
    width, height = picture.SIZE
    tab.set_viewport_size({"width": width, "height": height})
    tab.goto(page.address)
    picture.settle(view, tab)
    first, second = (np.asarray(frame).astype(int) for frame in picture.frames(view, tab, 2))
    tab.close()
    page.close()
    changed = np.abs(second - first).max(axis=2) > 40
    arm, curves = int(0.6 * changed.shape[1]), int(0.61 * changed.shape[1])
    assert changed[:, arm // 2 : arm].mean() > 0.005
    assert changed[:, curves:].mean() > 0.002


@pytest.mark.thorough  # it loads the meshes of a Panda, too
def test_the_verb_serves_its_page_and_records_until_it_is_interrupted(free_port, tmp_path):
    pytest.importorskip("pinocchio", reason="example-robot-data is not installed")
    words = [sys.executable, "-m", "robot_dynamics", "view", "panda", "--port", str(free_port)]
    words += ["--record", str(tmp_path / "run.mcap")]
    verb = subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, env={**os.environ, "DISPLAY": ""}
    )
    line = verb.stdout.readline()
    address = line.split()[1]
    assert line == f"viewer: {address} (this machine only)\n"
    assert address.startswith(f"http://127.0.0.1:{free_port}/")
    with urlopen(address, timeout=PATIENCE_S) as page:
        assert "<html" in page.read().decode()
    verb.send_signal(signal.SIGINT)
    assert verb.communicate(timeout=PATIENCE_S)[0] == f"recording: {tmp_path}/run.mcap\n"
    assert verb.returncode == 130


def test_port_in_use_is_one_clear_line(view):
    port = view.page.server.get_port()
    with pytest.raises(PortError) as error:
        Page(port=port)
    assert str(error.value) == f"port {port} of 127.0.0.1 is in use; choose another port"


@pytest.mark.thorough  # test_gate.py has the same without a browser, which draws slowly
def test_text_of_others_does_not_run_in_the_page(browser, free_port):
    """Of names in a URDF and of errors, wherever the page shows them."""
    evil = "<img src=x onerror=document.title='run'>![a](/etc/passwd)"
    name = escape(evil, quote=True)
    urdf = urdf_text("planar_2r").replace('"joint_1"', f'"{name}"').replace('"link_2"', f'"{name}"')
    robot = read_urdf(urdf)
    assert evil in robot.joint_names
    page = Page(port=free_port)
    dynamics = Dynamics(robot)
    page.open(robot, urdf, dynamics, effort_limits(robot))
    controls = StackControls(page.server, robot, np.zeros(2), [evil, "ur5"], evil)
    controls.sliders.visible = True
    controls.message.say(f"no robot {evil}")
    tab = browser.new_page()
    requests: list[str] = []
    tab.on("request", lambda request: requests.append(request.url))
    tab.goto(page.address)
    until(lambda: page.watched, "a browser")
    for k in range(9):
        zero = np.zeros(2)
        page.show(Snapshot(0.1 * k, zero, zero, zero, zero))
    tab.get_by_text(f"no robot {evil}").wait_for()  # the text as it is
    tab.get_by_text(evil, exact=True).first.wait_for()  # beside its slider, or in a legend
    title, images = tab.title(), tab.locator("img[src=x], a").count()
    tab.close()
    page.close()
    assert (title, images) == ("Viser", 0)
    assert [url for url in requests if not url.startswith((page.address, "data:", "blob:"))] == []


@pytest.mark.thorough
def test_page_works_after_a_reload_and_reconnects_with_its_token(view, tab):
    tab.reload()
    tab.get_by_role("button", name="reset").wait_for()
    until(lambda: view.page.watched, "a browser")
    visits = view.page.visits
    view.page.server._websock_server.disconnect_all_clients()
    until(lambda: view.page.visits > visits + 1 and view.page.watched, "a browser that returns")


def test_another_page_of_the_browser_gets_no_connection(browser, view):
    tab, visits = browser.new_page(), view.page.visits
    opened = tab.evaluate(
        """([address, version]) => new Promise(done => {
            const socket = new WebSocket(address, [`viser-v${version}`]);
            socket.onopen = () => done("opened");
            socket.onerror = () => done("refused");
        })""",
        [view.page.address.replace("http", "ws").rstrip("/"), viser.__version__],
    )
    tab.close()
    assert (opened, view.page.visits) == ("refused", visits)
