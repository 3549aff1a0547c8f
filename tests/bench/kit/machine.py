"""machine.py: what the figures were measured on, and how noisy it was.

Noise is measured and not guessed: between the rows a Meter times the same tight loop on the
cores that the rows use. A quiet machine takes equally long each time; what differs is clock
frequency, other guests of the host (also seen as steal time), and other work here.
"""
import os
import platform
import re
import subprocess
import time

from kit import procs, stats

LOOP_S = 0.02  # what one turn of the loop is calibrated to
TURNS = 3      # per probe and core; the best of them is the machine's speed at that time
QUIET_SPREAD = 0.15  # the most by which the loop's time may vary on a quiet machine

VERSIONS = {"nginx": ["nginx", "-v"], "redis-server": ["redis-server", "--version"],
            "wrk": ["wrk", "-v"], "gcc": ["gcc", "-dumpfullversion"]}


def read(path):
    """The file's text without the newline at its end; None if it cannot be read."""
    try:
        with open(path) as f:
            return f.read().strip()
    except OSError:
        return None


def _field(path, key):
    m = re.search(rf"^{re.escape(key)}\s*:\s*(.*)$", read(path) or "", re.M)
    return m.group(1) if m else None


def _chosen(text):
    """'always [madvise] never' -> 'madvise'"""
    m = re.search(r"\[(\w+)\]", text or "")
    return m.group(1) if m else text


def _said(argv, cwd=None):
    """What a program says of itself, on either channel; None if it cannot be run."""
    try:
        p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           cwd=cwd, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return p.stdout.strip()


def version(argv):
    """The first thing in a program's words that looks like a version; None: not installed."""
    try:
        path = procs.tool(argv[0])
    except procs.Failed:
        return None
    m = re.search(r"\d+(\.\d+)+", _said([path] + argv[1:]) or "")
    return m.group(0) if m else "unknown"


def describe(root="."):
    """Everything that does not change during a run. root: the source tree."""
    git = _said(["git", "describe", "--always", "--dirty"], cwd=root)
    mem_kb = (_field("/proc/meminfo", "MemTotal") or "0 kB").split()[0]
    return {
        "cpu": _field("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(mem_kb) / 2**20, 1),
        "kernel": platform.release(),
        "governor": read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "huge_pages": _chosen(read("/sys/kernel/mm/transparent_hugepage/enabled")),
        "versions": {name: version(argv) for name, argv in VERSIONS.items()},
        "python": platform.python_version(),
        "tree": git if git and " " not in git else None,
    }


def cpu_ticks():
    """(steal, all) ticks of all cores since boot."""
    ticks = [int(x) for x in (read("/proc/stat") or "cpu 0").splitlines()[0].split()[1:9]]
    return (ticks[7] if len(ticks) > 7 else 0), sum(ticks)


def work(turns):
    """The tight loop: no memory, no system calls."""
    x = 1
    for _ in range(turns):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return x


def _timed(turns):
    """(wall, CPU) seconds of the loop."""
    wall, cpu = time.perf_counter(), time.thread_time()
    work(turns)
    return time.perf_counter() - wall, time.thread_time() - cpu


class Meter:
    """Probes of one run."""

    def __init__(self):
        self.cores = sorted(os.sched_getaffinity(0))
        self.turns = 10000
        self.turns = int(self.turns * LOOP_S / min(_timed(self.turns)[0] for _ in range(5)))
        self.load_before = os.getloadavg()[0]
        self.ticks = cpu_ticks()
        self.speed_ms, self.lost_pct = [], []

    def probe(self):
        """Between rows, when nothing of ours runs: about 0.1 s."""
        best, wall, cpu = [], 0, 0
        try:
            for core in self.cores[:2]:
                os.sched_setaffinity(0, {core})
                took = [_timed(self.turns) for _ in range(TURNS)]
                best.append(min(w for w, _ in took))
                wall += sum(w for w, _ in took)
                cpu += sum(c for _, c in took)
        finally:
            os.sched_setaffinity(0, self.cores)
        self.speed_ms.append(max(best) * 1000)
        self.lost_pct.append(max(0.0, 100 * (wall - cpu) / wall))

    def summary(self):
        """probe_ms: the loop's time at each probe (slower core); probe_spread: (max - min) /
        median of it; lost_pct: of its wall time, what something else had the core."""
        steal, total = (b - a for a, b in zip(self.ticks, cpu_ticks()))
        spread = stats.spread(self.speed_ms)
        lost = stats.summary(self.lost_pct)
        steal_pct = 100 * steal / total if total else 0.0
        return {"load_before": self.load_before, "load_after": os.getloadavg()[0],
                "probe_ms": stats.summary(self.speed_ms), "probe_spread": spread,
                "lost_pct": lost, "steal_pct": steal_pct,
                "verdict": verdict(spread, lost, steal_pct)}


def verdict(spread, lost, steal_pct):
    """One word for the reader."""
    if lost is None:
        return "not measured"
    if spread > 0.30 or lost["median"] > 10 or steal_pct > 3:
        return "noisy"
    if spread > QUIET_SPREAD or lost["median"] > 2 or steal_pct > 0.5:
        return "uneasy"
    return "quiet"


def refusal(result):
    """Why rates and times of a bench.json may not stand in a document; None: they may."""
    if result["quick"]:
        return "a quick run: its figures mean nothing"
    noise = result["machine"]["noise"]
    if noise["verdict"] == "quiet":
        return None
    lost = (noise["lost_pct"] or {}).get("median", 0)
    return (f"the machine was {noise['verdict']}: a fixed loop varied by "
            f"{noise['probe_spread'] * 100:.0f} % (at most {QUIET_SPREAD * 100:.0f}), something "
            f"else had the core {lost:.1f} % of its time (at most 2), steal was "
            f"{noise['steal_pct']:.2f} % (at most 0.5); measure again on a quiet machine")
