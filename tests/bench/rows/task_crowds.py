"""Tasks in great numbers: delays that end, a hot key beside cold ones, a million that wait, 100 000
queues, a million that are scheduled; a node that is full of what is over.
"""
import os
import signal
import subprocess
import time

from kit import jobs, stats
from kit.job_peers import Beanstalkd
from kit.procs import Failed, Proc, wait_for
from kit.row import case, row
from kit.scene import metrics

ID = "task_crowds"
ORDER = 410
SHARE = 4
DELAYS, SPAN_S, LEAD_S, PEER_PART = 100000, 60, 10, 0.1
HOT, HOT_PER_S, HOT_BURST, COLD_KEYS, COLD_EACH = 100000, 100, 20, 1000, 10
PENDING = 10**6
QUEUES, EACH = 100000, 10
SCHEDULED, IDLE_S = 10**6, 10
FULL = 20000  # tasks of a node that is soon full
ROUNDS = 3
ENOUGH_S = 100  # of the run's time for all delays; with less there are fewer, in less time
MOST_S = 10  # of submitting a great number once


def within(ctx, n, per_s, seconds):
    """n, or what so many a second come to in that time: a slow disk costs size and not figures."""
    return max(min(n, int(per_s * seconds)), 1000)


def one(value):
    """A figure of a single round."""
    return stats.summary([value])


# ---- delays --------------------------------------------------------------------------------


def delays(ctx, side, part=1):
    """All are submitted, then taken as they become due; the taker's report. part: of the number and
    of the time, so that the rate is the same."""
    n = int(ctx.waiting(DELAYS) * part)
    span, lead = (2, 1) if ctx.quick else (SPAN_S * part, LEAD_S)
    taker = subprocess.Popen(jobs.argv_of(ctx, side, "take", jobs=n, conns=2, batch=64, wait=True,
                                          seconds=4 * (span + lead)),
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ctx.at_end(Proc("taker", taker.pid, taker).end)
    jobs.run(ctx, side, "put", jobs=n, conns=4, batch=100, due_in=lead, span=span)
    out, err = taker.communicate(timeout=5 * (span + lead))
    r = jobs.read(taker, out, err)
    if r["jobs"] < n:
        raise Failed(f"{side.name}: {r['jobs']} of {n} delays have ended")
    return r


def delay_cases(ours, peer, peer_name):
    ms = [one(r["late_us"]["p99"] / 1000) for r in (ours, peer)]
    yield case("delays that end: early", "tasks", one(ours["early"]), one(peer["early"]),
               peer_name, aim=0, aim_op="<=", aim_on="segq")
    yield case("delays that end: late, p99", "ms", *ms, peer_name, aim=10, aim_op="<=",
               aim_on="segq", p50_ms=ours["late_us"]["p50"] / 1000, most_ms=ours["late_us"]["max"] / 1000)


# ---- a hot key -------------------------------------------------------------------------------


def cold(ctx, side, queue):
    """The report of the taking of the cold keys' tasks."""
    n = ctx.waiting(COLD_KEYS * COLD_EACH)
    jobs.run(ctx, side, "put", queue=queue, key="cold", keys=COLD_KEYS, jobs=n, batch=100, conns=1)
    r = jobs.run(ctx, side, "take", queue=queue, only="cold", jobs=n, batch=16, conns=1, wait=True)
    if r["disorder"]:
        raise Failed(f"{r['disorder']} tasks came before an earlier one of their key")
    return r


def hot_cases(ctx, side):
    """The hot key's rate is that of its pool; cold ones are below it. In turns with a queue that has
    no hot key: a node that has done more before has more to keep."""
    jobs.run(ctx, side, "put", queue="hot", key="hot", jobs=ctx.waiting(HOT), batch=100, conns=4)
    cold(ctx, side, "cool")  # the first tasks of a node find no memory of it in use
    alone, beside = [], []
    for i in ctx.each("cold keys", 2 * ROUNDS, 2, 8):
        for queue, rounds in (("cool", alone), ("hot", beside))[::1 if i % 2 else -1]:
            rounds.append(cold(ctx, side, queue))
    for what, unit, name in (("time", "s", "seconds"), ("CPU", "us/job", "cpu_us")):
        yield case(f"1000 cold keys beside a hot one: {what}", unit,
                   **jobs.compare(beside, alone, "without the hot key", name), aim=1.1, aim_op="<=")
    over = [r["others"] / (r["seconds"] * HOT_PER_S + HOT_BURST) for r in beside]
    yield case("the hot key's starts over what its rate allows", "times", stats.summary(over),
               aim=1, aim_op="<=", aim_on="segq")


# ---- many ------------------------------------------------------------------------------------


def queue_cases(ctx, side, per_s):
    many, rounds = within(ctx, ctx.waiting(QUEUES), per_s / EACH, MOST_S), ([], [])
    n = many * EACH
    for i in ctx.each("many queues", ROUNDS, 4, 8):
        for which, queues in enumerate((many, 1)):
            rounds[which].append(jobs.run(ctx, side, "put", queue=f"many{which}-{i}-", queues=queues,
                                          jobs=n, batch=EACH, conns=8))
    yield case(f"{many} queues of {EACH} beside one queue", "tasks/s",
               **jobs.compare(*rounds, "one queue", "per_s"), aim=0.9)


def scheduled_cases(ctx, side, per_s):
    n, seconds = within(ctx, ctx.waiting(SCHEDULED), per_s, MOST_S), 1 if ctx.quick else IDLE_S
    jobs.run(ctx, side, "put", queue="far", jobs=n, batch=100, conns=8, due_in=86400, span=3600)
    time.sleep(seconds)  # what was written is synced
    before = side.node().cpu_s()
    time.sleep(seconds)
    yield case(f"{n} scheduled a day ahead: the task node's CPU", "%",
               one((side.node().cpu_s() - before) / seconds * 100), aim=0.1, aim_op="<=", aim_on="segq")


def pending_cases(ctx, side, per_s, peer):
    n, held = within(ctx, ctx.waiting(PENDING), per_s, MOST_S), []
    for s, proc in ((side, side.node()), (peer, peer.proc)):
        was = proc.private()
        jobs.run(ctx, s, "put", jobs=n, batch=100, conns=8)
        held.append(one((proc.private() - was) / n))
    yield case(f"{n} pending: memory beside bodies", "bytes a task", *held, peer.name, aim=64,
               aim_op="<=", aim_on="segq")
    back = [jobs.killed(ctx, side, lambda: os.kill(side.node().pid, signal.SIGKILL)),
            jobs.killed(ctx, peer, lambda: (peer.proc.end(signal.SIGKILL), peer.start()))]
    yield case(f"{n} pending: back after kill -9", "s", *back, peer.name, aim=2, aim_op="<=",
               aim_on="segq")


def full_cases(ctx, side, per_s):
    """Rounds of submitting and working off: first while there is room, then while each task that comes
    takes the place of the oldest that is over. A refusal fails the round."""
    n, rounds = FULL // ROUNDS, ([], [])
    for full in (False, True):
        for _ in range(ROUNDS):
            put = jobs.run(ctx, side, "put", jobs=n, batch=100, conns=8)
            take = jobs.run(ctx, side, "take", jobs=n, batch=16, conns=8)
            rounds[full].append({"cpu_us": put["cpu_us"] + take["cpu_us"]})
        if (metrics(side.cluster.port + 47)["segq_task_gave_way_total"] > 0) != full:
            raise Failed("the node was full too soon, or not at all")
    yield case("full of what is over, submitted and worked off beside a node with room: CPU", "us/job",
               **jobs.compare(rounds[True], rounds[False], "with room", "cpu_us"), aim=1.2, aim_op="<=")


def run(ctx):
    limit = [f"key.rate_per_s={HOT_PER_S}", f"key.burst={HOT_BURST}"]
    side = jobs.Tasks(ctx, pools={"hot": limit, "cool": limit})
    peer = Beanstalkd(ctx, "os")
    part = min(1, max(ctx.share_s / ENOUGH_S, 0.2))
    cases = list(delay_cases(delays(ctx, side, part), delays(ctx, peer, PEER_PART), peer.name))
    cases += hot_cases(ctx, side)
    per_s = jobs.run(ctx, side, "put", jobs=ctx.waiting(HOT), batch=100, conns=8, seconds=10)["per_s"]
    cases += queue_cases(ctx, side, per_s)
    notes = ["beanstalkd delays by whole seconds, and has a tenth of the delays in a tenth of the time; "
             "its jobs are in its memory, segq's payloads on the disk.",
             "A hot key has its burst at once, then its rate; the cold ones have the same limit each."]
    for part, sets in ((scheduled_cases, ()), (full_cases, [f"task.max_tasks={FULL}"]), (pending_cases, ())):
        ctx.end()  # nodes that have nothing else
        ctx.say(part.__name__.replace("_", " "))
        try:
            cases += part(ctx, jobs.Tasks(ctx, sets=sets), per_s,
                          *([Beanstalkd(ctx, "os")] if part is pending_cases else []))
        except Failed as e:  # what was measured before stands
            notes.append(f"{part.__name__.replace('_', ' ')} could not be measured: {e}")
            break
    return [row(ID, "Tasks in great numbers", "1 KB each, journal: os; one task node.", cases, notes)]
