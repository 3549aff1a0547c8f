#!/usr/bin/env python3
"""far.py: what people at a near and at a far router see, by a clock outside: how long polls of who
waits take, how long joins, how long after a release a poll is first answered with it, and how long
after it who listens has the pass. A line of JSON; times in ms.

  {"near": {"poll_p50": .., "poll_p99": .., "join_p50": .., "join_p90": .., "late_max": ..,
            "heard_p50": .., "heard_max": ..}, "far": {..}, "people": 80, "polls": 2100}

Half of a side's people poll each --every ms; with --listen the others listen. late_max is from the time that the
node stamped to the moment at which the poll was sent, so the truth is at most --every less.

  far.py --round-trip HOST:PORT   half of thirty connections take so many ms: the ocean as it is"""
import argparse
import asyncio
import json
import time
import urllib.parse

from observer import NO_ANSWER, Router


class Side:
    """A router, and what its people saw."""

    def __init__(self, url, opts):
        u = urllib.parse.urlsplit(url)
        self.where, self.opts = (u.hostname, u.port or 80), opts
        self.polls, self.joins, self.late, self.heard = [], [], [], []

    def router(self):
        """A connection of its own."""
        return Router(*self.where, self.opts.timeout_s)

    async def join(self, router, body):
        """The ticket's token."""
        await router.ask("GET", "/v1/queues/login", None)  # the connection is there
        t0 = time.monotonic()
        status, _, data = await router.ask("POST", "/v1/queues/login/tickets", body)
        self.joins.append((time.monotonic() - t0) * 1000)
        if status != 201:
            raise SystemExit(f"far.py: a join is answered {status}")
        return json.loads(data)["token"]

    async def poll(self, body=None):
        """From the join to the pass."""
        router = self.router()
        token = await self.join(router, body)
        while True:
            await asyncio.sleep(self.opts.every / 1000)
            sent, t0 = time.time(), time.monotonic()
            try:
                status, _, data = await router.ask("GET", "/v1/tickets/" + token, None)
            except NO_ANSWER:
                router.close()
                continue
            said = json.loads(data) if status == 200 else {}
            if said.get("state") == "admitted":
                self.late.append((sent - said["released_at"]) * 1000)
                router.close()
                return
            if said.get("state") == "waiting":
                self.polls.append((time.monotonic() - t0) * 1000)

    async def listen(self, body=None):
        """The same over an open connection."""
        router = self.router()
        token = await self.join(router, body)
        router.close()
        reader, writer = await asyncio.open_connection(*self.where)
        writer.write(b"GET /v1/tickets/%s/events HTTP/1.1\r\nHost: far\r\n\r\n" % token.encode())
        while True:
            line = await asyncio.wait_for(reader.readline(), 60)
            if not line:
                raise SystemExit("far.py: a listener's connection has ended")
            if line.startswith(b"data: ") and b'"admitted"' in line:
                at = json.loads(line[6:])["released_at"]
                self.heard.append((time.time() - at) * 1000)
                writer.close()
                return

    def figures(self):
        """As the head says."""
        out = {}
        for name, v in (("poll", self.polls), ("join", self.joins), ("late", self.late), ("heard", self.heard)):
            v.sort()
            for share in (50, 90, 99):
                out[f"{name}_p{share}"] = round(v[min(len(v) - 1, len(v) * share // 100)], 2) if v else None
            out[f"{name}_max"] = round(v[-1], 2) if v else None
        return out


async def play(opts):
    """People come one after the other, to both sides by turns."""
    near, far = Side(opts.near, opts), Side(opts.far, opts)
    tasks, began = [], time.time()
    for i in range(opts.people):
        side = (near, far)[i % 2]
        body = {"subject": f"person-{began:.0f}-{i}"} if opts.named else None
        tasks.append(asyncio.create_task(side.listen(body) if i % 4 < 2 and opts.listen else side.poll(body)))
        await asyncio.sleep(opts.apart / 1000)
    await asyncio.gather(*tasks)
    print(json.dumps({"near": near.figures(), "far": far.figures(), "people": opts.people,
                      "polls": len(near.polls) + len(far.polls)}))


async def round_trip(where):
    """The ocean's own, beside a crowd: with what this machine adds."""
    took = []
    for _ in range(30):
        t0 = time.monotonic()
        _, writer = await asyncio.open_connection(*where.rsplit(":", 1))
        took.append((time.monotonic() - t0) * 1000)
        writer.close()
        await asyncio.sleep(0.05)
    print(round(sorted(took)[15], 2))


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--near")
    p.add_argument("--far")
    p.add_argument("--round-trip")
    p.add_argument("--people", type=int, default=80)
    p.add_argument("--every", type=float, default=100, help="ms between polls of a person")
    p.add_argument("--apart", type=float, default=20, help="ms between joins")
    p.add_argument("--timeout-s", type=float, default=20)
    p.add_argument("--listen", action="store_true", help="half of them listen")
    p.add_argument("--named", action="store_true", help="joins name a subject")
    given = p.parse_args()
    asyncio.run(round_trip(given.round_trip) if given.round_trip else play(given))
