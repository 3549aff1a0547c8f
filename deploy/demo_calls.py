#!/usr/bin/python3
"""demo_calls.py CLUSTER.JSON TASK_TOKEN_FILE CALLS: a target that bears 300 requests a second and 64 at
once, an endpoint of it, and so many calls to it; deploy/demo-calls.sh starts it. It is the target until
it gets TERM or INT; then the endpoint, its pool and their tasks go.

What the target shall do stands in the endpoint's url, http://127.0.0.1:PORT/demo/MODE/ROUND/BASE/CALLS,
which the page of the demo changes (deploy/dashboard/demo.js): well, slow (a second for each), fail (503,
for 5 s), busy (429, for 5 s). A higher ROUND: the calls once more. BASE: calls that had succeeded before
they came."""
import asyncio
import random
import re
import signal
import sys
import threading
import time

import demo_cluster

NAME = "demo-calls"
RATE, BURST, SLOTS = 300, 60, 64
SPELL_S = 5  # a failure, a time of 429


class Target:
    """A bucket of tokens, and slots: beyond them 503 at once, as of a server that is too small."""

    def __init__(self):
        self.mode, self.level, self.filled, self.busy = "well", BURST, time.monotonic(), 0
        self.turned_away = self.answered = 0

    def refused(self):
        now = time.monotonic()
        self.level = min(BURST, self.level + (now - self.filled) * RATE)
        self.filled = now
        if self.mode == "busy":
            return "429 Too Many Requests", "Retry-After: 2\r\n"
        if self.mode == "fail" or self.busy >= SLOTS or self.level < 1:
            return "503 Service Unavailable", ""
        self.level -= 1
        return None

    async def answer(self):
        no = self.refused()
        if no is not None:
            self.turned_away += 1
            return no
        self.busy += 1
        await asyncio.sleep(1 if self.mode == "slow" else random.uniform(0.05, 0.2))
        self.busy -= 1
        self.answered += 1
        return "200 OK", ""

    async def serve(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.I)
                await reader.readexactly(int(length.group(1)) if length else 0)
                status, more = await self.answer()
                writer.write(f"HTTP/1.1 {status}\r\n{more}Content-Length: 0\r\n\r\n".encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass
        finally:
            writer.close()


class Cluster(demo_cluster.Cluster):
    """The demo's pool, too, and calls to it."""

    def __init__(self, cluster, task_token):
        super().__init__(cluster, NAME)
        with open(task_token) as f:
            self.task_token = f.read().strip()

    def submit(self, rows):
        return demo_cluster.ask("POST", f"{self.routers[0]}/v1/queues/{NAME}/tasks/batch", self.task_token, rows)

    def pool(self):
        return {p["pool"]: p for p in self.order("GET", "task-queues")["pools"]}[NAME]


class Words:
    """A look at the pool, told on the terminal: a line every two seconds, until all have finished."""

    def __init__(self, target):
        self.target, self.sent, self.done = target, 0, 0

    def begin(self, sent):
        self.sent, self.done, self.begun, self.at = sent, 0, time.monotonic(), time.monotonic()
        self.away, self.answered = self.target.turned_away, self.target.answered
        print(f"{sent} calls are in line", flush=True)

    def say(self, pool, done):
        now = time.monotonic()
        if self.done >= self.sent or (done < self.sent and now - self.at < 2):
            return
        after, away = f"{now - self.begun:4.0f} s  ", self.target.turned_away - self.away
        per_s = (self.target.answered - self.answered) / (now - self.at)
        if done < self.sent:
            print(f"{after}{pool['waiting'] + pool['scheduled']} wait, {pool['running']} are at the target, "
                  f"{per_s:.0f}/s finish; it turned {away} away", flush=True)
        elif away > 0:
            print(f"{after}all {self.sent} have finished; the target turned {away} away, and they were "
                  "tried again. The page goes on.", flush=True)
        else:
            print(f"{after}all {self.sent} have finished; the target turned none away. The page goes on.",
                  flush=True)
        self.at, self.done, self.answered = now, done, self.target.answered


class Demo:
    """The endpoint, as the page and we change it."""

    def __init__(self, cluster, target, port, calls):
        self.c, self.target, self.calls = cluster, target, calls
        self.own = f"http://127.0.0.1:{port}/demo/"
        self.round, self.base, self.sent, self.until = 0, 0, 0, None
        self.words = Words(target)
        self.ends = threading.Event()

    def url(self, mode):
        return f"{self.own}{mode}/{self.round}/{self.base}/{self.sent}"

    def define(self):
        self.c.forget()
        self.c.order("PUT", f"endpoints/{NAME}", {
            "url": self.url("well"), "allow": ["127.0.0.0/8"], "rate_per_s": RATE, "burst": BURST // 2,
            "max_concurrent": SLOTS, "deadline": "10s", "breaker": {"min": 20, "open": "1s"}})
        self.c.order("PATCH", f"pools/{NAME}", {"max_attempts": 20, "retry": {"min": "500ms", "max": "5s"}})

    def fire(self):
        rows = [{"path": f"/call/{i}", "body_json": {"n": i}, "result": "drop"} for i in range(1000)]
        self.base, self.sent = self.c.pool()["succeeded"], self.calls
        self.c.order("PATCH", f"endpoints/{NAME}", {"url": self.url(self.target.mode)})
        for n in range(0, self.calls, 1000):
            part = rows[:min(1000, self.calls - n)]
            while part and not self.ends.is_set():  # those not taken: routers may not know the pool
                said = self.c.submit(part)
                part = [row for row, a in zip(part, said) if a["status"] != 201]
                if part:
                    time.sleep(0.2)
        self.words.begin(self.sent)

    def look(self):
        """Does what the page wants."""
        url = self.c.order("GET", f"endpoints/{NAME}")["url"]
        known = re.match(re.escape(self.own) + r"(\w+)/(\d+)/", url)
        if known is None:
            raise ValueError(f"somebody gave the endpoint {NAME} another url")
        mode, number = known.groups()
        if mode != self.target.mode:
            self.target.mode = mode
            self.until = time.monotonic() + SPELL_S if mode in ("fail", "busy") else None
        elif self.until is not None and time.monotonic() > self.until:
            self.c.order("PATCH", f"endpoints/{NAME}", {"url": self.url("well")})
        pool = self.c.pool()
        self.words.say(pool, pool["succeeded"] - self.base)
        if int(number) > self.round:
            self.round = int(number)
            self.fire()

    async def run(self):
        await asyncio.to_thread(self.c.begin, self.define)
        self.round = 1
        await asyncio.to_thread(self.fire)
        while True:
            await asyncio.sleep(0.25)
            try:
                await asyncio.to_thread(self.look)
            except (OSError, KeyError, ValueError) as e:
                print(f"demo-calls: {e}", file=sys.stderr, flush=True)


async def main():
    cluster, target, ends = Cluster(sys.argv[1], sys.argv[2]), Target(), asyncio.Event()
    for s in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(s, ends.set)
    server = await asyncio.start_server(target.serve, "127.0.0.1", 0)
    demo = Demo(cluster, target, server.sockets[0].getsockname()[1], int(sys.argv[3]))
    running = asyncio.create_task(demo.run())
    await asyncio.wait([running, asyncio.create_task(ends.wait())], return_when=asyncio.FIRST_COMPLETED)
    failed = running.done() and running.exception()
    demo.ends.set()
    running.cancel()
    for e in await asyncio.to_thread(cluster.end, cluster.forget):
        print(f"demo-calls: the endpoint {NAME} is still there: {e}", file=sys.stderr)
    server.close()
    if failed:
        raise failed


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except (OSError, KeyError) as error:
        sys.exit(f"demo-calls: {error}")
