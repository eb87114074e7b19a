"""The page admits its own browser, and of its messages those with valid values."""

import logging
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pytest

pytest.importorskip("viser")

import viser
from websockets.exceptions import ConnectionClosed, InvalidStatus

from browser import unused_port
from page_client import CAMERA, deliver, message_bytes, page_socket, update
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.spatial import Pose
from robot_dynamics.viewer import gate
from robot_dynamics.viewer.address import TOKEN_VARIABLE, announcement, page_token
from robot_dynamics.viewer.controls import MessageLine
from robot_dynamics.viewer.gate import valid_value
from robot_dynamics.viewer.page import Page
from robot_dynamics.viewer.target_gizmo import TargetGizmo
from ros_system import wait_for

HINT = "; open the address that the viewer printed"
HOST = f"its Host is not this machine{HINT}"
ORIGIN = f"its Origin is another page{HINT}"
TOKEN = f"its address has no valid token{HINT}"


@pytest.fixture(scope="module")
def page():
    page = Page(port=unused_port())
    yield page
    page.close()


@pytest.fixture
def controls(page):
    """One control of every kind that the pages have."""
    page.server.gui.reset()
    gui = page.server.gui
    yield {
        "slider": gui.add_slider("payload, kg", 0.0, 10.0, 0.1, 1.0),
        "dropdown": gui.add_dropdown("robot", ("panda", "ur5")),
        "checkbox": gui.add_checkbox("pause", False),
        "vector": gui.add_vector3("push, N", (0.0, 0.0, 0.0), min=(-9.0,) * 3, max=(9.0,) * 3),
        "button": gui.add_button("reset"),
        "message": gui.add_markdown("as it was"),
    }
    page.server.gui.reset()


@pytest.fixture
def logged(caplog):
    """What the gate logs."""
    caplog.set_level(logging.WARNING, "robot_dynamics.viewer.gate")
    return lambda: [record.getMessage() for record in caplog.records]


def status(url, **headers):
    """Return the status and the text of an HTTP answer."""
    try:
        with urlopen(Request(url, headers=headers)) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def sent(page, *messages):
    """Send messages and wait until the page has handled them."""
    with page_socket(page.address) as browser:
        deliver(page, browser, messages)


def drag(wxyz=(1.0, 0.0, 0.0, 0.0), position=(0.1, 0.0, 0.0)):
    """Return the message of a browser that drags the end effector."""
    return {
        "type": "TransformControlsUpdateMessage",
        "name": "/target",
        "wxyz": wxyz,
        "position": position,
        "owner": "",
    }


def drag_bound(end):
    return {"type": f"TransformControlsDrag{end}Message", "name": "/target", "owner": ""}


# -- who may open the page -------------------------------------------------------------------------


def test_page_opens_with_its_token_alone(page):
    assert status(page.address)[0] == 200
    assert status(page.address[:-1])[0] == 200  # moved to the address with a slash
    root = page.address[: page.address.index("/", 8)]
    for path in ("", "/", "/index.html", "/x" + page.address[len(root) + 2 :], "/%C3%A9/"):
        assert status(root + path) == (403, f"refused: {TOKEN}\n")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost@evil", ""])
def test_foreign_host_is_refused_for_http_and_websocket(page, host, logged):
    assert status(page.address, Host=host) == (403, f"refused: {HOST}\n")
    with pytest.raises(InvalidStatus, match="403"):
        page_socket(page.address, origin=f"http://{host}", headers={"Host": host})
    assert logged() == [f"the page refused a request: {HOST}"] * 2


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "http://127.0.0.1", "file://"]
)
def test_foreign_origin_is_refused_even_with_the_token(page, origin):
    assert status(page.address, Origin=origin) == (403, f"refused: {ORIGIN}\n")
    with pytest.raises(InvalidStatus, match="403"):
        page_socket(page.address, origin=origin)


def test_websocket_needs_the_token_and_an_origin(page):
    wrong = page.address[:-3] + "xx/"
    with pytest.raises(InvalidStatus, match="403"):
        page_socket(wrong)
    with pytest.raises(InvalidStatus, match="403"):
        page_socket(page.address, origin="")
    with page_socket(page.address) as browser:
        assert isinstance(browser.recv(), bytes)


@pytest.mark.parametrize("host", ["localhost:1", "[::1]:99", "192.168.1.2", "LOCALHOST."])
def test_numbers_and_names_of_this_machine_are_its_host(page, host):
    assert status(page.address, Host=host)[0] == 200  # a forwarded port has another number


def test_page_does_not_run_inside_another_one_and_keeps_its_token_to_itself(page):
    with urlopen(page.address) as answer:
        headers = answer.headers
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path", ["../../_infra.py", "%2e%2e/%2e%2e/_infra.py", "/etc/passwd", "%00"]
)
def test_no_file_that_a_path_names_is_served(page, path):
    assert status(page.address + path)[0] == 404


def test_viser_that_cannot_be_guarded_serves_nothing(free_port, monkeypatch):
    monkeypatch.setattr(gate.Gate, "_serve", lambda self, serve, *args, **kw: serve(*args, **kw))
    with pytest.raises(RobotDynamicsError) as error:
        Page(port=free_port)
    assert str(error.value) == (
        f"viser {viser.__version__} serves in a way that cannot be guarded; install viser 1.1"
    )


def test_token_of_the_environment_is_used_if_it_is_long_enough(monkeypatch):
    assert page_token() != page_token()
    monkeypatch.setenv(TOKEN_VARIABLE, "a-fixed_token-of-mine")
    assert page_token() == "a-fixed_token-of-mine"
    monkeypatch.setenv(TOKEN_VARIABLE, "short")
    with pytest.raises(ArgumentError) as error:
        page_token()
    assert str(error.value) == (
        f"{TOKEN_VARIABLE} must have at least 16 characters, each a letter, a digit, - or _; unset "
        "it for a random token"
    )


@pytest.mark.parametrize(
    ("host", "place", "who"),
    [
        ("127.0.0.1", "127.0.0.1", "this machine only"),
        ("::1", "[::1]", "this machine only"),
        ("10.0.0.2", "10.0.0.2", "anyone in the network with this address can move it"),
    ],
)
def test_announcement_says_who_can_open_the_page(host, place, who):
    assert announcement(host, 8080, "secret") == f"viewer: http://{place}:8080/secret/ ({who})"


# -- messages --------------------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("control", "value", "result"),
    [
        ("slider", 2, 2),
        ("slider", 10.04, 10.0),  # a slider rounds to digits of its step
        ("dropdown", "ur5", "ur5"),
        ("checkbox", True, True),
        ("button", True, True),
        ("vector", [1.0, -9, 0], [1.0, -9, 0]),
    ],
)
def test_valid_values_reach_a_control(controls, control, value, result):
    assert valid_value(controls[control], value) == result


@pytest.mark.parametrize(
    ("control", "value"),
    [
        *(("slider", x) for x in (-1.0, 11.0, 1e308, NAN, INF, True, "1", None, [1.0], {})),
        *(("dropdown", x) for x in ("/etc/passwd", "", "panda ", 0, None, ["ur5"])),
        *(("checkbox", x) for x in (1, 0.0, "true", None, [])),
        *(("vector", x) for x in ([1.0, 2.0], [1.0] * 4, [NAN, 0.0, 0.0], [10.0, 0, 0], "abc", 1)),
        ("button", "x"),
    ],
)
def test_invalid_values_reach_no_control(page, controls, control, value, logged):
    handle = controls[control]
    before = handle.value
    sent(page, CAMERA, update(handle, value))
    assert handle.value == before
    (line,) = logged()
    assert line.startswith(f"the page refused a message of a browser: '{handle.label}' cannot be ")


@pytest.mark.parametrize(("attribute", "state"), [("disabled", True), ("visible", False)])
def test_control_that_is_disabled_or_hidden_keeps_its_value(page, controls, attribute, state):
    setattr(controls["slider"], attribute, state)
    sent(page, update(controls["slider"], 2.0))
    assert controls["slider"].value == 1.0


ATTRIBUTES = ["update_cb", "sync_cb", "removed", "is_button", "props", "uuid"]


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_no_attribute_but_the_value_is_set(page, controls, attribute, logged):
    slider = controls["slider"]
    before = getattr(slider._impl, attribute)
    message = {**update(slider, 2.0), "updates": {"value": 2.0, attribute: "x"}}
    sent(page, message)
    assert getattr(slider._impl, attribute) is before
    assert slider.value == 1.0
    assert logged() == [
        "the page refused a message of a browser: it sets something other than the value of a "
        "control"
    ]


def test_text_of_the_page_is_not_set_by_a_browser(page, controls):
    message = controls["message"]
    sent(page, {**update(message, "x"), "updates": {"content": "<script>"}}, update(message, "x"))
    assert message.content == "as it was"


@pytest.mark.parametrize(
    "message",
    [
        {"type": "ShareUrlRequest"},  # would open a tunnel to a public server
        {"type": "RunJavascriptMessage", "source": "alert(1)"},
        {"type": "FileTransferStartUpload", "source_component_uuid": "x", "transfer_uuid": "y",
         "filename": "/etc/passwd", "mime_type": "", "part_count": 0, "size_bytes": 0},
        {"type": "GuiFormDirtyMessage", "uuid": "x"},
        {"type": "_Private"},
        {"type": ["a"]},
        {**CAMERA, "position": [1.0, [2.0], 3.0]},
        {**CAMERA, "fov": "x"},
        {},
        [1, 2],
        "a text",
        b"",
        b"\xc1",
        b"\x81" * 20_000,  # nested too deeply
        b"\x91" * 60_000,
        b"\x81\x01\x02",
    ],
)  # fmt: skip
def test_message_that_no_page_sends_ends_its_connection_with_one_line(page, message, logged):
    with page_socket(page.address) as browser:
        raw = isinstance(message, (str, bytes))
        browser.send(message if raw else message_bytes(message))
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                browser.recv(30.0)
    assert closed.value.rcvd.reason == "refused; the log says why"
    assert len(logged()) == 1
    assert page.server._share_tunnel is None
    with page_socket(page.address) as browser:  # others go on
        assert browser.recv(30.0)


@pytest.fixture
def gizmo(page):
    """A handle at the end effector of an arm, shown at a pose."""
    page.server.scene.reset()
    gizmo = TargetGizmo(page.server, 1.0)
    gizmo.show(Pose.identity())
    yield gizmo
    page.server.scene.reset()


def test_drag_of_a_browser_is_taken_once(page, gizmo, logged):
    sent(page, drag_bound("Start"), drag(), drag([0.0, 0.6, 0.8, 0.0], [1.0, 2, -3.0]))
    sent(page, drag_bound("End"))
    dragged = gizmo.take()
    np.testing.assert_array_equal(dragged.translation, [1.0, 2.0, -3.0])
    half_turn = 2.0 * np.outer([0.6, 0.8, 0.0], [0.6, 0.8, 0.0]) - np.eye(3)
    np.testing.assert_allclose(dragged.rotation, half_turn, atol=1e-15)
    assert gizmo.take() is None
    assert logged() == []


TURNED, MOVED = "the end effector cannot be turned to ", "the end effector cannot be moved to "
ELSEWHERE = "its handle is not on the page"


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        *(("wxyz", [0.0, 0.0, 0.0, x], TURNED) for x in (NAN, INF, 0.0, 2.0, True)),
        *(("wxyz", x, TURNED) for x in ([1.0], [], None, "abcd", {}, [[1.0], 0, 0, 0])),
        *(("position", [0.0, 0.0, x], MOVED) for x in (NAN, -INF, 1e308, 1001.0, None, "1")),
        *(("position", x, MOVED) for x in ([1.0] * 4, [], None, 1.0, "abc")),
        *(("name", x, ELSEWHERE) for x in ("/robot", "", None, ["/target"], {}, 1)),
    ],
)
def test_drag_to_what_is_no_pose_gives_one_line_and_moves_nothing(
    page, gizmo, field, value, problem, logged
):
    sent(page, CAMERA, {**drag(), field: value})
    assert gizmo.take() is None
    np.testing.assert_array_equal(gizmo._handle.position, 0.0)
    np.testing.assert_array_equal(gizmo._handle.wxyz, [1.0, 0.0, 0.0, 0.0])
    (line,) = logged()
    assert line.startswith(f"the page refused a message of a browser: {problem}")


def test_hidden_handle_is_not_dragged(page, gizmo, logged):
    gizmo.show(None)
    sent(page, drag())
    gizmo.show(Pose.identity())
    assert gizmo.take() is None
    assert logged() == ["the page refused a message of a browser: its handle is not on the page"]


def test_log_line_of_a_refused_message_is_one_line_without_control_characters(page, logged):
    sent(page, {"type": "x\n[INFO] all is well\x1b[2J" + "y" * 500})
    (line,) = logged()
    assert line.isprintable()
    assert len(line) < 140


def test_connections_are_counted_as_they_come_and_go(page):
    wait_for(lambda: page.visits % 2 == 0, "browsers that have left")
    before = page.visits
    with page_socket(page.address) as browser:
        browser.recv(30.0)
        assert page.visits == before + 1
    wait_for(lambda: page.visits == before + 2, "a browser that has left")


def test_text_of_others_is_no_markup_of_the_page(page):
    line = MessageLine(page.server)
    line.say("<img src=x onerror=alert(1)>\n![a](/etc/passwd) `x` {y} **z**")
    markup = line._line.content
    assert markup.startswith("**&#60;img src&#61;x onerror")
    assert not set("<>![]()`{}/\n") & set(markup)
    line.say("")
    assert line._line.content == ""
