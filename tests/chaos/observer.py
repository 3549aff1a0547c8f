"""observer.py: people in front of a segq cluster, who know its HTTP interface and nothing else.
They join over several routers, poll as they are told, go to another router when one does not
answer or says 503, and ask for their pass more than once. Every request is a line of the history
(--history FILE), when it is over: check_history.py judges it.

  {"t0": sent, "t1": answered, "op": "join|poll|leave|last", "who": 7, "router": 0,
   "status": 200, ...what the answer said...}

With --present, everybody with a pass also shows it at every router, after each poll (op "verify",
"of": the ticket), as the gateway of the service does.

status 0: no answer ("err" says why). Times are seconds of CLOCK_BOOTTIME, as in /proc/uptime.
TERM: nobody comes any more; everybody who ever got a ticket is asked for it a last time."""
import argparse
import asyncio
import base64
import hashlib
import json
import random
import signal
import sys
import time
import urllib.parse

KEPT = ("token", "state", "position", "segment", "lane", "released_at", "code", "reason")
NOT_NOW = (0, 429, 503)  # the place is kept: ask again
NO_ANSWER = (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError,
             asyncio.LimitOverrunError, ValueError, IndexError)


def now():
    """Seconds; the same clock as /proc/uptime."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def jti_of(token):
    """The name of a pass (a JWT), None if it has none."""
    try:
        body = token.split(".")[1]
        return json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))).get("jti")
    except (IndexError, ValueError):
        return None


class Router:
    """Where one is, and the connection of one person to it."""

    def __init__(self, host, port, timeout_s):
        self.host, self.port, self.timeout_s = host, port, timeout_s
        self.reader = self.writer = None

    async def ask(self, method, path, body, bearer=None):
        """(status, headers, body); OSError and its like when there is no answer."""
        return await asyncio.wait_for(self._ask(method, path, body, bearer), self.timeout_s)

    async def _ask(self, method, path, body, bearer):
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
        data = json.dumps(body).encode() if body else b""
        head = "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n" % (
            method, path, self.host, len(data))
        if data:
            head += "Content-Type: application/json\r\n"
        if bearer:
            head += "Authorization: Bearer %s\r\n" % bearer
        self.writer.write(head.encode() + b"\r\n" + data)
        return await self._answer()

    async def _answer(self):
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = int(lines[0].split(" ")[1])
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        if headers.get("connection", "").lower() == "close":
            self.close()
        return status, headers, body

    def close(self):
        """The next request connects anew."""
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None


class History:
    """The lines, in the order in which requests ended."""

    def __init__(self, path):
        self.file = open(path, "w", encoding="ascii")
        self.lines = 0

    def write(self, line):
        """One request that is over."""
        self.file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self.lines += 1

    def flush(self):
        """So that others see it."""
        self.file.flush()


class Person:
    """One who joins, and polls until the pass is there (and a little longer)."""

    def __init__(self, who, opts, history, dice):
        self.who, self.opts, self.history, self.dice = who, opts, history, dice
        self.routers = [Router(h, p, opts.timeout_s) for h, p in opts.addresses]
        self.at = dice.randrange(len(self.routers))
        self.subject = "person-%d" % who if dice.random() < opts.subject_share else None
        self.token, self.answer, self.gone = None, {}, False

    async def ask(self, op, method, path, body=None):
        """One request, written down; where to ask next is decided by what came."""
        line = {"op": op, "who": self.who, "router": self.at}
        if self.subject:
            line["subject"] = self.subject
        if self.token:
            line["asked"] = self.token
        router, line["t0"], status = self.routers[self.at], round(now(), 4), 0
        try:
            status, headers, data = await router.ask(method, path, body)
            self.note(line, headers, data)
        except NO_ANSWER as e:
            line["err"] = type(e).__name__
            router.close()
        line["t1"], line["status"] = round(now(), 4), status
        self.history.write(line)
        if status in NOT_NOW:
            self.at = (self.at + 1) % len(self.routers)
        elif self.dice.random() < self.opts.reconnect_share:
            router.close()
            self.at = self.dice.randrange(len(self.routers))
        return status, line

    def note(self, line, headers, data):
        """What the answer said."""
        if "retry-after" in headers:
            line["retry_after"] = headers["retry-after"]
        self.answer = json.loads(data) if data else {}
        line.update((k, self.answer[k]) for k in KEPT if k in self.answer)
        if "pass" in self.answer:
            line["pass"] = hashlib.sha256(self.answer["pass"].encode()).hexdigest()[:16]
            line["jti"] = jti_of(self.answer["pass"])

    async def present(self):
        """The pass that was told last, at every router."""
        if not self.opts.present or "pass" not in self.answer:
            return
        shown = self.answer["pass"]
        for i, router in enumerate(self.routers):
            line = {"op": "verify", "who": self.who, "router": i, "of": self.token,
                    "t0": round(now(), 4), "status": 0}
            try:
                line["status"], headers, _ = await router.ask(
                    "GET", "/v1/verify?queue=" + self.opts.queue, None, shown)
                if "retry-after" in headers:
                    line["retry_after"] = headers["retry-after"]
            except NO_ANSWER as e:
                line["err"] = type(e).__name__
                router.close()
            line["t1"] = round(now(), 4)
            self.history.write(line)

    async def pause(self, status, line):
        """As told; after no answer, or "not now", at most a second."""
        if status in NOT_NOW:
            told = float(line.get("retry_after", 1) or 1)
            await asyncio.sleep(min(told, 1) * (0.5 + self.dice.random() / 2))
        else:
            told = self.answer.get("poll_after_ms", 1000) / 1000
            await asyncio.sleep(min(told, self.opts.poll_max_ms / 1000))

    async def join(self):
        """Until there is a ticket, or the doors are closed."""
        path = "/v1/queues/%s/tickets" % self.opts.queue
        body = {"client": "game"}
        if self.subject:
            body["subject"] = self.subject
        while not self.opts.ending.is_set():
            status, line = await self.ask("join", "POST", path, body)
            if status in (200, 201):
                self.token = self.answer.get("token")
                return
            await self.pause(status, line)

    async def live(self):
        """From the join to the end of interest."""
        await self.join()
        again = self.opts.again
        leaves = self.dice.random() < self.opts.leave_share
        leave_at = now() + 5 * self.dice.random()
        while self.token and not self.gone and not self.opts.ending.is_set():
            await self.pause(200, {})
            if leaves and now() > leave_at:
                await self.leave()
                return
            status, line = await self.ask("poll", "GET", "/v1/tickets/" + self.token)
            while status in NOT_NOW and not self.opts.ending.is_set():
                await self.pause(status, line)
                status, line = await self.ask("poll", "GET", "/v1/tickets/" + self.token)
            if status in (404, 410):
                return
            if line.get("state") == "admitted":
                await self.present()
                again -= 1
                if again < 0:
                    return

    async def leave(self):
        """Once and for all: asked again until it is answered."""
        self.gone = True
        while not self.opts.ending.is_set():
            status, line = await self.ask("leave", "DELETE", "/v1/tickets/" + self.token)
            if status not in NOT_NOW:
                return
            await self.pause(status, line)

    async def last(self):
        """The last question: until there is an answer, for a bounded time."""
        end = now() + self.opts.last_s
        while self.token and now() < end:
            status, line = await self.ask("last", "GET", "/v1/tickets/" + self.token)
            if status not in NOT_NOW:
                await self.present()
                break
            await self.pause(status, line)
        for r in self.routers:
            r.close()


async def arrive(opts, history, people, tasks):
    """First --first people at once, then --per-s, until the end."""
    dice = random.Random(opts.seed)
    start = now()
    while not opts.ending.is_set():
        want = min(opts.most, opts.first + int((now() - start) * opts.per_s))
        while len(people) < want:
            people.append(Person(len(people), opts, history, random.Random(dice.random())))
            tasks.append(asyncio.create_task(people[-1].live()))
            if len(people) % 20 == 0:
                await asyncio.sleep(0)
        history.flush()
        await asyncio.sleep(0.05)


async def roll_call(people):
    """Everybody, some at a time."""
    few = asyncio.Semaphore(50)

    async def one(person):
        async with few:
            await person.last()
    await asyncio.gather(*[one(p) for p in people])


async def play(opts):
    """The whole thing."""
    opts.ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    for s in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(s, opts.ending.set)
    history, people, tasks = History(opts.history), [], []
    await arrive(opts, history, people, tasks)
    await asyncio.gather(*tasks)
    await roll_call(people)
    history.flush()
    print("observer: %d people, %d requests" % (len(people), history.lines))


def options(argv):
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--router", action="append", required=True)
    p.add_argument("--history", required=True)
    p.add_argument("--queue", default="login")
    p.add_argument("--first", type=int, default=150, help="people who come at once")
    p.add_argument("--per-s", type=float, default=10, help="then so many a second")
    p.add_argument("--most", type=int, default=6000, help="however long a slow machine takes")
    p.add_argument("--subject-share", type=float, default=0.5)
    p.add_argument("--leave-share", type=float, default=0.05)
    p.add_argument("--reconnect-share", type=float, default=0.1)
    p.add_argument("--again", type=int, default=3, help="more polls with the pass in hand")
    p.add_argument("--present", action="store_true", help="passes are shown at every router")
    p.add_argument("--poll-max-ms", type=float, default=1000)
    p.add_argument("--timeout-s", type=float, default=10)
    p.add_argument("--last-s", type=float, default=90)
    p.add_argument("--seed", type=int, default=1)
    opts = p.parse_args(argv)
    urls = [urllib.parse.urlsplit(u) for u in opts.router]
    opts.addresses = [(u.hostname, u.port or 80) for u in urls]
    return opts


if __name__ == "__main__":
    asyncio.run(play(options(sys.argv[1:])))
