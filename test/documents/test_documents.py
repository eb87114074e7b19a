"""What the documents name exists: files, modules, names in them, links."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import robot_dynamics
from robot_dynamics.version import SITE

ROOT = Path(__file__).parents[2]
FOLDERS = (".", "docs", "docs/nodes", "examples", "benchmark/records")
PAGES = [page for folder in FOLDERS for page in sorted((ROOT / folder).glob("*.md"))]
PACKAGE = ROOT / "robot_dynamics"

PATH = re.compile(r"[\w.-]+(/[\w.-]*)+|[\w-]+\.(py|md|yaml|csv|urdf|toml|cfg)")
NO_FILE = re.compile(r"\w+_(msgs|node|controller)/|motion\.csv")  # of ROS, or of the reader
IN_MESSAGE = re.compile(r"\{SITE\}/([\w/-]+)\.html")
DOTTED = re.compile(r"robot_dynamics(\.\w+)+|benchmark(\.\w+)+")


def named(page):
    """Words in backquotes outside of code blocks."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    return re.findall(r"`([^`\n]+)`", text)


def anchors(page):
    """Anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def is_there(path):
    """Whether a path exists from the root, or from a place that pages leave out."""
    return any((place / path).exists() for place in (ROOT, PACKAGE, ROOT / "test", ROOT / "docs"))


def resolves(name):
    """Whether a dotted name can be imported, or be had from what can."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[cut:]:
            fields = getattr(found, "__annotations__", {})
            if not hasattr(found, attribute) and attribute not in fields:
                return False
            found = getattr(found, attribute, None)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert not broken


@pytest.mark.parametrize(
    "name",
    ["README.md", "CONTRIBUTING.md", "docs/developer-notes.md", "docs/layout.md"],
)
def test_every_path_in_code_font_exists(name):
    paths = [word for word in named(ROOT / name) if PATH.fullmatch(word)]
    assert [word for word in paths if not is_there(word) and not NO_FILE.match(word)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_dotted_name_of_the_package_can_be_imported(page):
    names = [word.removesuffix("()") for word in named(page)]
    missing = [word for word in names if DOTTED.fullmatch(word) and not resolves(word)]
    assert not missing


def test_messages_give_addresses_of_pages_on_the_site():
    assert f"site_url: {SITE}/\n" in (ROOT / "mkdocs.yml").read_text()
    files = [*PACKAGE.rglob("*.py"), *(ROOT / "launch").glob("*.py")]
    pages = {page for file in files for page in IN_MESSAGE.findall(file.read_text())}
    assert pages
    assert [page for page in pages if not (ROOT / "docs" / f"{page}.md").exists()] == []


def test_the_layout_names_every_package():
    table = (ROOT / "docs" / "layout.md").read_text(encoding="utf-8")
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages == set(re.findall(r"\]\(../robot_dynamics/(\w+)\)", table))


def test_the_version_is_the_same_everywhere():
    package = re.search(r"<version>(.+)</version>", (ROOT / "package.xml").read_text()).group(1)
    setup = re.search(r'version="(.+)"', (ROOT / "setup.py").read_text()).group(1)
    assert {package, setup} == {robot_dynamics.__version__}
