"""Polls over keep-alive connections, as many as will go, beside nginx's `return 200`.

1 000 000 waiting, random tokens of 100 000 spread over the line; 64, 256 and 1000 connections;
requests as short as they can be, and as long as a browser's.
"""
from kit import polls
from kit.peers import Nginx, answer_size
from kit.polls import NGINX, Side
from kit.row import case, row

ID = "polls"
ORDER = 10
SHARE = 2
CONNS = (64, 256, 1000)
SHORTER = 0.9  # of a turn: there are twelve in a round
KINDS = (("short", False), ("browser-like", True))
AIMS = {"short": (1.05, 0.95), "browser-like": (1.25, 0.80)}  # rate, CPU


def measure(ctx, segq, nginx):
    for i in ctx.each("polls"):
        for conns in CONNS:
            for _, browser in KINDS:
                for side in (segq, nginx):
                    polls.turn(ctx, side, (conns, browser), conns, ctx.seconds * SHORTER,
                               browser=browser)


def cases(segq, nginx, unit, fn, extras, aim, aim_op):
    """One case for each number of connections and kind of request. aim: of a pair in AIMS."""
    return [case(f"{conns} connections, {kind} requests", unit,
                 **polls.compare((conns, browser), segq, nginx, fn),
                 **extras((conns, browser)), aim=AIMS[kind][aim], aim_op=aim_op)
            for conns in CONNS for kind, browser in KINDS]


def latencies(segq, nginx):
    """Under saturation: the queue before the server, told as it is."""
    def of(key):
        return {f"{side.name.split()[0]}_{p}_us": polls.compare(key, side, side, polls.latency(p))
                ["segq"] for side in (segq, nginx) for p in ("p50", "p99")}
    return of


def chart(cases_, title, y):
    series = {}
    for c in cases_:
        conns, kind = c["case"].split(" connections, ")
        for name, figure in (("segq", c["segq"]), ("nginx", c["peer"])):
            series.setdefault(f"{name}, {kind}", []).append([int(conns), figure["median"]])
    return {"kind": "bars", "title": title, "x": "connections", "y": y, "series": series}


def run(ctx):
    cluster, tokens = polls.filled(ctx, ctx.waiting(1000000))
    headers, body = polls.typical_answer(cluster, tokens)
    peer = Nginx(ctx, body, headers)
    size = answer_size(headers, body)
    segq = polls.segq_side(cluster, tokens=tokens)
    nginx = Side(NGINX, peer.port, peer.procs(), tokens=tokens)
    measure(ctx, segq, nginx)
    speed = cases(segq, nginx, "polls/s", polls.per_s, latencies(segq, nginx), 0, ">=")
    cpu = cases(segq, nginx, "us/poll", polls.cpu_all,
                lambda key: polls.cpu_parts(key, segq), 1, "<=")
    shared = polls.layout(ctx)
    return [row(ID, "Polls a second",
                f"{ctx.waiting(1000000)} waiting, random tokens, each connection polls again at "
                f"once; nginx returns one constant body to the same requests: {peer.size} "
                f"bytes with its headers; segq's answers have {size}.",
                speed, [shared], chart(speed, "Polls a second, one core", "polls/s")),
            row("polls_cpu", "CPU per poll, saturated",
                "User and system time of all segq processes, beside nginx's, in the same turns.",
                cpu, [shared], chart(cpu, "CPU per poll, saturated", "us"))]
