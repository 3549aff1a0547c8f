"""Joins into an empty line with capacity free, which are answered with their pass.

One connection joins again when it was answered: what a visitor waits on an uncrowded day. Then 64
connections, as many as will go: what one segment node takes. Beside the first: a join that only
gets a place.
"""
from kit import polls, scene, stats
from kit.polls import Side
from kit.row import case, row
from kit.segq import Cluster

ID = "direct"
ORDER = 52
RELEASE_PER_S = 100000  # more than come
CONNS = 64
SHORTER = 0.75  # of a turn: there are three in a round
AIMS = {"p50": 600, "p99": 3000}
AIM_PER_S = 15000
ENTRIES = 0.95  # of the joins, for what an entry costs


class Entries(Side):
    """A cluster whose line is empty; each report of a turn says how many were let in at once."""

    def __init__(self, ctx):
        self.cluster = Cluster(ctx, capacity=4000000, release_per_s=RELEASE_PER_S,
                               sets=["idle.game=1h"])
        side = polls.segq_side(self.cluster, join="login")
        super().__init__("segq", side.port, side.procs, **side.opts)

    def turn(self, ctx, conns):
        before = self.entered()
        polls.turn(ctx, self, conns, conns, ctx.seconds * SHORTER)
        r = self.turns[conns][-1]
        r["entered_share"] = (self.entered() - before) / r["answers"]

    def entered(self):
        return scene.segment_sum(self.cluster, "entered_total")


def share(r):
    return r["entered_share"]


def entered_per_s(r):
    return r["per_s"] * r["entered_share"]


def entry_us(entries):
    """The segment node's CPU of an entry; None: too few of the joins were entries."""
    return stats.summary([r["cpu_us"]["segment.0"] for r in entries.turns[CONNS]
                          if r["entered_share"] > ENTRIES])


def cases(entries, waits):
    for p, aim in AIMS.items():
        yield case(f"one after the other, {p}", "us",
                   **polls.compare(1, entries, waits, polls.latency(p)), aim=aim, aim_op="<=",
                   aim_on="segq", at_once_share=stats.summary(entries.column(1, share)))
    yield case(f"entries, {CONNS} connections", "entries/s",
               stats.summary(entries.column(CONNS, entered_per_s)), aim=AIM_PER_S, aim_on="segq",
               joins_per_s=stats.summary(entries.column(CONNS, polls.per_s)),
               at_once_share=stats.summary(entries.column(CONNS, share)),
               p99_us=stats.summary(entries.column(CONNS, polls.latency("p99"))))
    yield case(f"CPU of a join, {CONNS} connections", "us/join",
               stats.summary(entries.column(CONNS, polls.cpu_all)),
               **polls.cpu_parts(CONNS, entries), entry_us=entry_us(entries))


def run(ctx):
    entries = Entries(ctx)
    waits = polls.segq_side(Cluster(ctx, capacity=4000000, sets=["idle.game=1h"]), join="login")
    waits.name = "a join that waits"
    for i in ctx.each("direct"):
        entries.turn(ctx, 1)
        polls.turn(ctx, waits, 1, 1, ctx.seconds * SHORTER)
        entries.turn(ctx, CONNS)
    return [row(ID, "Direct entry", f"Joins into an empty line, {RELEASE_PER_S} a second may be "
                "let in: the answer to the join has the pass.", list(cases(entries, waits)),
                [polls.layout(ctx), "at_once_share: of all joins, those that the segment node let "
                 "in in the very turn in which it heard of them; the others wait for the "
                 "manager's order."])]
