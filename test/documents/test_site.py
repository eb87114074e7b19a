"""The built site: its links lead somewhere, its search finds what readers look for."""

import importlib
import os
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from lxml import html

pytestmark = pytest.mark.thorough  # the site takes half a minute

ROOT = Path(__file__).parents[2]

MOST_WORDS = 36_000  # of text and tables, without code, API, examples and changes

# What a reader types, and the pages of which one must be among the first three
FINDS = {
    "Humble": ["install"],
    "gripper": ["concepts"],
    "end effector": ["concepts", "task-space"],
    "payload": ["nodes", "identification", "real-arm", "launch", "concepts", "ros-tutorial"],
    "gravity compensation": ["concepts", "ros2-control", "nodes"],
    "sim time": ["concepts", "launch", "nodes"],
    "FollowJointTrajectory": ["launch", "nodes", "ros2-control"],
    "TCP": ["concepts", "task-space"],
    "UR5": ["drivers", "own-robot", "first-steps", "performance"],
    "Franka": ["drivers", "ros2-control"],
    "KUKA": ["drivers"],
    "Flexiv": ["drivers"],
    "OpenArm": ["drivers"],
    "MoveIt": ["launch", "ros2-control", "nodes"],
    "rviz": ["launch", "ros-tutorial"],
    "Foxglove": ["page", "ros-tutorial"],
    "CasADi": ["array-libraries"],
    "JAX": ["array-libraries"],
    "PyTorch": ["array-libraries"],
    "microcontroller": ["kernels", "first-steps", "which-part"],
    "Denavit-Hartenberg": ["dh-table", "tables"],
    "inverse kinematics": ["kinematics"],
    "singularity": ["kinematics", "concepts", "task-space"],
    "Jacobian": ["kernels", "kinematics", "task-space"],
    "mass_matrix": ["kernels", "api/robot_dynamics.dynamics", "extending"],
    "friction": ["friction", "identification"],
    "Coulomb": ["friction", "identification"],
    "armature": ["concepts", "nodes", "own-robot"],
    "base parameters": ["concepts", "identification", "kernels"],
    "floating base": ["moving-bases"],
    "elastic joints": ["elastic-joints"],
    "parallelogram": ["moving-bases"],
    "uncertainty": ["studies", "identification"],
    "Dask": ["studies"],
    "real time": ["realtime"],
    "PREEMPT_RT": ["realtime", "performance"],
    "watchdog": ["hardware", "concepts", "launch"],
    "emergency stop": ["real-arm", "hardware"],
    "collision detection": ["collision"],
    "impedance": ["task-space", "concepts", "nodes"],
    "null space": ["task-space", "concepts"],
    "joint limits": ["nodes", "real-arm", "own-robot", "controller", "hardware"],
    "gains": ["gains"],
    "record": ["page", "ros-tutorial", "nodes"],
    "MCAP": ["page", "identification", "nodes"],
    "xacro": ["own-robot", "install", "launch", "commands"],
    "Renaud": ["publications", "references"],
    "cite": ["references", "index"],
    "changelog": ["changelog"],
    "computed torque": ["examples/computed_torque", "concepts", "examples/index"],
    "diagnostics": ["nodes", "realtime"],
    "glossary": ["concepts"],
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    """Every page of the site, parsed, by its path."""
    return {path.relative_to(site): html.parse(path).getroot() for path in site.rglob("*.html")}


def test_every_internal_link_and_anchor_resolves(site, pages):
    anchors = {path: set(page.xpath("//@id | //a/@name")) for path, page in pages.items()}
    broken = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links are absolute, below the address of the site
            continue
        for link in page.xpath("//a/@href | //img/@src"):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            place = (
                (site / path.parent / unquote(parts.path)).resolve() if parts.path else site / path
            )
            if not place.exists():
                broken.append((str(path), link))
            elif parts.fragment and place.suffix == ".html":
                known = anchors[place.relative_to(site.resolve())]
                if unquote(parts.fragment) not in known and parts.fragment != "__top":
                    broken.append((str(path), link))
    assert not broken


def test_every_public_name_of_an_api_page_is_in_the_reference(pages):
    api = {path.stem: page for path, page in pages.items() if path.parts[0] == "api"}
    assert "robot_dynamics.control" in api
    shown = {name.split(".")[-1] for page in api.values() for name in page.xpath("//@id")}
    for module in api:
        assert set(getattr(importlib.import_module(module), "__all__", ())) <= {
            "__version__",
            *shown,
        }, module


def test_examples_are_pages_of_the_site(pages):
    for path in (ROOT / "examples").iterdir():
        if path.suffix in (".py", ".ipynb"):
            assert Path("examples", f"{path.stem}.html") in pages


def test_the_site_has_no_more_words_than_a_reader_can_use(pages):
    words = {}
    for path, page in pages.items():
        if path.parts[0] in ("api", "examples") or path.stem in ("404", "changelog"):
            continue
        (content,) = page.xpath("//article")
        for code in content.xpath(".//pre | .//script | .//style"):
            code.drop_tree()
        words[path.stem] = len(content.text_content().split())
    assert sum(words.values()) <= MOST_WORDS, sorted(words.items(), key=lambda item: -item[1])


class Silent(SimpleHTTPRequestHandler):
    """A server of files that logs nothing."""

    def log_message(self, *_):
        """Log nothing."""


@pytest.fixture(scope="module")
def found(site, browser):
    """A function that asks the search of the site, as its page does."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    worker = next((site / "assets" / "javascripts" / "workers").glob("search.*.js"))
    tab = browser.new_page()
    tab.goto(f"http://127.0.0.1:{server.server_port}/index.html")
    tab.evaluate(START, f"/{worker.relative_to(site)}")
    yield lambda query: tab.evaluate(QUERY, query)
    tab.close()
    server.shutdown()
    server.server_close()


# The messages between a page of the theme and its search: set up (0), query (2), result (3)
START = """async worker => {
  const index = await (await fetch("/search/search_index.json")).json();
  index.options = {suggest: false};
  window.search = new Worker(worker);
  await new Promise(ready => {
    window.search.onmessage = ({data}) => { if (data.type === 1) ready(); };
    window.search.postMessage({type: 0, data: index});
  });
}"""
QUERY = """async query => await new Promise(answer => {
  window.search.onmessage = ({data}) => {
    if (data.type === 3) answer(data.data.items.map(pages => pages[0].location));
  };
  window.search.postMessage({type: 2, data: query});
})"""


def test_the_search_finds_the_right_page_among_the_first_three(found):
    assert len(FINDS) >= 50
    missed = {}
    for words, wanted in FINDS.items():
        first = [place.partition(".html")[0] for place in found(words)[:3]]
        if not set(first) & set(wanted):
            missed[words] = first
    assert not missed
