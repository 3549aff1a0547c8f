"""Two segments of 500 000 tickets become one while 20 000 polls a second go on

The front one was made for a million and sealed half full (its node was drained, which gives the
lane a fresh tail); the other is full. They are on different nodes. Merging is off until the
polls have gone on for a while; then it is allowed. The polls are an open loop: they come when
they are planned, whatever the cluster does, and latency counts from the plan.
"""
import datetime
import json
import os
import random
import re
import subprocess
import threading
import time

from kit import scene, stats
from kit.polls import poll
from kit.procs import Failed, wait_for
from kit.row import case, row
from kit.segq import Cluster, load_argv

ID = "merge"
ORDER = 310

TICKETS = 500000
SAMPLE = 50000  # tokens of each segment that are polled
PROBES = 100  # of each, whose places are compared
RATE_PER_S = 20000
BEFORE_S, AFTER_S, INTERVAL_S = 3, 1, 0.05
MOVED = re.compile(r"(\S+)Z .*event=move .*state=(\S+)")


# ---- two segments ------------------------------------------------------------------------


def patch(cluster, **definition):
    cluster.admin("/v1/admin/queues/login", "PATCH", definition)


def segments(cluster):
    return scene.lane(cluster)["segments"]


def drained(cluster, node):
    """Nobody waits on the node, and no move is under way."""
    left = [s for s in segments(cluster) if s["node"] == node and s["waiting"]]
    return not left and not cluster.admin("/v1/admin/cluster")["moves"]


def two_segments(ctx, n):
    """A cluster with two sealed segments of n tickets, and the files of their tokens."""
    cluster = Cluster(ctx, seg_nodes=3, capacity=2 * n, sets=[
        "merge=false", "idle.game=1h", "poll_budget_per_s=1000000"])
    os.rename(cluster.fill(n, min(n, SAMPLE)), f"{cluster.dir}/front")
    patch(cluster, segment_capacity=n)  # of what is opened from now on
    node = segments(cluster)[0]["node"]
    cluster.admin(f"/v1/admin/nodes/{node}/drain", "POST")
    wait_for("the front segment sealed and moved", lambda: drained(cluster, node), 60)
    cluster.admin(f"/v1/admin/nodes/{node}/undrain", "POST")
    os.rename(cluster.fill(n, min(n, SAMPLE)), f"{cluster.dir}/back")
    wait_for("both sealed", lambda: full_and_sealed(cluster, n), 30)
    return cluster


def full_and_sealed(cluster, n):
    return [s["waiting"] for s in segments(cluster) if s["state"] == "sealed"] == [n, n]


def all_tokens(cluster):
    """Both files as one; and some of each, by which places are compared."""
    texts = []
    for name in ("front", "back"):
        with open(f"{cluster.dir}/{name}") as f:
            texts.append(f.read().split())
    path = f"{cluster.dir}/tokens"
    with open(path, "w") as f:
        f.write("\n".join(texts[0] + texts[1]) + "\n")
    rnd = random.Random(2)
    return path, [t for text in texts for t in rnd.sample(text, PROBES)]


def places(cluster, probes):
    return [poll(cluster, t)[2]["position"] for t in probes]


# ---- polls that go on --------------------------------------------------------------------


class Polls:
    """A load with a line per interval, read as they come, until stop()."""

    def __init__(self, ctx, port, tokens):
        argv = load_argv(ctx, port, 256, 1, rate=RATE_PER_S, tokens=tokens,
                         interval=INTERVAL_S, until_stdin_closes=True,
                         warmup=0.2 if ctx.quick else 1)
        self.intervals, self.report = [], None
        self.p = subprocess.Popen([a.replace("_", "-") if a.startswith("--") else a for a in argv],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
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
        """All intervals; fails if any answer was wrong, or the load ended by itself."""
        if self.p.stdin.closed:
            return self.intervals
        self.p.stdin.close()
        self.p.wait(30)
        self.reader.join(10)
        if self.report is None or self.report["errors"]:
            raise Failed(f"wrong answers while the segments merge: {self.report}")
        return self.intervals


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


# ---- the merge ---------------------------------------------------------------------------


def move_times(cluster):
    """(begin, end) of the last move, Unix seconds, by the manager's log: from the plan to the
    commit at the target, with which routers are told."""
    times = {}
    with open(os.path.join(cluster.info["logs"], "queuemng.0.log")) as f:
        for line in f:
            found = MOVED.match(line)
            if found:
                at = datetime.datetime.fromisoformat(found.group(1) + "+00:00")
                times[found.group(2)] = at.timestamp()
    return times["planned"], times["committing>clearing"]


def committed(cluster):
    c = cluster.admin("/v1/admin/cluster")
    if c["moves_aborted"]:
        raise Failed("the merge was aborted")
    return c["moves_committed"]


def one_round(ctx, n):
    cluster = two_segments(ctx, n)
    tokens, probes = all_tokens(cluster)
    before, moves = places(cluster, probes), committed(cluster)
    polls = Polls(ctx, cluster.router_port(), tokens)
    polls.wait(0.5 if ctx.quick else BEFORE_S)
    patch(cluster, merge=True)
    wait_for("the merge", lambda: committed(cluster) > moves, 60)
    polls.wait(0.3 if ctx.quick else AFTER_S)
    intervals = polls.stop()
    if places(cluster, probes) != before:
        raise Failed("the merge changed somebody's place")
    begin, end = move_times(cluster)
    cluster.down()
    return figures(intervals, begin, end)


def figures(intervals, begin, end):
    """`during`: the intervals that touch the merge; each is from "from" to "t"."""
    during = [r for r in intervals if r["t"] > begin and r["from"] < end]
    before = [r for r in intervals if r["t"] <= begin]
    after = [r for r in intervals if r["from"] >= end]
    return {"took_ms": (end - begin) * 1000, "polls": sum(r["ok"] for r in during),
            "max_ms": max(r["lat_us"]["max"] for r in during) / 1000,
            "before_ms": quantile_us(before, 0.99) / 1000,
            "during_ms": quantile_us(during, 0.99) / 1000,
            "after_ms": quantile_us(after, 0.99) / 1000}


def run(ctx):
    n = ctx.waiting(TICKETS)
    rounds = []
    for _ in range(ctx.rounds):
        t0 = time.monotonic()
        r = one_round(ctx, n)
        rounds.append(r)
        ctx.say(f"merge: {r['took_ms']:.0f} ms; p99 {r['during_ms']:.2f} ms, before "
                f"{r['before_ms']:.2f} ms ({time.monotonic() - t0:.0f} s)")

    def column(key):
        return [r[key] for r in rounds]

    p99 = case("p99 of polls during the merge", "ms", stats.summary(column("during_ms")),
               stats.summary(column("before_ms")), "before it",
               stats.ratios(column("during_ms"), column("before_ms")), aim=2, aim_op="<=",
               after_ms=stats.summary(column("after_ms")),
               slowest_ms=stats.summary(column("max_ms")),
               polls_during=stats.summary(column("polls")))
    took = case("the merge, from its plan to its commit", "ms", stats.summary(column("took_ms")),
                tickets_moved=n)
    return [row(ID, "A merge under load", f"2 x {n} tickets on two nodes become one segment while "
                f"{RATE_PER_S} polls a second of all of them go on (open loop)", [p99, took],
                notes=[f"During: in {INTERVAL_S * 1000:.0f} ms intervals that touch the merge. "
                       f"Every poll was answered 200; {2 * PROBES} places were the same before "
                       "and after.",
                       "Both segment nodes, the manager and the load share core 1."])]
