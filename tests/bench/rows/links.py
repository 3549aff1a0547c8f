"""Joins and polls with encrypted links (TLS 1.3, the default), beside the same with `tls: off`.

64 connections. A join crosses the link from the router to the segment node, and its place comes
back to all routers' replicas; a poll is answered from the replica, so that it crosses none.
"""
from kit import polls
from kit.row import case, row
from kit.segq import Cluster

ID = "links"
ORDER = 55
CONNS = 64
WAITING = 200000
CAPACITY = 4000000  # more than will join, so that no segment ends in a turn
AIMS = {"joins": 1.15, "polls": 1.02}
SHORTER = 0.75  # of a turn: there are four in a round


def cluster_with(ctx, mode):
    """(Cluster, its tokens)."""
    cluster = Cluster(ctx, capacity=CAPACITY, sets=["idle.game=1h", "poll_budget_per_s=1000000"] + [
        f"{role}.tls={mode}" for role in ("router", "segment", "queuemng")])
    return cluster, cluster.fill(ctx.waiting(WAITING), 1000)


def sides_of(ctx, mode):
    """{what is asked: Side}"""
    cluster, tokens = cluster_with(ctx, mode)
    sides = {"joins": polls.segq_side(cluster, join="login"),
             "polls": polls.segq_side(cluster, tokens=tokens)}
    for side in sides.values():
        side.name = f"segq, tls {mode}"
    return sides


def run(ctx):
    sealed, plain = sides_of(ctx, "require"), sides_of(ctx, "off")
    for i in ctx.each("links"):
        for what in AIMS:
            for side in (sealed[what], plain[what]):
                polls.turn(ctx, side, what, CONNS, ctx.seconds * SHORTER)
    cases = [case(f"{what}, CPU", f"us/{what[:-1]}",
                  **polls.compare(what, sealed[what], plain[what], polls.cpu_all),
                  aim=aim, aim_op="<=", **polls.cpu_parts(what, sealed[what]))
             for what, aim in AIMS.items()]
    return [row(ID, "Encrypted links", f"{CONNS} connections; user and system time of all segq "
                "processes, beside the same cluster whose links are plain.", cases,
                [polls.layout(ctx, "that of the other cluster")])]
