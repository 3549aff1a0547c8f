#!/usr/bin/env python3
"""run.py --cluster DIR|--fields --bin BIN [--clients "go js"] [--rows "a b"] [--jobs 24]: plays the rows of
table.txt against the cluster that deploy/local.sh has started in DIR (two routers, a task node), by the
clients' adapters (README.md has their protocol). The last line is "conformance: N passed, M failed"."""

import argparse
import concurrent.futures
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
import traceback
import types
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
sys.path.insert(0, HERE)

import rows  # noqa: E402
from languages import LANGUAGES, PYTHON, ready  # noqa: E402, F401
from proxy import Proxy  # noqa: E402

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Said(Exception):
    """What a client raised, in the words of the line protocol."""

    def __init__(self, error):
        super().__init__(json.dumps(error))
        self.kind, self.status = error["kind"], error.get("status")
        self.code, self.reason = error.get("code"), error.get("reason")
        self.detail, self.type = error.get("detail", ""), error.get("type")


class Pace(threading.Thread):
    """A clock that runs slower where this machine is: `now` counts the seconds of a free one. Each bound of a
    wait is in these, so that a busy machine is waited for, and a claim that it cannot judge is known."""
    SPIN_S = 0.008

    def __init__(self):
        super().__init__(daemon=True)
        self.now, self.slow = 0.0, 1.0
        self.start()

    def run(self):
        while True:
            t0, c0 = time.monotonic(), time.thread_time()
            while time.thread_time() - c0 < self.SPIN_S:
                pass
            slow = max((time.monotonic() - t0) / self.SPIN_S, 1)
            self.slow += (min(slow, 30) - self.slow) * 0.2
            time.sleep(0.15)
            self.now += (time.monotonic() - t0) / self.slow


PACE = Pace()
TOO_SLOW = 5  # times as long as on a free machine: rows.TIMED are not judged then


class Asked:
    """A request to an adapter that is under way."""

    def __init__(self, n):
        self.id, self.events, self.end = n, [], queue.Queue()

    def result(self, seconds=30):
        end = PACE.now + seconds
        while True:
            try:
                said = self.end.get(timeout=0.2 if PACE.now < end else 0)
                break
            except queue.Empty:
                if PACE.now < end:
                    continue
            raise AssertionError(f"no end within {seconds} s; events: {self.events[-3:]}")
        if "error" in said:
            raise Said(said["error"])
        return said["ok"]

    def wait_for(self, what, seconds=15):
        """The first event for which what(event) holds."""
        end = PACE.now + seconds
        while PACE.now < end:
            for e in list(self.events):
                if what(e):
                    return e
            time.sleep(0.02)
        raise AssertionError(f"no such event within {seconds} s: {self.events[-3:]}, {self.end.queue}")


class Program:
    """A client's adapter, and what it says."""

    def __init__(self, argv):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.asked, self.n, self.lock = {}, 0, threading.Lock()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            said = json.loads(line)
            asked = self.asked[said["id"]]
            if "event" in said:
                asked.events.append(said["event"])
            else:
                asked.end.put(said)
        for asked in list(self.asked.values()):  # nobody waits for what it will not say
            asked.end.put({"error": {"kind": "other", "detail": "the adapter has ended"}})

    def begin(self, verb, **a):
        with self.lock:
            self.n += 1
            asked = self.asked[self.n] = Asked(self.n)
            self.process.stdin.write(json.dumps({"id": asked.id, "do": verb, **a}) + "\n")
        return asked

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()


class Adapter:
    """A client within a program."""

    def __init__(self, program, **opened):
        self.process, self.program = program.process, program
        asked = program.begin("open", **opened)
        self.number = asked.id
        asked.result()

    def begin(self, verb, **a):
        return self.program.begin(verb, client=self.number, **a)

    def ask(self, verb, seconds=30, **a):
        return self.begin(verb, **a).result(seconds)

    def end(self):
        self.program.end()


class Meeting:
    """Where rows of several clients wait for each other before something is done to all, once."""

    def __init__(self, n):
        self.n, self.came, self.done, self.change = n, {}, False, threading.Condition()

    def all_of(self, who, value, do):
        """The last one that comes calls do(values of all)."""
        with self.change:
            self.came[who] = value
            if self.change.wait_for(lambda: self.done or len(self.came) == self.n, 60) and not self.done:
                do([v for v in self.came.values() if v is not None])
            self.done = True
            self.change.notify_all()

    def leave(self, who):
        """Nobody waits for one that has failed before it came."""
        with self.change:
            self.came.setdefault(who, None)
            self.change.notify_all()


class Cluster:
    """That of DIR."""

    def __init__(self, folder, bin_):
        self.dir, self.bin = folder, bin_
        with open(os.path.join(folder, "cluster.json"), encoding="utf-8") as f:
            said = json.load(f)
        self.routers, self.admin = said["router"], said["admin"]
        self.admin_token = said["admin_token"]
        with open(os.path.join(folder, "secrets/task.token"), encoding="utf-8") as f:
            self.token = f.read().strip()

    def operate(self, method, path, value=None):
        """A call of the admin API."""
        return self.http(method, self.admin + path, value, self.admin_token)

    @staticmethod
    def http(method, url, value=None, token=None):
        data = None if value is None else json.dumps(value).encode()
        q = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
        if token:
            q.add_header("Authorization", f"Bearer {token}")
        with OPENER.open(q, timeout=10) as r:
            body = r.read()
        return json.loads(body) if body else None

    def pid(self, name):
        subprocess.run([os.path.join(ROOT, "deploy/local.sh"), "status", "--dir", self.dir, "--bin", self.bin],
                       stdout=subprocess.DEVNULL, check=True)
        with open(os.path.join(self.dir, "cluster.json"), encoding="utf-8") as f:
            return json.load(f)["pids"][name]


class Row:
    """What a row's function gets: its own queue and proxy, and adapters."""

    def __init__(self, cluster, client, name, argv, wall, parts, shared=None, meeting=None):
        self.cluster, self.name, self.argv, self.wall, self.parts = cluster, name, argv, wall, parts
        self.queue, self.token = f"{client}-{name}", cluster.token
        self.shared, self.meeting = shared, meeting or Meeting(1)
        self.proxy = Proxy(cluster.routers[0])
        self.programs, self.failed, self.claims = [], [], 0

    def client(self, routers=None, date=None, alone=False, **more):
        """A client; it asks through this row's proxy, if not told otherwise. alone: in a program of its
        own, for rows that end it."""
        argv, program = self.argv, self.shared
        if date:
            argv = ["env", f"WALL={self.wall}", os.path.join(ROOT, "tests/dates/on.sh"), date, "", *argv]
        if alone or date or program is None:
            program = Program(argv)
            self.programs.append(program)
        return Adapter(program, routers=routers or [self.proxy.url], **{"token": self.token, **more})

    def all_of(self, value, do):
        """Waits until the rows of this name have come here with each client; then do(their values), once."""
        self.meeting.all_of(self.queue, value, do)

    def claim(self, good, text):
        self.claims += 1
        if not good:
            self.failed.append(text)

    def raises(self, text, what, **want):
        """what() must raise Said with these members."""
        try:
            got = what()
        except Said as e:
            self.claim(all(getattr(e, k) == v for k, v in want.items()), f"{text}: {e}, not {want}")
            return e
        self.claim(False, f"{text}: {got}, and no error")
        return None

    def order(self, verb):
        self.cluster.operate("POST", f"/v1/admin/queues/{self.queue}/{verb}")

    def join(self):
        """Somebody else."""
        return self.cluster.http("POST", f"{self.cluster.routers[0]}/v1/queues/{self.queue}/tickets", {"client": "game"})

    def leave(self, ticket):
        self.cluster.http("DELETE", f"{self.cluster.routers[0]}/v1/tickets/{ticket['token']}")

    def task(self, token):
        return self.cluster.http("GET", f"{self.cluster.routers[1]}/v1/tasks/{token}")

    def submit(self, payload, queue=None, **more):
        return self.cluster.http("POST", f"{self.cluster.routers[1]}/v1/queues/{queue or self.queue}/tasks",
                                 {"payload": payload, **more}, self.token)["task"]

    def until(self, what, seconds=15, text="it never is"):
        end = PACE.now + seconds
        while PACE.now < end:
            got = what()
            if got:
                return got
            time.sleep(0.05)
        raise AssertionError(text)

    def end(self):
        for p in self.programs:
            p.end()
        self.proxy.close()


def read_table():
    """[(name, part, text, {client: why not})]; each has its function, and each function its row."""
    out = []
    with open(os.path.join(HERE, "table.txt"), encoding="utf-8") as f:
        for line in f:
            cells = [c.strip() for c in line.split("#")[0].split("|")]
            if cells[0]:
                out.append((cells[0], cells[1], cells[2], dict(re.findall(r"(\w+): ([^;]+)", cells[3])) if len(cells) > 3 else {}))
    names = [r[0] for r in out]
    there = {n[4:] for n in dir(rows) if n.startswith("row_")}
    if sorted(names) != sorted(there):
        sys.exit(f"table.txt and rows.py differ: {set(names) ^ there or 'a row is there twice'}")
    return out


def play(cluster, client, name, argv, wall, parts, shared=None, meeting=None):
    row = Row(cluster, client, name, argv, wall, parts, shared, meeting)
    t0, p0 = time.monotonic(), PACE.now
    try:
        getattr(rows, "row_" + name)(row)
    except AssertionError as e:
        row.failed.append(str(e))
    except Exception:
        row.failed.append(traceback.format_exc().strip().replace("\n", "\n    "))
    finally:
        row.meeting.leave(row.queue)
        row.end()
    if not row.claims and not row.failed:
        row.failed.append("it claims nothing")
    took = time.monotonic() - t0
    slow = took / max(PACE.now - p0, 0.1)
    return row.failed, took, slow if name in rows.TIMED and slow >= TOO_SLOW else None


def prepare(cluster, todo):
    """A line of people for each row of [(client, name, part)] that needs one; all routers know it."""
    lines = [(f"{c}-{n}", n in rows.PAUSED, {"bind": rows.BINDS[n]} if n in rows.BINDS else rows.LINES.get(n, {})) for c, n, part in todo if part in ("people", "events", "keys", "gate", "alone")]

    def make(line):
        cluster.operate("PUT", f"/v1/admin/queues/{line[0]}", {
            "release_per_s": 1000, "poll_min": "200ms", "poll_max": "1s", "grace": "10m", **line[2]})
        if line[1]:
            cluster.operate("POST", f"/v1/admin/queues/{line[0]}/pause")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(make, lines))
    end = time.monotonic() + 30
    for r in cluster.routers:
        for name, paused, _ in lines:
            while time.monotonic() < end:
                try:
                    if (cluster.http("GET", f"{r}/v1/queues/{name}")["state"] == "paused") == paused:
                        break
                except OSError:
                    pass
                time.sleep(0.1)


def chosen(named):
    """The languages that are asked for, and can be tried; what stands in the way of others is said."""
    out = []
    for name in named.split() or LANGUAGES:
        why = ready(name)
        if why:
            print(f"     {name} is not tried: {why}", flush=True)
        else:
            out.append(name)
    if not out:
        sys.exit(77)
    return out


def fields(clients, bin_, wall):
    """What proto/openapi.yaml has, each client has; no cluster is asked."""
    nowhere, out = types.SimpleNamespace(bin=bin_, token="", routers=["http://127.0.0.1:9"]), []
    for c in (c for c in clients if "types" in LANGUAGES[c].parts):
        bad, *_ = play(nowhere, c, "fields", LANGUAGES[c].argv, wall, LANGUAGES[c].parts)
        out.append(not bad)
        print("".join(f"FAIL {c} fields: {b}\n" for b in bad), end="")
    return sum(out), len(out) - sum(out)


def choose(table, clients):
    """[(client, name, part, text)]; what is not for one is said."""
    todo = []
    for c in clients:
        lacks = {}
        for name, part, text, not_for in table:
            if part not in LANGUAGES[c].parts:
                lacks.setdefault(part, []).append(name)
            elif c in not_for:
                print(f"     {name}: not for {c}: {not_for[c]}")
            else:
                todo.append((c, name, part, text))
        for part, names in lacks.items():
            print(f"     {c} has no {part} yet: {' '.join(names)}")
    return todo


def play_all(cluster, todo, wall, jobs):
    """Yields (client, name, text, (failures, seconds, how slow, if it cannot be judged))."""
    shared = {c: Program(LANGUAGES[c].argv) for c in {t[0] for t in todo}}

    def one(t, meeting=None):
        lang = LANGUAGES[t[0]]
        return t[0], t[1], t[3], play(cluster, t[0], t[1], lang.argv, wall, lang.parts, shared[t[0]], meeting)
    order = sorted((t for t in todo if t[2] != "alone"), key=lambda t: t[1] not in rows.LONG)
    first = [next((t for n in rows.FIRST for t in order if t[:2] == (c, n)), next((t for t in order if t[0] == c), None))
             for c in shared]
    try:
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            left, running, warm = order, {}, set()
            while left or running:  # the others of a client begin when its first has ended
                can = [t for t in left if t in first or t[0] in warm][:jobs - len(running)]
                left = [t for t in left if t not in can]
                running.update((pool.submit(one, t), t[0]) for t in can)
                for f in concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED).done:
                    warm.add(running.pop(f))
                    yield f.result()
        for name in dict.fromkeys(t[1] for t in todo if t[2] == "alone"):
            those = [t for t in todo if t[1] == name]
            meeting = Meeting(len(those))
            with concurrent.futures.ThreadPoolExecutor(len(those)) as pool:
                yield from pool.map(lambda t: one(t, meeting), those)
    finally:
        for p in shared.values():
            p.end()


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--cluster")
    p.add_argument("--bin", required=True)
    p.add_argument("--fields", action="store_true", help="only the row of that name, without a cluster")
    p.add_argument("--clients", default="")
    p.add_argument("--rows", default="")
    p.add_argument("--jobs", type=int, default=24)
    o = p.parse_args()
    clients, wall = chosen(o.clients), os.path.join(o.bin, "../dates/wall.so")
    failed = passed = 0
    if o.fields:
        passed, failed = fields(clients, o.bin, wall)
    else:
        cluster = Cluster(o.cluster, o.bin)
        todo = choose([r for r in read_table() if not o.rows or r[0] in o.rows.split()], clients)
        prepare(cluster, [t[:3] for t in todo])
        for client, name, text, (bad, took, slow) in play_all(cluster, todo, wall, o.jobs):
            if bad and slow:
                print(f"skip {client} {name}: this machine takes {slow:.0f} times as long as a free one: {bad[0][:200]}", flush=True)
                continue
            passed, failed = passed + (not bad), failed + bool(bad)
            print("\n".join(f"FAIL {client} {name}: {b}" for b in bad) if bad else
                  f"ok   {client} {name}: {text} ({took:.1f} s)", flush=True)
    print(f"conformance: {passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
