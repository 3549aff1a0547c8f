"""A million players arrive, wait and poll as they are told: CPU, memory and polls of the cluster

They come within half a minute, over one router (alone on core 0) and two segment nodes; 200 a
second are let in, so almost all are held. When all are there and have been told the interval of
the whole crowd, a window of the wait is measured. Reported only.
"""
import time

from kit import scene
from kit.procs import Failed, wait_for
from kit.row import case, row
from kit.segq import Cluster
from kit.stats import summary

ID = "crowd"
ORDER = 330
SHARE = 4
ENOUGH_S = 60 # of the run's time for a million; with less there are fewer

PLAYERS = 1000000
BUDGET_PER_S = 20000
RELEASE_PER_S = 200
ARRIVE_S, SETTLE_S, WINDOW_S = 35, 15, 40
QUICK = 0.5, 0.5, 1.5


class Mark:
    """All counters of the cluster at one moment."""

    def __init__(self, cluster):
        self.at, self.cpu = time.monotonic(), scene.cpu_s(cluster)
        self.polls = scene.polls(cluster)

    def since(self, past):
        """(seconds, polls, {process: CPU seconds}) from `past` to here."""
        return (self.at - past.at, self.polls - past.polls,
                {n: s - past.cpu[n] for n, s in self.cpu.items()})


def let_pass(seconds, swarm):
    """The scene's clock, not a guess at when something is ready: windows have set lengths."""
    end = time.monotonic() + seconds
    wait_for("time", lambda: not swarm.running() or time.monotonic() >= end, seconds + 30)
    if not swarm.running():
        swarm.report(1)
        raise Failed("the players ended by themselves")


def run(ctx):
    arrive, settle, window = QUICK if ctx.quick else (ARRIVE_S, SETTLE_S, WINDOW_S)
    n = int(ctx.waiting(PLAYERS) * min(1, max(ctx.share_s / ENOUGH_S, 0.1)))
    cluster = Cluster(ctx, seg_nodes=2, capacity=max(n // 5, 1000),
                      release_per_s=RELEASE_PER_S,
                      sets=[f"poll_budget_per_s={BUDGET_PER_S}"])
    begin = Mark(cluster)
    swarm = scene.Swarm(ctx, cluster, "crowd", players=n, arrive_s=arrive, conns=1024,
                        wait_only=True, max_s=600)
    wait_for("all joins", lambda: scene.segment_sum(cluster, "joined_total") >= n,
             arrive * 4 + 20)
    there = Mark(cluster)
    ctx.say(f"crowd: {n} players are there after {there.at - begin.at:.0f} s")
    let_pass(settle, swarm)
    calm = Mark(cluster)
    let_pass(window, swarm)
    end = Mark(cluster)
    sizes = {p.name: p.private() for p in cluster.all()}
    swarm.stop()
    seen = swarm.report(60)
    return [make_row(n, there.since(begin), end.since(calm), sizes, seen)]


def by_kind(per_process):
    """Sums of router.0, segment.0, segment.1 ... under router, segment, queuemng, others."""
    out = {"router": 0, "segment": 0, "queuemng": 0, "supervisors": 0}
    for name, value in per_process.items():
        kind = name.split(".")[0]
        out[kind if kind in out else "supervisors"] += value
    return out


def make_row(n, arrival, wait, sizes, seen):
    seconds, polls, cpu = wait
    us = {f"{k}_us": v * 1e6 / polls for k, v in by_kind(cpu).items()}
    mb = {f"{k}_mb": v / 1e6 for k, v in by_kind(sizes).items()}
    return row(ID, "A whole crowd",
               f"{n} simulated players join within {arrival[0]:.0f} s, honour poll_after_ms and "
               f"are held, {RELEASE_PER_S} a second let in; figures of {seconds:.0f} s of the wait",
               [case("CPU of all processes per poll", "us",
                     summary([sum(cpu.values()) * 1e6 / polls]), **us),
                case("CPU of all processes", "% of a core",
                     summary([sum(cpu.values()) / seconds * 100]),
                     while_arriving_percent=sum(arrival[2].values()) / arrival[0] * 100,
                     joins_per_s=seen["joins_per_s"]),
                case("polls", "of the budget", summary([polls / seconds / BUDGET_PER_S]),
                     budget_per_s=BUDGET_PER_S, per_s=polls / seconds),
                case("private memory of all processes", "MB", summary([sum(sizes.values()) / 1e6]),
                     bytes_per_player=sum(sizes.values()) / n, **mb),
                case("release to the player's knowing, p99", "ms",
                     summary([seen["notice"]["p99_us"] / 1000]), admitted=seen["admitted"],
                     p50_ms=seen["notice"]["p50_us"] / 1000)],
               notes=["One run; the players share core 1 with the segment nodes.",
                      "Order violations, positions that grew, double admissions, lost tickets: "
                      "all 0, or there would be no figures here.",
                      f"503: {seen['status'].get('503', 0)}, no answer: {seen['no_answer']}."])
