"""Two segments of 500 000 tickets become one while 20 000 polls a second go on

The front one was made for a million and sealed half full (its node was drained, which gives the
lane a fresh tail); the other is full. They are on different nodes. Merging is off until the
polls have gone on for a while; then it is allowed. The polls are an open loop: they come when
they are planned, whatever the cluster does, and latency counts from the plan.
"""
import datetime
import os
import random
import re
import time

from kit import scene, stats
from kit.ongoing import INTERVAL_S, Polls, figures, p99_case
from kit.polls import poll
from kit.procs import Failed, wait_for
from kit.row import case, row
from kit.segq import Cluster

ID = "merge"
ORDER = 310

TICKETS = 500000
SAMPLE = 50000  # tokens of each segment that are polled
PROBES = 100  # of each, whose places are compared
RATE_PER_S = 20000
BEFORE_S, AFTER_S = 3, 1
MOVED = re.compile(r"(\S+)Z .*event=move_state .*state=(\S+)")


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
    polls = Polls(ctx, cluster.router_port(), tokens, RATE_PER_S)
    polls.wait(0.5 if ctx.quick else BEFORE_S)
    patch(cluster, merge=True)
    wait_for("the merge", lambda: committed(cluster) > moves, 60)
    polls.wait(0.3 if ctx.quick else AFTER_S)
    intervals = polls.stop()
    if polls.errors():
        raise Failed(f"wrong answers while the segments merge: {polls.errors()}")
    if places(cluster, probes) != before:
        raise Failed("the merge changed somebody's place")
    begin, end = move_times(cluster)
    cluster.down()
    return {"took_ms": (end - begin) * 1000, **figures(intervals, begin, end)}


def run(ctx):
    n = ctx.waiting(TICKETS)
    rounds = []
    for _ in ctx.each("merge"):
        t0 = time.monotonic()
        r = one_round(ctx, n)
        rounds.append(r)
        ctx.say(f"merge: {r['took_ms']:.0f} ms; p99 {r['during_ms']:.2f} ms, before "
                f"{r['before_ms']:.2f} ms ({time.monotonic() - t0:.0f} s)")

    p99 = p99_case("p99 of polls during the merge", rounds, RATE_PER_S)
    took = case("the merge, from its plan to its commit", "ms",
                stats.summary([r["took_ms"] for r in rounds]), tickets_moved=n)
    return [row(ID, "A merge under load", f"2 x {n} tickets on two nodes become one segment while "
                f"{RATE_PER_S} polls a second of all of them go on (open loop)", [p99, took],
                notes=[f"During: in {INTERVAL_S * 1000:.0f} ms intervals that touch the merge. "
                       f"Every poll was answered 200; {2 * PROBES} places were the same before "
                       "and after.",
                       "Both segment nodes, the manager and the load share core 1."])]
