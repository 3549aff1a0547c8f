"""ongoing.py: polls at a fixed rate that go on while something happens to the cluster, and their
latency before it, during it and after it.

The polls are an open loop: they come when they are planned, whatever the cluster does, and
latency counts from the plan. Times are Unix seconds.
"""
import json
import subprocess
import threading

from kit import stats
from kit.procs import Failed, wait_for
from kit.row import case
from kit.segq import load_argv

CONNS = 256
REACHED = 0.98  # of the planned rate
INTERVAL_S = 0.05


def first(argv):
    """The command, before others of its core where that is allowed: the clock shall not wait for the
    node that starts again there."""
    ahead = ["chrt", "-r", "1"]
    if subprocess.run([*ahead, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        return argv
    return [*ahead, *argv]


class Polls:
    """A load with a line per interval, read as they come, until stop()."""

    def __init__(self, ctx, port, tokens, rate_per_s):
        argv = load_argv(ctx, port, CONNS, 1, rate=rate_per_s, tokens=tokens,
                         interval=INTERVAL_S, until_stdin_closes=True,
                         warmup=0.2 if ctx.quick else 1)
        self.intervals, self.report = [], None
        self.p = subprocess.Popen(first(argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        ctx.at_end(self.stop)

    def _read(self):
        for line in self.p.stdout:
            r = json.loads(line)
            if "interval" in r:
                r["from"] = self.intervals[-1]["t"] if self.intervals else r["t"] - INTERVAL_S
                self.intervals.append(r)
            else:
                self.report = r

    def wait(self, seconds):
        """Until so many more seconds of polls were answered."""
        end = len(self.intervals) + seconds / INTERVAL_S
        wait_for("polls", lambda: len(self.intervals) >= end or self.p.poll() is not None,
                 seconds * 3 + 10)

    def stop(self):
        """All intervals; fails if the load ended by itself."""
        if not self.p.stdin.closed:
            self.p.stdin.close()
            self.p.wait(30)
            self.reader.join(10)
        if self.report is None:
            raise Failed("the polls that go on have ended without a report")
        return self.intervals

    def errors(self):
        """{status or kind: how many}, after stop()."""
        return self.report["errors"]


def quantile_us(intervals, q):
    """Of the polls of all these intervals together, from their histograms."""
    counts = {}
    for r in intervals:
        for top, n in r["hist_us"]:
            counts[top] = counts.get(top, 0) + n
    left = q * sum(counts.values())
    for top in sorted(counts):
        left -= counts[top]
        if left <= 0:
            return top
    raise Failed("no polls in that time")


def figures(intervals, begin, end):
    """`during`: the intervals that touch begin .. end; each is from "from" to "t"."""
    during = [r for r in intervals if r["t"] > begin and r["from"] < end]
    before = [r for r in intervals if r["t"] <= begin]
    after = [r for r in intervals if r["from"] >= end]
    return {"polls": sum(r["ok"] for r in during),
            "before_per_s": sum(r["ok"] for r in before) / (before[-1]["t"] - before[0]["from"]),
            "max_ms": max(r["lat_us"]["max"] for r in during) / 1000,
            "before_ms": quantile_us(before, 0.99) / 1000,
            "during_ms": quantile_us(during, 0.99) / 1000,
            "after_ms": quantile_us(after, 0.99) / 1000}


def p99_case(name, rounds, rate_per_s, **extra):
    """The case of figures() of all rounds; its name says if the machine was too slow for the rate,
    since then the p99 is that of a growing backlog."""
    def column(key):
        return [r[key] for r in rounds]

    slow = stats.summary(column("before_per_s"))["median"] < rate_per_s * REACHED
    return case(name + (f" ({rate_per_s}/s not reached before it)" if slow else ""), "ms",
                stats.summary(column("during_ms")), stats.summary(column("before_ms")),
                "before it", stats.ratios(column("during_ms"), column("before_ms")), aim=1.3,
                aim_op="<=", after_ms=stats.summary(column("after_ms")),
                slowest_ms=stats.summary(column("max_ms")),
                polls_during=stats.summary(column("polls")),
                before_per_s=stats.summary(column("before_per_s")), **extra)
