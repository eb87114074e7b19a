"""Folders of generated files: all of them or none, and never over the changes of a user."""

import os
import stat
import subprocess

import pytest

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.export import package_folder
from robot_dynamics.export.package_folder import MANIFEST, write_folder

FIRST = {"a.txt": "a\n", "src/b.txt": "b\n", "old/c.txt": "c\n"}
SECOND = {"a.txt": "A\n", "src/b.txt": "B\n", "new/d.txt": "D\n"}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "ws" / "arm"


def tree(folder):
    """Everything below a folder: text of files, target of links, None of folders."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = os.readlink(path)
        else:
            found[name] = path.read_text() if path.is_file() else None
    return found


def refused(folder, files=SECOND, **options):
    """Message of a refused export, which changes nothing."""
    top = folder.parents[1]
    before = tree(top)
    with pytest.raises(RobotDynamicsError) as caught:
        write_folder(folder, files, **options)
    assert tree(top) == before
    return str(caught.value)


def test_files_are_written_with_a_manifest_that_sha256sum_reads(folder):
    write_folder(folder, FIRST)
    written = tree(folder)
    del written[MANIFEST]
    assert written == {"src": None, "old": None, **FIRST}
    subprocess.run(
        ["sha256sum", "--check", "--quiet", "--strict", MANIFEST], cwd=folder, check=True
    )
    assert list(folder.parent.iterdir()) == [folder]  # nothing beside it
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o777 & ~mask


def test_an_export_over_another_one_replaces_it_and_keeps_the_files_of_the_user(folder):
    write_folder(folder, FIRST)
    (folder / "src" / "mine.txt").write_text("mine\n")
    write_folder(folder, SECOND)
    written = tree(folder)
    del written[MANIFEST]
    assert written == {"src": None, "new": None, **SECOND, "src/mine.txt": "mine\n"}
    assert list(folder.parent.iterdir()) == [folder]


def test_a_file_that_stays_the_same_is_not_written_again(folder):
    write_folder(folder, FIRST)
    before = {path: (folder / path).stat().st_ino for path in FIRST}
    write_folder(folder, {**FIRST, "src/b.txt": "B\n"})
    assert [path for path in FIRST if (folder / path).stat().st_ino != before[path]] == [
        "src/b.txt"
    ]


def test_a_removed_file_is_written_again(folder):
    write_folder(folder, FIRST)
    before = tree(folder)
    (folder / "a.txt").unlink()
    write_folder(folder, FIRST)
    assert tree(folder) == before


def test_a_changed_file_is_overwritten_only_with_force(folder):
    write_folder(folder, FIRST)
    (folder / "src" / "b.txt").write_text("mine\n")
    assert refused(folder) == (
        f"{folder}/src/b.txt: was changed after its export; move your changes to another package, "
        "or overwrite them with --force"
    )
    write_folder(folder, SECOND, force=True)
    assert (folder / "src" / "b.txt").read_text() == "B\n"


def test_a_file_of_the_user_in_the_place_of_a_new_one_counts_as_changed(folder):
    write_folder(folder, FIRST)
    (folder / "new").mkdir()
    (folder / "new" / "d.txt").write_text("mine\n")
    assert refused(folder).startswith(f"{folder}/new/d.txt: was changed after its export; ")


def test_a_folder_without_a_manifest_is_overwritten_only_with_force(folder):
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("mine\n")
    assert refused(folder) == (
        f"{folder}: was not written by an export; choose another name, or overwrite its files "
        "with --force"
    )
    write_folder(folder, SECOND, force=True)
    assert (folder / "a.txt").read_text() == "A\n"


def test_an_empty_folder_is_filled(folder):
    folder.mkdir(parents=True)
    write_folder(folder, FIRST)
    assert (folder / "a.txt").read_text() == "a\n"


def test_a_link_in_the_place_of_a_file_is_replaced_with_force_and_its_target_stays(folder):
    write_folder(folder, FIRST)
    target = folder.parent / "target.txt"
    target.write_text("a\n")
    (folder / "a.txt").unlink()
    (folder / "a.txt").symlink_to(target)
    assert refused(folder).startswith(f"{folder}/a.txt: was changed after its export; ")
    write_folder(folder, SECOND, force=True)
    assert not (folder / "a.txt").is_symlink()
    assert target.read_text() == "a\n"


@pytest.mark.parametrize("force", [False, True])
def test_a_link_in_the_place_of_a_folder_is_refused(folder, force):
    write_folder(folder, FIRST)
    (folder / "src").rename(folder.parent / "elsewhere")
    (folder / "src").symlink_to(folder.parent / "elsewhere")
    assert refused(folder, force=force) == (
        f"{folder}/src: is no folder of an export; move it away"
    )


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_in_the_place_of_a_file_is_refused(folder, force):
    write_folder(folder, FIRST)
    (folder / "a.txt").unlink()
    (folder / "a.txt").mkdir()
    assert refused(folder, force=force) == f"{folder}/a.txt: is a folder; move it away"


def test_a_link_to_the_folder_is_followed(folder):
    write_folder(folder, FIRST)
    link = folder.with_name("link")
    link.symlink_to(folder)
    write_folder(link, SECOND)
    assert link.is_symlink()
    assert (folder / "a.txt").read_text() == "A\n"


def test_a_link_that_leads_nowhere_and_a_file_are_refused(folder):
    folder.parent.mkdir()
    folder.symlink_to("nowhere")
    assert refused(folder) == f"{folder}: is a link that leads nowhere; remove it"
    folder.unlink()
    folder.write_text("mine\n")
    assert refused(folder) == f"{folder}: is a file; remove it, or choose another name"


def test_a_manifest_that_names_files_elsewhere_removes_none(folder):
    write_folder(folder, FIRST)
    other = folder.parent / "other.txt"
    other.write_text("other\n")
    digest = package_folder._digest(b"other\n")
    with (folder / MANIFEST).open("a") as file:
        file.write(f"{digest}  ../other.txt\n{digest}  {other}\n")
    write_folder(folder, SECOND)
    assert other.read_text() == "other\n"


@pytest.mark.parametrize("nth", range(1, 9))
def test_an_error_in_the_middle_leaves_everything_as_it_was(folder, monkeypatch, nth):
    write_folder(folder, FIRST)
    (folder / "src" / "mine.txt").write_text("mine\n")
    calls, rename = [], os.rename

    def fails(*places):
        calls.append(places)
        if len(calls) == nth:
            raise OSError(28, "No space left on device")
        rename(*places)

    monkeypatch.setattr(package_folder.os, "rename", fails)
    assert refused(folder) == (
        f"{folder}: cannot be written (No space left on device); name a folder of yours"
    )


def test_a_folder_that_cannot_be_made_leaves_no_parent_behind(folder):
    long = folder / ("x" * 300)
    message = "File name too long"
    assert refused(long) == f"{long}: cannot be written ({message}); name a folder of yours"
