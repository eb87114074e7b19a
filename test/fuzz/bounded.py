"""Running one fuzzed call: within its time, and with no error but those of the package."""

from __future__ import annotations

import faulthandler
import logging
import random
import signal
import sys
import time
import traceback

from robot_dynamics.errors import RobotDynamicsError

BOUND = 5.0  # s of processor time; the longest that any call may take

FEWEST = 60  # trials, on a machine where no time is left for more

REFUSED = object()


class Hang(BaseException):
    """A call that takes longer than the bound."""


def bounded(call):
    """The result of a call, or REFUSED and the error of the package that it raised."""

    def late(*_):
        raise Hang

    signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, BOUND)
    try:
        return call(), None
    except RobotDynamicsError as error:
        assert "\n" not in str(error), "a message of several lines"
        return REFUSED, error
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)


def run(title, one, seconds=600.0, seed=0, fewest=FEWEST):
    """Fuzz for that long; prints each failure with the seed that repeats it alone.

    Args:
        title: What is fuzzed.
        one: A function of a random generator that does one trial and returns whether the input
            was accepted, or raises.
        seconds: Duration.
        seed: Of the first trial; the following trials have the following seeds.
        fewest: Trials, however long they take.

    Returns:
        Number of failures.
    """
    faulthandler.enable()
    logging.disable(logging.CRITICAL)
    trials = accepted = failures = 0
    end = time.monotonic() + seconds
    while (time.monotonic() < end or trials < fewest) and failures < 20:
        try:
            accepted += bool(one(random.Random(seed + trials)))
        except (Exception, Hang):
            failures += 1
            print(f"{title}, seed {seed + trials}:", file=sys.stderr)
            traceback.print_exc()
        trials += 1
    print(f"{title}: {trials} trials, {accepted} accepted, {failures} failures")
    return failures


def main(title, one, fewest=FEWEST):
    """The command: SECONDS (600) and SEED (0) as arguments; ends with 1 after a failure."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    sys.exit(min(1, run(title, one, seconds, seed, fewest)))
