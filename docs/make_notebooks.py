"""Run the notebooks of examples/ and store in them what they print and draw.

python docs/make_notebooks.py             # all of them
python docs/make_notebooks.py kane.ipynb  # one
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")  # before pyplot, which would look for a window

import matplotlib.pyplot as plt

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

Notebook = dict[str, Any]


def run(notebook: Notebook) -> tuple[Notebook, dict[str, Any]]:
    """Run all cells in an empty folder, as Jupyter does: last values shown, figures inline.

    Returns:
        The notebook with fresh outputs, and the names that its cells define.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, before = [], Path.cwd()
    with (
        tempfile.TemporaryDirectory() as folder,
        mpl.rc_context(mpl.rcParamsDefault),
        np.printoptions(precision=8, suppress=False),  # of a new process
    ):
        mpl.use("Agg")
        plt.close("all")  # what the caller left open is no output
        os.chdir(folder)
        try:
            for cell in notebook["cells"]:
                cells.append(dict(cell))
                if cell["cell_type"] == "code":
                    count = sum(c["cell_type"] == "code" for c in cells)
                    cells[-1] |= {"execution_count": count, "outputs": _outputs(cell, names)}
        finally:
            os.chdir(before)
    return notebook | {"cells": cells}, names


def _outputs(cell: dict[str, Any], names: dict[str, Any]) -> list[dict[str, Any]]:
    printed, source = io.StringIO(), "".join(cell["source"])
    with contextlib.redirect_stdout(printed):
        tree = ast.parse(source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
        if value is not None and not source.endswith(";"):
            print(repr(value))
    outputs: list[dict[str, Any]] = []
    if text := printed.getvalue():
        lines = text.splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines})
    for number in plt.get_fignums():
        figure = plt.figure(number)
        image = io.BytesIO()
        figure.savefig(image, dpi=80, metadata={"Software": ""})
        data = {"image/png": base64.b64encode(image.getvalue()).decode()}
        outputs.append({"data": data, "metadata": {}, "output_type": "display_data"})
        plt.close(figure)
    return outputs


def read(path: Path) -> Notebook:
    """Read a notebook."""
    return json.loads(path.read_text(encoding="utf-8"))


def main(names: list[str]) -> None:
    """Store fresh outputs in the notebooks of these names, or in all."""
    for path in [EXAMPLES / name for name in names] or sorted(EXAMPLES.glob("*.ipynb")):
        notebook, _ = run(read(path))
        text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        path.write_text(text, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
