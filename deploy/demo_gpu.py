#!/usr/bin/python3
"""demo_gpu.py CLUSTER.JSON FOLDER: model servers, tenants before them, a page, and a judgement at the end;
deploy/demo-gpu.sh starts it. FOLDER is the cluster's (secrets/task_tokens of its routers gets a line for each
tenant, and they are told to read it again).

Three servers (demo_gpu_model.py, processes of their own) are the targets of one endpoint, which estimates what a
call costs (max_tokens), and settles it by its answer (usage). Each tenant has a token with its key; all but one send
a few short calls, tenant0 floods with long ones. One server is killed amid it, another one comes. A transfer that
breaks off is sent again by its tenant, as any client would.

Numbers by the environment: TENANTS (200), CALLS of each (2), TOKENS of one (40), FLOOD calls of tenant0 (160) of
FLOOD_TOKENS (400) each, SLOTS of a server (8), PER_S tokens a second of a slot (50)."""
import asyncio
import collections
import contextlib
import hashlib
import http.server
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
import time

import demo_cluster

NAME = "demo-gpu"
HERE = os.path.dirname(os.path.abspath(__file__))


def number(name, otherwise, least=1, most=1000000):
    """NAME of the environment."""
    text = os.environ.get(name) or str(otherwise)
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
        sys.exit(f"demo-gpu: {name}={text}: it must be a number from {least} to {most}")
    return int(text)


TENANTS, CALLS, TOKENS = number("TENANTS", 200, 2), number("CALLS", 2), number("TOKENS", 40)
FLOOD, FLOOD_TOKENS = number("FLOOD", 160), number("FLOOD_TOKENS", 400)
SLOTS, PER_S, PAGE_PORT = number("SLOTS", 8), number("PER_S", 50), number("PAGE_PORT", 0, 0, 65535)


class Failed(Exception):
    """A demo that cannot go on: why."""


class Cluster(demo_cluster.Cluster):
    """The tokens of tenants, too."""
    OURS = re.compile(rb"^[0-9a-f]{64} submit %b key=tenant\d+ cost=\d+\n" % NAME.encode(), re.M)

    def __init__(self, cluster, folder):
        super().__init__(cluster, NAME)
        self.file = os.path.realpath(os.path.join(folder, "secrets/task_tokens"))
        self.folder = folder

    def tokens(self, lines):
        """The lines of our tenants in the file, in place of any before; [] takes them out. All else, owner and mode
        stay as they are."""
        with open(self.file, "rb") as f:
            was, kept = os.fstat(f.fileno()), self.OURS.sub(b"", f.read())
        if lines and kept and not kept.endswith(b"\n"):
            kept += b"\n"
        new = self.file + ".new"
        with contextlib.suppress(FileNotFoundError):  # of a demo that was killed
            os.unlink(new)
        with open(new, "xb", opener=lambda p, how: os.open(p, how, 0o600)) as f:
            f.write(kept + "".join(line + "\n" for line in lines).encode())
            f.flush()
            if (was.st_uid, was.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(f.fileno(), was.st_uid, was.st_gid)
            os.fchmod(f.fileno(), was.st_mode & 0o7777)
            os.fsync(f.fileno())
        os.replace(new, self.file)
        self.reread()

    def reread(self):
        """Tells all routers that the file is another one."""
        said = subprocess.run([os.path.join(HERE, "local.sh"), "status", "--dir", self.folder, *bin_dir()],
                              stdout=subprocess.PIPE, check=True, text=True).stdout
        for pid in re.findall(r"^router\.\S+ +(\d+) +up", said, re.M):
            with contextlib.suppress(ProcessLookupError):  # the one that comes in its place reads the new one
                os.kill(int(pid), signal.SIGHUP)


def bin_dir():
    return ["--bin", os.environ["BIN"]] if "BIN" in os.environ else []


# ---- servers ----


class Server:
    """A model server's process, and what it wrote. It ends with us, however we end, but not with Ctrl-C before us."""

    def __init__(self, folder, n):
        self.name, self.log, self.at = f"server {n}", os.path.join(folder, f"server{n}.jsonl"), 0
        self.since = 0.0  # calls that began before count for nothing
        self.running, self.rows, self.done, self.tokens, self.refused, self.most = {}, [], 0, 0, 0, 0
        self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", sys.executable, os.path.join(HERE, "demo_gpu_model.py"),
                                         "0", self.log, str(SLOTS), str(PER_S)],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True)
        port = self.process.stdout.readline().strip()
        if not port:
            raise Failed(f"{self.name} does not start")
        self.url = f"http://127.0.0.1:{port}/"
        self.alive = True

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.look()
        self.alive, self.running = False, {}

    def look(self):
        """Reads what it has written since the last look."""
        with open(self.log, encoding="utf-8") as f:
            f.seek(self.at)
            lines = f.read()
        whole = lines.rpartition("\n")[0]
        self.at += len(whole.encode()) + (whole != "")
        for line in whole.splitlines():
            row = json.loads(line)
            if row["began"] < self.since:
                continue
            key = (row["task"], row["began"])
            if row.get("ended"):
                self.running.pop(key, None)
                self.done, self.tokens = self.done + 1, self.tokens + row["tokens"]
            elif "ended" in row:
                self.refused += 1
            else:
                self.running[key] = row["tenant"]
                self.rows.append(row)
                self.most = max(self.most, row["busy"])

    def shown(self):
        return {"name": self.name, "alive": self.alive, "slots": SLOTS, "running": list(self.running.values()),
                "done": self.done, "tokens": self.tokens}


# ---- tenants ----


class Broken(Exception):
    """A transfer that ended before its end."""


class Tenant:
    """Sends its calls at once, each as often as it takes."""

    def __init__(self, n, router):
        self.name, self.token = f"tenant{n}", secrets.token_urlsafe(18)
        self.calls = FLOOD if n == 0 else CALLS
        self.max_tokens = FLOOD_TOKENS if n == 0 else TOKENS
        self.host = router.removeprefix("http://")
        self.done, self.tokens, self.broken, self.first, self.false, self.gave_up = 0, 0, 0, [], 0, 0
        self.ended = None

    def line(self):
        return f"{hashlib.sha256(self.token.encode()).hexdigest()} submit {NAME} key={self.name} cost={self.max_tokens}"

    def request(self):
        body = json.dumps({"model": "made-up", "stream": True, "max_tokens": self.max_tokens, "user": self.name,
                           "messages": [{"role": "user", "content": "Say something."}]}).encode()
        return (f"POST /v1/call/{NAME}/v1/chat/completions HTTP/1.1\r\nHost: {self.host}\r\n"
                f"Authorization: Bearer {self.token}\r\nContent-Type: application/json\r\n"
                f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body

    async def once(self):
        """(status, tokens, seconds to the first); raises Broken."""
        host, _, port = self.host.rpartition(":")
        began, first, n, over = time.monotonic(), None, 0, False
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            writer.write(self.request())
            head = await reader.readuntil(b"\r\n\r\n")
            status = int(head.split()[1])
            if status != 200:
                return status, 0, None
            rest = b""
            while size := int(await reader.readuntil(b"\r\n"), 16):
                *lines, rest = (rest + await reader.readexactly(size)).split(b"\n")
                await reader.readexactly(2)
                first = first or time.monotonic() - began
                for line in lines:
                    n += b'"content"' in line
                    over = over or line.startswith(b"data: [DONE]")
            self.false += not over or n != self.max_tokens  # it looks whole, and is not
            return status, n, first
        except (asyncio.IncompleteReadError, ConnectionError) as e:
            raise Broken from e
        finally:
            writer.close()

    async def call(self):
        """Asks until the answer is whole."""
        for _ in range(50):
            try:
                status, n, first = await self.once()
            except (Broken, OSError):
                self.broken += 1
                continue
            if status == 200:
                self.done, self.tokens = self.done + 1, self.tokens + n
                self.first.append(first)
                return
            await asyncio.sleep(1)
        self.gave_up += 1

    async def run(self):
        await asyncio.gather(*(self.call() for _ in range(self.calls)))
        self.ended = time.monotonic()


# ---- the page ----


class Page(http.server.BaseHTTPRequestHandler):
    """The page, and what is so now as JSON."""
    show = None
    TYPES = {"/": ("text/html; charset=utf-8", "demo_gpu.html"), "/state": ("application/json", None)}

    def do_GET(self):  # the name that http.server wants
        kind, file = self.TYPES.get(self.path, (None, None))
        if kind is None:
            self.send_error(404)
            return
        if file is None:
            body = json.dumps(Page.show()).encode()
        else:
            with open(os.path.join(HERE, file), "rb") as f:
                body = f.read()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):  # says nothing of its requests
        pass


# ---- the demo ----


def percentile(values, p):
    """None: there are none."""
    return sorted(values)[min(len(values) - 1, int(len(values) * p))] if values else None


class Demo:
    """Servers, tenants, what happens to them, and the judgement."""

    def __init__(self, cluster, folder):
        self.c = cluster
        self.dir = os.path.join(folder, NAME)
        os.makedirs(self.dir, exist_ok=True)
        self.servers = [Server(self.dir, n) for n in (1, 2, 3)]
        self.tenants = [Tenant(n, cluster.routers[n % len(cluster.routers)]) for n in range(TENANTS)]
        self.began, self.said, self.verdict, self.died = time.monotonic(), [], None, None

    def say(self, text):
        line = f"{time.monotonic() - self.began:4.0f} s  {text}"
        self.said.append(line)
        print(line, flush=True)

    def targets(self):
        return [{"url": s.url, "max_concurrent": SLOTS} for s in self.servers if s.alive]

    def define(self):
        self.c.forget()
        self.c.order("PUT", f"endpoints/{NAME}", {
            "targets": self.targets(), "allow": ["127.0.0.0/8"], "deadline": "120s", "breaker": {"min": 5, "open": "1s"},
            "cost": {"pointer": "/max_tokens", "used": "/usage/total_tokens"}})
        self.c.tokens([t.line() for t in self.tenants])

    async def known(self):
        """Waits until all routers know endpoint and tenants: a call of the last one is answered."""
        last = self.tenants[-1]
        for router in self.c.routers:
            probe = Tenant(TENANTS - 1, router)
            probe.token, probe.max_tokens = last.token, 1
            said = None
            for _ in range(300):
                try:
                    said = (await probe.once())[0]
                except (Broken, OSError) as e:
                    said = str(e) or "nothing"
                if said == 200:
                    break
                await asyncio.sleep(0.1)
            else:
                raise Failed(f"{router} does not know the endpoint and its tenants (it answers {said}); has the cluster a task node?")

    async def events(self):
        """Kills a server when a sixth of all is done, starts another one at a third."""
        whole = sum(t.calls * t.max_tokens for t in self.tenants)
        for share, what in ((1 / 6, self.one_dies), (1 / 3, self.one_comes)):
            while sum(s.tokens for s in self.servers) < whole * share:
                await asyncio.sleep(0.2)
            what()

    def one_dies(self):
        self.died = time.monotonic()
        self.servers[1].kill()
        self.say("kill -9 of server 2: its calls break off, the others take what waits")

    def one_comes(self):
        self.servers.append(Server(self.dir, 4))
        self.c.order("PATCH", f"endpoints/{NAME}", {"targets": self.targets()})
        self.say("server 4 comes, and server 2 is taken out of the list")

    def shown(self):
        """For the page."""
        flood, others = self.tenants[0], self.tenants[1:]
        return {"at": round(time.monotonic() - self.began, 1), "servers": [s.shown() for s in self.servers],
                "tenants": [{"name": t.name, "calls": t.calls, "done": t.done, "tokens": t.tokens} for t in self.tenants],
                "first": {"flood": percentile(flood.first, 0.5), "others": percentile([x for t in others for x in t.first], 0.5),
                          "others_p99": percentile([x for t in others for x in t.first], 0.99)},
                "said": self.said[-6:], "verdict": self.verdict}

    def look(self):
        for s in self.servers:
            s.look()

    async def looks(self):
        """Reads the servers' logs, says a line every two seconds."""
        n = 0
        while True:
            self.look()
            n += 1
            if n % 8 == 0:
                others = self.tenants[1:]
                self.say(f"{sum(len(s.running) for s in self.servers)} of {SLOTS * sum(s.alive for s in self.servers)} slots in use, "
                         f"{sum(t.done for t in others)} of {sum(t.calls for t in others)} calls of the many and "
                         f"{self.tenants[0].done} of {FLOOD} of the flood are done")
            await asyncio.sleep(0.25)

    def starts(self):
        """(when, task, tenant) of all calls at servers, in their order, each once."""
        rows, seen = [], set()
        for row in sorted((r["began"], r["task"], r["tenant"]) for s in self.servers for r in s.rows if r["task"] and r["tenant"]):
            if row[1] not in seen:
                rows.append(row)
            seen.add(row[1])
        return rows

    def fairness(self):
        """Jain's index of the tokens that each tenant's calls began with, until the last of the many began (Jain, Chiu,
        Hawe, "A Quantitative Measure of Fairness", 1984). 1: all alike; one call of the flood is more than all of another."""
        rows, each, got = self.starts(), {t.name: t for t in self.tenants}, collections.Counter()
        last = max((began for began, _, name in rows if name != self.tenants[0].name), default=0)
        for began, _, name in rows:
            if began <= last:
                got[name] += each[name].max_tokens
        v = [got[t.name] for t in self.tenants]
        return sum(v) ** 2 / (len(v) * sum(x * x for x in v)) if any(v) else 0

    def overtaken(self):
        """Calls of a tenant that began 50 ms or more behind one that it had submitted later, until the server died: calls
        that did not reach it go to another one later."""
        wrong, newest = 0, {}
        for began, task, name in self.starts():
            part, _, number = task.partition("-")
            turn, before = int(number) >> 24, newest.get((name, part), (0, 0))
            if self.died is not None and began > self.died:
                break
            wrong += turn < before[0] and began - before[1] > 0.05
            newest[name, part] = max(before, (turn, began))
        return wrong

    def claims(self):
        """(kept, in words) of each promise."""
        t, s = self.tenants, self.servers
        done, wanted = sum(x.done for x in t), sum(x.calls for x in t)
        last = max(x.ended for x in t[1:])
        return [
            (done == wanted, f"nothing is lost: {done} of {wanted} calls have their whole answer"),
            (not any(x.false for x in t), "no answer looked whole that was not"),
            (all(x.most <= SLOTS and x.refused == 0 for x in s), f"no server had more than its {SLOTS} slots (most: {', '.join(str(x.most) for x in s)})"),
            (len(s) == 4 and all(x.done > 0 for x in s), f"all servers worked ({', '.join(str(x.done) for x in s)} answers)"),
            (self.overtaken() == 0, "calls of a tenant began in their order"),
            (self.fairness() > 0.8, f"the flood took its share and no more: fairness {self.fairness():.2f} (Jain; 1: all alike)"),
            (last < t[0].ended, f"the many were done {t[0].ended - last:.0f} s before the flood"),
        ]

    def judge(self):
        """Prints what was promised, and whether it was kept."""
        claims, first = self.claims(), self.shown()["first"]
        print("time to the first token, p50: " + ", ".join(
            f"{'none' if first[who] is None else format(first[who], '.1f')} s for the {name}" for who, name in (("others", "many"), ("flood", "flood"))) +
            f"; {sum(x.broken for x in self.tenants)} transfers broke off and were sent again")
        for ok, text in claims:
            print(f"  {'yes' if ok else 'NO '}  {text}")
        bad = sum(not ok for ok, _ in claims)
        self.verdict = f"{len(claims) - bad} promises kept, {bad} broken"
        print(f"judge: {len(claims) - bad} passed, {bad} failed", flush=True)
        return bad

    def begin(self):
        """Begins to count: the calls before asked whether all is there."""
        self.began = time.monotonic()
        for x in self.servers:
            x.since, x.rows, x.running, x.done, x.tokens, x.most = self.began, [], {}, 0, 0, 0

    async def calls(self):
        """All calls at once. The flood comes amid the many: a line without keys would let it go before half of them."""
        half = len(self.tenants) // 2
        await asyncio.gather(*(t.run() for t in self.tenants[1:half + 1] + self.tenants[:1] + self.tenants[half + 1:]))
        await asyncio.sleep(0.5)  # servers note the ends of the last ones

    async def run(self):
        await asyncio.to_thread(self.c.begin, self.define)
        await self.known()
        self.begin()
        self.say(f"{sum(t.calls for t in self.tenants)} calls of {TENANTS} tenants to 3 servers of {SLOTS} slots")
        calls = asyncio.create_task(self.calls())
        beside = [asyncio.create_task(self.looks()), asyncio.create_task(self.events())]
        try:
            while not calls.done():
                ended, beside = await asyncio.wait([calls, *beside], return_when=asyncio.FIRST_COMPLETED)
                beside = [task for task in beside if task is not calls]
                for task in ended:
                    task.result()  # raises what it raised: nothing is judged then
        finally:
            for task in (calls, *beside):
                task.cancel()
        self.look()
        return self.judge()

    def end(self):
        """Takes all away that was put there."""
        for s in self.servers:
            if s.alive:
                s.kill()
        for e in self.c.end(lambda: self.c.tokens([]), self.c.forget):
            print(f"demo-gpu: something is left behind: {e}", file=sys.stderr)


async def main():
    demo = Demo(Cluster(sys.argv[1], sys.argv[2]), sys.argv[2])
    ends, loop = asyncio.Event(), asyncio.get_running_loop()
    for s in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(s, ends.set)
    Page.show = demo.shown
    page = http.server.ThreadingHTTPServer(("127.0.0.1", PAGE_PORT), Page)
    threading.Thread(target=page.serve_forever, daemon=True).start()
    print(f"Watch it: http://127.0.0.1:{page.server_address[1]}/", flush=True)
    running, told = asyncio.create_task(demo.run()), asyncio.create_task(ends.wait())
    try:
        await asyncio.wait([running, told], return_when=asyncio.FIRST_COMPLETED)
        bad = running.result() if running.done() else None
        if bad is not None and "STAY" in os.environ:
            print("The page stays until Ctrl-C.", flush=True)
            await told
        return 130 if bad is None else int(bad > 0)
    finally:
        running.cancel()
        await asyncio.to_thread(demo.end)


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(main()))
    except (OSError, KeyError, ValueError, Failed, subprocess.SubprocessError) as error:
        sys.exit(f"demo-gpu: {error}")
