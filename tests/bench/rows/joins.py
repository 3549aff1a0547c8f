"""Joins, with the journal off and with `os`, beside a Redis waiting room's join.

64 connections join again and again; both lines start empty and grow as fast as they are
joined. The room's join is INCR and ZADD: as two commands, one after the other, as such rooms
are published, and as one script that Redis keeps, which is as fast as it can be.
"""
import os
import subprocess

from kit import polls, stats
from kit.peers import Room
from kit.polls import ROOM, Side
from kit.procs import Failed, wait_for
from kit.row import case, row
from kit.segq import Cluster

ID = "joins"
ORDER = 50
CONNS = 64
CAPACITY = 4000000  # more than will join, so that no segment ends in a turn
ROOMS = ("both in one script", "INCR and ZADD in turn")
AIM, CPU_AIM = 3.5, 1 / 5  # beside the script, which is as fast as such a room can be
SHORTER = 0.75  # of a turn: there are four in a round


def knows_journal(ctx):
    """Does `segment` have the key? It is asked; any other trouble with it is not an answer."""
    p = subprocess.run([os.path.join(ctx.build, "bin/segment"), "--set", "journal=os", "-t"],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=20)
    return 'unknown key "journal"' not in p.stdout


def cluster_with(ctx, sets):
    """An empty line that has been asked whether it counts correctly."""
    cluster = Cluster(ctx, capacity=CAPACITY, sets=["idle.game=1h"] + sets)
    for number in range(1, 21):
        got = polls.join(cluster)
        if got["position"] != number:
            raise Failed(f"join number {number} is told {got}")
        if polls.poll(cluster, got["token"])[2]["position"] != number:
            raise Failed(f"a poll of join number {number} says otherwise")
    return cluster


def clusters_of(ctx):
    """{journal: Cluster}; without the key in `segment`, only what it then is: off."""
    if not knows_journal(ctx):
        return {"off": cluster_with(ctx, [])}
    return {mode: cluster_with(ctx, [f"segment.journal={mode}"]) for mode in ("off", "os")}


def segq_sides(clusters):
    sides = {}
    for mode, cluster in clusters.items():
        sides[mode] = polls.segq_side(cluster, join="login")
        sides[mode].name = f"segq, journal {mode}"
    return sides


def measure(ctx, sides):
    for i in ctx.each("joins"):
        for side in sides:
            polls.turn(ctx, side, CONNS, CONNS, ctx.seconds * SHORTER)


def cases_of(segq, rooms):
    """Each journal beside each form of the room's join, rate and CPU side by side."""
    for mode, side in segq.items():
        for form, room in rooms.items():
            name, script = f"journal {mode}, beside {form}", form == ROOMS[0]
            yield case(name, "joins/s", **polls.compare(CONNS, side, room, polls.per_s),
                       aim=AIM if script else None)
            yield case(f"{name}, CPU", "us/join",
                       **polls.compare(CONNS, side, room, polls.cpu_all),
                       aim=CPU_AIM if script else None, aim_op="<=",
                       **polls.cpu_parts(CONNS, side))


def check_counts(sides, waiting, what):
    """Everybody who was told of a place has one. (Answers that a turn's end cut off are in
    the line too: hence "at least".)"""
    joined = sum(sum(side.column(CONNS, lambda r: r["ok"])) for side in sides)
    wait_for(f"{what}: {joined} joins were acknowledged; as many waiting",
             lambda: waiting() >= joined)


def check_all(segq, clusters, room_sides, peer):
    for mode, side in segq.items():
        check_counts([side], lambda m=mode: clusters[m].get("/v1/queues/login")[1]["waiting"],
                     side.name)
    check_counts(room_sides, lambda: peer.redis.call("ZCARD", "room:line"), ROOM)


def run(ctx):
    clusters = clusters_of(ctx)
    segq = segq_sides(clusters)
    peer = Room(ctx)
    peer.check_joins()
    room = Side(ROOM, peer.port, peer.procs(), join="login")
    plain = Side(ROOM + ", one by one", peer.port1, peer.procs(), join="login")
    rooms = dict(zip(ROOMS, (room, plain)))
    sides = list(segq.values()) + [room, plain]
    measure(ctx, sides)
    check_all(segq, clusters, [room, plain], peer)
    notes = [polls.layout(ctx, "nginx + Lua") + " Redis is where the segment node is."]
    if "os" not in segq:
        notes.append("`segment` has no key `journal` yet: nothing is written, and the case `os` "
                     "is left out.")
    chart = {"kind": "bars", "title": "Joins a second", "x": "server", "y": "joins/s",
             "series": {s.name: [["joins", stats.summary(s.column(CONNS, polls.per_s))["median"]]]
                        for s in sides}, "log_y": True}
    return [row(ID, "Joins", f"{CONNS} connections, each joins again at once; the line starts "
                "empty on both sides.",
                list(cases_of(segq, rooms)), notes, chart)]
