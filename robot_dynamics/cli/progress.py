"""Progress of a verb on the terminal: stage and percentage on stderr, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from robot_dynamics.foundation.progress import Progress, quiet


@contextmanager
def stages() -> Iterator[Progress]:
    """Yield a function that shows the stage of a computation while it runs."""
    if not sys.stderr.isatty():
        yield quiet
        return
    from rich.console import Console  # noqa: PLC0415  # comes with the extra `cli`
    from rich.progress import Progress as Bar  # noqa: PLC0415

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=1.0)
        yield lambda stage, done: bar.update(task, description=stage, completed=done, refresh=True)
