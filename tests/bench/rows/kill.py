"""kill -9 of the only segment node with 100 000 waiting, while 20 000 polls a second go on

Its supervisor starts it again. The routers answer who waits from what they know meanwhile: what
the polls saw from the kill until the node is back in the line (it takes a join), beside the time
before. How long the node is away is also in the row `recovery`.
"""
import os
import signal
import time

from kit import stats
from kit.ongoing import INTERVAL_S, Polls, figures, p99_case
from kit.polls import join, poll
from kit.procs import Failed, wait_for
from kit.row import case, row
from kit.segq import Cluster
from rows.recovery import recovered

ID = "kill"
ORDER = 312

TICKETS = 100000
SAMPLE = 20000
PROBES = 100  # whose places are compared
RATE_PER_S = 20000
ROUNDS = 3
BEFORE_S, AFTER_S = 3, 1


def places(cluster, probes):
    return [poll(cluster, t)[2]["position"] for t in probes]


def takes_joins(cluster):
    try:
        return join(cluster)
    except Failed:
        return None


def kill(cluster):
    """(begin, end), Unix seconds: until the node, started anew, takes a join."""
    starts, begin = len(recovered(cluster)), time.time()
    os.kill(cluster.proc("segment.0").pid, signal.SIGKILL)
    wait_for("the node's new start", lambda: len(recovered(cluster)) > starts, 60)
    wait_for("a join", lambda: takes_joins(cluster), 60)
    return begin, time.time()


def one_round(ctx, n):
    cluster = Cluster(ctx, capacity=n + 1000, sets=["idle.game=1h", "poll_budget_per_s=1000000"])
    tokens = cluster.fill(n, min(n, SAMPLE))
    with open(tokens) as f:
        probes = f.read().split()[::max(SAMPLE // PROBES, 1)]
    before = places(cluster, probes)
    polls = Polls(ctx, cluster.router_port(), tokens, RATE_PER_S)
    polls.wait(0.5 if ctx.quick else BEFORE_S)
    begin, end = kill(cluster)
    polls.wait(0.3 if ctx.quick else AFTER_S)
    intervals, errors = polls.stop(), polls.errors()
    if set(errors) - {"503"}:
        raise Failed(f"wrong answers while a node is away: {errors}")
    if places(cluster, probes) != before:
        raise Failed("places have changed")
    cluster.down()
    return {"away_ms": (end - begin) * 1000, "refused": errors.get("503", 0),
            **figures(intervals, begin, end)}


def run(ctx):
    n = ctx.waiting(TICKETS)
    rounds = []
    for _ in ctx.each("kill", ROUNDS):
        r = one_round(ctx, n)
        rounds.append(r)
        ctx.say(f"kill: away for {r['away_ms']:.0f} ms; p99 {r['during_ms']:.2f} ms, before "
                f"{r['before_ms']:.2f} ms; {r['refused']} answers 503")

    def column(key):
        return [r[key] for r in rounds]

    return [row(ID, "A segment node is killed under load", f"{n} wait in one segment node, which "
                f"is killed while {RATE_PER_S} polls a second go on (open loop)", [
                    p99_case("p99 of polls while it is away", rounds, RATE_PER_S),
                    case("polls answered 503", "answers", stats.summary(column("refused")),
                         aim=0, aim_op="<=", aim_on="segq"),
                    case("until the node takes joins again", "ms",
                         stats.summary(column("away_ms"))),
                ], notes=[f"While: in {INTERVAL_S * 1000:.0f} ms intervals that touch that time. "
                          f"{PROBES} places were the same before and after.",
                          "Segment node, manager and load share core 1; the load goes first where it may (chrt)."])]
