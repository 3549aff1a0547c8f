#!/usr/bin/python3
"""judge.py [options] HISTORY-FOLDER: was every promise about tasks kept? Judged from what driver.py
was told (api.py has its form), and from nothing else. A line per promise, its violations below it;
the last line is "judge: N passed, M failed". Exit 0: no violation.

What the callers' clock proves counts: a task begins between the question and the answer that hands
it out, and not before the end of its lease less the lease (the node's clock, --clock-ms apart)."""
import argparse
import gc
import glob
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from api import FINAL, result_of  # noqa: E402
from claims import Claim  # noqa: E402

CREATED, SAME, MISMATCH = 201, 200, 422


class Sub:
    """A submission, with all its repetitions."""
    __slots__ = ("by", "n", "key", "priority", "delay", "at", "t0", "t1", "batch", "place", "tasks", "codes",
                 "other")

    def __init__(self, row, t0):
        self.by, self.n, self.key, self.priority, self.delay, self.at = row[0], row[1], row[3], row[4], row[5], row[6]
        self.t0, self.t1 = t0, None  # asked first, answered first
        self.batch, self.place = None, 0
        self.tasks, self.codes, self.other = (), (), ()

    def due(self):
        """Not before this, if it was accepted at the earliest moment."""
        return self.at or self.t0 + self.delay

    def waits_by(self, late_s):
        """As of then at the latest it has its place in line, whenever the node carries that out."""
        if not self.at and not self.delay:
            return self.t1
        return max(self.t1 + self.delay, self.at) + late_s

    def __str__(self):
        return "submission %d/%d" % (self.by, self.n)


class Start:
    """An attempt that was handed out."""
    __slots__ = ("attempt", "t0", "t1", "lease", "until", "by", "n", "same", "answer", "place")

    def __init__(self, e, row, answer, place, clock_s):
        _, self.t0, self.t1, _, lease_s, _ = e
        _, self.attempt, self.lease, self.until, self.by, self.n, self.same = row
        if self.until:  # the node's clock says when it began
            self.t0 = max(self.t0, self.until - lease_s - clock_s)
            self.t1 = min(self.t1, self.until - lease_s + clock_s)
        self.answer, self.place = answer, place


class Task:
    """All that was heard of one task."""
    __slots__ = ("token", "sub", "starts", "settled", "cancels", "states", "results")

    def __init__(self, token):
        self.token, self.sub = token, None
        self.starts, self.settled, self.cancels, self.states, self.results = (), (), (), (), ()

    def acked(self):
        """Acknowledgements that were answered: (attempt, lease, t0, t1)."""
        return [s for s in self.settled if s[0] == "ack" and s[5] in (200, 204)]

    def __str__(self):
        return "%s (%s)" % (self.token[-12:], self.sub or "submitted by nobody")


class History:
    """Read whole, and sorted by what it is about."""

    def __init__(self, folder, opts):
        self.tasks, self.subs, self.answers, self.names = {}, {}, [], []
        self.codes, self.opts = {}, opts
        for name in sorted(glob.glob(os.path.join(folder, "*.jsonl"))):
            with open(name, encoding="utf-8") as f:
                for text in f:
                    if text.endswith("\n"):
                        e = json.loads(text)
                        getattr(self, "on_" + e[0])(e)

    def task(self, token):
        """Made when it is first named."""
        t = self.tasks.get(token)
        if t is None:
            t = self.tasks[token] = Task(token)
        return t

    def heard(self, what, status):
        self.codes[(what, status)] = self.codes.get((what, status), 0) + 1

    def on_put(self, e):
        _, t0, t1, status, how, rows = e
        batch = object() if how == "batch" else None
        self.heard("put", status)
        for place, row in enumerate(rows):
            s = self.subs.get((row[0], row[1]))
            if s is None:
                s = self.subs[(row[0], row[1])] = Sub(row, t0)
            code, token = row[9], row[10]
            if row[2]:
                s.other += ((code, token),)
                continue
            s.codes += (code,)
            if code in (CREATED, SAME):
                s.tasks += (token,)
                if s.t1 is None or t1 < s.t1:
                    s.t1, s.batch, s.place = t1, batch, place
                before = s.codes[-2] if len(s.codes) > 1 else CREATED
                if before == 0 or code == SAME and before not in (CREATED, SAME):
                    s.batch = None  # an earlier request made it, or may have: unanswered, or put off
                t = self.task(token)
                t.sub = t.sub or s

    def on_take(self, e):
        self.heard("take", e[3])
        answer = []
        for place, row in enumerate(e[5]):
            t, s = self.task(row[0]), Start(e, row, answer, place, self.opts.clock_ms / 1000)
            t.starts += (s,)
            answer.append((t, s))
        if answer:
            self.answers.append(answer)

    def on_settle(self, e):
        _, t0, t1, status, verb, rows = e
        self.heard(verb, status)
        for token, attempt, lease, delay, code, until in rows:
            self.task(token).settled += ((verb, attempt, lease, t0, t1, code, delay, until),)

    def on_cancel(self, e):
        self.heard("cancel", e[3])
        self.task(e[4]).cancels += (tuple(e[1:4]) + (e[5],),)

    def on_get(self, e):
        self.heard("get", e[3])
        self.task(e[4]).states += ((e[1], e[2], e[3], e[5], e[6]),)

    def on_result(self, e):
        self.heard("result", e[3])
        self.task(e[4]).results += ((e[3], e[5]),)

    def on_named(self, e):
        self.names.append(tuple(e[3:]))


# ---- promises -----------------------------------------------------------------------------


def acknowledged(h):
    """The tasks of answers 201 and 200."""
    return [t for t in h.tasks.values() if t.sub]


def last_state(t):
    """What the last question said, or None."""
    said = [s for s in t.states if s[2] in (200, 404, 410)]
    return max(said) if said else None


def check_end(h):
    c = Claim("J1 every acknowledged task is known, and comes to one end")
    for t in acknowledged(h):
        c.seen += 1
        said = last_state(t)
        ends = {s[3] for s in t.states if s[3] in FINAL}
        if t.acked():
            ends.add("succeeded")
        ends |= {x[3] for x in t.cancels if x[2] == 200 and x[3] in FINAL}
        done = min((x[4] for x in t.acked()), default=None)
        if said and said[2] == 404:
            c.broken("%s: nobody knows it" % t)
        elif done and any(s.t0 > done + h.opts.clock_ms / 1000 for s in t.starts):
            c.broken("%s: it was done, and began again" % t)
        elif len(ends) > 1:
            c.broken("%s: it was %s" % (t, " and ".join(sorted(ends))))
        elif not ends and not (said and said[2] == 410):
            c.broken("%s: it has no end%s" % (t, ", it is " + said[3] if said else ""))
    return c


def check_done(h):
    c = Claim("J2 what succeeded was handed out, and acknowledged by a worker")
    for t in acknowledged(h):
        said = last_state(t)
        if said and said[3] == "succeeded":
            c.seen += 1
            if not any(s[0] == "ack" for s in t.settled):
                c.broken("%s: nobody did it" % t)
    return c


def check_once(h):
    c = Claim("J3 an attempt is handed out once; what is handed out was submitted, byte for byte")
    for t in h.tasks.values():
        seen = set()
        for s in t.starts:
            if s.by < 0 and not t.sub:
                continue  # somebody else's
            c.seen += 1
            if s.attempt in seen:
                c.broken("%s: attempt %d twice" % (t, s.attempt))
            seen.add(s.attempt)
            sub = h.subs.get((s.by, s.n))
            if sub is None or not s.same or (t.sub and t.sub is not sub):
                c.broken("%s: its payload is another's, or damaged" % t)
    return c


def over_by(t, s):
    """When the lease of this start may have ended at the earliest."""
    until, given = s.until, None
    for verb, attempt, _, t0, _, code, _, to in t.settled:
        if attempt != s.attempt:
            continue
        if verb == "extend" and code == 200:
            until = max(until, to)
        elif verb in ("nack", "ack") and code not in (404, 409, 410, 422):
            given = min(given or t0, t0)  # also one whose answer was lost
    return until if given is None else min(until, given)


def check_lease(h):
    c = Claim("a lease is one worker's: no other start before it is over, no answer to it after")
    slack = h.opts.clock_ms / 1000
    for t in h.tasks.values():
        starts = sorted(t.starts, key=lambda s: s.attempt)
        for a, b in zip(starts, starts[1:]):
            c.seen += 1
            if a.until and b.t1 + slack < over_by(t, a):
                c.broken("%s: attempt %d began %.3f s before %d was over" % (
                    t, b.attempt, over_by(t, a) - b.t1, a.attempt))
        for verb, attempt, _, t0, _, code, _, _ in t.settled:
            later = [b.t1 for b in starts if b.attempt > attempt]
            if later and min(later) < t0 and code in (200, 204):
                c.broken("%s: %s of attempt %d after a later one had begun" % (t, verb, attempt))
    return c


def check_order(h):
    c = Claim("J6 first attempts of a key and priority begin in the order of entry")
    lines, late_s = {}, h.opts.late_s
    for t in acknowledged(h):
        first = [s for s in t.starts if s.attempt == 1]
        if first and t.sub.t1 is not None:
            lines.setdefault((t.sub.key, t.sub.priority), []).append((t, min(first, key=lambda s: s.t0)))
    for line in lines.values():
        c.seen += len(line)
        # By the latest moment of entry: who certainly stood there when t came.
        before = sorted(line, key=lambda x: x[0].sub.waits_by(late_s))
        i, latest = 0, None
        for t, s in sorted(line, key=lambda x: x[0].sub.due()):
            while i < len(before) and before[i][0].sub.waits_by(late_s) < t.sub.due():
                if latest is None or before[i][1].t0 > latest[1].t0:
                    latest = before[i]
                i += 1
            if latest and latest[1].t0 > s.t1:
                c.broken("%s began before %s, which came first" % (t, latest[0]))
        rows = {}
        for t, s in line:
            if t.sub.batch and not t.sub.delay and not t.sub.at:
                rows.setdefault(t.sub.batch, []).append((t.sub.place, s.t0, s.t1, t))
        for batch in rows.values():
            latest = None
            for _, t0, t1, t in sorted(batch, key=lambda x: x[0]):
                if latest and latest[0] > t1:
                    c.broken("%s began before %s, which stands before it in a batch" % (t, latest[1]))
                if latest is None or t0 > latest[0]:
                    latest = (t0, t)
    for answer in h.answers:  # within an answer the order is exact
        last = {}
        for t, s in answer:
            if not t.sub or s.attempt != 1 or t.sub.t1 is None:
                continue
            key = (t.sub.key, t.sub.priority)
            if key in last:
                p = last[key]
                mine, its = t.sub, p.sub
                if mine.waits_by(late_s) < its.due() or (
                        mine.batch and mine.batch is its.batch and mine.place < its.place and
                        not (mine.delay or mine.at or its.delay or its.at)):
                    c.broken("%s was handed out before %s, which came first" % (p, t))
            last[key] = t
    return c


def check_early(h):
    c = Claim("J7 nothing begins early: delays, times, back-offs of a nack")
    slack = h.opts.clock_ms / 1000
    for t in h.tasks.values():
        for s in t.starts:
            if t.sub and (t.sub.delay or t.sub.at):
                c.seen += 1
                if s.t1 + slack < t.sub.due():
                    c.broken("%s began %.3f s early" % (t, t.sub.due() - s.t1))
            for verb, attempt, _, t0, _, code, delay, _ in t.settled:
                if verb == "nack" and code in (200, 204) and s.attempt == attempt + 1:
                    c.seen += 1
                    if s.t1 + slack < t0 + delay:
                        c.broken("%s: attempt %d began %.3f s early" % (t, s.attempt, t0 + delay - s.t1))
    return c


def check_cancel(h):
    c = Claim("J12 nothing begins after a cancel was answered, and the task is cancelled")
    slack = h.opts.clock_ms / 1000
    for t in h.tasks.values():
        done = [x for x in t.cancels if x[2] == 200]
        if not done:
            continue
        c.seen += 1
        told = min(x[1] for x in done)
        for s in t.starts:
            if s.t0 > told + slack:
                c.broken("%s: attempt %d began %.3f s after it" % (t, s.attempt, s.t0 - told))
        said = last_state(t)
        if said and said[2] == 200 and said[3] not in ("cancelled", "succeeded", "dead"):
            c.broken("%s: it is %s" % (t, said[3]))
    return c


def check_same(h):
    c = Claim("J13 the same key is one task, another payload is refused; a name finds its task")
    for s in h.subs.values():
        if len(s.codes) > 1:
            c.seen += 1
            if len(set(s.tasks)) > 1:
                c.broken("%s: %d tasks" % (s, len(set(s.tasks))))
            if s.codes.count(CREATED) > 1 or (CREATED in s.codes and CREATED in s.codes[s.codes.index(CREATED) + 1:]):
                c.broken("%s: created twice" % s)
            if MISMATCH in s.codes:
                c.broken("%s: the same payload was refused" % s)
        for code, token in s.other:
            c.seen += 1
            if code in (CREATED, SAME) and s.tasks:
                c.broken("%s: another payload was accepted as %s" % (s, token[-12:]))
    for status, by, n, token in h.names:
        s = h.subs.get((by, n))
        c.seen += 1
        if s and s.tasks and status == 200 and token not in s.tasks:
            c.broken("%s: its name finds another task" % s)
        if s and s.tasks and status == 404:
            c.broken("%s: nobody knows its name" % s)
    return c


def check_results(h):
    c = Claim("J14 a result is what the worker gave, byte for byte, at each read")
    for t in acknowledged(h):
        given = {result_of(t.sub.by, t.sub.n, s[1]) for s in (t.acked() or t.settled) if s[0] == "ack"}
        texts = [text for status, text in t.results if status == 200]
        if not texts:
            continue
        c.seen += 1
        if len(set(texts)) > 1:
            c.broken("%s: two reads, two results" % t)
        elif given and texts[0] not in given:
            c.broken("%s: it is %.60s" % (t, texts[0]))
    return c


def check_enough(h):
    c = Claim("enough was seen: at least %d tasks acknowledged, %d done" % (h.opts.tasks, h.opts.done))
    tasks = acknowledged(h)
    c.seen = len(tasks)
    done = sum(bool(t.acked()) for t in tasks)
    if len(tasks) < h.opts.tasks or done < h.opts.done:
        c.broken("%d tasks, %d done" % (len(tasks), done))
    return c


CHECKS = (check_enough, check_end, check_done, check_once, check_lease, check_order, check_early, check_cancel,
          check_same, check_results)


def judge(folder, opts):
    """All claims."""
    h = History(folder, opts)
    return h, [check(h) for check in CHECKS]


def figures(h):
    """What happened, for people."""
    tasks, ends = acknowledged(h), {}
    for t in tasks:
        said = last_state(t)
        end = "succeeded" if t.acked() else said[3] if said else "unknown"
        ends[end] = ends.get(end, 0) + 1
    repeated = sum(len(t.starts) > 1 for t in tasks)
    print("tasks: %d acknowledged, %s" % (len(tasks), ", ".join("%d %s" % (n, e) for e, n in sorted(ends.items()))))
    print("starts: %d, tasks that began more than once: %d" % (sum(len(t.starts) for t in tasks), repeated))
    print("answers: " + ", ".join("%s %s: %d" % (what, status or "none", n)
                                  for (what, status), n in sorted(h.codes.items())))


def options(argv):
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("--clock-ms", type=float, default=3, help="that the node's clock may differ from the callers'")
    p.add_argument("--late-s", type=float, default=0.1,
                   help="that clocks may differ over the run; what is due late still enters in its order")
    p.add_argument("--tasks", type=int, default=1, help="acknowledged at least")
    p.add_argument("--done", type=int, default=1, help="of them acknowledged by a worker")
    return p.parse_args(argv)


def main(argv):
    """0: all promises were kept."""
    opts = options(argv)
    gc.disable()  # millions of objects, and nothing of it goes
    h, claims = judge(opts.folder, opts)
    figures(h)
    for c in claims:
        print("\n".join(c.lines()))
    bad = sum(bool(c.bad) for c in claims)
    print("judge: %d passed, %d failed" % (len(claims) - bad, bad))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
