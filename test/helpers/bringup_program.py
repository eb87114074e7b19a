"""Start the nodes of a bringup as `ros2 launch` does, where there is no `launch`.

    python bringup_program.py NAME:=VALUE ...

Nodes of other packages, which show the arm, are left out.
"""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.bringup.arguments import ARGUMENTS
from robot_dynamics.nodes.bringup.bringup import bringup
from robot_dynamics.nodes.bringup.wiring import PACKAGE, File

RUN = "from robot_dynamics.nodes import executables; executables.{}()"


def main(folder):
    """Start the nodes, and wait until all have ended; return 1 if one of them failed."""
    given = {name: default for name, default, *_ in ARGUMENTS}
    given |= dict(argument.split(":=", 1) for argument in sys.argv[1:])
    try:
        wired = bringup(given)
    except RobotDynamicsError as error:
        print(error)
        return 1
    print(*wired.notes, sep="\n", flush=True)
    nodes = [node for node in wired.nodes if node.package == PACKAGE]
    signal.signal(signal.SIGINT, lambda *_: None)  # the nodes get it too, and end
    processes = [subprocess.Popen(words(node, folder)) for node in nodes]
    pairs = zip(nodes, processes, strict=True)
    failed = [node.executable for node, process in pairs if process.wait()]
    for name in failed:
        print(f"{name} has died")
    return 1 if failed else 0


def words(node, folder):
    """Return the command line of a node."""
    line = [sys.executable, "-c", RUN.format(node.executable)]
    line += [*(text(part, folder) for part in node.arguments), "--ros-args"]
    names = {"__ns": f"/{node.namespace.strip('/')}", "__node": node.name} | dict(node.remappings)
    for old, new in names.items():
        line += ["-r", f"{old}:={new}"] if new else []
    for part in node.parameters:
        own = isinstance(part, dict)
        file = File(yaml.safe_dump({"/**": {"ros__parameters": part}})) if own else part
        line += ["--params-file", text(file, folder)]
    return line


def text(part, folder):
    """Return a word, or the path of the file that it stands for."""
    if not isinstance(part, File):
        return part
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", dir=folder, delete=False) as file:
        file.write(part.text)
    return file.name


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        sys.exit(main(Path(place)))
