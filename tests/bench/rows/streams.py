"""Answers while they come, through /v1/call and through nginx with proxy_buffering off, from the same
target: how soon the first byte is there, what a megabyte costs, what a piece of 60 bytes costs, and
what an open stream costs in memory.
"""
import asyncio
import os
import resource
import sys
import time

from kit import jobs, stats
from kit.peers import Proxy, ask, beside_load
from kit.procs import spawn, wait_for
from kit.row import case, row
from rows.calls import calls_of

ID = "streams"
ORDER = 432
FIRSTS = 400           # requests, one after the other
LENGTH = 32 << 20      # bytes of a long answer
SPEAKERS, SAID = 50, 40  # streams at once; pieces of each, PIECE bytes, a moment apart
PIECE, GAP_S = 60, 0.01
OPEN = 10000
FILES = 0.45            # part of the limit of open files that they may take: nginx has two for each
BYTES_AIM = 16 << 10    # of memory for each

TARGET = """
import asyncio, sys

PIECE = b"%x\\r\\n%s\\r\\n" % (60, b"x" * 60)
BLOCK = b"%x\\r\\n%s\\r\\n" % (65536, b"x" * 65536)


async def talk(r, w):
    try:
        while True:
            ask = (await r.readuntil(b"\\r\\n\\r\\n")).split()[1].decode().split("/")
            what, n = ask[-2], int(ask[-1])
            w.write(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\n"
                    b"Transfer-Encoding: chunked\\r\\n\\r\\n")
            for _ in range(n // 65536 if what == "bytes" else n):
                w.write(BLOCK if what == "bytes" else PIECE)
                await w.drain()
                if what != "bytes":
                    await asyncio.sleep(float(sys.argv[1]))
            if what == "stays":
                await asyncio.sleep(3600)
            w.write(b"0\\r\\n\\r\\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    w.close()


async def main():
    servers = [await asyncio.start_server(talk, "127.0.0.1", int(p), backlog=20000) for p in sys.argv[2:]]
    await servers[0].serve_forever()

asyncio.run(main())
"""


class Side:
    def __init__(self, name, port, procs, path, header=""):
        self.name, self.port, self.procs = name, port, procs
        self.path, self.header, self.got = path, header, {}

    def cpu_s(self):
        return sum(p.cpu_s() for p in self.procs)

    def private(self):
        return sum(p.private() for p in self.procs)

    def note(self, key, value):
        self.got.setdefault(key, []).append(value)

    async def ask(self, what, n):
        """A connection whose answer is to be read."""
        r, w = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 20)
        w.write(f"GET {self.path}/{what}/{n} HTTP/1.1\r\nHost: a\r\n{self.header}\r\n".encode())
        head = await r.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise OSError(f"{self.name}: {head[:200]}")
        return r, w

    async def read_all(self, what, n):
        r, w = await self.ask(what, n)
        last, got = b"", 0
        while not last.endswith(b"0\r\n\r\n"):
            piece = await r.read(1 << 18)
            if not piece:
                raise OSError(f"{self.name}: broken behind {got} bytes")
            got, last = got + len(piece), (last + piece)[-5:]
        w.close()


async def first(side, n):
    times = []
    for _ in range(n):
        began = time.monotonic()
        r, w = await side.ask("pieces", 1)
        await r.readexactly(PIECE)
        times.append((time.monotonic() - began) * 1e6)
        w.close()
    times.sort()
    side.note("p50", times[n // 2])
    side.note("p99", times[n * 99 // 100])


async def costs(side, key, units, *streams):
    before = side.cpu_s()
    await asyncio.gather(*[side.read_all(what, n) for what, n in streams])
    side.note(key, (side.cpu_s() - before) * 1e6 / units)


async def opened(side, n):
    before, held = side.private(), []
    for at in range(0, n, 200):
        held += await asyncio.gather(*[side.ask("stays", 1) for _ in range(min(200, n - at))])
        await asyncio.gather(*[r.readuntil(b"x\r\n") for r, _ in held[at:]])
    side.note("bytes", (side.private() - before) / n)
    broken = sum(r.at_eof() for r, _ in held)
    if broken > 0:
        raise OSError(f"{side.name}: {broken} of {n} streams were broken")
    for _, w in held:
        w.close()


def one_round(side, quick):
    length = LENGTH // 16 if quick else LENGTH
    speakers = 5 if quick else SPEAKERS
    asyncio.run(first(side, 40 if quick else FIRSTS))
    asyncio.run(costs(side, "megabyte", length / 1e6, ("bytes", length)))
    asyncio.run(costs(side, "piece", speakers * SAID, *[("pieces", SAID)] * speakers))


def run(ctx):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    port = ctx.ports(2)  # one for each side: many connections to one make the kernel search for free numbers
    spawn(ctx, "streams.target", [sys.executable, "-c", TARGET, GAP_S, port, port + 1],
          core=beside_load(ctx))
    wait_for("the target", lambda: ask(port, "/pieces/1")[0] == 200)
    if ctx.cores > 1:  # the readers
        ctx.at_end(lambda cores=os.sched_getaffinity(0): os.sched_setaffinity(0, cores))
        os.sched_setaffinity(0, {1})
    proxy = Proxy(ctx, None, streams=port + 1)
    tasks = jobs.Tasks(ctx)
    calls_of(tasks, "gen", f"http://127.0.0.1:{port}", max_concurrent=2 * OPEN, deadline="5m")
    token = {"segq-token": tasks.token}
    wait_for("a call is answered",
             lambda: ask(tasks.port, "/v1/call/gen/pieces/1", headers=token)[0] == 200)
    segq = Side("segq", tasks.port, [tasks.cluster.proc("router.0"), tasks.node()], "/v1/call/gen",
                f"segq-token: {tasks.token}\r\nPrefer: wait=300\r\n")
    nginx = Side("nginx proxy_pass", proxy.port, proxy.procs(), "")
    for _ in ctx.each("streams"):
        for side in (segq, nginx):
            one_round(side, ctx.quick)
    n = 200 if ctx.quick else min(OPEN, int(hard * FILES))
    for side in (segq, nginx):
        ctx.say(f"streams: {n} open ones, {side.name}")
        asyncio.run(opened(side, n))
    return [row(ID, "Answers while they come, beside a proxy",
                f"A target that says chunks: one of {PIECE} bytes; {LENGTH >> 20} MiB; {SPEAKERS} "
                f"times {SAID} pieces of {PIECE} bytes, {GAP_S * 1000:.0f} ms apart; {n} that stay open.",
                list(cases(segq, nginx, n)),
                ["Router and task node, or nginx with proxy_buffering off, share core 0; target and "
                 "readers share core 1.",
                 "A call of segq is kept (journal, `os`), waits for its turn, and 64 KiB of its answer "
                 "are kept; nginx keeps nothing.",
                 "Memory: growth of private memory, once; of segq that of router and task node. All streams "
                 "are open at once, and none was broken."])]


def cases(segq, nginx, n):
    for key, what, unit, aim in (
            ("p50", "to the first byte of 60, p50", "us", None),
            ("p99", "to the first byte of 60, p99", "us", 1.5),
            ("megabyte", "CPU of a long answer", "us/MB", 2),
            ("piece", f"CPU of a piece of {PIECE} bytes", "us/piece", 2),
            ("bytes", f"memory of each of {n} open streams", "bytes", BYTES_AIM)):
        yield case(f"/v1/call, {what}", unit, stats.summary(segq.got[key]),
                   stats.summary(nginx.got[key]), nginx.name,
                   stats.ratios(segq.got[key], nginx.got[key]), aim=aim, aim_op="<=",
                   aim_on="segq" if key == "bytes" else "ratio")
