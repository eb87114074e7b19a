"""docs/worked-examples.md and the script that draws its figures."""

import re
import runpy
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def test_the_page_shows_what_the_script_draws(tmp_path, monkeypatch):
    script = tmp_path / "make_figures.py"
    text = (DOCS / "make_figures.py").read_text()
    script.write_text(text.replace("POINTS = 361", "POINTS = 7"))  # coarse curves are quick ones
    monkeypatch.setattr(sys, "argv", [str(script)])
    runpy.run_path(str(script), run_name="__main__")
    drawn = {path.name for path in (tmp_path / "figures").iterdir()}
    linked = re.findall(r"\(figures/([\w.]+)\)", (DOCS / "worked-examples.md").read_text())
    assert len(linked) == 9
    assert drawn == set(linked)
    assert drawn <= {path.name for path in (DOCS / "figures").iterdir()}
