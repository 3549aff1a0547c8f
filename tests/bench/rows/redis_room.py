"""The same polls beside a waiting room of nginx + Lua + Redis.

Per poll that room counts for its rate limit (INCR), ranks (ZRANK), counts the line (ZCARD),
keeps the heartbeat (ZADD) and reads two settings (GET): over pooled connections, all in one
round trip. The form in which such rooms are published, command by command, is an extra.
"""
from kit import polls, stats
from kit.peers import Room
from kit.polls import ROOM, Side
from kit.row import case, row

ID = "redis_room"
ORDER = 30
CONNS = (64, 256)
AIMS = {64: 5.0, 256: 6.0}
CPU_AIM = 1 / 9
PLAIN_CONNS = 256  # of the one-by-one form
FOR_REDIS = " Redis is where the segment node is."
SHORTER = 0.5  # of a turn: there are five in a round


def measure(ctx, segq, room, plain):
    seconds = ctx.seconds * SHORTER
    for i in ctx.each("Redis room"):
        for conns in CONNS:
            for side in (segq, room):
                polls.turn(ctx, side, conns, conns, seconds)
        polls.turn(ctx, plain, PLAIN_CONNS, PLAIN_CONNS, seconds)


def extras(conns, segq, plain):
    """The form that waits for each command, beside the rate."""
    if conns != PLAIN_CONNS:
        return {}
    one = plain.column(conns, polls.per_s)
    return {"one_by_one_per_s": stats.summary(one),
            "one_by_one_ratio": stats.ratios(segq.column(conns, polls.per_s), one),
            "one_by_one_cpu_us": stats.summary(plain.column(conns, polls.cpu_all))}


def cases_of(segq, room, plain):
    """Rate and CPU side by side."""
    for conns in CONNS:
        yield case(f"{conns} connections", "polls/s",
                   **polls.compare(conns, segq, room, polls.per_s), aim=AIMS[conns],
                   **extras(conns, segq, plain))
        yield case(f"{conns} connections, CPU", "us/poll",
                   **polls.compare(conns, segq, room, polls.cpu_all), aim=CPU_AIM, aim_op="<=",
                   nginx_us=stats.summary(room.column(conns, polls.cpu_of(room.procs[0].name))),
                   redis_us=stats.summary(room.column(conns, polls.cpu_of("redis"))))


def chart(segq, room, plain):
    series = {side.name: [[conns, stats.summary(side.column(conns, polls.per_s))["median"]]
                          for conns in sorted(side.turns)] for side in (segq, room, plain)}
    return {"kind": "bars", "title": "Polls a second beside a Redis room", "x": "connections",
            "y": "polls/s", "series": series, "log_y": True}


def run(ctx):
    count = ctx.waiting(1000000)
    cluster, tokens = polls.filled(ctx, count)
    peer = Room(ctx)
    ids = peer.fill(count, polls.SAMPLE)
    peer.check_polls()
    segq = polls.segq_side(cluster, tokens=tokens)
    room = Side(ROOM, peer.port, peer.procs(), tokens=ids)
    plain = Side(ROOM + ", one by one", peer.port1, peer.procs(), tokens=ids)
    measure(ctx, segq, room, plain)
    return [row(ID, "Polls beside a Redis waiting room",
                f"{count} waiting on both sides, random ids.", list(cases_of(segq, room, plain)),
                [polls.layout(ctx, "nginx + Lua") + FOR_REDIS,
                 "The room's pipeline is one round trip to Redis over a unix socket; it never "
                 "lets its rate-limit counters expire, which spares it a command."],
                chart(segq, room, plain))]
