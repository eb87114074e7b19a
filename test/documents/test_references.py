"""The publications: what the code cites stands in docs/references.md, and the other way round."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEY = re.compile(r"\[([A-Z][A-Za-z]+(?:19|20)\d\d)\]")


def test_every_publication_is_cited_and_every_citation_is_listed():
    listed = set(KEY.findall((ROOT / "docs" / "references.md").read_text()))
    texts = [path.read_text() for path in (ROOT / "robot_dynamics").rglob("*.py")]
    cited = {key for text in texts for key in KEY.findall(text)}
    assert listed and cited == listed


def test_no_publication_is_cited_by_name_and_year_alone():
    loose = re.compile(r"\([A-Z]\w+(?: and [A-Z]\w+)?, (?:19|20)\d\d")
    for path in (ROOT / "robot_dynamics").rglob("*.py"):
        assert not loose.search(path.read_text()), path.relative_to(ROOT)
