#!/usr/bin/env python3
"""run.py --cluster DIR|--fields --bin BIN [--client python] [--rows "a b"] [--jobs 6]: plays the rows of table.txt
against the cluster that deploy/local.sh has started in DIR (two routers, a task node), by a client's
adapter (README.md has its protocol). The last line is "conformance: N passed, M failed"."""

import argparse
import concurrent.futures
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
import traceback
import types
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, HERE)

import rows  # noqa: E402
from proxy import Proxy  # noqa: E402

# CLIENT -> command, what must be there to run it, and the parts that it has.
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's uvicorn
ALL = {"people", "events", "gate", "tasks", "worker", "types", "hooks", "alone"}
CLIENTS = {
    "python": ([PYTHON, os.path.join(ROOT, "clients/python/conformance.py")], PYTHON, ALL),
    "js": (["node", os.path.join(ROOT, "clients/js/conformance.js")], "node", {"people"}),  # Node has no EventSource
}
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Said(Exception):
    """What a client raised, in the words of the line protocol."""

    def __init__(self, error):
        super().__init__(json.dumps(error))
        self.kind, self.status = error["kind"], error.get("status")
        self.code, self.reason = error.get("code"), error.get("reason")
        self.detail, self.type = error.get("detail", ""), error.get("type")


class Asked:
    """A request to an adapter that is under way."""

    def __init__(self, n):
        self.id, self.events, self.end = n, [], queue.Queue()

    def result(self, seconds=30):
        try:
            said = self.end.get(timeout=seconds)
        except queue.Empty:
            raise AssertionError(f"no end within {seconds} s; events: {self.events[-3:]}") from None
        if "error" in said:
            raise Said(said["error"])
        return said["ok"]

    def wait_for(self, what, seconds=15):
        """The first event for which what(event) holds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for e in list(self.events):
                if what(e):
                    return e
            time.sleep(0.02)
        raise AssertionError(f"no such event within {seconds} s: {self.events[-3:]}, {self.end.queue}")


class Adapter:
    """A client's program, and what it says."""

    def __init__(self, argv, **opened):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.asked, self.n, self.lock = {}, 0, threading.Lock()
        threading.Thread(target=self.listen, daemon=True).start()
        self.ask("open", **opened)

    def listen(self):
        for line in self.process.stdout:
            said = json.loads(line)
            asked = self.asked[said["id"]]
            if "event" in said:
                asked.events.append(said["event"])
            else:
                asked.end.put(said)

    def begin(self, verb, **a):
        with self.lock:
            self.n += 1
            asked = self.asked[self.n] = Asked(self.n)
            self.process.stdin.write(json.dumps({"id": asked.id, "do": verb, **a}) + "\n")
        return asked

    def ask(self, verb, seconds=30, **a):
        return self.begin(verb, **a).result(seconds)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()


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
    """What a row's function gets: its own queue, proxy and adapters."""

    def __init__(self, cluster, client, name, argv, wall, parts):
        self.cluster, self.name, self.argv, self.wall, self.parts = cluster, name, argv, wall, parts
        self.queue, self.token = f"{client}-{name}", cluster.token
        self.proxy = Proxy(cluster.routers[0])
        self.adapters, self.failed, self.claims = [], [], 0

    def client(self, routers=None, date=None, **more):
        """An adapter; it asks through this row's proxy, if not told otherwise."""
        argv = self.argv
        if date:
            argv = ["env", f"WALL={self.wall}", os.path.join(ROOT, "tests/dates/on.sh"), date, "", *argv]
        a = Adapter(argv, routers=routers or [self.proxy.url], **{"token": self.token, **more})
        self.adapters.append(a)
        return a

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
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            got = what()
            if got:
                return got
            time.sleep(0.05)
        raise AssertionError(text)

    def end(self):
        for a in self.adapters:
            a.end()
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


def play(cluster, client, name, argv, wall, parts=frozenset(ALL)):
    row = Row(cluster, client, name, argv, wall, parts)
    t0 = time.monotonic()
    try:
        getattr(rows, "row_" + name)(row)
    except AssertionError as e:
        row.failed.append(str(e))
    except Exception:
        row.failed.append(traceback.format_exc().strip().replace("\n", "\n    "))
    finally:
        row.end()
    if not row.claims and not row.failed:
        row.failed.append("it claims nothing")
    return row.failed, time.monotonic() - t0


def prepare(cluster, client, table):
    """A line of people for each row that needs one; all routers know it."""
    people = [n for n, part, _, _ in table if part in ("people", "events", "gate", "alone")]
    for n in people:
        cluster.operate("PUT", f"/v1/admin/queues/{client}-{n}", {
            "release_per_s": 1000, "poll_min": "200ms", "poll_max": "1s", "grace": "10m"})
        if n in rows.PAUSED:
            cluster.operate("POST", f"/v1/admin/queues/{client}-{n}/pause")
    end = time.monotonic() + 30
    for r in cluster.routers:
        for n in people:
            while time.monotonic() < end:
                try:
                    if (cluster.http("GET", f"{r}/v1/queues/{client}-{n}")["state"] == "paused") == (n in rows.PAUSED):
                        break
                except OSError:
                    pass
                time.sleep(0.1)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--cluster")
    p.add_argument("--bin", required=True)
    p.add_argument("--fields", action="store_true", help="only the row of that name, without a cluster")
    p.add_argument("--client", default="python", choices=CLIENTS)
    p.add_argument("--rows", default="")
    p.add_argument("--jobs", type=int, default=6)
    o = p.parse_args()
    argv, needs, parts = CLIENTS[o.client]
    if not shutil.which(needs):
        print(f"{o.client} is not tried: there is no {needs}")
        sys.exit(77)
    wall = os.path.join(o.bin, "../dates/wall.so")
    if o.fields:
        nowhere = types.SimpleNamespace(bin=o.bin, token="", routers=["http://127.0.0.1:9"])
        bad, _ = play(nowhere, o.client, "fields", argv, wall, parts)
        print("".join(f"FAIL fields: {b}\n" for b in bad) + f"conformance: {int(not bad)} passed, {len(bad)} failed")
        sys.exit(len(bad) > 0)
    table = [r for r in read_table() if not o.rows or r[0] in o.rows.split()]
    cluster = Cluster(o.cluster, o.bin)
    prepare(cluster, o.client, [r for r in table if r[1] in parts])
    failed = passed = 0

    def told(name, text, got):
        nonlocal failed, passed
        bad, took = got
        passed, failed = passed + (not bad), failed + bool(bad)
        print(f"ok   {name}: {text} ({took:.1f} s)" if not bad else "\n".join(f"FAIL {name}: {b}" for b in bad), flush=True)
    todo, lacks = [], {}
    for name, part, text, not_for in table:
        if part not in parts:
            lacks.setdefault(part, []).append(name)
        elif o.client in not_for:
            print(f"     {name}: not for {o.client}: {not_for[o.client]}")
        else:
            todo.append((name, part, text))
    for part, names in lacks.items():
        print(f"     {o.client} has no {part} yet: {' '.join(names)}")
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        order = sorted((t for t in todo if t[1] != "alone"), key=lambda t: t[0] not in rows.LONG)
        futures = {pool.submit(play, cluster, o.client, n, argv, wall, parts): (n, t) for n, _, t in order}
        for f in concurrent.futures.as_completed(futures):
            told(*futures[f], f.result())
    for name, part, text in todo:
        if part == "alone":
            told(name, text, play(cluster, o.client, name, argv, wall, parts))
    print(f"conformance: {passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
