"""kill -9 of the only segment node with 10^6 waiting: how long until it tells places again

The supervisor starts it again; it reads its journal, registers, routers find it. Once with
all changes in the log, once when the last snapshot has nearly all. What is on the disk for it,
per ticket, is counted before the kill. Every place asked for is the same afterwards. The router
asks the node for every place: what polls see meanwhile is in the row `kill`.
"""
import glob
import json
import os
import re
import signal
import time
import urllib.error
import urllib.request

from kit import scene, stats
from kit.procs import Failed, wait_for
from kit.row import case, row
from kit.segq import Cluster

ID = "recovery"
ORDER = 315

TICKETS = 10**6
SAMPLE = 100
ROUNDS = 3
SNAPSHOT_AFTER = 512  # bytes: the least
SNAPSHOT = "snap-" + "?" * 16  # its number has 16 hexadecimal digits; a growing one ends in .tmp
RECOVERED = re.compile(r"event=recovered segments=\d+ tickets=(\d+) seconds=([0-9.]+)")


def place(cluster, token):
    """The position of a waiting ticket; None: not now."""
    url = f"http://127.0.0.1:{cluster.router_port()}/v1/tickets/{token}"
    try:
        with urllib.request.urlopen(url, timeout=0.2) as r:
            return json.load(r).get("position")
    except (urllib.error.HTTPError, OSError):
        return None


def places(cluster, tokens):
    return wait_for("all places", lambda: all_or_none(cluster, tokens), 30)


def all_or_none(cluster, tokens):
    got = [place(cluster, t) for t in tokens]
    return got if None not in got else None


def journal_bytes(cluster):
    """(changes since the snapshot, the last whole snapshot) on the disk."""
    snaps = glob.glob(f"{cluster.dir}/state/journal/*/{SNAPSHOT}")
    return (scene.segment_sum(cluster, "journal_log_bytes"),
            max((os.path.getsize(f) for f in snaps), default=0))


def is_condensed(cluster):
    """There is a snapshot, none is being written, and none was for half a second."""
    was = journal_bytes(cluster)
    time.sleep(0.5)
    return was[1] > 0 and journal_bytes(cluster) == was and not glob.glob(
        f"{cluster.dir}/state/journal/*/*.tmp")


def recovered(cluster):
    """[(tickets, seconds)] of the node's starts, by its log."""
    with open(f"{cluster.dir}/logs/segment.0.log") as f:
        return [(int(n), float(s)) for n, s in RECOVERED.findall(f.read())]


def kill(cluster, token):
    """ms from the kill until the node, started anew, tells a place."""
    begun = time.monotonic()
    os.kill(cluster.proc("segment.0").pid, signal.SIGKILL)
    wait_for("the node's end", lambda: not cluster.proc("segment.0").alive(), 10)
    wait_for("places", lambda: place(cluster, token), 60)
    return (time.monotonic() - begun) * 1000


def one_round(ctx, n, snapshot=False):
    """{served_ms, read_ms, log, snap}: the last two in bytes per ticket."""
    sets = ["idle.game=1h", "router.replica_fresh=0"] + (
        [f"segment.journal_snapshot={SNAPSHOT_AFTER}"] if snapshot else [])
    cluster = Cluster(ctx, capacity=n + 1000, sets=sets)
    with open(cluster.fill(n, SAMPLE)) as f:
        tokens = f.read().split()
    scene.wait_waiting(cluster, n, 30)
    if snapshot:
        wait_for("a snapshot", lambda: is_condensed(cluster), 30)
    before = places(cluster, tokens)
    log, snap = journal_bytes(cluster)
    served = kill(cluster, tokens[-1])
    if places(cluster, tokens) != before:
        raise Failed("places have changed")
    tickets, read_s = recovered(cluster)[-1]
    if tickets != n:
        raise Failed(f"{tickets} tickets of {n} were recovered")
    cluster.down()
    return {"served_ms": served, "read_ms": read_s * 1000, "log": log / n, "snap": snap / n}


def column(rounds, key):
    return stats.summary([r[key] for r in rounds])


def run(ctx):
    n = ctx.waiting(TICKETS)
    logs, snaps = [], []
    for _ in ctx.each("recovery", ROUNDS):
        logs.append(one_round(ctx, n))
        snaps.append(one_round(ctx, n, snapshot=True))
        ctx.say(f"recovery: served after {logs[-1]['served_ms']:.0f} ms from the log, "
                f"{snaps[-1]['served_ms']:.0f} ms from a snapshot")
    return [row(ID, "After kill -9", f"{n} wait in one segment node, which is killed; until it "
                "tells a place again, its supervisor's restart included", [
                    case("serving again, from the log", "ms", column(logs, "served_ms"),
                         aim=2000, aim_op="<=", aim_on="segq", reading_ms=column(logs, "read_ms")),
                    case("serving again, from a snapshot", "ms", column(snaps, "served_ms"),
                         aim=2000, aim_op="<=", aim_on="segq",
                         reading_ms=column(snaps, "read_ms")),
                    case("journal per ticket that joined", "bytes", column(logs, "log")),
                    case("snapshot per ticket that waits", "bytes", column(snaps, "snap"),
                         changes_since_bytes=column(snaps, "log")),
                ], notes=["The peers have no figure here: a sorted set of Redis that is killed has "
                          "what its own file has.",
                          "The crowd joined in batches, as crowds do: a record of the journal "
                          "names a run of numbers."])]
