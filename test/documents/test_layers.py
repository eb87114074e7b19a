"""The page on the layout shows the layers that `make lint` checks."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("importlinter")

SCRIPT = Path(__file__).parents[2] / "docs" / "make_layers.py"


def test_the_page_shows_the_layers_of_the_contract():
    spec = importlib.util.spec_from_file_location("make_layers", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = module.PAGE.read_text(encoding="utf-8")
    assert module.diagram() in page
    assert module.with_diagram(page) == page, "run python docs/make_layers.py"
