"""One segment node alone: polls a second of its CPU, from packed batches of 64.

A real cluster with 1 000 000 waiting; bench_segment speaks to the node as a router does, polls
random tickets. Routers keep one batch on its way to a node (what comes meanwhile waits for the
next), so several in flight are several routers; deeper pipelines are shown, too. Beside it the
floor: epoll, reads of fixed structs, ranks out of a bitmap with tags, a note of who was seen,
writes of fixed structs.
"""
import json
import os
import subprocess

from kit.procs import Failed
from kit.row import case, row
from kit.segq import Cluster
from kit.stats import ratios, summary

ID = "segment"
ORDER = 155

WAITING = 1000000
SHAPES = ((1, 1), (4, 1), (1, 4), (1, 16))  # routers, batches of each in flight
AIM = 4  # in flight, in all


def bench(ctx, kind, shape, *options):
    """One turn; what bench_segment says."""
    argv = ctx.on_core(1) + [os.path.join(ctx.build, "bench/bench_segment"), kind,
                             "--waiting", str(ctx.waiting(WAITING)), "--conns", str(shape[0]),
                             "--flight", str(shape[1]), "--seconds", str(ctx.seconds / 2),
                             *options]
    p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if p.returncode != 0:
        raise Failed(p.stderr.strip() or f"bench_segment ended with {p.returncode}")
    return json.loads(p.stdout)


def start(ctx):
    """The options that lead bench_segment to a full node, alone on core 0."""
    n = ctx.waiting(WAITING)
    cluster = Cluster(ctx, capacity=n + 1, sets=["idle.game=1h"])
    tokens = cluster.fill(n, 1)
    node = cluster.proc("segment.0")
    if ctx.cores > 1:
        for proc in cluster.all():
            proc.pin(1)
        node.pin(0)
    return ["--port", str(cluster.port + 50), "--pid", str(node.pid), "--tokens", tokens,
            "--secret", os.path.join(cluster.dir, "secrets/cluster.secret")]


def one(ours, floor, shape):
    a, b = [r["per_cpu_s"] for r in ours], [r["per_cpu_s"] for r in floor]
    routers = "1 router" if shape[0] == 1 else f"{shape[0]} routers"
    return case(f"{routers}, {shape[1]} in flight each", "polls per CPU second", summary(a),
                summary(b), "fixed structs", ratios(a, b),
                aim=0.5 if shape[0] * shape[1] == AIM else None,
                segq_per_s=summary([r["per_s"] for r in ours]),
                floor_per_s=summary([r["per_s"] for r in floor]))


def run(ctx):
    node = start(ctx)
    on = ["--core", "0"] if ctx.cores > 1 else []
    ours, floor = {s: [] for s in SHAPES}, {s: [] for s in SHAPES}
    for i in ctx.each("segment"):
        for s in SHAPES:
            ours[s].append(bench(ctx, "node", s, *node))
            floor[s].append(bench(ctx, "floor", s, *on))
    return [row(ID, "A segment node alone", f"{ctx.waiting(WAITING)} waiting, random tickets, "
                "batches of 64 polls; answers per second of the server's CPU, user and system.",
                [one(ours[s], floor[s], s) for s in SHAPES],
                ["The floor checks nothing, knows one line, and encodes nothing: what remains is "
                 "system calls and memory. The deeper the pipeline, the less are the system "
                 "calls: at 16 in flight the rest is compared."])]
