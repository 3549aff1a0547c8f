#!/usr/bin/python3
"""driver.py [options] HISTORY-FOLDER: submits tasks, works on them, cancels some, asks what became
of each, and writes down all that it was told (api.py says how); judge.py says whether that is as
promised. Over HTTP alone. While it runs anything may be killed: what was not answered is asked
again. Ends when every task is final, or when nothing has moved for --patience seconds. SIGUSR1:
nothing more is submitted.

Submitters and workers are processes; a seed makes their choices."""
import argparse
import json
import multiprocessing
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api import FINAL, LATER, Api, History, parsed, pause, payload_of, result_of  # noqa: E402

SETTLED = {200, 204}
ROWS = ("by", "n", "other", "key", "priority", "delay", "at", "idem", "name")


class Actor:
    """What submitters, workers and the asker have in common."""

    def __init__(self, opts, kind, no):
        self.o, self.no = opts, no
        self.api = Api(opts.router, opts.token_text)
        self.history = History(opts.folder, "%s%d" % (kind, no))
        self.random = random.Random("%s %s %d" % (opts.seed, kind, no))
        self.queue = "/v1/queues/%s/tasks" % opts.queue

    def some(self, share):
        """True for this share of the calls."""
        return self.random.random() < share

    def answered(self, method, path, body=None, headers=None):
        """Asks until there is an answer that means something; calls that may be repeated."""
        end = time.time() + self.o.patience
        while True:
            out = self.api.ask(method, path, body, headers)
            if out[2] not in LATER or time.time() > end:
                return out
            pause(out[4])


# ---- submitters ---------------------------------------------------------------------------


class Submitter(Actor):
    """Makes opts.tasks / opts.submitters tasks, or fewer: until `enough`."""

    def __init__(self, opts, no, enough):
        super().__init__(opts, "submitter", no)
        self.enough = enough

    def row(self, n):
        """The next task's members, in the order of ROWS."""
        o, r = self.o, self.random
        key = "tenant%d" % r.randrange(o.keys) if o.keys else ""
        if key and self.some(o.below):
            key += "/user%d" % r.randrange(3)
        delay = at = 0
        if self.some(o.delayed):
            delay = round(r.uniform(0.05, o.delay_most), 3)
            if self.some(0.3):
                delay, at = 0, round(time.time() + delay, 3)
        priority = r.randrange(1, 4) if self.some(o.urgent) else 0
        idem = 1 if self.some(o.idem) else 0
        name = "close-%s-%d-%d" % (o.run, self.no, n) if self.some(o.named) else ""
        return [self.no, n, 0, key, priority, delay, at, idem, name]

    def idem_key(self, row):
        return "%s-%d-%d" % (self.o.run, row[0], row[1])

    def body(self, row, in_batch):
        """Its JSON; the payload stays as it is."""
        m = dict(zip(ROWS, row))
        out = []
        for k in ("key", "name"):
            if m[k]:
                out.append('"%s":"%s"' % (k, m[k]))
        for k in ("priority", "delay", "at"):
            if m[k]:
                out.append('"%s":%s' % (k, json.dumps(m[k])))
        if m["idem"] and in_batch:
            out.append('"idempotency_key":"%s"' % self.idem_key(row))
        return "{%s}" % ",".join(out + self.work(m, payload_of(self.o.run, m["by"], m["n"], m["other"], self.o.size)))

    def work(self, _, payload):
        """The members that say what is to be done."""
        return ['"payload":' + payload]

    def put_one(self, row):
        """Asked again only if that makes no second task."""
        safe = row[7] or row[8]
        headers = {"Idempotency-Key": self.idem_key(row)} if row[7] else {}
        end = time.time() + self.o.patience
        while True:
            t0, t1, status, text, later = self.api.ask("POST", self.queue, self.body(row, False), headers)
            a = parsed(text)
            self.history.line("put", t0, t1, status, "one", [row + [status, a.get("task", "")]])
            if status not in LATER or (status == 0 and not safe) or time.time() > end:
                return a.get("task", "")
            pause(later)

    def put_batch(self, rows):
        """Those that were put off are submitted again, the others not."""
        end = time.time() + self.o.patience
        while rows:
            text = "[%s]" % ",".join([self.body(row, True) for row in rows])
            t0, t1, status, text, later = self.api.ask("POST", self.queue + "/batch", text)
            got = parsed(text)
            if not isinstance(got, list) or len(got) != len(rows):
                got = [{"status": 0 if status < 300 else status}] * len(rows)
            self.history.line("put", t0, t1, status, "batch", [
                row + [a.get("status", 0), a.get("task", "")] for row, a in zip(rows, got)])
            rows = [row for row, a in zip(rows, got) if a.get("status", 0) in LATER and
                    (a.get("status", 0) != 0 or row[7] or row[8])]
            if time.time() > end:
                return
            if rows:
                pause(later)

    def cancel(self, task):
        # What was not answered may have been done: then the next answer says it.
        t0, t1, status, text, _ = self.answered("DELETE", "/v1/tasks/" + task)
        self.history.line("cancel", t0, t1, status, task, (parsed(text) or {}).get("state", ""))

    def named(self, row):
        """Is it in the queue? Asked by the caller's name."""
        t0, t1, status, text, _ = self.answered("GET", "%s/%s" % (self.queue, row[8]))
        self.history.line("named", t0, t1, status, row[0], row[1], (parsed(text) or {}).get("task", ""))

    def run(self):
        o, n, most = self.o, 0, self.o.tasks // self.o.submitters
        begun = time.time()
        while n < most and not self.enough.is_set():
            if o.rate:
                time.sleep(max(0, begun + n * o.submitters / o.rate - time.time()))
            if o.batch > 1 and self.some(o.batched):
                rows = [self.row(n + i) for i in range(min(o.batch, most - n))]
                self.put_batch(rows)
            else:
                rows = [self.row(n)]
                task = self.put_one(rows[0])
                if task and self.some(o.cancelled):
                    self.cancel(task)
                if task and rows[0][8]:
                    self.named(rows[0])
            n += len(rows)
            again = rows[0]
            if again[7] and not again[8] and self.some(o.repeated):
                self.put_one(again)
                self.put_one(again[:2] + [1] + again[3:])


# ---- workers ------------------------------------------------------------------------------


class Worker(Actor):
    """Takes, and does one thing or another with what it got, until told to stop."""

    def __init__(self, opts, no, stop):
        super().__init__(opts, "worker", no)
        self.stop = stop

    def take(self):
        o = self.o
        body = '{"n":%d,"lease":%g,"wait":"%dms"}' % (o.take, o.lease, o.wait * 1000)
        t0, t1, status, text, later = self.api.ask("POST", self.queue + "/take", body)
        rows = []
        for t in parsed(text).get("tasks", []) if status == 200 else []:
            p = t.get("payload")
            if not isinstance(p, dict) or p.get("run") != o.run:
                p = {"by": -1, "n": 0}  # somebody else's, or damaged: it is left alone
            raw = payload_of(o.run, p["by"], p["n"], 0, o.size)
            rows.append([t["task"], t["attempt"], t["lease_id"], t.get("lease_expires_at", 0),
                         p["by"], p["n"], int('"payload":' + raw in text)])
        if rows or status != 200:
            self.history.line("take", t0, t1, status, o.lease, rows)
        if status != 200:
            pause(later)
        return rows

    def more(self, verb, row):
        """The members of this verb."""
        if verb == "ack":
            return '"result":' + result_of(row[4], row[5], row[1])
        return '"delay":%s' % row[3] if verb == "nack" else '"lease":%g' % self.o.lease

    def settle(self, verb, rows):
        """rows: [task, attempt, lease_id, delay, by, n]"""
        if self.o.settle_rows and rows:
            many = ['{"verb":"%s","task":"%s","lease_id":"%s",%s}' % (verb, row[0], row[2], self.more(verb, row))
                    for row in rows]
            t0, t1, status, text, later = self.api.ask("POST", self.queue + "/settle", "[%s]" % ",".join(many))
            got = parsed(text)
            if not isinstance(got, list) or len(got) != len(rows):
                got = [{}] * len(rows)
            self.write(t0, t1, status, verb, rows, got)
            if status in LATER:
                pause(later)
            return
        for row in rows:
            t0, t1, status, text, later = self.api.ask(
                "POST", "/v1/tasks/%s/%s" % (row[0], verb),
                '{"lease_id":"%s",%s}' % (row[2], self.more(verb, row)))
            self.write(t0, t1, status, verb, [row], [dict(parsed(text) or {}, status=status)])
            if status in LATER:
                pause(later)

    def write(self, t0, t1, status, verb, rows, got):
        self.history.line("settle", t0, t1, status, verb, [
            row[:4] + [a.get("status", 0), a.get("lease_expires_at", 0) or 0] for row, a in zip(rows, got)])

    def run(self):
        o, late = self.o, []  # late: (when, row): acknowledged although the lease is over
        while not self.stop.is_set():
            doing = {"ack": [], "nack": [], "extend": []}
            taken = self.take()
            for t, attempt, lease, _, by, n, _ in taken:
                if by < 0:
                    continue
                x, row = self.random.random(), [t, attempt, lease, 0, by, n]
                if x < o.lapsed:
                    late.append((time.time() + o.lease * 1.5, row))
                elif x < o.lapsed + o.nacked:
                    row[3] = round(self.random.uniform(0.05, 0.3), 3)
                    doing["nack"].append(row)
                elif x < o.lapsed + o.nacked + o.extended:
                    doing["extend"].append(row)
                    doing["ack"].append(row)
                else:
                    doing["ack"].append(row)
            now = time.time()
            if not taken:
                doing["ack"] += [row for when, row in late if when <= now]
                late = [(when, row) for when, row in late if when > now]
            for verb in ("extend", "nack", "ack"):
                self.settle(verb, doing[verb])


# ---- what became of them ------------------------------------------------------------------


class Asker(Actor):
    """Follows the others' histories, and asks for those whose end nobody has told."""

    def __init__(self, opts):
        super().__init__(opts, "asker", 0)
        self.open, self.done, self.read = set(), set(), {}
        self.n_done = 0

    def follow(self):
        """What the others have written since the last time. True: something moved."""
        before = (len(self.open), self.n_done)
        for name in sorted(os.listdir(self.o.folder)):
            if not name.startswith(("submitter", "worker")):
                continue
            with open(os.path.join(self.o.folder, name), encoding="utf-8") as f:
                f.seek(self.read.get(name, 0))
                while True:
                    text = f.readline()
                    if not text.endswith("\n"):
                        break
                    self.read[name] = f.tell()
                    self.learn(json.loads(text))
        return (len(self.open), self.n_done) != before

    def learn(self, e):
        """open: acknowledged, and no end known."""
        if e[0] == "put":
            for row in e[5]:
                if row[9] in (200, 201) and row[10] not in self.done:
                    self.open.add(row[10])
        elif e[0] == "settle" and e[4] == "ack":
            for row in e[5]:
                if row[4] in SETTLED:
                    self.end(row[0])

    def end(self, task):
        self.n_done += 1
        self.done.add(task)
        self.open.discard(task)

    def ask_one(self, task):
        """True: it is final, or nobody knows it."""
        t0, t1, status, text, _ = self.answered("GET", "/v1/tasks/" + task)
        a = parsed(text) or {}
        self.history.line("get", t0, t1, status, task, a.get("state", ""), a.get("attempts", 0))
        return status in (404, 410) or a.get("state") in FINAL

    def ask_result(self, task):
        for _ in range(2):
            t0, t1, status, text, _ = self.answered("GET", "/v1/tasks/%s/result" % task)
            self.history.line("result", t0, t1, status, task, text, self.api.said("segq-length"), self.api.said("segq-sha256"))

    def drain(self, submitters):
        """Until every acknowledged task is final. False: it takes too long."""
        moved = asked = time.time()
        while True:
            busy = any(p.is_alive() for p in submitters)
            if self.follow() or busy:
                moved = time.time()
            if not busy and not self.open:
                return True
            if time.time() > moved + self.o.patience:
                return False
            # When hardly anything moves, those that are left were cancelled, or are dead.
            if not busy and (time.time() > moved + 0.5 or len(self.open) < 1000) and time.time() > asked + 0.3:
                for task in list(self.open)[:500]:
                    if self.ask_one(task):
                        self.end(task)
                asked = time.time()
            time.sleep(0.05)

    def look(self):
        """In the end: all of them, or some."""
        tasks = sorted(self.done)
        if len(tasks) > self.o.looks:
            tasks = self.random.sample(tasks, self.o.looks)
        for task in tasks:
            self.ask_one(task)
            if self.some(self.o.results):
                self.ask_result(task)


def progress(opts, asker, begun):
    """A line for people, once in a while."""
    if not opts.quiet:
        print("%5.1f s  %d done, %d open" % (time.time() - begun, asker.n_done, len(asker.open)), flush=True)


def start(target):
    p = multiprocessing.Process(target=target, daemon=True)
    p.start()
    return p


def drive(opts, submitter=Submitter):
    """True: every task has come to its end."""
    os.makedirs(opts.folder, exist_ok=True)
    stop, begun = multiprocessing.Event(), time.time()
    workers = [start(Worker(opts, i, stop).run) for i in range(opts.workers)]
    enough = multiprocessing.Event()
    submitters = [start(submitter(opts, i, enough).run) for i in range(opts.submitters)]
    signal.signal(signal.SIGUSR1, lambda *_: enough.set())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # its processes end with it
    asker = Asker(opts)
    done = asker.drain(submitters)
    progress(opts, asker, begun)
    stop.set()
    for p in workers:
        p.join(opts.wait + opts.lease + 10)
    asker.follow()
    asker.look()
    if not done:
        print("driver: %d tasks have not come to an end" % len(asker.open))
    return done


SHARES = {"idem": (0.9, "submissions with an Idempotency-Key"), "named": (0.03, "with a name"),
          "repeated": (0.05, "submitted again, and with another payload"),
          "batched": (0.5, "of the requests: batches"), "below": (0.3, "keys with a second level"),
          "delayed": (0.2, "tasks with a delay or a time"), "urgent": (0.2, "with a priority"),
          "cancelled": (0.1, "cancelled at once"), "nacked": (0.05, "given back"),
          "extended": (0.05, "leases extended"), "lapsed": (0.02, "leases that lapse"),
          "results": (0.3, "of the tasks at the end: their results, too")}


def options(argv):
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("--router", action="append", required=True, help="http://HOST:PORT; several times")
    p.add_argument("--token", help="file of the server token")
    p.add_argument("--queue", default="images")
    p.add_argument("--run", default="%08x" % random.getrandbits(32), help="name of this run")
    p.add_argument("--seed", default="1")
    for name, default, what in (
            ("tasks", 2000, "to submit"), ("submitters", 2, "processes"), ("workers", 4, "processes"),
            ("keys", 20, "different ones; 0: none"), ("batch", 20, "tasks in a batch"),
            ("take", 8, "tasks in a take"), ("size", 0, "bytes more in a payload"),
            ("rate", 0, "submissions a second; 0: as fast as they go"),
            ("looks", 10000, "tasks at most that are asked for at the end")):
        p.add_argument("--" + name, type=int, default=default, help="%s (%d)" % (what, default))
    for name, default, what in (("lease", 2.0, "s"), ("wait", 1.0, "s of a take"),
                                ("delay-most", 1.0, "s"), ("patience", 60.0, "s without an answer, or an end")):
        p.add_argument("--" + name, type=float, default=default, help="%s (%g)" % (what, default))
    for name, (default, what) in SHARES.items():
        p.add_argument("--" + name, type=float, default=default, help="share: %s (%g)" % (what, default))
    p.add_argument("--settle-rows", action="store_true", help="many in one request")
    p.add_argument("--quiet", action="store_true")
    o = p.parse_args(argv)
    o.token_text = open(o.token, encoding="utf-8").read().strip() if o.token else ""
    return o


if __name__ == "__main__":
    sys.exit(not drive(options(sys.argv[1:])))
