"""polls.py: what the rows over HTTP share: a line full of waiting tickets that answers
correctly, turns of load that alternate between servers, and their rounds as columns.
"""
import json
import random

from kit import stats
from kit.peers import ask
from kit.procs import Failed, wait_for
from kit.segq import Cluster, load

CONTROLS = 20  # tickets at either end of the line whose place is known
SAMPLE = 100000  # tickets that are polled, evenly out of the line
QUICK_S = 0.15  # of a turn in a quick run: these rows have many
NGINX = "nginx return 200"
ROOM = "nginx + Lua + Redis"


class Side:
    """One of the servers that take turns: where it listens, whose CPU it costs, and what
    options of the load (kit/segq.py) differ for it."""

    def __init__(self, name, port, procs, **opts):
        self.name, self.port, self.procs, self.opts = name, port, procs, opts
        self.turns = {}  # key of a case -> reports of the load, one a round

    def column(self, key, fn):
        return [fn(r) for r in self.turns[key]]


def join(cluster):
    status, _, text = ask(cluster.router_port(), "/v1/queues/login/tickets", "POST")
    if status != 201:
        raise Failed(f"a join is answered {status} {text}")
    return json.loads(text)


def poll(cluster, token):
    status, headers, text = ask(cluster.router_port(), f"/v1/tickets/{token}")
    if status != 200:
        raise Failed(f"a poll is answered {status} {text}")
    return headers, text, json.loads(text)


def check_place(cluster, token, position, total):
    """What a poll says; the total may be one tick late."""
    def told():
        got = poll(cluster, token)[2]
        if got["position"] != position or got["state"] != "waiting":
            raise Failed(f"number {position} in the line is told {got}")
        return got["total"] == total

    wait_for(f"a total of {total} tickets", told)


def check_sample(cluster, path, first, last):
    """The tokens of the file have places between first and last, no two the same."""
    with open(path) as f:
        tokens = f.read().split()
    places = [poll(cluster, t)[2]["position"] for t in random.Random(1).sample(tokens, 200)]
    if len(set(places)) != len(places) or min(places) < first or max(places) > last:
        raise Failed(f"places {sorted(places)} are not all different, from {first} to {last}")


def filled(ctx, count):
    """A cluster (1 router, 1 segment node) with `count` waiting, and the file of tokens to
    poll. Those in front and at the end joined one by one, and are told exactly their rank."""
    cluster = Cluster(ctx, capacity=count + 1, sets=["idle.game=1h", "poll_budget_per_s=1000000"])
    front = [join(cluster)["token"] for _ in range(CONTROLS)]
    between = count - 2 * CONTROLS
    path = cluster.fill(between, min(SAMPLE, between))
    back = [join(cluster)["token"] for _ in range(CONTROLS)]
    for i in range(CONTROLS):
        check_place(cluster, front[i], i + 1, count)
        check_place(cluster, back[i], count - CONTROLS + i + 1, count)
    check_sample(cluster, path, CONTROLS + 1, count - CONTROLS)
    return cluster, path


def layout(ctx, front="nginx with one worker"):
    """A note: what runs where."""
    if ctx.cores < 2:
        return "Everything shares one core: servers and load disturb one another."
    return (f"Router, or {front}, alone on core 0; segment node, manager and load share "
            "core 1.")


def segq_side(cluster, **opts):
    return Side("segq", cluster.router_port(), cluster.all(), **opts)


def typical_answer(cluster, path):
    """(headers, body) of a poll from the middle of the line."""
    with open(path) as f:
        tokens = f.read().split()
    return poll(cluster, tokens[len(tokens) // 2])[:2]


def turn(ctx, side, key, conns, seconds, **opts):
    """One turn of load on one side; its report joins the side's column `key`."""
    if ctx.quick:
        seconds, opts["warmup"] = min(seconds, QUICK_S), 0.05
    r = load(ctx, side.port, conns, seconds, servers=side.procs, **{**opts, **side.opts})
    r["cpu_all_us"] = sum(r["cpu_us"].values())
    side.turns.setdefault(key, []).append(r)


def per_s(r):
    return r["per_s"]


def cpu_all(r):
    return r["cpu_all_us"]


def cpu_of(name):
    return lambda r: r["cpu_us"][name]


def latency(which):
    return lambda r: r["lat_us"][which]


def compare(key, a, b, fn):
    """{'segq','peer','ratio'} of one figure, for kit.row.case()."""
    x, y = a.column(key, fn), b.column(key, fn)
    return {"segq": stats.summary(x), "peer": stats.summary(y), "ratio": stats.ratios(x, y),
            "peer_name": b.name}


def cpu_parts(key, segq):
    """Router and segment node apart from the sum."""
    return {"router_us": stats.summary(segq.column(key, cpu_of("router.0"))),
            "segment_us": stats.summary(segq.column(key, cpu_of("segment.0")))}
