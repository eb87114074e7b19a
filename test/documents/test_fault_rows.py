"""Every test that benchmark/records/faults.md names for a fault of earlier versions is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = re.findall(
    r"`(test/\S+\.py)::(test_\w+)`", (ROOT / "benchmark/records/faults.md").read_text()
)


def test_the_page_names_tests():
    assert len(NAMED) >= 15


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_the_page_names_exists(file, name):
    assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")
