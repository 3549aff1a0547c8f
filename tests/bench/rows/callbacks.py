"""Callbacks: 64 at once, their results kept, beside beanstalkd and Redis, each with a worker in C.

A job is submitted, sent by POST to a target, and what that said can be read. segq does that alone;
the workers (bench_worker) use libcurl's multi interface, as segq does for TLS. For http:// segq has a
client of its own, which is a part of what is compared.
CPU is that of all processes that a job costs something, the queue's and the worker's, without those
that submit, and the target.
"""
import os
import time

from kit import jobs, stats
from kit.job_peers import Beanstalkd, RedisJobs
from kit.peers import Proxy, under_test
from kit.procs import Failed, spawn, wait_for
from kit.row import case, row
from rows import calls

ID = "callbacks"
ORDER = 435
SHARE = 2
AT_ONCE = 64
SIZE = 256        # bytes of a job
RAMP_S = 7        # until an endpoint that is new has all its slots
PER_S = 4000      # jobs in a round, for each of its seconds
BODY = calls.BODY


class Segq(jobs.Tasks):
    def __init__(self, ctx, target):
        super().__init__(ctx, "os")
        calls.calls_of(self, "gen", f"http://127.0.0.1:{target}", max_concurrent=AT_ONCE)
        wait_for("a call is answered", lambda: calls.is_answered(self))
        self.put = {"queue": "gen", "call": "/x"}

    def has(self, before, n):
        return calls.succeeded(self) >= before + n

    def count(self):
        return calls.succeeded(self)


class WithWorker:
    """A queue, and its worker on the same core."""

    put = {}

    def __init__(self, ctx, queue, name, target):
        self.queue, self.proto, self.port = queue, queue.proto, queue.port
        self.name = f"{name} and a worker"
        self.worker = spawn(ctx, f"worker.{self.port}", [
            os.path.join(ctx.build, "bench/bench_worker"), name, self.port,
            f"http://127.0.0.1:{target}/x", AT_ONCE], core=under_test(ctx))

    def procs(self):
        if not self.worker.alive():
            raise Failed(f"{self.name}: the worker has ended")
        return [*self.queue.procs(), self.worker]

    def parts(self):
        return {"queue_us": self.queue.procs()[0], "worker_us": self.worker}


class Bean(WithWorker):
    """A result is a job of another tube: it has no number by which it could be asked for."""

    def __init__(self, ctx, target):
        super().__init__(ctx, Beanstalkd(ctx, "os"), "beanstalk", target)

    def count(self):
        return self.queue.ready("results")

    def has(self, before, n):
        return self.count() >= before + n


class Redis(WithWorker):
    def __init__(self, ctx, target):
        super().__init__(ctx, RedisJobs(ctx, "os", "list"), "redis", target)

    def count(self):
        return 0

    def has(self, before, n):
        return self.queue.length("jobs") + self.queue.length("doing") == 0 and \
            self.queue.get(f"result:{n - 1}") == BODY


def turn(ctx, side, n):
    """n jobs, all of whose results can be read in the end."""
    before, parts = side.count(), side.parts()
    cpu = sum(p.cpu_s() for p in side.procs())
    of_part = {name: p.cpu_s() for name, p in parts.items()}
    began = time.monotonic()
    jobs.run(ctx, side, "put", jobs=n, conns=64, size=SIZE, seconds=60, **side.put)
    wait_for(f"{side.name}: {n} results", lambda: side.procs() and side.has(before, n), 60)
    took = time.monotonic() - began
    return {"per_s": n / took, "cpu_us": (sum(p.cpu_s() for p in side.procs()) - cpu) * 1e6 / n,
            **{name: (p.cpu_s() - of_part[name]) * 1e6 / n for name, p in parts.items()}}


def cases_of(sides, rounds):
    ours, *others = sides
    mine = rounds[ours.name]
    for other in others:
        theirs = rounds[other.name]
        yield case(f"CPU, beside {other.name}", "us/job", aim=0.5, aim_op="<=",
                   **jobs.compare(mine, theirs, other.name, "cpu_us"),
                   **{k: stats.summary(jobs.column(theirs, k)) for k in other.parts()},
                   **{k: stats.summary(jobs.column(mine, k)) for k in ours.parts()})
        yield case(f"rate, beside {other.name}", "jobs/s",
                   **jobs.compare(mine, theirs, other.name, "per_s"))


def warm_up(ctx, sides, n):
    """A new endpoint begins with a tenth of its slots; connections of all are opened."""
    began = time.monotonic()
    for side in sides:
        turn(ctx, side, n)
    while time.monotonic() - began < RAMP_S:
        turn(ctx, sides[0], n)


def run(ctx):
    target = Proxy(ctx, BODY).target
    sides = [Segq(ctx, target), Bean(ctx, target), Redis(ctx, target)]
    rounds = {side.name: [] for side in sides}
    n = 500 if ctx.quick else int(PER_S * ctx.seconds)
    warm_up(ctx, sides, n)
    for i in ctx.each("callbacks"):
        for side in sides:
            rounds[side.name].append(turn(ctx, side, n))
    return [row(ID, "Submitted, called, result kept, beside queues with a worker",
                f"POST of {SIZE} bytes, {AT_ONCE} at once, an answer of {len(BODY)} bytes; "
                "submitted one by one over 64 connections.", list(cases_of(sides, rounds)),
                ["Router and task node, or queue and worker, share core 0; the target and what "
                 "submits share core 1.",
                 "Written by each before it is answered, synced once a second by segq and Redis, "
                 "by nobody for beanstalkd -F; a killed process loses none.",
                 "segq calls http:// targets with a client of its own, and TLS by libcurl. "
                 "Workers: libcurl's multi interface on epoll, kept connections, all that is said "
                 "to the queue in a turn leaves together. They have no retry, no back-off, no "
                 "limit but 64 at once, no breaker. What one had reserved when it died waits for "
                 "beanstalkd's 120 s, or in Redis's list for an operator.",
                 "segq has HTTP in front and keeps START and END of each attempt: it alone knows "
                 "behind a kill which calls may have reached the target. A result of beanstalkd "
                 "cannot be asked for by its job."])]
