"""Memory per waiting ticket, 10^6 and 10^7 waiting, beside Redis' sorted set and heartbeat set.

segq: a real cluster with one segment node; what its process grew by between start and full,
what the core says that it holds, and what the router's replica of the line says. Redis: used_memory and resident growth for the same count
in two sorted sets, the line and when each was last seen.
"""
import time

from kit import scene, zset
from kit.peers import Redis
from kit.procs import wait_for
from kit.row import case, row
from kit.segq import Cluster
from kit.stats import ratios, summary
from rows.core import BYTES_FREE, SLOW, memory_available, size_name

ID = "memory"
ORDER = 160
SHARE = 3
SIZES = (10**6, 10**7)


class Grown:
    """What a process has grown by, per ticket."""

    def __init__(self, proc):
        self.proc, self.private, self.rss = proc, proc.private(), proc.rss()

    def per(self, count):
        return ((self.proc.private() - self.private) / count,
                (self.proc.rss() - self.rss) / count)


def replica(cluster):
    """Bytes of the router's replica, when it has the whole line: it does not grow any more."""
    def still():
        was = scene.router_sum(cluster, "replica_bytes")
        time.sleep(0.5)
        return was > 0 and was == scene.router_sum(cluster, "replica_bytes") and was

    return wait_for("the router's replica", still, 60)


def segq(ctx, sizes):
    """{count: (core, private, resident, replica)} bytes per ticket."""
    cluster = Cluster(ctx, capacity=min(sizes[-1], 10**7),
                      sets=["segment.max_tickets=20000000", "idle.game=1h"])
    node, out, have, took = Grown(cluster.proc("segment.0")), {}, 0, 0
    for count in sizes:
        if not ctx.has_time(2 * took * 10):  # Redis needs its time, too
            continue
        began = time.monotonic()
        ctx.say(f"memory: {count} join")
        cluster.fill(count - have, 1)
        have, took = count, time.monotonic() - began
        out[count] = (scene.segment_sum(cluster, "core_bytes") / count, *node.per(count),
                      replica(cluster) / count)
    return out


def redis(ctx, sizes):
    """{count: (used_memory, resident)} bytes per member of the line; notes."""
    r, out, have, notes = Redis(ctx, ctx.tmp), {}, 0, []
    node, used = Grown(r.proc), zset.memory(r)
    for count in sizes:
        if count >= 10**7 and memory_available() < BYTES_FREE:
            notes.append(f"Redis was not measured with {count}: less than 6 GiB of memory free.")
            continue
        ctx.say(f"memory: Redis gets {count} members")
        zset.add_many(r, b"line", have + 1, count)
        r.call("DEL", "seen")
        r.call("COPY", "line", "seen")
        have = count
        out[count] = ((zset.memory(r) - used) / count, node.per(count)[1])
    return out, notes


def cases(ours, theirs):
    for n, (core, private, rss, router) in ours.items():
        used, resident = theirs.get(n, (None, None))
        yield case(f"core, {size_name(n)} waiting", "bytes", summary([core]), aim=2,
                   aim_op="<=", aim_on="segq")
        yield case(f"segment process, {size_name(n)} waiting", "bytes", summary([private]),
                   aim=4, aim_op="<=", aim_on="segq", resident_bytes=rss)
        yield case(f"router's replica, {size_name(n)} waiting", "bytes", summary([router]),
                   aim=0.2, aim_op="<=", aim_on="segq")
        if used is not None:
            yield case(f"segment process over Redis, {size_name(n)} waiting", "bytes",
                       summary([private]), summary([used]), "Redis, two sorted sets",
                       ratios([private], [used]), aim=1 / 30, aim_op="<=",
                       redis_resident_bytes=resident)


def chart(ours, theirs):
    series = {"segq, core": [[size_name(n), v[0]] for n, v in ours.items()],
              "segq, process": [[size_name(n), v[1]] for n, v in ours.items()],
              "Redis, line and heartbeats": [[size_name(n), v[0]] for n, v in theirs.items()]}
    return {"kind": "bars", "title": "Memory per waiting ticket", "x": "waiting", "y": "bytes",
            "log_y": True, "series": series}


def run(ctx):
    sizes = [ctx.waiting(n) for n in SIZES]
    ours = segq(ctx, sizes)
    ctx.end()  # the machine's memory is Redis' now
    theirs, notes = redis(ctx, list(ours))
    notes += [f"{n} were not measured: {SLOW}." for n in sizes if n not in ours]
    return [row(ID, "Memory per waiting ticket", "Growth from start to full, over the count; "
                "tickets without subjects. Measured once: memory does not vary.",
                list(cases(ours, theirs)), [
                    "segq's process: private bytes of the segment node; everything that it "
                    "needs to answer polls and to time out who does not poll is in it.",
                    "Redis: used_memory, of a sorted set of the line and one of when each was "
                    "last seen, members of 32 characters."] + notes, chart(ours, theirs))]
