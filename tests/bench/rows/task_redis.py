"""Tasks in Redis (store: redis), beside workers that use a stream of Redis themselves.

Both sides have a Redis of their own that syncs each write. One worker does one command a time, as
libraries for jobs do; 64 of them share a sync where they can. What is left in line is counted after
each turn: a job more or less fails the row.
"""
import os
import signal

from kit import jobs, stats
from kit.job_peers import RedisJobs
from kit.procs import Failed
from kit.row import case, row

ID = "task_redis"
ORDER = 405
SHARE = 2
CONNS, AIM = 64, 5
SHORTER = 0.3  # of a turn
PENDING = 10**6
MOST_S = 20 # of submitting them: a slow disk costs number and not figures
PARTS = (("submit", "put", 1), ("take and acknowledge", "take", 1),
         ("submit, batches of 100", "put", 100), ("take and acknowledge, batches of 16", "take", 16))


def turn(ctx, side, what, **opts):
    """One turn, whose jobs have come into the line, or have left it."""
    before = side.waiting()
    r = jobs.run(ctx, side, what, **opts)
    want = before + (r["jobs"] if what == "put" else -r["jobs"])
    if side.waiting() != want:
        raise Failed(f"{side.name}: {side.waiting()} jobs are in line after {what}, not {want}")
    return r


def measure(ctx, part, at, sides):
    """{(side, workers): its rounds}"""
    name, what, batch = part
    seconds, rounds = ctx.seconds * SHORTER, {}
    for i in ctx.each(name, None, at, len(PARTS) + 1):
        for side, conns in sides:
            if what == "take":
                turn(ctx, side, "put", batch=100, conns=8, seconds=2 * ctx.seconds,
                     jobs=int((2000 if conns == 1 else 40000) * seconds * batch ** 0.5))
            rounds.setdefault((side.name, conns), []).append(
                turn(ctx, side, what, batch=batch, conns=8 if ctx.quick and conns > 1 else conns,
                     seconds=seconds))
    return rounds


def cases_of(part, rounds):
    ours, *others = rounds.items()
    for (_, conns), theirs in others:
        peer = "a worker on a stream" if conns == 1 else f"{conns} workers on a stream"
        one = conns == 1 and part[2] == 1
        yield case(f"{part[0]}, beside {peer}", "jobs/s", **jobs.compare(ours[1], theirs, peer, "per_s"),
                   aim=AIM if one else None)
        yield case(f"{part[0]}, beside {peer}, CPU", "us/job", **jobs.compare(ours[1], theirs, peer, "cpu_us"))


def opening_cases(ctx, side):
    waited, was = side.waiting(), side.node().private()
    n = turn(ctx, side, "put", jobs=ctx.waiting(PENDING), batch=100, conns=8, seconds=MOST_S)["jobs"]
    held = stats.summary([(side.node().private() - was) / n])
    back = jobs.killed(ctx, side, lambda: os.kill(side.node().pid, signal.SIGKILL))
    yield case(f"{n} pending: memory of the node", "bytes a task", held)
    yield case(f"{waited + n} pending: opened after kill -9", "s", back, aim=5, aim_op="<=", aim_on="segq")


def run(ctx):
    segq, stream = jobs.Tasks(ctx, store="redis"), RedisJobs(ctx, "fsync", "stream")
    cases = []
    for at, part in enumerate(PARTS):
        cases += cases_of(part, measure(ctx, part, at, ((segq, CONNS), (stream, 1), (stream, CONNS))))
    ctx.end()
    cases += opening_cases(ctx, jobs.Tasks(ctx, store="redis"))
    return [row(ID, "Tasks in Redis beside workers on a stream",
                "1 KB each, appendfsync always; CPU is that of all processes of a side.", cases,
                ["segq: 64 connections over HTTP; its router, its task node and its Redis share core 0, "
                 "as each peer's Redis has it alone; the client is on core 1.",
                 "A stream has no keys, no limits, no delays, no order after a retry."])]
