"""Polls at a fixed rate (open loop): CPU and latency, beside nginx's `return 200`.

20 000 and 40 000 polls a second over 256 connections, 1 000 000 waiting. Latency counts from
the instant that the plan had for the request, so a server that stalls pays for all that
waited. Two more rates, in fewer rounds, draw the curve.
"""
from kit import polls, stats
from kit.peers import Nginx
from kit.polls import NGINX, Side
from kit.row import case, row

ID = "open_loop"
ORDER = 20
CONNS = 256
RATES = (20000, 40000)  # with a case each
CURVE = (10000, 30000)  # for the chart only
CURVE_ROUNDS = 2
SHORTER = 0.9  # of a turn: the row has a minute
REACHED = 0.98  # of the planned rate
PERCENTILES = ("p50", "p99", "p999")
AIMS = {"p50": 1.3, "p99": 1.3}


def measure(ctx, segq, nginx):
    for i in ctx.each("open loop"):
        for rate in RATES + (CURVE if i < CURVE_ROUNDS else ()):
            seconds = ctx.seconds * (SHORTER if rate in RATES else SHORTER / 2)
            for side in (segq, nginx):
                polls.turn(ctx, side, rate, CONNS, seconds, rate=rate)


def misses(sides, rate):
    """Texts: who did not reach the rate, and in how many rounds."""
    out = []
    for side in sides:
        got = side.column(rate, polls.per_s)
        missed = [x for x in got if x < rate * REACHED]
        if missed:
            out.append(f"{side.name} did not reach {rate}/s in {len(missed)} of {len(got)} "
                       f"rounds (least {min(missed):.0f}/s)")
    return out


def reached(segq, nginx, rate):
    """Extra figures of every case: what was really served."""
    return {f"{name}_per_s": stats.summary(side.column(rate, polls.per_s))
            for name, side in (("segq", segq), ("nginx", nginx))}


def mark(rate, missed):
    """A case says in its own name when its figures are not those of its rate."""
    return f"{rate} polls/s" + (f" (not reached by {' and '.join(missed)})" if missed else "")


def label(segq, nginx, rate):
    return mark(rate, [s.name for s in (segq, nginx) if misses([s], rate)])


def cpu_cases(segq, nginx):
    return [case(label(segq, nginx, rate), "us/poll",
                 **polls.compare(rate, segq, nginx, polls.cpu_all),
                 aim=1.1, aim_op="<=",
                 **polls.cpu_parts(rate, segq), **reached(segq, nginx, rate))
            for rate in RATES] + [
                case(f"{label(segq, nginx, RATES[-1])}, the segment node's", "us/poll",
                     stats.summary(segq.column(RATES[-1], polls.cpu_of("segment.0"))),
                     aim=0.15, aim_op="<=", aim_on="segq")]


def latency_cases(segq, nginx):
    return [case(f"{label(segq, nginx, rate)}, {p}", "us",
                 **polls.compare(rate, segq, nginx, polls.latency(p)),
                 aim=AIMS.get(p), aim_op="<=", **reached(segq, nginx, rate))
            for rate in RATES for p in PERCENTILES]


def chart(segq, nginx):
    series = {}
    for name, side in (("segq", segq), ("nginx", nginx)):
        for p in PERCENTILES:
            series[f"{name}, {p}"] = [
                [rate, stats.summary(side.column(rate, polls.latency(p)))["median"]]
                for rate in sorted(RATES + CURVE)]
    return {"kind": "lines", "title": "Latency over load, 256 connections", "x": "polls/s",
            "y": "us", "series": series, "log_y": True}


def run(ctx):
    cluster, tokens = polls.filled(ctx, ctx.waiting(1000000))
    headers, body = polls.typical_answer(cluster, tokens)
    peer = Nginx(ctx, body, headers)
    segq = polls.segq_side(cluster, tokens=tokens)
    nginx = Side(NGINX, peer.port, peer.procs(), tokens=tokens)
    measure(ctx, segq, nginx)
    notes = [polls.layout(ctx)] + [
        m for rate in RATES + CURVE for m in misses((segq, nginx), rate)]
    what = (f"{CONNS} connections, {ctx.waiting(1000000)} waiting, random tokens, a planned "
            "instant for every request; ")
    return [row(ID, "Latency at a fixed rate",
                what + "latency from the planned instant to the whole answer.",
                latency_cases(segq, nginx), notes, chart(segq, nginx)),
            row("open_loop_cpu", "CPU per poll at a fixed rate",
                what + "user and system time of all segq processes.",
                cpu_cases(segq, nginx), notes)]
