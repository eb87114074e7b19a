"""Loop: the fast work of nodes, at a steady rate or as messages arrive, in one thread.

An executor of rclpy spends 60 to 120 us on every callback: it gathers all
entities of all nodes, builds a wait set, and throws it away. A loop builds one
wait set for good and takes messages straight from their subscriptions, as bytes where it can (2 us
each, under 1 us when there is none). Services, parameters and rare topics stay
with an executor in another thread.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from time import monotonic_ns, sleep, time_ns

from rclpy.callback_groups import CallbackGroup
from rclpy.context import Context
from rclpy.guard_condition import GuardCondition
from rclpy.impl.implementation_singleton import rclpy_implementation

from robot_dynamics.nodes.runtime.exchange import Exchange, Inlet
from robot_dynamics.nodes.runtime.loop_statistics import S_PER_NS, Timing
from robot_dynamics.nodes.runtime.scheduling import scheduled, sharpen_timers, with_locked_memory

EARLIEST_PERIODS, LATEST_PERIODS = 0.75, 2
"""A task that messages pace runs so many of its periods after the last time on average, if they
come faster, and no later than so many of theirs; where they do not come, of its own."""

MAX_PACE_NS = 25_000_000
"""Longest time between two messages that counts as their pace, ns: the rest is silence."""

MAX_WAIT_NS = 50_000_000
"""Time after which a waiting loop looks whether it is to end, ns."""

SHORT_WAIT_NS = 2_000_000
"""Time for which a loop that no message can wake simply sleeps, ns: the middleware's wait takes ten
times as much of a processor, and whoever adds a task or stops the loop can wait that long."""

SWITCH_INTERVAL_S = 1e-4
"""Time for which another Python thread may keep the loop waiting for the interpreter, s: when it
wakes, and whenever a call within a cycle has let go of it; longer in cycles would be fatal."""


class LoopCallbackGroup(CallbackGroup):  # type: ignore[misc]  # rclpy is untyped where it is absent
    """Callback group of subscriptions that a loop takes from; executors leave them alone."""

    def can_execute(self, _entity: object) -> bool:
        """Never from an executor."""
        return False

    def beginning_execution(self, _entity: object) -> bool:
        """Never from an executor."""
        return False

    def ending_execution(self, _entity: object) -> None:
        """Nothing ends that never begins."""


class Task:
    """One piece of fast work. Built by `Loop.add`; times in steady-clock nanoseconds.

    Attributes:
        due: When it is to run if no message comes before.
    """

    def __init__(
        self,
        name: str,
        rate: float,
        tick: Callable[[], None],
        inputs: Sequence[Inlet],
        triggers: Sequence[Inlet],
    ) -> None:
        self.name = name
        self.tick = tick
        self.inputs = tuple(inputs)
        self.triggers = tuple(triggers)
        self.period = round(1.0 / (rate * S_PER_NS))
        self._least = round(EARLIEST_PERIODS * self.period)
        self.timing = Timing(rate)
        self.restart(0, 0)

    def restart(self, now: int, epoch: int) -> None:
        """Start counting from now: the first cycle is due at once, the next ones on the grid.

        All tasks of a loop that have one rate are due together, so that it wakes once for them.

        Args:
            now: Present time.
            epoch: When grids begin.
        """
        self.due = now if self.triggers else now - (now - epoch) % self.period
        # When the last cycle was due, once messages pace the task: not when it began, so that one
        # late message neither delays the next one nor counts as a missed cycle
        self._last: int | None = None
        self._last_triggered: int | None = None  # the same of the last one that a message began
        self._earliest = now - self.period  # when the next message may be answered
        self._received: int | None = None  # system time of a message that is still to be answered
        self._pace = self.period  # how often messages come, as far as is known

    def poll(self, now: int) -> None:
        """Run if it is time, or if the message that paces the task is there."""
        if not self.triggers:
            if now >= self.due:
                self._run_on_time(now)
            return
        for trigger in self.triggers:
            received = trigger.take()
            if self._received is None:
                self._received = received
        if self._received is not None:
            if now >= self._earliest:
                self._run_triggered(now)
            else:
                self.due = min(self.due, self._earliest)
        elif now >= self.due:
            late, self.due = now - self.due, now + LATEST_PERIODS * self.period
            self._work(now)
            if self._last is not None:  # or nothing paces us yet: there is no pace to keep
                self._count(now, late, monotonic_ns())

    def _run_triggered(self, now: int) -> None:
        """Answer a message; what counts as late is the time for which it has waited."""
        received, self._received = self._received, None
        self._work(now)  # first of all: somebody waits for the answer
        ended = monotonic_ns()
        # One that was late does not hold up the next: the two are answered as they come
        self._earliest = max(self._earliest, now - self.period) + self._least
        late = 0 if self._last is None else max(now - self._last - self.period, 0)
        if late:
            waited = time_ns() - received - (ended - now) if received else 0
            late = max(min(late, waited), 0)
        if self._last_triggered is not None:
            interval = min(now - self._last_triggered, MAX_PACE_NS)
            self._pace = max(interval, self._pace + (interval - self._pace) // 4, self.period)
        self.due = now + LATEST_PERIODS * self._pace
        self._count(now, late, ended)
        self._last_triggered = self._last

    def _count(self, now: int, late: int, ended: int) -> None:
        """Count a cycle that messages pace."""
        skipped = late // self.period
        self.timing.missed += skipped
        self._last = now - late + skipped * self.period
        self.timing.record(now, late, ended - now)

    def _run_on_time(self, now: int) -> None:
        self._work(now)
        late = now - self.due
        skipped = late // self.period
        self.timing.missed += skipped
        self.due += (skipped + 1) * self.period
        self.timing.record(now, late, monotonic_ns() - now)

    def _work(self, now: int) -> None:
        for inlet in self.inputs:
            if now >= inlet.overdue:
                inlet.take()
        self.tick()
        for inlet in self.inputs:
            if inlet.overdue > now >= inlet.due:
                inlet.take()


class Loop:
    """Runs tasks in one thread until `stop` or its context shuts down.

    Tasks that are due run in the order in which they were added, so that in one
    process a simulator, a feedforward and a controller exchange messages within
    one cycle.

    Args:
        context: Context of the nodes whose tasks run here.

    Attributes:
        priority: Real-time priority (SCHED_FIFO) of the thread, 1 to 99; 0 for an ordinary one.
        cpus: Processors that the thread may run on; empty for all.
        lock_memory: Whether the memory of the process is to stay where it is, never on disk.
        collect_garbage: Whether Python may look for reference cycles meanwhile.
        scheduling: How the system schedules the thread, in words; known once it runs.
        on_scheduled: Called with these words in the thread when it starts.
        exchange: Where the nodes of this loop hand each other values.
    """

    def __init__(self, context: Context) -> None:
        self.priority = 0
        self.cpus: tuple[int, ...] = ()
        self.lock_memory, self.collect_garbage = False, True
        self.scheduling = "not started"
        self.on_scheduled: Callable[[str], object] = lambda scheduling: None
        self.exchange = Exchange()
        self._context = context
        self._tasks: tuple[Task, ...] = ()
        self._at_work: tuple[Task, ...] | None = None  # what the thread of `run` works on
        self._timings: dict[str, Timing] = {}
        self._stopped = False
        self._epoch = monotonic_ns()
        self._wake = GuardCondition(None, None, context=context)

    def add(
        self,
        name: str,
        rate: float,
        tick: Callable[[], None],
        *,
        inputs: Sequence[Inlet] = (),
        trigger: Inlet | Sequence[Inlet] = (),
    ) -> Timing:
        """Add work at a steady rate, before or while the loop runs.

        Args:
            name: Name of the task in reports.
            rate: How often to run it, Hz.
            tick: The work.
            inputs: Inlets emptied into their callbacks before every tick; those with a period of
                their own after it, as they may wait, unless they are overdue, as after a stall.
            trigger: Inlet (or several) whose messages pace the task: it runs as soon as one
                arrives (but not much more often than `rate`), and without one at the latest when
                two should have come, from then on after two periods each.

        Returns:
            Statistics of the task, which go on being updated.
        """
        triggers = trigger if isinstance(trigger, Sequence) else (trigger,)
        task = Task(name, rate, tick, inputs, triggers)
        self._timings[name] = task.timing
        self._tasks = (*self._tasks, task)
        self._wake.trigger()
        return task.timing

    def remove(self, name: str) -> None:
        """Take work out again; when this returns it runs no more. Not for the loop's own thread."""
        kept = self._tasks = tuple(task for task in self._tasks if task.name != name)
        self._wake.trigger()
        while self._at_work is not None and self._at_work is not kept:
            sleep(1e-3)

    @property
    def timings(self) -> dict[str, Timing]:
        """Statistics of every task that there has been, by name; the last one of a name."""
        return self._timings

    def stop(self) -> None:
        """End `run` after the cycle it is in; may be called from any thread."""
        self._stopped = True
        self._wake.trigger()

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Run the tasks until `stop`, until the context shuts down or until `until()` is true."""
        try:
            self._run(until)
        except rclpy_implementation.RCLError:
            if self._context.ok():
                raise
            # The context shut down under a call, as on SIGINT: this is how a loop ends

    def _run(self, until: Callable[[], bool]) -> None:
        self._stopped = False
        with ExitStack() as stack:
            stack.callback(sys.setswitchinterval, sys.getswitchinterval())
            sys.setswitchinterval(SWITCH_INTERVAL_S)
            sharpen_timers()
            self.scheduling = scheduled(self.priority, self.cpus, stack)
            if self.lock_memory:
                self.scheduling += f", {with_locked_memory(stack)}"
            if not self.collect_garbage:
                gc.disable()
                stack.callback(gc.enable)
            self.on_scheduled(self.scheduling)
            stack.callback(gc.unfreeze)
            stack.callback(self._rest)

            def going() -> bool:
                return not self._stopped and not until()

            while self._context.ok() and going():
                self._run_tasks(going)

    def _run_tasks(self, going: Callable[[], bool]) -> None:
        """Run the tasks that there are, until there are others."""
        tasks, before, look = self._tasks, self._at_work or (), self.exchange.look
        gc.collect()
        gc.freeze()  # what lives now lives on: collections in the loop need not look at it
        with ExitStack() as stack:
            wait = self._waiter(tasks, stack)
            self._at_work = tasks
            now = monotonic_ns()
            for task in tasks:
                if task not in before:
                    task.restart(now, self._epoch)
            triggers = [trigger for task in tasks for trigger in task.triggers]
            look(now)
            while self._tasks is tasks and not self._stopped:
                for task in tasks:  # before all else: the loop was woken for them
                    task.poll(monotonic_ns())
                if not going() or (look(monotonic_ns()) and not self._context.ok()):
                    return
                for trigger in triggers:
                    if trigger.handed:  # a cycle may hand values back
                        break
                else:
                    due = monotonic_ns() + MAX_WAIT_NS
                    for task in tasks:
                        due = min(due, task.due)
                    wait(due)

    def _rest(self) -> None:
        self._at_work = None

    def _waiter(self, tasks: Sequence[Task], stack: ExitStack) -> Callable[[int], None]:
        """Build the function that sleeps until a time or until a pacing message arrives."""
        triggers = [trigger for task in tasks for trigger in task.triggers]
        for inlet in {inlet for task in tasks for inlet in (*task.inputs, *task.triggers)}:
            stack.enter_context(inlet.handle)
        context, wake = self._context.handle, self._wake.handle
        stack.enter_context(context)
        stack.enter_context(wake)
        wait_set = rclpy_implementation.WaitSet(len(triggers), 1, 0, 0, 0, 0, context)

        def wait(time: int) -> None:
            left = time - monotonic_ns()
            if left <= 0:
                return
            listening = [trigger.handle for trigger in triggers if trigger.listens]
            if not listening and left <= SHORT_WAIT_NS:
                sleep(1e-9 * left)
                return
            wait_set.clear_entities()
            for handle in listening:
                wait_set.add_subscription(handle)
            wait_set.add_guard_condition(wake)
            wait_set.wait(min(left, MAX_WAIT_NS))

        return wait
