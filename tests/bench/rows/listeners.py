"""Clients that are told at once (server-sent events): how soon after their release, and what one
costs the router

Five thousand listen, each on a connection of its own. Then the first thousand of the line are let
in by one order, in one tick. A ticket has the moment of that tick, by the manager's
clock, which is the listeners' own here; a listener knows when the event is in its hands.
"""
import json
import resource
import selectors
import socket
import time

from kit import scene, stats
from kit.procs import Failed, wait_for
from kit.row import case, row
from kit.segq import Cluster, load

ID = "listeners"
ORDER = 325

LISTENERS = 5000
RELEASED = 1000  # by one order
ROUNDS = 3


class Listeners:
    """A connection for each token."""

    def __init__(self, ctx, port, tokens):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.selector = selectors.DefaultSelector()
        self.text, self.told = {}, {}  # by connection: what came; when its ticket was let in
        ctx.at_end(self.close)
        for token in tokens:
            s = socket.create_connection(("127.0.0.1", port), 10)
            self.text[s] = b""
            self.selector.register(s, selectors.EVENT_READ)
            s.sendall(f"GET /v1/tickets/{token}/events HTTP/1.1\r\nHost: bench\r\n\r\n".encode())
        self.read_until(lambda: all(b"\n\n" in t for t in self.text.values()), "the first events")

    def close(self):
        for s in self.text:
            s.close()
        self.selector.close()

    def read_until(self, done, what, timeout=30):
        """Reads what comes, with its time, until done()."""
        end = time.monotonic() + timeout
        while not done():
            if time.monotonic() > end:
                raise Failed(f"{what}: not within {timeout} s")
            for key, _ in self.selector.select(1):
                text, now, s = key.fileobj.recv(65536), time.time(), key.fileobj
                self.text[s] += text
                if b'"admitted"' in self.text[s]:
                    self.told.setdefault(s, now)
                if not text:
                    self.selector.unregister(s)

    def late_ms(self, n):
        """How long after their release n listeners knew of it, the soonest first."""
        self.read_until(lambda: len(self.told) >= n, f"{n} who are let in")
        return sorted((when - ticket(self.text[s])["released_at"]) * 1000
                      for s, when in self.told.items())


def ticket(text):
    """That of the last event."""
    lines = [x for x in text.decode().split("\n") if x.startswith("data: ")]
    return json.loads(lines[-1][len("data: "):])


def grown(ctx, cluster, tokens):
    """The listeners, and the bytes that the router grew by for each."""
    with open(f"{cluster.dir}/warm", "w") as f:
        f.write("\n".join(tokens) + "\n")
    load(ctx, cluster.router_port(), 64, 0.2 if ctx.quick else 1, tokens=f"{cluster.dir}/warm")
    router = cluster.proc("router.0")
    before = router.private()
    crowd = Listeners(ctx, cluster.router_port(), tokens)
    return crowd, (router.private() - before) / len(tokens)


def one_round(ctx, n, released):
    """{bytes, late_ms: of each who was let in}, with fresh processes."""
    cluster = Cluster(ctx, sets=["idle.game=1h"])
    with open(cluster.fill(n, n)) as f:
        tokens = f.read().split()
    scene.wait_waiting(cluster, n, 30)
    wait_for("the router's replica", lambda: scene.router_sum(cluster, "replica_bytes"), 30)
    crowd, size = grown(ctx, cluster, tokens)
    cluster.admin(f"/v1/admin/queues/login/release?n={released}", method="POST")
    late = crowd.late_ms(released)
    crowd.close()
    cluster.down()
    return {"bytes": size, "late_ms": late}


def run(ctx):
    n, released = (500, 100) if ctx.quick else (LISTENERS, RELEASED)
    rounds = []
    for _ in ctx.each("listeners", ROUNDS):
        rounds.append(one_round(ctx, n, released))
        ctx.say(f"listeners: the last of {released} knew after {rounds[-1]['late_ms'][-1]:.0f} ms, "
                f"{rounds[-1]['bytes']:.0f} bytes each")

    def late(share):
        return stats.summary([r["late_ms"][int(share * (released - 1))] for r in rounds])

    return [row(ID, "Events over an open connection", f"{n} listen (server-sent events); {released} of them are let "
                "in by one order.", [
                    case("release to the listener's knowing, p99", "ms", late(0.99), aim=150,
                         aim_op="<=", aim_on="segq", p50_ms=late(0.5), last_ms=late(1)),
                    case("memory per listener, its connection included", "bytes",
                         stats.summary([r["bytes"] for r in rounds]), aim=512, aim_op="<=",
                         aim_on="segq"),
                ], notes=["The listeners are one program, beside the segment node: that it has "
                          "read the others before is in the time.",
                          "Memory: growth of the router's private memory."])]
