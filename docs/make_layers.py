"""Write the diagram of docs/layout.md from the contract that `make lint` checks.

Run it as `python docs/make_layers.py`.
"""

from __future__ import annotations

import re
from pathlib import Path

from importlinter.api import read_configuration

PAGE = Path(__file__).with_name("layout.md")
CONTRACT = Path(__file__).parents[1] / "pyproject.toml"


def diagram() -> str:
    """Return the layers, the highest one first, a line each."""
    contracts = read_configuration(str(CONTRACT))["contracts_options"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    rows = [layer.split(" | ") for layer in layers]
    width = max(len("   ".join(row)) for row in rows)
    lines = [f"| {'   '.join(row):^{width}} |" for row in rows]
    rule = f"+{'-' * (width + 2)}+"
    return "\n".join(["```text", rule, *(line for row in lines for line in (row, rule)), "```"])


def with_diagram(page: str) -> str:
    """Return the page with the present diagram."""
    marked = re.compile(r"(<!-- make_layers\.py -->\n).*?(\n<!-- end -->)", re.DOTALL)
    return marked.sub(lambda found: found[1] + diagram() + found[2], page)


if __name__ == "__main__":
    PAGE.write_text(with_diagram(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
