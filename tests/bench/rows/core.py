"""The queue itself: ns per operation at 10^4, 10^6 and 10^7 waiting, beside Redis' own time.

segq: bench_core, the operations called in a loop inside one process. Redis: the time inside
the server per command (INFO commandstats), while the commands come through a pipe. No network,
no parsing on either side. Both on core 0, in turns.
"""
import json
import os
import subprocess
import time

from kit import zset
from kit.peers import Redis
from kit.procs import Failed
from kit.row import case, row
from kit.stats import ratios, summary

ID = "core"
ORDER = 150
SHARE = 2

COMMANDS = {"rank": "zrank", "join": "zadd", "leave": "zrem", "release": "zpopmin"}
RELEASE = 1000  # in one call
SLOW = "this machine would take longer than the row may"
BYTES_FREE = 6 << 30  # what 10^7 members and their making may need
AIMS = {"rank": 30, "join": 50, "leave": 100}


def segq_round(ctx):
    """{waiting: {figure: value}} of one round."""
    argv = ctx.on_core(0) + [os.path.join(ctx.build, "bench/bench_core"), "--json",
                             "--rounds", "1"] + (["--quick"] if ctx.quick else [])
    p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if p.returncode != 0:
        raise Failed(f"bench_core: {p.stderr.strip()}")
    return {s["waiting"]: {k: v["median"] for k, v in s.items() if k != "waiting"}
            for s in json.loads(p.stdout)["sizes"]}


def redis_round(redis, line, count):
    """{operation: ns of Redis' own time}, at about `count` waiting."""
    n = min(20000, max(count // 20, 100))
    redis.call("CONFIG", "RESETSTAT")
    line.ranks(n)
    line.joins(n + RELEASE)
    line.leaves(n)
    line.release(RELEASE)
    if line.length() != line.expected():
        raise Failed(f"Redis has {line.length()} members, not {line.expected()}")
    out = {op: zset.usec_per_call(redis, c) * 1000 for op, c in COMMANDS.items()}
    out["release"] /= RELEASE
    return out


def memory_available():
    with open("/proc/meminfo") as f:
        return next(int(x.split()[1]) * 1024 for x in f if x.startswith("MemAvailable"))


def fill(ctx, redis, sizes):
    """Redis' lines, {count: Line}; the largest only where there is room for it."""
    lines, notes, took = {}, [], 0
    for count in sizes:
        if not ctx.has_time(took * 10):
            notes.append(f"Redis was not measured with {count}: {SLOW}.")
            continue
        began = time.monotonic()
        if count >= 10**7 and memory_available() < BYTES_FREE:
            notes.append(f"Redis was not measured with {count}: less than 6 GiB of memory free.")
            continue
        ctx.say(f"core: Redis gets {count} members")
        lines[count] = zset.Line(redis, b"line%d" % count, count)
        took = time.monotonic() - began
    return lines, notes


def measure(ctx):
    """[{waiting: {figure: ns}}] of segq and of Redis, a pair for each round; notes."""
    ours, theirs = [segq_round(ctx)], []
    redis = Redis(ctx, ctx.tmp)
    if ctx.cores > 1:
        redis.proc.pin(0)
    lines, notes = fill(ctx, redis, sorted(ours[0]))
    ours.clear()  # it was for the sizes, and to warm up
    for i in ctx.each("core"):
        ours.append(segq_round(ctx))
        theirs.append({n: redis_round(redis, line, n) for n, line in lines.items()})
    return ours, theirs, notes


def size_name(n):
    power = len(str(n)) - 1
    return f"10^{power}" if n == 10**power else str(n)


def operation(ours, theirs, op, n):
    """One operation at one size. An aim is for what one call of segq takes."""
    mine = [r[n][op] for r in ours]
    other = [r[n][op] for r in theirs if n in r]
    per = "ticket of a release of 1000" if op == "release" else op
    more = {f"{k}_ns": summary([r[n][k] for r in ours])
            for k in {"join": ("append",), "leave": ("drop",), "release": ("pop",)}.get(op, ())}
    if op == "leave":
        more["settle_us_per_tick"] = summary([r[n]["settle"] for r in ours])
    return case(f"{per}, {size_name(n)} waiting", "ns", summary(mine), summary(other),
                f"Redis {COMMANDS[op].upper()}", ratios(mine, other) if other else None,
                aim=AIMS.get(op), aim_op="<=", aim_on="segq", **more)


def growth(ours, sizes):
    """A whole poll in memory, and how it grows."""
    for n in sizes:
        yield case(f"whole poll in memory, {size_name(n)} waiting", "ns",
                   summary([r[n]["poll"] for r in ours]),
                   token_ns=summary([r[n]["token"] for r in ours]))
    yield case(f"a poll with {size_name(sizes[-1])} waiting, over one with {size_name(sizes[0])}",
               "times", ratios([r[sizes[-1]]["poll"] for r in ours],
                               [r[sizes[0]]["poll"] for r in ours]),
               aim=2.2, aim_op="<=", aim_on="segq")


def against_zrank(ours, theirs, n):
    mine, other = [r[n]["rank"] for r in ours], [r[n]["rank"] for r in theirs]
    return case(f"rank over ZRANK, {size_name(n)} waiting", "ns", summary(mine), summary(other),
                "Redis ZRANK", ratios(mine, other), aim=0.01, aim_op="<=")


def chart(cases_):
    series = {}
    for c in cases_:
        op, at = c["case"].rsplit(", ", 1)
        if op not in COMMANDS:
            continue
        n = at.split()[0]
        x = 10 ** int(n[3:]) if n.startswith("10^") else int(n)
        for name, figure in ((f"segq {op}", c["segq"]), (c["peer_name"], c["peer"])):
            if figure:
                series.setdefault(name, []).append([x, figure["median"]])
    return {"kind": "lines", "title": "Time per operation as the line grows", "x": "waiting",
            "y": "ns", "log_x": True, "log_y": True, "series": series}


def run(ctx):
    ours, theirs, notes = measure(ctx)
    sizes = sorted(ours[0])
    cases_ = [operation(ours, theirs, op, n) for op in COMMANDS for n in sizes]
    cases_.append(against_zrank(ours, theirs, sizes[1]))
    cases_ += growth(ours, sizes)
    return [row(ID, "The queue core, beside Redis' own time", "Operations on random tickets of a "
                "line in memory, on one core. Redis' times are those inside the server (INFO "
                "commandstats), commands piped: no network and no parsing on either side.",
                cases_, [
                    "join, leave, release and poll are those of the whole node (rules, told "
                    "interval, counters, records), in batches of 64; rank is the line's. append, "
                    "drop and pop, in the extra figures, are the bare line's.",
                    "A leave is exact for those behind at the next tick: settle is that one pass.",
                    "A whole poll is: check the token's MAC, find the place, note when it was "
                    "seen."] + notes, chart(cases_))]
