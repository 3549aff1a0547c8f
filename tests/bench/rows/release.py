"""How soon everybody knows of a release, and how exactly a rate is kept

Three times 10 000 players wait, are released by one order, in one tick, and learn of it by
their next polls. Tickets carry the moment of the tick, by the manager's clock, which is the
players' own here. Then a steady rate, for ten seconds, of a line that is there when it begins (a
tick that finds fewer people than the rate has earned saves nothing up): the same moments say how
many were let in between the first tick and the last but one.
"""
from kit import scene
from kit.procs import Failed
from kit.row import case, row
from kit.segq import Cluster
from kit.stats import summary

ID = "release"
ORDER = 300

PLAYERS = 10000
RATE_PER_S = 500
RATE_S = 10


def told(ctx, cluster, i):
    """One round: a crowd waits, is let in at once; what swarm saw."""
    n = ctx.waiting(PLAYERS)
    swarm = scene.Swarm(ctx, cluster, f"told{i}", players=n, arrive_s=0.1 if ctx.quick else 1,
                        max_s=60, until_admitted=True, repeat=0)
    scene.wait_waiting(cluster, n, 30)
    scene.wait_polls(cluster, n, 30)  # by now they ask as rarely as such a crowd is told to
    cluster.admin(f"/v1/admin/queues/login/release?n={n}", method="POST")
    return swarm.report(70)


def set_rate(cluster, per_s):
    cluster.admin("/v1/admin/queues/login", "PATCH", {"release_per_s": per_s})


def rate(ctx, cluster, i, seconds):
    """The rate that is kept while all wait; none is kept before and after."""
    n = int(RATE_PER_S * (seconds + 1))
    swarm = scene.Swarm(ctx, cluster, f"rate{i}", players=n, arrive_s=0.5, max_s=seconds + 60,
                        until_admitted=True, repeat=0)
    scene.wait_waiting(cluster, n, 30)
    set_rate(cluster, RATE_PER_S)
    even = swarm.report(seconds + 40)["releases"]
    set_rate(cluster, 0)
    if not even["steady_ms"]:
        raise Failed("too few releases for a rate")
    kept = even["steady"] * 1000 / even["steady_ms"]
    return {"per_s": kept, "error_percent": abs(kept / RATE_PER_S - 1) * 100,
            "seconds": even["steady_ms"] / 1000, "released": even["steady"]}


def run(ctx):
    cluster = Cluster(ctx, seg_nodes=2)
    rounds, rates = [], []
    for i in ctx.each("release, told", 3, 0, 2):
        r = told(ctx, cluster, i)
        rounds.append(r)
        ctx.say(f"release: the last of {r['admitted']} knew after "
                f"{r['notice']['max_us'] / 1000:.0f} ms, {r['notice_of_told']['max']:.2f} of "
                f"what it was told to wait")
    for i in ctx.each("release, rate", 2, 1, 2):
        r = rate(ctx, cluster, i, 0.5 if ctx.quick else RATE_S)
        rates.append(r)
        ctx.say(f"release: {r['per_s']:.2f}/s over {r['seconds']:.1f} s,"
                f" {r['error_percent']:.3f} % off")
    return [make_row(rounds, rates)]


def make_row(rounds, rates):
    def ms(q):
        return summary([r["notice"][q] / 1000 for r in rounds])

    n = rounds[0]["admitted"]
    return row(ID, "Release",
               f"{n} players learn of their release by their next poll; and a rate of "
               f"{RATE_PER_S}/s over {RATE_S} s; order kept, by the players' own account", [
                   case("tick to the last player's knowing", "poll intervals",
                        summary([r["notice_of_told"]["max"] for r in rounds]),
                        aim=2, aim_op="<=", aim_on="segq", p50_ms=ms("p50_us"),
                        p99_ms=ms("p99_us"), last_ms=ms("max_us")),
                   case("error of the rate", "%", summary([r["error_percent"] for r in rates]),
                        aim=0.1, aim_op="<=", aim_on="segq",
                        per_s=summary([r["per_s"] for r in rates]),
                        over_s=summary([r["seconds"] for r in rates])),
               ], notes=["A poll interval is what the player itself was last told to wait.",
                         "Released moments are those on the tickets: the manager's clock, which "
                         "counts in milliseconds, at its tick."])
