"""What a source distribution holds, and what the package index shows of it."""

import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (
    *("robot_dynamics", "benchmark", "config", "docs", "examples"),
    *("launch", "resource", "robot_dynamics_controllers", "tables", "test", "urdf"),
)
MADE = ("__pycache__", "*.py[cod]", "*.egg-info", ".*")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of the source tree without what programs leave in it."""
    copy = tmp_path_factory.mktemp("source") / "tree"
    shutil.copytree(ROOT, copy, ignore=kept_out)
    return copy


def kept_out(folder, names):
    if Path(folder) == ROOT:
        return [name for name in names if (ROOT / name).is_dir() and name not in FOLDERS]
    return shutil.ignore_patterns(*MADE)(folder, names)


@pytest.fixture(scope="module")
def distribution(source, tmp_path_factory):
    """The unpacked source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    code = f"from setuptools import build_meta; print(build_meta.build_sdist({str(folder)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=source, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder)  # made here
    return folder / archive.name.removesuffix(".tar.gz")


@pytest.mark.thorough
def test_a_source_distribution_holds_what_tests_and_documents_need(source, distribution):
    wanted = {p.relative_to(source) for name in FOLDERS for p in (source / name).rglob("*")}
    wanted |= {Path(p.name) for p in source.glob("*.md")}
    wanted |= {Path(n) for n in ("LICENSE", "Makefile", "package.xml", "pyproject.toml")}
    missing = sorted(str(p) for p in wanted if not (distribution / p).exists())
    assert not missing


def test_an_installation_holds_the_package_of_the_controllers(source, tmp_path):
    build = [sys.executable, "setup.py", "-q", "build", "-b", tmp_path, "--build-lib", tmp_path]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    name, place = "robot_dynamics_controllers", tmp_path / "robot_dynamics" / "export"
    wanted = [p.relative_to(source) for p in (source / name).rglob("*") if p.is_file()]
    assert wanted
    assert [str(p) for p in wanted if not (place / p).is_file()] == []


def test_the_package_imports_nothing_that_its_wheel_lacks():
    outside = re.compile(r"^\s*(from|import) (benchmark|docs|examples|test)\b", re.M)
    files = (ROOT / "robot_dynamics").rglob("*.py")
    assert [str(f) for f in files if outside.search(f.read_text(encoding="utf-8"))] == []


@pytest.mark.thorough
def test_the_package_index_shows_links_that_lead_to_files(source, distribution):
    shown = (distribution / "PKG-INFO").read_text(encoding="utf-8")
    home = re.search(r"^Project-URL: Source, (\S+)$", shown, re.M).group(1)
    targets = re.findall(r"\]\(([^)\s]+)\)", shown)
    assert len(targets) > 10
    for target in targets:
        place, _, _ = target.partition("#")
        if not place:
            continue
        assert place.startswith("https://"), target
        if place.startswith(home):
            kind, _, path = place.removeprefix(f"{home}/").partition("/main/")
            assert kind in ("blob", "raw"), target
            assert (source / path).exists(), target
