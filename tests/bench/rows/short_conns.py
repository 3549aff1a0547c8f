"""Polls that each open a connection, beside nginx's `return 200` with keep-alive off."""
from kit import polls
from kit.peers import Nginx
from kit.polls import NGINX, Side
from kit.row import case, row

ID = "short_conns"
ORDER = 40
CONNS = 64  # at any time


def measure(ctx, segq, nginx):
    for i in ctx.each("short connections"):
        for side in (segq, nginx):
            polls.turn(ctx, side, CONNS, CONNS, ctx.seconds, close=True)


def run(ctx):
    count = ctx.waiting(100000)
    cluster, tokens = polls.filled(ctx, count)
    headers, body = polls.typical_answer(cluster, tokens)
    peer = Nginx(ctx, body, headers, keepalive=False)
    segq = polls.segq_side(cluster, tokens=tokens)
    nginx = Side(NGINX + ", close", peer.port, peer.procs(), tokens=tokens)
    measure(ctx, segq, nginx)
    cases = [case("polls", "polls/s", **polls.compare(CONNS, segq, nginx, polls.per_s), aim=0.97),
             case("CPU", "us/poll", **polls.compare(CONNS, segq, nginx, polls.cpu_all),
                  aim=1.05, aim_op="<=", **polls.cpu_parts(CONNS, segq))]
    return [row(ID, "Polls over short connections",
                f"A new connection for every poll, {CONNS} at a time, {count} waiting, random "
                "tokens.", cases, [polls.layout(ctx)])]
