"""Timing side by side: contenders take turns, and the best of several turns counts.

On a shared machine the clock of one contender must not see another hour of the day
than that of its peer: ratios within one run are worth more than any number alone.
"""

from __future__ import annotations

import timeit
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SLOW, TURNS_OF_SLOW = 5.0, 3
"""A call longer than so many turns of the others has only so many turns itself."""


@dataclass(frozen=True)
class Call:
    """Something to time: a function with its arguments, written out as one plain call.

    Attributes:
        function: What is called.
        args: Its arguments.
        keywords: Its keyword arguments.
        evaluations: Results in one call; times are given per result.
        held: How many of the latest results are held while it is timed; by default none.
    """

    function: Callable[..., Any]
    args: Sequence[Any] = ()
    keywords: Mapping[str, Any] | None = None
    evaluations: int = 1
    held: int = 0

    def __call__(self) -> Any:
        """Call once."""
        return self.function(*self.args, **(self.keywords or {}))

    def timer(self, clock: Callable[[], float] = timeit.default_timer) -> timeit.Timer:
        """A timer of the call as a user would write it, without unpacking of arguments."""
        names = {f"a{i}": value for i, value in enumerate(self.args)}
        arguments = list(names) + [f"{key}={key}" for key in self.keywords or {}]
        scope = {"function": self.function, **names, **(self.keywords or {})}
        statement = f"function({', '.join(arguments)})"
        if self.held:
            scope["hold"] = deque[Any](maxlen=self.held).append
            statement = f"hold({statement})"
        return timeit.Timer(statement, timer=clock, globals=scope)


def best_times(
    calls: Mapping[str, Call],
    *,
    turns: int,
    duration: float,
    advance: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = timeit.default_timer,
) -> dict[str, float]:
    """Time calls side by side.

    Args:
        calls: What to time, by name.
        turns: How often each has its turn; the best counts.
        duration: About how long one turn lasts, s.
        advance: Called after every turn of all, for a progress bar.
        clock: Seconds; `time.process_time` does not see what else the machine does.

    Returns:
        Seconds per evaluation, by name. The loop around a call is part of it (10 to 20 ns).
    """
    timers = {name: call.timer(clock) for name, call in calls.items()}
    counts = {name: _count(timer, duration) for name, timer in timers.items()}
    best = dict.fromkeys(calls, float("inf"))
    for turn in range(turns):
        for name, timer in timers.items():
            if turn >= TURNS_OF_SLOW and best[name] > SLOW * duration:
                continue
            seconds = timer.timeit(counts[name]) / counts[name]
            best[name] = min(best[name], seconds)
        advance()
    return {name: best[name] / calls[name].evaluations for name in calls}


def _count(timer: timeit.Timer, duration: float) -> int:
    """Calls that fill a turn."""
    timer.timeit(1)  # compiles, and warms caches up
    count, seconds = 1, timer.timeit(1)
    while seconds < 0.1 * duration:
        count *= 4
        seconds = timer.timeit(count)
    return max(1, int(count * duration / max(seconds, 1e-9)))
