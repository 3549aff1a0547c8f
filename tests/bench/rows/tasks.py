"""Tasks: submitted one by one and in batches, taken and acknowledged, beside other queues of jobs.
Where a worker's acknowledgement takes the next job (segq alone), the others do as before.

Payloads of 1 KB over 64 connections, each asking again when it is answered. Beside segq, at the
same durability: beanstalkd with its binlog, a stream and a list of Redis with its append-only file,
a table of Postgres with FOR UPDATE SKIP LOCKED.
"""
from kit import jobs, stats
from kit.job_peers import Beanstalkd, Postgres, RedisJobs
from kit.row import case, row

ID = "tasks"
ORDER = 400
SHARE = 3
# name, durability, put or take, jobs in a request; aims beside beanstalkd, Postgres; segq alone
PARTS = (
    ("submit, written", "os", "put", 1, 1.0, None, 60000),
    ("submit, synced", "fsync", "put", 1, 10.0, 10.0, None),
    ("submit, batches of 100, written", "os", "put", 100, None, None, 300000),
    ("take and acknowledge, written", "os", "take", 1, 1.0, None, None),
    ("acknowledge and take the next, written", "os", "next", 1, 1.0, None, None),
    ("take and acknowledge, batches of 16, written", "os", "take", 16, 4.0, None, None),
)
CONNS = 64
SHORTER = 0.4  # of a turn: there are five sides in a round
AHEAD = 1.5    # jobs that are there for a take, over those that one turn may take
MOST_PER_S = {1: 60000, 16: 200000}


def sides_of(ctx, durability):
    segq = jobs.Tasks(ctx, durability)
    peers = [Beanstalkd(ctx, durability), RedisJobs(ctx, durability, "stream"),
             RedisJobs(ctx, durability, "list"), Postgres(ctx, durability)]
    return [segq, *peers]


def fill(ctx, side, n):
    """n jobs to be taken, or as many as come in a few turns' time; by pgbench as near as it goes."""
    n = min(n, 2000) if ctx.quick else n
    if hasattr(side, "jobs"):
        side.jobs("put", 1000, 2, max(1, n / 50000))
    else:
        jobs.run(ctx, side, "put", jobs=n, batch=100, conns=8, seconds=4 * ctx.seconds)


def measure(ctx, part, sides):
    """{side: its rounds}"""
    name, _, what, batch = part[:4]
    seconds = ctx.seconds * SHORTER
    rounds = {side.name: [] for side in sides}
    for _ in ctx.each(name, None, PARTS.index(part), len(PARTS)):
        for side in sides:
            if what != "put":
                last = max((r["jobs"] for r in rounds[side.name]), default=MOST_PER_S[batch] * seconds)
                fill(ctx, side, int(min(last * 1.3, MOST_PER_S[batch] * seconds) * AHEAD))
            one = {"next": True} if what == "next" and side.name == "segq" else {}
            rounds[side.name].append(jobs.run(ctx, side, "put" if what == "put" else "take", batch=batch,
                                              seconds=seconds, conns=8 if ctx.quick else CONNS, **one))
    return rounds


def cases_of(part, rounds):
    name, _, _, _, bean, postgres, alone = part
    ours, *others = rounds
    for other in others:
        aim = bean if other.startswith("bean") else postgres if other.startswith("Post") else None
        figures = jobs.compare(rounds[ours], rounds[other], other, "per_s")
        yield case(f"{name}, beside {other}", "jobs/s", **figures, aim=aim)
        yield case(f"{name}, beside {other}, CPU", "us/job",
                   aim=0.8 if part[2] == "next" and other.startswith("bean") else None, aim_op="<=",
                   **jobs.compare(rounds[ours], rounds[other], other, "cpu_us"))
    yield case(f"{name}, CPU", "us/job", stats.summary(jobs.column(rounds[ours], "cpu_us")),
               **{k: stats.summary(jobs.column(rounds[ours], k)) for k in ("router_us", "node_us")})
    if alone:
        yield case(name, "jobs/s", jobs.compare(rounds[ours], [], "", "per_s")["segq"], aim=alone, aim_on="segq")


def run(ctx):
    cases = []
    for durability in ("os", "fsync"):
        sides = sides_of(ctx, durability)
        for part in PARTS:
            if part[1] == durability:
                cases += cases_of(part, measure(ctx, part, sides))
        ctx.end()
    return [row(ID, "Tasks beside other queues of jobs",
                "1 KB each, 64 connections; CPU is that of all processes of a side.", cases,
                ["segq's router and task node share core 0 with nobody, as each peer has it alone; "
                 "the client is on core 1.",
                 "\"Written\" is lost by a power cut only, a second of it at most; "
                 "beanstalkd -F leaves even that to the kernel.",
                 "Peers have no HTTP in front; a list of Redis keeps no lease."])]
