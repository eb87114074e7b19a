"""Seed faults in code that decides what an arm does, and count those that its tests catch.

    python -m benchmark.mutants [control robot/urdf kinematics]

A decision is a call here, such as `less(a, b)`, which no tool for mutation changes. The tests of a
folder run in a copy of the tree until one fails. `build/mutants.json` keeps what was caught from
running again; the page has every folder whose faults it knows.
"""

import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from benchmark.record import RECORDS, conditions
from benchmark.table import Table

ROOT, COUNT, SEED = Path(__file__).parents[1], 40, 2712  # of each folder
SOURCES = {
    "control": [f"{name}.py" for name in ("guard", "supervision", "status", "limits", "watches")],
    "robot/urdf": ["*.py"],
    "kinematics": ["inverse/**/*.py"],
}
TESTS = {
    "control": ("decisions", "status", "limits"),
    "robot/urdf": ("urdf_errors", "reader", "transmissions"),
    "kinematics": (
        *("axis_chain", "cone_and_ellipse", "both_equations", "parallel_axes"),
        *("inverse_kinematics", "self_motions", "free_directions", "every_solution"),
    ),
}
BY_EQUATIONS = """
import pytest
from robot_dynamics.compiler.native import cache
cache.source_fingerprint = str
raise SystemExit(pytest.main())
"""
"""Runs tests with kernels on disk that go by their equations, not by the contents of sources.

It is for a folder whose faults change no kernel that has a key.
"""
RUN = {"kinematics": ["-c", BY_EQUATIONS]}
PAIRS = ["both", "either", "minimum", "maximum", "any_of", "all_of", "any", "all", "sin", "cos"]
SWAPPED = {name: PAIRS[k ^ 1] for k, name in enumerate(PAIRS)}
ORDERS = {"less": (1, 0), "chosen": (0, 2, 1), "select": (0, 1, 3, 2)}
OPERATORS: dict[type, type] = {ast.Add: ast.Sub, ast.Mult: ast.Div, ast.And: ast.Or}
OPERATORS |= {ast.Lt: ast.GtE, ast.Gt: ast.LtE, ast.Eq: ast.NotEq, ast.Is: ast.IsNot}
OPERATORS |= {ast.In: ast.NotIn} | {new: old for old, new in OPERATORS.items()}


def faults_of(tree: ast.AST, place: str = "") -> Iterator[str]:
    """Yield the name of each fault while the tree has it; texts and annotations have none."""
    for field, value in ast.iter_fields(tree):
        values = value if isinstance(value, list) else [value]
        for k, old in enumerate(values):
            if field in ("annotation", "returns", "decorator_list") or not isinstance(old, ast.AST):
                continue
            number = isinstance(old, ast.Constant) and not isinstance(tree, ast.Dict)
            before = ast.unparse(tree if number else old)
            for new in changes_of(old):
                changed = [*values[:k], new, *values[k + 1 :]]
                setattr(tree, field, changed if value is values else new)
                after = ast.unparse(tree if number else new)
                yield " ".join(f"{place}: {before} -> {after}".split())
                setattr(tree, field, value)
            if not isinstance(old, ast.JoinedStr):
                inner = isinstance(old, (ast.FunctionDef, ast.ClassDef))
                yield from faults_of(old, f"{place}.{old.name}".strip(".") if inner else place)


def changes_of(node: Any) -> Iterator[Any]:
    """Yield what faults make of a node."""
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            yield ast.Constant(not value if isinstance(value, bool) else 2 * value + 1)
        case ast.Compare(ops=[op]) if type(op) in OPERATORS:
            yield ast.Compare(node.left, [OPERATORS[type(op)]()], node.comparators)
        case ast.BinOp(op=op) | ast.BoolOp(op=op) | ast.AugAssign(op=op) if type(op) in OPERATORS:
            yield type(node)(**{**vars(node), "op": OPERATORS[type(op)]()})
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.Raise() | ast.Continue() | ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args):
            if name in SWAPPED:
                function = ast.unparse(node.func)[: -len(name)] + SWAPPED[name]
                yield ast.Call(ast.Name(function), args, node.keywords)
            elif name in ORDERS and len(args) == len(ORDERS[name]):
                yield ast.Call(node.func, [args[k] for k in ORDERS[name]], node.keywords)
            elif name in ("negated", "abs", "clip") and args:
                yield args[0]


def seeded(folder: str) -> list[str]:
    """Choose faults of a folder: their files and names."""
    package, found = ROOT / "robot_dynamics", set[str]()
    for file in (x for pattern in SOURCES[folder] for x in (package / folder).glob(pattern)):
        tree = ast.parse(file.read_text())
        found |= {f"{file.relative_to(package)}: {name}" for name in faults_of(tree)}
    return sorted(random.Random(SEED).sample(sorted(found), COUNT))


def is_caught(copy: Path, folder: str, fault: str) -> bool:
    """Return whether a test of a folder fails in a copy of the tree, with a fault or without."""
    file, _, name = fault.partition(": ")
    source = copy / "robot_dynamics" / (file or "__init__.py")
    tree = ast.parse(text := source.read_text())
    if fault:
        source.write_text(next(ast.unparse(tree) for other in faults_of(tree) if other == name))
    # Byte code has times in whole seconds: that of another fault would be used
    shutil.rmtree(source.parent / "__pycache__", ignore_errors=True)
    # A fault may make a test endless
    command = ["prlimit", "--cpu=400", sys.executable, *RUN.get(folder, ["-m", "pytest"])]
    command += ["-xq", "-p", "no:xdist"]
    command += [f"test/{folder}/test_{test}.py" for test in TESTS[folder]]
    places = {"PYTHONPATH": str(copy), "ROBOT_DYNAMICS_CACHE": str(copy / "kernels")}
    ended = subprocess.run(
        command, check=False, cwd=copy, env=os.environ | places, stdout=subprocess.DEVNULL
    )
    source.write_text(text)
    return ended.returncode != 0


def main() -> None:
    """Seed the faults, run the tests, and write the page."""
    known, rows, lines = ROOT / "build/mutants.json", [], []
    known.parent.mkdir(exist_ok=True)
    results = json.loads(known.read_text()) if known.exists() else {}
    harmless = yaml.safe_load((RECORDS / "harmless_faults.yaml").read_text())

    def meant(folder: str) -> list[str]:
        return [fault for fault in seeded(folder) if fault not in harmless]

    ignored = shutil.ignore_patterns(".*", "build", "__pycache__")
    with tempfile.TemporaryDirectory() as place:
        copy = shutil.copytree(ROOT, Path(place, "copy"), ignore=ignored)
        for folder in sys.argv[1:] or TESTS:
            if is_caught(copy, folder, ""):
                raise SystemExit(f"{folder}: its tests fail without a fault")
            for fault in meant(folder):
                if not results.get(fault):
                    results[fault] = is_caught(copy, folder, fault)
                    known.write_text(json.dumps(results, indent=1))
                    print("caught  " if results[fault] else "SURVIVED", fault, flush=True)
    for folder in TESTS:
        faults = meant(folder)
        if results.keys() >= set(faults):
            alive = [fault for fault in faults if not results[fault]]
            rows.append([folder, *map(str, (len(faults), len(faults) - len(alive), len(alive)))])
            lines += [f"- `{fault}` survived" for fault in alive]
            lines += [
                f"- `{x}` is no fault: {harmless[x]}" for x in seeded(folder) if x in harmless
            ]
    about = f"{conditions()}; {COUNT} changes in each folder, seed {SEED}."
    table = Table("Seeded faults", about, ["folder", "faults", "caught", "survived"], rows)
    (RECORDS / "mutants.md").write_text("\n".join([table.markdown()[1:], "", *lines, ""]))


if __name__ == "__main__":
    main()
