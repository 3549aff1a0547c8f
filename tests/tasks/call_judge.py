#!/usr/bin/python3
"""call_judge.py [options] HISTORY-FOLDER: was every promise about calls kept? Judged from what
call_driver.py was told and what hostile_target.py saw, and from nothing else. A line per promise, as
judge.py says them; the last line is "call_judge: N passed, M failed". Exit 0: no violation.

The target's lines (target.jsonl), and those of who runs the test (any other .jsonl):
  ["arrive", t, no, id, attempt, redelivered, queue, by, n, word, body]
  ["leave", t, no, status, how, hold, length, sha256]   how: said, cut (by the target), gone (the caller;
                                                        length: of a 200 without an end, what was sent)
  ["trap", t, address]                                  somebody has connected to a refused address
  ["fault", t0, t1]                                     a process was killed, a partition moved
  ["storm", t0, t1]                                     each call failed, from before t0 until behind t1
BY below 0: of none of the driver's tasks. A call whose caller went before its deadline has no known end: its slot is taken until then. A call is
on its way for --late-s at most before it arrives; a fault of that moment excuses what it may do."""
import argparse
import bisect
import hashlib
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import judge  # noqa: E402
from api import payload_of  # noqa: E402
from judge import Claim, acknowledged, last_state  # noqa: E402

LEAST_BUDGET, PER_FIRST, SPAN_S = 3, 5, 10  # retries: 3, and one for 5 first attempts, in 10 s
READ_MOST = 16 << 20  # of an answer; behind that its status counts
PERMANENT = ("302", "404", "abort")  # words of the plan


class Visit:
    """A call at the target. t1 None: it is there still."""
    __slots__ = ("t0", "no", "id", "attempt", "again", "queue", "by", "n", "word", "body", "t1", "status", "how",
                 "hold", "length", "sha256", "sub")

    def __init__(self, e):
        for name, value in zip(self.__slots__, e[1:]):
            setattr(self, name, value)
        self.t1, self.status, self.how, self.hold, self.length, self.sha256, self.sub = None, 0, "", 0, 0, "", None

    def is_done(self):
        return self.how == "said" and 200 <= self.status < 300

    def may_be_done(self):
        return self.is_done() or self.how == "gone" and self.length > READ_MOST

    def is_final(self):
        return self.is_done() or self.how == "said" and self.word in PERMANENT

    def __str__(self):
        return "call %d (task %s, attempt %d)" % (self.no, self.id, self.attempt)


class Began:
    """An attempt as the checks of judge.py know it: when it began, at the earliest and at the latest."""
    __slots__ = ("t0", "t1", "attempt")

    def __init__(self, visit, late_s):
        self.t0, self.t1, self.attempt = visit.t0 - late_s, visit.t0, visit.attempt


class History(judge.History):
    """With what the target saw."""

    def __init__(self, folder, opts):
        self.visits, self.traps, self.faults, self.storms, self.of, self.said = {}, [], [], [], {}, {}
        super().__init__(folder, opts)
        self.visits = sorted(self.visits.values(), key=lambda v: v.t0)
        for v in self.visits:
            v.sub = self.subs.get((v.by, v.n))
            if v.by >= 0:
                self.of.setdefault((v.by, v.n), []).append(v)
        for t in self.tasks.values():
            if t.sub:
                t.starts = tuple(Began(v, opts.late_s) for v in self.visits_of(t))

    def on_arrive(self, e):
        v = Visit(e)
        self.visits[v.no] = v

    def on_leave(self, e):
        v = self.visits[e[2]]
        _, v.t1, _, v.status, v.how, v.hold, v.length, v.sha256 = e

    def on_trap(self, e):
        self.traps.append(e[2])

    def on_fault(self, e):
        self.faults.append((e[1], e[2]))

    def on_storm(self, e):
        self.storms.append((e[1], e[2]))

    def on_result(self, e):
        super().on_result(e)
        self.said.setdefault(e[4], []).append((e[3], e[5], e[6], e[7]))

    def visits_of(self, t):
        return self.of.get((t.sub.by, t.sub.n), ())

    def fault_in(self, a, b):
        """May one have struck then, or just before?"""
        late = self.opts.late_s
        return any(t0 - late <= b and t1 + late >= a for t0, t1 in self.faults)


def is_unknown(h, v):
    """The caller went, and not because of the deadline."""
    return v.t1 is None or v.how == "gone" and v.t1 - v.t0 < h.opts.deadline_s - h.opts.late_s and v.word != "endless"


# ---- promises -----------------------------------------------------------------------------


def check_done(h):
    c = Claim("J2 what succeeded was answered so by the target; what has an end was sent")
    for t in acknowledged(h):
        said = last_state(t)
        state = said[3] if said else ""
        if state not in ("succeeded", "dead"):
            continue
        c.seen += 1
        if state == "succeeded" and not any(v.may_be_done() for v in h.visits_of(t)):
            c.broken("%s: the target has not said so" % t)
        elif not h.visits_of(t) and not h.faults:
            c.broken("%s: it is dead, and was never sent" % t)
    return c


def check_once(h):
    c = Claim("J3 an attempt is sent once; a further one says so; what is sent was submitted, byte for byte")
    for (by, n), visits in h.of.items():
        sub, attempts = h.subs.get((by, n)), set()
        for v in visits:
            c.seen += 1
            if (v.id, v.attempt) in attempts:
                c.broken("%s: twice" % v)
            attempts.add((v.id, v.attempt))
            if v.again != int(v.attempt > 1):
                c.broken("%s: segq-redelivered is %d" % (v, v.again))
            if sub is None or v.body != payload_of(h.opts.run, by, n):
                c.broken("%s: its body is another's, or damaged" % v)
        if len({v.id for v in visits}) > 1:
            c.broken("submission %d/%d: it was sent as %d tasks" % (by, n, len({v.id for v in visits})))
    return c


def check_exactly(h):
    c = Claim("J3 without a fault no attempt is missing, and none follows the last one")
    for visits in h.of.values():
        before = None
        for v in sorted(visits, key=lambda v: v.attempt):
            c.seen += 1
            begin = before.t1 or before.t0 if before else v.sub.t0 if v.sub else v.t0
            if h.fault_in(begin, v.t0):
                pass
            elif v.attempt != (before.attempt if before else 0) + 1:
                c.broken("%s: it is the first one behind %d" % (v, before.attempt if before else 0))
            elif before and before.is_final():
                c.broken("%s: the one before it had ended the task (%s)" % (v, before.word))
            before = v
    return c


def ends_at(h, v):
    """Its slot is certainly taken until then."""
    late = h.opts.late_s
    if is_unknown(h, v):
        return v.t0 + h.opts.deadline_s - late
    if v.how == "gone":  # we hear of it when somebody else has its slot
        return min(v.t1, v.t0 + h.opts.deadline_s) - late
    return v.t1


def most_at_once(spans):
    """Of pairs of begin and end."""
    now = most = 0
    for _, step in sorted([(a, 1) for a, b in spans if b > a] + [(b, -1) for a, b in spans if b > a]):
        now += step
        most = max(most, now)
    return most


def check_slots(h):
    c = Claim("J4 never more calls at the target than slots, of the endpoint and of a key")
    lines = {}
    for v in h.visits:
        c.seen += 1
        lines.setdefault("", []).append((v.t0, ends_at(h, v)))
        if v.sub and v.sub.key and h.opts.key_slots:
            lines.setdefault(v.queue + " " + v.sub.key, []).append((v.t0, ends_at(h, v)))
    for key, spans in lines.items():
        most, slots = most_at_once(spans), h.opts.key_slots if key else h.opts.slots
        if slots and most > slots:
            c.broken("%s%d at once, of %d" % (key + ": " if key else "", most, slots))
    return c


def most_above(times, rate):
    """The most that a window has above rate * its length, over all windows."""
    least, most = 0.0, 0.0
    for i, t in enumerate(times):
        least = min(least, i - rate * (t - times[0]))
        most = max(most, i + 1 - rate * (t - times[0]) - least)
    return most


def check_rate(h):
    c = Claim("J5 starts in any window: at most the burst, and the rate")
    o, times = h.opts, [v.t0 for v in h.visits]
    c.seen = len(times)
    if o.rate and times:
        most, allowed = most_above(times, o.rate), max(o.burst, o.nodes) + o.rate * o.late_s + 1
        if most > allowed:
            c.broken("%.0f above the rate in a window, at most %.0f" % (most, allowed))
    return c


def waits(h, v):
    """For so long nothing of its task is sent behind this attempt, which did not end it."""
    if is_unknown(h, v):
        return h.opts.deadline_s - h.opts.late_s - ((v.t1 or v.t0) - v.t0)
    if v.how == "gone":  # the caller knew it before us
        return h.opts.retry_s - h.opts.late_s
    return v.hold if v.word == "retry" and v.hold else max(v.hold, h.opts.retry_s)


def check_retries(h):
    c = Claim("J7 no retry before its back-off, Retry-After, or the deadline of a call without an end")
    slack = h.opts.clock_ms / 1000
    for visits in h.of.values():
        line = sorted(visits, key=lambda v: v.attempt)
        for a, b in zip(line, line[1:]):
            c.seen += 1
            early = (a.t1 or a.t0) + waits(h, a) - b.t0
            if early > slack and b.attempt > a.attempt:
                c.broken("%s: %.3f s early, behind %s" % (b, early, a.word))
    return c


def check_hold(h):
    c = Claim("J7 Retry-After of a 429 or 503 holds the endpoint, for all tasks of the node")
    late, times = h.opts.late_s, {}
    for v in h.visits:
        times.setdefault(v.queue, []).append(v.t0)
    for v in h.visits:
        if v.status in (429, 503) and v.how == "said" and v.hold > late and not h.fault_in(v.t1, v.t1 + v.hold):
            c.seen += 1
            line = times[v.queue]
            i = bisect.bisect_left(line, v.t1 + late)
            if i < len(line) and line[i] < v.t1 + v.hold - h.opts.clock_ms / 1000:
                c.broken("%s: another call %.3f s behind its %d" % (v, line[i] - v.t1, v.status))
    return c


def check_cancel(h):
    c = Claim("J12 nothing is sent after a cancel was answered")
    for t in acknowledged(h):
        for _, told, status, state in t.cancels:
            if status != 200:
                continue
            c.seen += 1
            # One that was under way may arrive yet, and none behind it.
            late = [v for v in h.visits_of(t) if v.t0 > told + (0 if state == "cancelled" else h.opts.late_s)]
            if late:
                c.broken("%s: %.3f s after it (%s)" % (late[0], late[0].t0 - told, state))
    return c


def check_results(h):
    c = Claim("J14 a result is what the target sent, byte for byte, or its beginning, at each read")
    for t in acknowledged(h):
        reads = [r[1:] for r in h.said.get(t.token, ()) if r[0] == 200]
        good = {v.sha256: v.length for v in h.visits_of(t) if v.is_done()}
        if not reads or not good:
            continue
        c.seen += 1
        text, length, sha256 = reads[0]
        whole = len(text) == max(good.values())
        if len(set(reads)) > 1:
            c.broken("%s: two reads, two results" % t)
        elif good.get(sha256) != int(length or -1) or whole and hashlib.sha256(text.encode()).hexdigest() != sha256:
            c.broken("%s: it is %.60s" % (t, text))
    return c


def check_budget(h):
    c = Claim("J15 retries are a fifth of the first attempts of 10 s, and three")
    o = h.opts
    firsts = [v.t0 for v in h.visits if v.attempt == 1]
    # One behind an attempt without a known end costs nothing.
    retries = sorted(b.t0 for line in h.of.values() for a, b in zip(line, line[1:])
                     if b.attempt == a.attempt + 1 and not is_unknown(h, a))
    c.seen = len(retries)
    busiest = max((bisect.bisect_right(firsts, t + SPAN_S + o.late_s) - i for i, t in enumerate(firsts)), default=0)
    of_span = o.nodes * LEAST_BUDGET + busiest / PER_FIRST
    allowed = of_span * (1 + o.late_s / SPAN_S) + LEAST_BUDGET * len(h.faults) + 1
    if retries and most_above(retries, of_span / SPAN_S) > allowed:
        c.broken("%.0f above the budget in a window, at most %.0f" % (
            most_above(retries, of_span / SPAN_S), allowed))
    return c


def check_probes(h):
    c = Claim("J15 while every call fails there are only probes, one for each time that the breaker is open")
    o, times = h.opts, [v.t0 for v in h.visits]
    for t0, t1 in h.storms:
        a, b = t0 + o.settle_s, t1
        if b <= a:
            continue
        # Each time is twice as long as the one before.
        rounds, left, last = 1, b - a, o.open_s
        while left > last:
            rounds, left, last = rounds + 1, left - last, last * 2
        n = bisect.bisect_left(times, b) - bisect.bisect_left(times, a)
        c.seen += n
        allowed = o.nodes * rounds + sum(20 + o.slots for f in h.faults if f[1] > t0 and f[0] < t1)
        if n > allowed:
            c.broken("%d calls in %.1f s, at most %d" % (n, b - a, allowed))
    return c


def check_burnt(h):
    c = Claim("J15 no task dies of attempts that cost nothing: 429, probes, an open breaker")
    for t in acknowledged(h):
        said = last_state(t)
        if not said or said[3] != "dead":
            continue
        c.seen += 1
        visits = h.visits_of(t)
        failed = sum(v.status != 429 for v in visits) + len(h.faults)
        if not any(v.is_final() for v in visits) and failed < h.opts.attempts:
            c.broken("%s: it is dead after %d attempts that count, of %d" % (t, failed, h.opts.attempts))
    return c


def check_trap(h):
    c = Claim("J16 nobody connects to an address that is refused")
    c.seen = len(h.visits)
    for address in h.traps:
        c.broken("somebody was at %s" % address)
    return c


def check_enough(h):
    o, tasks = h.opts, acknowledged(h)
    done = sum(any(v.is_done() for v in h.visits_of(t)) for t in tasks)
    c = Claim("enough was seen: at least %d tasks acknowledged, %d done" % (o.tasks, o.done))
    c.seen = len(tasks)
    if len(tasks) < o.tasks or done < o.done:
        c.broken("%d tasks, %d done" % (len(tasks), done))
    return c


CHECKS = (check_enough, judge.check_end, check_done, check_once, check_exactly, check_slots, check_rate,
          judge.check_order, judge.check_early, check_retries, check_hold, check_cancel, judge.check_same,
          check_results, check_budget, check_probes, check_burnt, check_trap)


def options(argv):
    """The command line: what was defined, and how slow the machine may be."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("--run", required=True, help="name of the driver's run")
    for name, default, what in (
            ("nodes", 1, "task nodes"), ("slots", 0, "max_concurrent of the endpoint; 0: any"),
            ("key-slots", 0, "of a key"), ("burst", 1, "of the endpoint"), ("attempts", 5, "max_attempts"),
            ("tasks", 1, "acknowledged at least"), ("done", 1, "of them done")):
        p.add_argument("--" + name, type=int, default=default, help="%s (%d)" % (what, default))
    for name, default, what in (
            ("rate", 0, "rate_per_s of the endpoint; 0: any"), ("deadline-s", 30, "of a call"),
            ("retry-s", 1, "least back-off"), ("open-s", 5, "of the breaker, the first time"),
            ("settle-s", 2, "of a storm, until breakers are open and nothing is on its way"),
            ("clock-ms", 3, "that clocks are read apart"), ("late-s", 0.5, "that a call may be on its way")):
        p.add_argument("--" + name, type=float, default=default, help="%s (%g)" % (what, default))
    return p.parse_args(argv)


def judged(folder, opts):
    """All claims."""
    h = History(folder, opts)
    return h, [check(h) for check in CHECKS]


def figures(h):
    """What happened, for people."""
    words = {}
    for v in h.visits:
        what = "%s %s" % (v.word, v.how or "there")
        words[what] = words.get(what, 0) + 1
    print("calls: %d, of them retries %d; most at once %d; faults %d" % (
        len(h.visits), sum(v.attempt > 1 for v in h.visits), most_at_once([(v.t0, ends_at(h, v)) for v in h.visits]),
        len(h.faults)))
    print("what came of them: " + ", ".join("%s: %d" % x for x in sorted(words.items())))


def main(argv):
    """0: all promises were kept."""
    opts = options(argv)
    h, claims = judged(opts.folder, opts)
    figures(h)
    for c in claims:
        print("\n".join(c.lines()))
    bad = sum(bool(c.bad) for c in claims)
    print("call_judge: %d passed, %d failed" % (len(claims) - bad, bad))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
