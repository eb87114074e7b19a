"""Findings of `robot-dynamics doctor` on this machine: kernel cache and real-time settings."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from robot_dynamics.compiler.native.cache import folder
from robot_dynamics.nodes.runtime.scheduling import lockable_memory

LOOP_PRIORITY = 80
"""Real-time priority below that of the interrupt threads of the kernel."""


class Finding(NamedTuple):
    """One finding.

    Args:
        name: Subject.
        found: Its state.
        remedy: The remedy; empty if none is needed.
        missing: Whether a feature needs the remedy; else it is advice.
    """

    name: str
    found: str
    remedy: str = ""
    missing: bool = False


def cache_findings() -> list[Finding]:
    """Return findings on the kernel cache."""
    place = folder()
    if place is None:
        remedy = "set ROBOT_DYNAMICS_CACHE to a folder, or every start compiles again"
        return [Finding("cache", "none", remedy)]
    if reason := why_not_writable(place):
        remedy = "make it writable, or set ROBOT_DYNAMICS_CACHE to another folder"
        return [Finding("cache", f"{place}: {reason}", remedy, missing=True)]
    return [Finding("cache", f"{place}, writable")]


def why_not_writable(folder: Path) -> str:
    """Create a folder, and return the reason why no file can be written there; else empty."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".doctor-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        return str(error.strerror)
    return ""


def waiting_times(pids: Iterable[int]) -> dict[int, float]:
    """Return the longest time that a thread of each process has waited for a processor, s.

    Empty outside Linux.
    """
    times: dict[int, float] = {}
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            try:
                delay = int(task.read_text().split()[1]) * 1e-9
            except OSError:  # that thread has just ended
                continue
            times[pid] = max(times.get(pid, 0.0), delay)
    return times


def longest_wait(before: Mapping[int, float], after: Mapping[int, float]) -> float:
    """Return the largest growth of `waiting_times`, s."""
    return max((t - before.get(pid, 0.0) for pid, t in after.items()), default=0.0)


def realtime_findings() -> list[Finding]:
    """Return findings on the real-time settings of Linux."""
    if sys.platform != "linux":
        remedy = "use Linux for real-time loops"
        return [Finding("system", platform.system(), remedy, missing=True)]
    return [_kernel(), _priority(), _locked_memory(), _governor(), _isolated()]


def _kernel() -> Finding:
    release = platform.release()
    if _read("/sys/kernel/realtime") == "1" or "PREEMPT_RT" in platform.version():
        return Finding("kernel", f"{release}, PREEMPT_RT")
    remedy = "install one with PREEMPT_RT (Ubuntu: pro enable realtime-kernel)"
    return Finding("kernel", f"{release}, not PREEMPT_RT", remedy, missing=True)


def _priority() -> Finding:
    import resource  # noqa: PLC0415  # not on every system

    soft, _ = resource.getrlimit(resource.RLIMIT_RTPRIO)
    if _read("/proc/sys/kernel/sched_rt_runtime_us") == "0":
        remedy = "sysctl kernel.sched_rt_runtime_us=950000"
        return Finding("priority", "real-time threads get no CPU time", remedy, missing=True)
    if os.geteuid() == 0 or soft < 0 or soft >= LOOP_PRIORITY:
        return Finding("priority", "any" if os.geteuid() == 0 or soft < 0 else f"up to {soft}")
    remedy = f"'@realtime - rtprio {LOOP_PRIORITY + 18}' in /etc/security/limits.conf"
    return Finding("priority", f"up to {soft} (ulimit -r)", remedy, missing=True)


def _locked_memory() -> Finding:
    allowed = lockable_memory()
    if allowed is None:
        return Finding("memlock", "unlimited; use it by the parameter lock_memory")
    remedy = "'@realtime - memlock unlimited' in /etc/security/limits.conf"
    return Finding("memlock", f"{allowed // 1024} KiB (ulimit -l)", remedy, missing=True)


def _governor() -> Finding:
    files = Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")
    governors = sorted({_read(file) for file in files})
    if not governors:
        return Finding("governor", "not known: this system does not expose the processor clock")
    if governors == ["performance"]:
        return Finding("governor", "performance")
    remedy = "cpupower frequency-set -g performance"
    return Finding("governor", ", ".join(governors), remedy, missing=True)


def _isolated() -> Finding:
    isolated = _read("/sys/devices/system/cpu/isolated")
    if isolated:
        return Finding("isolcpus", f"processors {isolated}; name one in the parameter cpu_affinity")
    remedy = "boot with isolcpus=N nohz_full=N rcu_nocbs=N, and set cpu_affinity to N"
    return Finding("isolcpus", "no processor is isolated", remedy, missing=True)


def _read(path: str | Path) -> str:
    """Return the text of a system file; empty if there is none."""
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
