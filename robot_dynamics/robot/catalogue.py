"""Robots by name: those of this package, of example-robot-data and of robot_descriptions.

find_robot("panda")  ->  .../example-robot-data/robots/panda_description/urdf/panda.urdf

Arguments of a xacro file follow its path: "ur.urdf.xacro name:=ur ur_type:=ur5e".
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from robot_dynamics.errors import (
    ArgumentError,
    RobotError,
    UnknownNameError,
    UrdfError,
    nearest,
    shown,
)

PACKAGE = "robot_dynamics"

QUOTED_CHARACTERS = 500
"""Number of characters at the end of another program's output that a message quotes."""

TABLES = (".csv", ".yaml", ".yml")
"""Ends of the names of table files: see `table_files`."""

XACRO_ARGUMENT = re.compile(r"[A-Za-z_]\w*:=")
"""Beginning of an argument of a xacro file."""

_FIRST_ARGUMENT = re.compile(rf"\s+(?={XACRO_ARGUMENT.pattern})")
_UNDEFINED = re.compile(r"Undefined substitution argument (\w+)")
_NO_PACKAGE = re.compile(r"package '([^']+)' not found")
_DEFAULTS = re.compile(r"<xacro:arg\s+name=[\"'](\w+)[\"']")
_USED = re.compile(r"\$\(arg (\w+)\)")


def find_robot(name: str | os.PathLike[str]) -> Path:
    """Find the URDF of a robot.

    Args:
        name: Path of a URDF, a xacro or a table (.csv, .yaml), or the name of a robot of this
            package ("planar_2r"), of the package example-robot-data ("panda", "ur5", "talos") or
            of the package robot_descriptions ("gen2_description"). The path of a xacro file may
            have arguments behind it.

    Returns:
        Path of the URDF, without arguments.

    Raises:
        ArgumentError: If it is not text.
        UnknownNameError: If there is neither such a file nor such a robot.
        RobotError: If robot_descriptions cannot fetch the robot.

    Examples:
        >>> from robot_dynamics.robot import find_robot
        >>> find_robot("planar_2r").name
        'planar_2r.urdf'
    """
    if not isinstance(name, (str, os.PathLike)):
        raise ArgumentError(f"a robot is found by its path or its name, got {shown(name)}")
    text, _ = split_arguments(os.fspath(name))
    if not text:
        raise UnknownNameError("no robot is given; give the path of a URDF, or the name of a robot")
    path = Path(text)
    if path.exists() and not path.is_dir():  # pipes are allowed
        return path
    known = known_robots()
    if text in known:
        return known[text]
    if text in described_robots():
        return _fetched(text)
    if path.is_dir():
        inside = sorted(entry.name for entry in path.glob("*.urdf"))
        example = f", such as {path / inside[0]}" if inside else ""
        raise UnknownNameError(f"{text} is a folder; give the path of a URDF{example}")
    if "/" in text or os.sep in text or path.suffix.lower() in (".urdf", ".xml", ".xacro", *TABLES):
        raise UnknownNameError(
            f"no such file: {text}; give the path of a URDF, or the name of a robot"
        )
    raise _unknown(text)


def located(name: str | os.PathLike[str]) -> str:
    """Return the path of `find_robot` with the arguments behind it, as `read_urdf` takes it."""
    return with_arguments(str(find_robot(name)), split_arguments(os.fspath(name))[1])


def urdf_text(name: str | os.PathLike[str]) -> str:
    """Return the text of a robot's URDF.

    Args:
        name: As in `find_robot`. The program xacro expands a xacro file (*.xacro) with the
            arguments behind it; a table is written as a URDF.

    Returns:
        The text.

    Raises:
        UnknownNameError: If there is neither such a file nor such a robot.
        UrdfError: If the file is not text, or xacro is missing or fails, or a file that is no
            xacro has arguments, or a table is not one of a robot.
    """
    path, (_, arguments) = find_robot(name), split_arguments(os.fspath(name))
    if path.suffix.lower() == ".xacro":
        return _expanded(path, arguments)
    if arguments:
        raise UrdfError(f"{path}: takes no arguments ({arguments[0]}); only xacro files do")
    if is_table(path):
        from robot_dynamics.robot import table_files, urdf_writer  # noqa: PLC0415  # few are tables

        robot = table_files.read_table(path)
        return urdf_writer.urdf_of(robot, comment=table_files.source_of(path))
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UrdfError(f"{path}: cannot be read ({reason}); give a URDF") from None


def is_table(path: Path) -> bool:
    """Return whether a file has the name of a table."""
    return path.suffix.lower() in TABLES


def becomes_urdf(path: Path) -> bool:
    """Return whether `urdf_text` makes a URDF of a file, a xacro or a table."""
    return path.suffix.lower() == ".xacro" or is_table(path)


def split_arguments(name: str) -> tuple[str, list[str]]:
    """Split a path and the arguments name:=value behind it."""
    path, *rest = _FIRST_ARGUMENT.split(name, maxsplit=1)
    return path, shlex.split(rest[0]) if rest else []


def with_arguments(name: str, arguments: Iterable[str]) -> str:
    """Return a path with arguments name:=value behind it."""
    return " ".join([name, *map(shlex.quote, arguments)])


def _expanded(path: Path, arguments: Iterable[str]) -> str:
    """Expand a xacro file."""
    import shutil  # noqa: PLC0415  # both are slow to import, and few robots are xacro files
    import subprocess  # noqa: PLC0415

    beside = os.path.dirname(sys.executable)  # of an environment that is not activated
    xacro = shutil.which("xacro") or shutil.which("xacro", path=beside)
    if xacro is None:
        raise UrdfError(
            f"{path}: the program xacro is not on the PATH; source a ROS 2 installation that has "
            "it (apt install ros-<distribution>-xacro), pip install xacro, or give a URDF"
        )
    words = [xacro, str(path), *arguments]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        reason = " ".join(said)[-QUOTED_CHARACTERS:] or f"exit status {done.returncode}"
        if undefined := _UNDEFINED.search(done.stderr):
            reason = _undefined_arguments(path, arguments, undefined[1])
        elif "AMENT_PREFIX_PATH" in done.stderr:
            reason = "it needs files of ROS packages; source the workspace that has them"
        elif missing := _NO_PACKAGE.search(done.stderr):
            reason = f"no ROS package '{missing[1]}'; source the workspace that has it"
        raise UrdfError(f"{path}: xacro fails: {reason}")
    return done.stdout


def _undefined_arguments(path: Path, arguments: Iterable[str], first: str) -> str:
    """Name the arguments of a xacro file that have no value, the one that xacro names first."""
    text = path.read_text(encoding="utf-8", errors="replace")
    valued = {*_DEFAULTS.findall(text), *(argument.partition(":=")[0] for argument in arguments)}
    names = dict.fromkeys([first, *(name for name in _USED.findall(text) if name not in valued)])
    values = " ".join(f"{name}:=VALUE" for name in names)
    return f"no value of argument {', '.join(names)}; give it behind the file: {path.name} {values}"


def known_robots() -> dict[str, Path]:
    """Return the robots that `find_robot` knows by name, with their paths."""
    return {**example_robots(), **shipped_robots()}


def shipped_robots() -> dict[str, Path]:
    """List the robots of this package by name: URDFs, and tables of the arms of the papers."""
    share = share_folder()
    files = [*(share / "urdf").glob("*.urdf"), *(share / "tables").glob("*.yaml")]
    return {path.stem: path for path in sorted(files, key=lambda path: path.stem)}


def example_robots() -> dict[str, Path]:
    """List the robots of the package example-robot-data by name; empty if it is not installed.

    A robot has the name of its file, with and without "_robot". The name of a folder ("talos")
    is the file in it with the shortest name, unless a file has that name. The name of a folder
    with different robots ("ur", with ur3, ur5 and ur10) is not a robot.
    """
    paths = [path for folder in _example_folders() for path in _urdf_files(folder)]
    paths.sort(key=lambda path: (not path.stem.endswith("_robot"), len(path.stem)))
    stems = Counter(path.stem for path in paths)
    names: dict[str, Path] = {}
    for path in paths:  # complete robots first: ur5_robot.urdf is "ur5"
        names.setdefault(path.stem.removesuffix("_robot"), path)
    for path in paths:
        names.setdefault(path.stem, path)
    for folder, robots in _by_folder(paths).items():
        variants = (f"{folder}_", robots[0].stem)  # how names of one robot's variants begin
        if all(path.stem.startswith(variants) for path in robots):
            names.setdefault(folder, robots[0])
    return {name: names[name] for name in sorted(names) if stems[name] <= 1}


def described_robots() -> frozenset[str]:
    """List the names of the package robot_descriptions ("gen2_description"), if installed.

    The package downloads a robot at its first use. These robots are therefore not in
    `known_robots`, which lists files, and have no short names that may be typed by mistake.
    """
    try:
        from robot_descriptions import DESCRIPTIONS  # noqa: PLC0415  # optional
    except ImportError:
        return frozenset()
    return frozenset(name for name, about in DESCRIPTIONS.items() if about.has_urdf)


def _fetched(name: str) -> Path:
    """Return the URDF of a robot of robot_descriptions, from its cache or over the network."""
    import contextlib  # noqa: PLC0415
    from importlib import import_module  # noqa: PLC0415

    try:
        with contextlib.redirect_stdout(sys.stderr):  # it prints clone messages
            module = import_module(f"robot_descriptions.{name}")
            if hasattr(module, "URDF_PATH"):
                return Path(module.URDF_PATH)
            xacro = import_module("robot_descriptions._xacro")  # expands a xacro file
            return Path(xacro.get_urdf_path(module))
    except Exception as error:  # of git, of the network, of a file system, of xacro
        reason = " ".join(str(error).split())[-QUOTED_CHARACTERS:] or type(error).__name__
    # Raised after the handler, when the progress bar has ended its line on the terminal
    raise RobotError(f"robot_descriptions cannot fetch {name}: {reason}")


def share_folder() -> Path:
    """Return the folder that holds `urdf`, `config` and `launch`, of the checkout or installation.

    Raises:
        RobotError: If the package was installed without its data files.
    """
    for folder in _share_folders():
        if (folder / "urdf").is_dir():
            return folder
    raise RobotError(
        f"the data files of {PACKAGE} (share/{PACKAGE}/urdf) are not where the package is "
        f"installed ({Path(__file__).parents[1]}); install it with pip or colcon"
    )


def _share_folders() -> Iterator[Path]:
    here = Path(__file__).resolve()
    if (here.parents[2] / "resource" / PACKAGE).is_file():  # a source checkout
        yield here.parents[2]
    # prefix/lib/python3.x/site-packages for pip, a virtual environment and colcon alike
    for prefix in (*here.parents, *_prefixes()):
        yield prefix / "share" / PACKAGE


def _example_folders() -> Iterator[Path]:
    robots = Path("share", "example-robot-data", "robots")
    prefixes = (*(Path(entry) / "cmeel.prefix" for entry in sys.path), *_prefixes())
    for folder in dict.fromkeys(prefix / robots for prefix in prefixes):
        if folder.is_dir():
            yield folder


def _urdf_files(folder: Path) -> list[Path]:
    """List the URDF files below a folder; `Path.rglob` would take three times as long."""
    walk = os.walk(folder)
    return sorted(Path(at, file) for at, _, files in walk for file in files if file[-5:] == ".urdf")


def _prefixes() -> list[Path]:
    """List the prefixes of this Python and of the sourced ROS workspaces."""
    ament = [entry for entry in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if entry]
    return [Path(sys.prefix), *map(Path, ament)]


def _by_folder(paths: Iterable[Path]) -> dict[str, list[Path]]:
    folders: dict[str, list[Path]] = {}
    for path in paths:
        folders.setdefault(_folder_name(path), []).append(path)
    return folders


def _folder_name(path: Path) -> str:
    """Return the name of the robot's folder below `robots`, without the usual suffixes."""
    folder = next(parent for parent in path.parents if parent.parent.name == "robots")
    return folder.name.removesuffix("_description").removesuffix("_data").removesuffix("_simple")


def _unknown(name: str) -> UnknownNameError:
    examples = example_robots()
    known = known_robots()
    close = nearest(name, [*known, *described_robots()])
    hint = f"; did you mean '{close}'?" if close else ""
    folders = _by_folder(examples.values())
    names = {path: name for name, path in sorted(examples.items(), key=lambda x: -len(x[0]))}
    inside = (
        [folder] if folder in examples else sorted({names[path] for path in folders[folder]})
        for folder in sorted(folders)
    )
    others = ", ".join(name for found in inside for name in found)
    others = others or "not found; pip install example-robot-data"
    return UnknownNameError(
        f"no robot '{name}', and no such file{hint} (shipped: {', '.join(shipped_robots())}; "
        f"example-robot-data: {others})"
    )
