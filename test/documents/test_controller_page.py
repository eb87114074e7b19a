"""The page on the controller has the table and the picture of the code."""

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "docs" / "make_controller_page.py"
STALE = "run python docs/make_controller_page.py"


def script():
    spec = importlib.util.spec_from_file_location("make_controller_page", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_table_of_the_code():
    module = script()
    page = module.PAGE.read_text(encoding="utf-8")
    assert module.with_table(page) == page, STALE


def test_the_picture_is_that_of_the_code():
    module = script()
    assert module.PICTURE.read_text(encoding="utf-8") == module.picture(), STALE


def test_the_script_describes_every_stage():
    module = script()
    assert list(module.STAGES) == [stage.name for stage in module.step().stages]
