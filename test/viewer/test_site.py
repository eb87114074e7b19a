"""The documents are a site: it is built without a warning, and opens in a browser."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("material", reason="mkdocs-material is not installed")

pytestmark = pytest.mark.thorough  # to build it takes a quarter of a minute

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr  # --strict: any warning is an error
    return folder


def test_every_page_is_built(site):
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in docs()}
    assert {path for path in pages if not (site / path).exists()} == set()


def test_every_public_name_of_an_api_page_is_on_it(site):
    pages = sorted((site / "api").glob("*.html"))
    assert "robot_dynamics.control.html" in {page.name for page in pages}
    missing = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        shown = re.compile(rf'id="{re.escape(page.stem)}[\w.]*\.(\w+)"').findall(text)
        missing += public_names(importlib.import_module(page.stem)) - {"__version__", *shown}
    assert missing == []


def public_names(module) -> set[str]:
    """Return the names that a module declares as public, else those that it defines itself."""
    declared = getattr(module, "__all__", None)
    if declared is not None:
        return {*declared}
    own = (k for k, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__)
    return {name for name in own if not name.startswith("_")}


def docs() -> list[Path]:
    return sorted((ROOT / "docs").rglob("*.md"))


def test_site_opens_in_a_browser(site, browser):
    tab = browser.new_page()
    errors: list[str] = []
    foreign: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("request", lambda request: foreign.append(request.url))
    tab.goto((site / "index.html").as_uri())
    assert "robot_dynamics" in tab.locator("h1").first.inner_text()
    tab.goto((site / "page.html").as_uri())
    assert tab.locator("h2").first.inner_text().startswith("Without ROS")
    tab.close()
    assert errors == []
    assert [url for url in foreign if not url.startswith(("file:", "data:", "blob:"))] == []
