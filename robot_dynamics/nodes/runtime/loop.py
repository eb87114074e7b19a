"""Loop: run the fast work of nodes in one thread, at a steady rate or as messages arrive.

An executor of rclpy spends 60 to 120 us on every callback: it collects all entities of all nodes,
builds a wait set, and discards it. A loop builds one wait set and takes messages directly from
their subscriptions, as bytes where it can (2 us each, under 1 us when there is none). Services,
parameters and rare topics stay with an executor in another thread.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from time import monotonic_ns, sleep, time_ns

from rclpy.context import Context
from rclpy.guard_condition import GuardCondition
from rclpy.impl.implementation_singleton import rclpy_implementation

from robot_dynamics.nodes.runtime.loop_statistics import S_PER_NS, Timing
from robot_dynamics.nodes.runtime.loop_topics import LoopSubscriber
from robot_dynamics.nodes.runtime.scheduling import scheduled, sharpen_timers, with_locked_memory

EARLIEST_PERIODS, LATEST_PERIODS = 0.75, 2
"""Earliest next run of a triggered task, in its own periods, and latest, in periods of the messages
(in its own while none come)."""

MAX_TRIGGER_PERIOD_NS = 25_000_000
"""Longest interval between two messages that counts as their period, ns."""

MAX_WAIT_NS = 50_000_000
"""Period at which a waiting loop checks whether to end, ns."""

SHORT_WAIT_NS = 2_000_000
"""Longest wait for which a loop without triggers sleeps, ns: a wait of the middleware takes ten
times as much CPU. A new task or the end of the loop may be delayed by this time."""

SWITCH_INTERVAL_S = 1e-4
"""Longest time for which another Python thread may hold the interpreter while the loop waits, s."""


class LoopTask:
    """One periodic or triggered task, built by `Loop.add`; times in steady-clock nanoseconds.

    Attributes:
        due: Time of the next run if no message comes before.
    """

    def __init__(
        self,
        name: str,
        rate: float,
        tick: Callable[[], None],
        inputs: Sequence[LoopSubscriber],
        trigger: LoopSubscriber | None,
        failed: Callable[[Exception], object] | None,
    ) -> None:
        self.name = name
        self._failed = failed
        self.tick = tick
        self.inputs = tuple(x for x in inputs if not x.period)
        self.patient = tuple(x for x in inputs if x.period)
        self._patience = min((x.period for x in self.patient), default=0)
        self._patient_due = 0
        self.trigger = trigger
        self.period = round(1.0 / (rate * S_PER_NS))
        self._least = round(EARLIEST_PERIODS * self.period)
        self.timing = Timing(rate)
        self.restart(0, 0)

    def restart(self, now: int, epoch: int) -> None:
        """Restart the schedule: the first cycle is due at once, the next ones on a time grid.

        Tasks of the same rate share a grid, so that the loop wakes once for all of them.

        Args:
            now: Present time.
            epoch: Start of the grid.
        """
        self.due = now if self.trigger else now - (now - epoch) % self.period
        # Due time of the last triggered cycle, not its start: one late message then neither delays
        # the next one nor counts as a missed cycle
        self._last: int | None = None
        self._last_triggered: int | None = None  # likewise, of the last cycle that a message began
        self._earliest = now - self.period  # earliest time to answer the next message
        self._received: int | None = None  # system time of a pending message
        self._trigger_period = self.period  # estimated period of the messages

    def poll(self, now: int) -> None:
        """Run if the task is due or its trigger has a message."""
        if self.trigger is None:
            if now >= self.due:
                self._run_on_time(now)
            return
        received = self.trigger.take()
        if self._received is None:
            self._received = received
        if self._received is not None:
            if now >= self._earliest:
                self._run_triggered(now)
            else:
                self.due = min(self.due, self._earliest)
        elif now >= self.due:
            late, self.due = now - self.due, now + LATEST_PERIODS * self.period
            self._work()
            if self._last is not None:  # else no message has come yet
                self._count(now, late, monotonic_ns())

    def _run_triggered(self, now: int) -> None:
        """Answer a message; its waiting time counts as lateness."""
        received, self._received = self._received, None
        self._work()  # first of all, for a fast answer
        ended = monotonic_ns()
        # A late message does not delay the answer to the next one
        self._earliest = max(self._earliest, now - self.period) + self._least
        late = 0 if self._last is None else max(now - self._last - self.period, 0)
        if late:
            waited = time_ns() - received - (ended - now) if received else 0
            late = max(min(late, waited), 0)
        if self._last_triggered is not None:
            interval = min(now - self._last_triggered, MAX_TRIGGER_PERIOD_NS)
            smoothed = self._trigger_period + (interval - self._trigger_period) // 4
            self._trigger_period = max(interval, smoothed, self.period)
        self.due = now + LATEST_PERIODS * self._trigger_period
        self._count(now, late, ended)
        self._last_triggered = self._last

    def _count(self, now: int, late: int, ended: int) -> None:
        """Count a cycle of a triggered task."""
        skipped = late // self.period
        self.timing.missed += skipped
        self._last = now - late + skipped * self.period
        self.timing.record(now, late, ended - now)

    def _run_on_time(self, now: int) -> None:
        self._work()
        late = now - self.due
        skipped = late // self.period
        self.timing.missed += skipped
        self.due += (skipped + 1) * self.period
        self.timing.record(now, late, monotonic_ns() - now)

    def _work(self) -> None:
        for subscriber in self.inputs:
            subscriber.take()
        try:
            self.tick()
        except Exception as error:
            if self._failed is None:
                raise
            self._failed(error)
        if self.patient and (now := monotonic_ns()) >= self._patient_due:
            self._patient_due = now + self._patience
            for subscriber in self.patient:
                subscriber.take()


class Loop:
    """Runs tasks in one thread until `stop` or its context shuts down.

    Due tasks run in the order of `add`, so that simulator, feedforward and controller of one
    process exchange messages within one cycle.

    Args:
        context: Context of the nodes.

    Attributes:
        priority: Real-time priority (SCHED_FIFO) of the thread, 1 to 99; 0 for an ordinary one.
        cpus: Processors that the thread may run on; empty for all.
        lock_memory: Whether to lock the memory of the process into RAM.
        collect_garbage: Whether Python may collect reference cycles while the loop runs.
        scheduling: Scheduling of the thread, in words; known once it runs.
        on_scheduled: Called with `scheduling` in the thread when it starts.
    """

    def __init__(self, context: Context) -> None:
        self.priority = 0
        self.cpus: tuple[int, ...] = ()
        self.lock_memory, self.collect_garbage = False, True
        self.scheduling = "not started"
        self.on_scheduled: Callable[[str], object] = lambda scheduling: None
        self._context = context
        self._tasks: tuple[LoopTask, ...] = ()
        self._at_work: tuple[LoopTask, ...] | None = None  # tasks of the thread of `run`
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
        inputs: Sequence[LoopSubscriber] = (),
        trigger: LoopSubscriber | None = None,
        failed: Callable[[Exception], object] | None = None,
    ) -> Timing:
        """Add a task, before or while the loop runs.

        Args:
            name: Name of the task in reports.
            rate: Rate, Hz.
            tick: Function to call.
            inputs: Subscribers to take from before every tick; after it, and no more often than
                the shortest of their periods, if their messages may wait.
            trigger: Subscriber whose messages trigger the task as they arrive, but not much more
                often than `rate`. Without messages the task runs every two periods.
            failed: Called with the error of a tick, after which the task goes on; by default an
                error ends the loop.

        Returns:
            Statistics of the task, which the loop keeps updating.
        """
        task = LoopTask(name, rate, tick, inputs, trigger, failed)
        self._timings[name] = task.timing
        self._tasks = (*self._tasks, task)
        self._wake.trigger()
        return task.timing

    def remove(self, name: str) -> None:
        """Remove a task and wait until it has stopped. Not for the loop's own thread."""
        kept = self._tasks = tuple(task for task in self._tasks if task.name != name)
        self._wake.trigger()
        while self._at_work is not None and self._at_work is not kept:
            sleep(1e-3)

    @property
    def timings(self) -> dict[str, Timing]:
        """Statistics by task name, of removed tasks too."""
        return self._timings

    def stop(self) -> None:
        """End `run` after the present cycle; callable from any thread."""
        self._stopped = True
        self._wake.trigger()

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Run the tasks until `stop`, until the context shuts down or until `until()` is true."""
        try:
            self._run(until)
        except rclpy_implementation.RCLError:
            if self._context.ok():
                raise
            # The context shut down during a call, as on SIGINT: the regular end of a loop

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
            if not gc.get_freeze_count():  # else the program keeps what it froze itself
                stack.callback(gc.unfreeze)
            stack.callback(self._rest)

            def going() -> bool:
                return not self._stopped and not until()

            while self._context.ok() and going():
                self._run_tasks(going)

    def _run_tasks(self, going: Callable[[], bool]) -> None:
        """Run the present tasks until they change."""
        tasks, before = self._tasks, self._at_work or ()
        gc.collect()
        gc.freeze()  # permanent objects, which later collections need not scan
        with ExitStack() as stack:
            wait = self._waiter(tasks, stack)
            self._at_work = tasks
            now = monotonic_ns()
            for task in tasks:
                if task not in before:
                    task.restart(now, self._epoch)
            while self._tasks is tasks and not self._stopped:
                for task in tasks:  # first: the loop was woken for them
                    task.poll(monotonic_ns())
                if not going() or not self._context.ok():
                    return
                due = monotonic_ns() + MAX_WAIT_NS
                for task in tasks:
                    due = min(due, task.due)
                wait(due)

    def _rest(self) -> None:
        self._at_work = None

    def _waiter(self, tasks: Sequence[LoopTask], stack: ExitStack) -> Callable[[int], None]:
        """Return a function that waits for a time or a triggering message."""
        triggers = [task.trigger.handle for task in tasks if task.trigger is not None]
        inputs = [x.handle for task in tasks for x in (*task.inputs, *task.patient)]
        for handle in {*triggers, *inputs}:
            stack.enter_context(handle)
        context, wake = self._context.handle, self._wake.handle
        stack.enter_context(context)
        stack.enter_context(wake)
        wait_set = rclpy_implementation.WaitSet(len(triggers), 1, 0, 0, 0, 0, context)

        def wait(time: int) -> None:
            left = time - monotonic_ns()
            if left <= 0:
                return
            if not triggers and left <= SHORT_WAIT_NS:
                sleep(1e-9 * left)
                return
            wait_set.clear_entities()
            for trigger in triggers:
                wait_set.add_subscription(trigger)
            wait_set.add_guard_condition(wake)
            wait_set.wait(min(left, MAX_WAIT_NS))

        return wait
