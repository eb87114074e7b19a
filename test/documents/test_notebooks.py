"""The notebooks run from top to bottom, and print and draw what is stored in them."""

import re

import numpy as np
import pytest

from docs.make_notebooks import EXAMPLES, read, run

NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")


def texts(notebook):
    """Return the printed text of each cell."""
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    return ["".join(output["text"]) for output in outputs if "text" in output]


def figures(notebook):
    """Return the number of figures of each cell."""
    drawn = [cell.get("outputs", []) for cell in notebook["cells"]]
    return [sum("data" in output for output in outputs) for outputs in drawn]


def assert_same(stored, fresh):
    """Words are equal, and numbers to one unit of their last digit."""
    assert [NUMBER.sub("", text).split() for text in stored] == [
        NUMBER.sub("", text).split() for text in fresh
    ]
    for before, after in zip(stored, fresh, strict=True):
        a, b = NUMBER.findall(before), NUMBER.findall(after)
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            last = 10.0 ** -len(x.partition(".")[2].partition("e")[0])
            assert abs(float(x) - float(y)) <= 1.01 * last, f"{x} is stored, {y} is printed"


@pytest.mark.thorough
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_and_draws_what_it_stores(path):
    # If this fails: python docs/make_notebooks.py, and look at what has changed
    stored = read(path)
    fresh, _ = run(stored)
    assert_same(texts(stored), texts(fresh))
    assert figures(stored) == figures(fresh)
    assert sum(figures(fresh)) > 0


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_stores_no_path_no_time_and_no_error(path):
    notebook = read(path)
    printed = "".join(texts(notebook))
    assert re.findall(r"/\w+/\w+|\w:\\|\d\d:\d\d|Traceback|Warning", printed) == []
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert notebook["metadata"].keys() == {"kernelspec", "language_info"}
    assert all(cell["metadata"] == {} for cell in notebook["cells"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_a_notebook_lead_somewhere(path):
    prose = ["".join(c["source"]) for c in read(path)["cells"] if c["cell_type"] == "markdown"]
    linked = re.findall(r"\]\(([^)#\s]+)", " ".join(prose))
    assert [link for link in linked if not (EXAMPLES / link).exists()] == []


def test_computed_torque_keeps_to_the_theory():
    fresh, names = run(read(EXAMPLES / "computed_torque.ipynb"))
    farthest = np.abs(names["e_ct"] - names["theory"][:, None]).max()
    assert farthest < 0.02 * 0.05  # rad: the law is held for 1 ms, a hundredth of 1 / omega
    assert np.abs(names["e_pd"] - names["theory"][:, None]).max() > 0.1
    assert sum(figures(fresh)) == 1


def test_another_number_in_an_output_is_found():
    assert_same(["tau = [ 1.50 -0.00] N m\n"], ["tau = [1.50  0.00] N m\n"])
    for other in ("tau = [1.52 0.00] N m", "tau = [1.50 0.00 0.00] N m", "tau = [1.50 0.00] N"):
        with pytest.raises(AssertionError):
            assert_same(["tau = [1.50 0.00] N m"], [other])
