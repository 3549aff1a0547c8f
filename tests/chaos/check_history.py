"""check_history.py [options] HISTORY: was every promise kept? Judged from what observer.py wrote
down, and from nothing else. Prints a report per phase, and a line per promise:

  claim<TAB>I4 a position never grows<TAB>NUMBER OF VIOLATIONS<TAB>what was looked at, examples

"A before B" means here: A's join was answered before B's was sent. Everything else has no order.
Exit 0: no violation."""
import argparse
import base64
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from claims import Claim  # noqa: E402

GOOD = {"join": (200, 201), "poll": (200, 410), "last": (200, 410), "leave": (204,), "verify": (204,)}
REFUSED = (401, 403)  # what a gateway is told of a pass that is not good
LATER = {429: ("too_fast",), 503: ("queue_unavailable", "queue_full")}
CALM = "calm"  # the phase in which nothing is broken yet
FRESH_S, KEPT_S = 0.25, 15  # replica_fresh and replica_keep of the routers
HEARD_LATE_S = 10  # so late may people hear of a release; a jump of a clock is far longer


class Ticket:
    """All that was heard of one token, in the order in which it was heard."""

    def __init__(self, token):
        self.token, self.joins, self.heard = token, [], []
        self.leave_sent = self.left_by = None  # left_by: then it was answered
        self.lane = "default"

    def short(self):
        """A name for messages."""
        return "%s (person %s)" % (self.token[:18], self.joins[0]["who"] if self.joins else "?")

    def first_sent(self):
        """The earliest moment at which it may have been placed."""
        return min(j["earliest"] for j in self.joins)

    def acked(self):
        """Now it certainly was."""
        return min(j["t1"] for j in self.joins)

    def admissions(self):
        """Answers with a pass."""
        return [e for e in self.heard if e.get("state") == "admitted"]

    def released_at(self):
        """None while nobody said so."""
        told = [e["released_at"] for e in self.admissions() if "released_at" in e]
        return min(told) if told else None

    def released_by(self):
        """Then the release was over: somebody was told of it. None: nobody was."""
        return min((e["t1"] for e in self.admissions()), default=None)

    def waited_at(self):
        """Then it had not begun: the last question that was answered with "waiting"."""
        return max((e["t0"] for e in self.heard if e.get("state") == "waiting"), default=None)


def read_lines(path):
    """JSON lines; a last one that was cut off does not count."""
    out = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.endswith("\n"):
                out.append(json.loads(line))
    return out


def tickets_of(events):
    """token -> Ticket. A join with a subject may have been done by any attempt before it."""
    tickets, first_try = {}, {}
    for e in sorted(events, key=lambda x: x["t0"]):
        if e["op"] == "join" and "subject" in e:
            first_try.setdefault(e["subject"], e["t0"])
    for e in sorted(events, key=lambda x: x["t1"]):
        token = e.get("asked") or e.get("token")
        if not token or (e["op"] == "join" and e["status"] not in GOOD["join"]):
            continue
        t = tickets.setdefault(token, Ticket(token))
        t.lane = e.get("lane", t.lane)
        if e["op"] == "join":
            e["earliest"] = first_try.get(e.get("subject"), e["t0"])
            t.joins.append(e)
        if e["op"] == "leave":
            t.leave_sent = min(e["t0"], t.leave_sent or e["t0"])
            if e["status"] in GOOD["leave"]:
                t.left_by = min(e["t1"], t.left_by or e["t1"])
        elif e["status"]:
            t.heard.append(e)
    return {k: t for k, t in tickets.items() if t.joins}


# ---- one ticket ----------------------------------------------------------------------------


def silent_s(ticket, until):
    """The longest time for which nobody asked for it, before that moment."""
    sent = sorted(e["t0"] for e in ticket.heard if e["t0"] < until) + [until]
    return max((b - a for a, b in zip(sent, sent[1:])), default=0)


def may_be_gone(ticket, e, opts):
    """Is there a good reason for a 410?"""
    if ticket.leave_sent is not None and ticket.leave_sent < e["t1"]:
        return True
    if e.get("reason") == "finished":
        released = ticket.admissions()
        return bool(released) and e["t1"] - released[0]["t0"] >= opts.pass_ttl_s - 5
    if e.get("reason") in ("idle", "no_show"):
        return silent_s(ticket, e["t1"]) >= opts.idle_s
    return False


def check_kept(tickets, opts):
    """I1, first half: an acknowledged ticket is never lost."""
    c = Claim("I1 an acknowledged ticket is never lost")
    for t in tickets.values():
        c.seen += 1
        last = [e for e in t.heard if e["op"] == "last" and e["status"] in GOOD["last"]]
        if not last:
            c.broken("%s: no answer to the last question" % t.short())
        for e in t.heard:
            if e["status"] == 404:
                c.broken("%s: 404 at %.3f" % (t.short(), e["t1"]))
            elif e["status"] == 410 and not may_be_gone(t, e, opts):
                c.broken("%s: gone (%s) at %.3f" % (t.short(), e.get("reason"), e["t1"]))
    return c


def check_left(tickets, _opts):
    """I1, too: a leave that was answered is kept."""
    c = Claim("I1 who has left has left")
    for t in tickets.values():
        for e in t.heard if t.left_by else ():
            c.seen += 1
            if e["t0"] > t.left_by and e.get("state") in ("waiting", "admitted"):
                c.broken("%s: left at %.3f, %s at %.3f" % (
                    t.short(), t.left_by, e["state"], e["t1"]))
    return c


def check_one_state(tickets, _opts):
    """I1, second half: waiting, then admitted, then gone, never back. Answers to questions that
    were under way at the same time say nothing about one another."""
    c = Claim("I1 a ticket never goes back to an earlier state")
    rank = {"waiting": 0, "admitted": 1}
    for t in tickets.values():
        reached = []  # (answered, rank), the rank grows
        for e in t.heard:
            r = 2 if e["status"] == 410 else rank.get(e.get("state"))
            if r is None:
                continue
            c.seen += 1
            if any(at <= e["t0"] and was > r for at, was in reached):
                c.broken("%s: %s at %.3f after a later state" % (
                    t.short(), e.get("state"), e["t1"]))
            if not reached or r > reached[-1][1]:
                reached.append((e["t1"], r))
    return c


def check_passes(tickets, _opts):
    """I2: one pass per ticket, and it is nobody else's."""
    c = Claim("I2 one pass per ticket, the same when asked again")
    owner = {}
    for t in tickets.values():
        got = t.admissions()
        c.seen += len(got)
        kinds = {(e.get("jti"), e.get("pass"), e.get("released_at")) for e in got}
        if len(kinds) > 1:
            c.broken("%s: %d different passes" % (t.short(), len(kinds)))
        for jti, body, _ in kinds:
            if jti is None or body is None:
                c.broken("%s: admitted without a pass" % t.short())
            elif owner.setdefault(jti, t.token) != t.token:
                c.broken("%s: pass %s is somebody else's, too" % (t.short(), jti))
    return c


def check_accepted(events, tickets, opts):
    """At every router, for the life of the pass as its holder sees it, from when it was told;
    unless it was given back."""
    c = Claim("I2 a genuine pass is accepted for its life (at least %d times)" % opts.accepted)
    accepted = 0
    for e in events:
        t = tickets.get(e.get("of"))
        if e["op"] != "verify" or t is None or not t.admissions():
            continue
        c.seen += 1
        accepted += e["status"] in GOOD["verify"]
        left = t.leave_sent is not None and t.leave_sent < e["t1"]
        over = e["t1"] - t.admissions()[0]["t0"] >= opts.pass_ttl_s - 5
        if e["status"] in REFUSED and not left and not over:
            c.broken("%s: %d by router %d at %.3f (%s)" % (
                t.short(), e["status"], e["router"], e["t1"], e.get("phase")))
    if accepted < opts.accepted:
        c.broken("%d times" % accepted)
    return c


def number_of(token):
    """What a token says of its place: segment and number, its first 13 bytes."""
    try:
        return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))[:13]
    except ValueError:
        return token


def check_numbers(tickets, _opts):
    """Also of what may have been forgotten: a place is never two people's in the end."""
    c = Claim("I2 a number is given once, whatever is forgotten")
    owner = {}
    for t in tickets.values():
        if any(e["op"] == "last" and e["status"] == 200 for e in t.heard):
            c.seen += 1
            if owner.setdefault(number_of(t.token), t.token) != t.token:
                c.broken("%s: somebody else has its number, too" % t.short())
    return c


def check_asker(tickets, _opts):
    """An answer that is late or astray must never reach somebody else."""
    c = Claim("I2 an answer belongs to who asked")
    for t in tickets.values():
        for e in t.heard:
            if "asked" in e and "token" in e:
                c.seen += 1
                if e["asked"] != e["token"]:
                    c.broken("%s: was told of %s at %.3f" % (t.short(), e["token"][:18], e["t1"]))
    return c


def last_known(before, e, opts):
    """Of a node that lost power, another router may not have heard what moved in the last
    replica_fresh, and a tick (PROTOCOL.md, section 5): as many places more, while it keeps them."""
    return (e["router"] != before["router"] and
            e["position"] - before["position"] <= int(opts.rate * FRESH_S) + 2 and
            any(t - FRESH_S <= before["t1"] and e["t0"] <= t + KEPT_S for t in opts.cuts))


def check_falls(tickets, opts):
    """I4: an answer to a later question never has a greater position; none of the same router
    ever, so what a router told of what it knew last bounds what it tells."""
    c = Claim("I4 a position never grows")
    for t in tickets.values():
        told = [e for e in t.heard if e.get("state") == "waiting" and e.get("position") is not None]
        best = {}  # router -> its answers: smaller and smaller
        for e in told:
            c.seen += 1
            own = best.setdefault(e["router"], [])
            worse = [b["position"] for v in best.values() for b in v if b["t1"] <= e["t0"] and
                     b["position"] < e["position"] and not last_known(b, e, opts)]
            if worse:
                c.broken("%s: %d after %d at %.3f" % (
                    t.short(), e["position"], worse[-1], e["t1"]))
            if e["position"] < 1:
                c.broken("%s: waiting at %d" % (t.short(), e["position"]))
            if not own or e["position"] < own[-1]["position"]:
                own.append(e)
    return c


# ---- many tickets --------------------------------------------------------------------------


def check_order(tickets, opts):
    """I3: from the last release to the first, with the earliest answered join of those who were
    released strictly later. The same moment is no order."""
    c = Claim("I3 nobody who joined later is released earlier")
    for lane in {t.lane for t in tickets.values()}:
        told = [(t.released_at(), t) for t in tickets.values()
                if t.lane == lane and t.released_at() is not None]
        told.sort(key=lambda x: -x[0])
        first, i = None, 0
        while i < len(told):
            same = [t for at, t in told[i:i + 100000] if at == told[i][0]]
            for t in same:
                c.seen += 1
                if first and first.acked() + opts.apart_s < t.first_sent():
                    c.broken("%s joined after %s" % (t.short(), first.short()))
            for t in same:
                if first is None or t.acked() < first.acked():
                    first = t
            i += len(same)
    return c


def check_order_seen(tickets, opts):
    """I3 without stamps, for a cluster whose wall clocks jump: an earlier one still waits when a
    later one certainly is released."""
    c = Claim("I3 nobody who joined later is seen released earlier")
    for lane in {t.lane for t in tickets.values()}:
        mine = [t for t in tickets.values() if t.lane == lane]
        waits = sorted((t for t in mine if t.waited_at() is not None), key=Ticket.waited_at)
        first = None  # the earliest join of all who wait after that
        for t in sorted((t for t in mine if t.released_by() is not None),
                        key=Ticket.released_by, reverse=True):
            c.seen += 1
            while waits and waits[-1].waited_at() > t.released_by():
                other = waits.pop()
                if first is None or other.acked() < first.acked():
                    first = other
            if first and first.acked() + opts.apart_s < t.first_sent():
                c.broken("%s joined after %s" % (t.short(), first.short()))
    return c


class Smallest:
    """Smallest position of all who sent their join at or after a moment (a Fenwick tree)."""

    def __init__(self, moments):
        self.moments = sorted(set(moments), reverse=True)
        self.rank = {m: i + 1 for i, m in enumerate(self.moments)}
        self.tree = [None] * (len(self.moments) + 1)

    def put(self, moment, value):
        """value = (position, ticket)."""
        i = self.rank[moment]
        while i < len(self.tree):
            if self.tree[i] is None or value[0] < self.tree[i][0]:
                self.tree[i] = value
            i += i & -i

    def after(self, moment):
        """The smallest of those strictly after it."""
        low, high = 0, len(self.moments)
        while low < high:
            mid = (low + high) // 2
            if self.moments[mid] > moment:
                low = mid + 1
            else:
                high = mid
        best = None
        while low > 0:
            if self.tree[low] is not None and (best is None or self.tree[low][0] < best[0]):
                best = self.tree[low]
            low -= low & -low
        return best


def check_positions(tickets, opts):
    """I5: A before B. Where B was told a position, A must be told a smaller one from then on. A
    position may be a tick old: that many more. In a `stale` phase A's node did not hear what
    goes on, which docs/promises.md says: what A was told then is not compared."""
    slack = int(opts.rate * opts.slack_s) + 2 if opts.rate else 0
    c = Claim("I5 positions agree with the order of joins")
    for lane in {t.lane for t in tickets.values()}:
        mine = [t for t in tickets.values() if t.lane == lane]
        smallest, moves = Smallest([t.first_sent() for t in mine]), []
        for t in mine:
            for e in t.heard:
                if e.get("state") == "waiting" and e.get("position") is not None:
                    moves.append((e["t1"], 0, e["position"], t))
                    if e.get("phase") not in opts.stale:
                        moves.append((e["t0"], 1, e["position"], t))
        moves.sort(key=lambda m: m[:2])
        for _, asks, position, t in moves:
            if not asks:
                smallest.put(t.first_sent(), (position, t))
                continue
            c.seen += 1
            other = smallest.after(t.acked() + opts.apart_s)
            if other and other[0] <= position - slack:
                c.broken("%s at %d, but %s, who came later, was at %d already" % (
                    t.short(), position, other[1].short(), other[0]))
    return c


def check_unique(tickets, _opts):
    """I6: a token is one person's; a subject has one ticket per segment (over a tail's hand-over
    there may be a second one: docs/promises.md)."""
    c = Claim("I6 tokens are unique, a repeated join has one effect")
    place = {}
    for t in tickets.values():
        c.seen += len(t.joins)
        if len({j["who"] for j in t.joins}) > 1:
            c.broken("%s: the token of several people" % t.short())
        for j in t.joins:
            key = (j.get("subject"), j.get("segment"))
            if key[0] and place.setdefault(key, t.token) != t.token:
                c.broken("%s: a second ticket of %s in one segment" % (t.short(), key[0]))
    return c


def check_rate(tickets, opts):
    """I7: in every window at most rate * (window + slack) + 1, over all releases seen."""
    c = Claim("I7 releases stay within the rate")
    when = Ticket.released_by if opts.no_stamps else Ticket.released_at
    at = sorted(when(t) for t in tickets.values() if when(t) is not None)
    # stamps have three decimals: the time between two of them is true within one of those
    allowed = opts.rate * (0.001 + opts.slack_s + (HEARD_LATE_S if opts.no_stamps else 0)) + 1
    lead = None  # the most unused budget of any window's beginning
    for i, t in enumerate(at):
        c.seen += 1
        spent = i - opts.rate * t
        lead = spent if lead is None else min(lead, spent)
        if spent - lead + 1 > allowed + 1e-6:
            c.broken("%.1f more than allowed in a window that ends at %.3f" % (
                spent - lead + 1 - allowed, t))
    return c


def check_documented(events, _opts):
    """I9: only documented answers; "not now" says when."""
    c = Claim("I9 only documented answers, 429 and 503 say when to ask again")
    for e in events:
        status = e["status"]
        if status == 0 or status in GOOD[e["op"]] or (status == 404 and e["op"] != "join"):
            c.seen += status != 0  # a 404 is a violation of I1
        elif e["op"] == "verify" and status in REFUSED:
            c.seen += 1
        elif status not in LATER:
            c.broken("%s: %d at %.3f" % (e["op"], status, e["t1"]))
        else:
            c.seen += 1
            if not str(e.get("retry_after", "")).isdigit():
                c.broken("%s: %d without Retry-After" % (e["op"], status))
            if e["op"] != "verify" and e.get("code") not in LATER[status]:
                c.broken("%s: %d %s" % (e["op"], status, e.get("code")))
    return c


# ---- phases and limits ---------------------------------------------------------------------


def phases_of(events, marks):
    """[(name, its events)], by when a request was sent. Events are told theirs, too."""
    marks = sorted(marks, key=lambda m: m["t"]) or [{"phase": "all", "t": 0}]
    out = []
    for i, m in enumerate(marks):
        end = marks[i + 1]["t"] if i + 1 < len(marks) else float("inf")
        out.append((m["phase"], [e for e in events if m["t"] <= e["t0"] < end]))
        for e in out[-1][1]:
            e["phase"] = m["phase"]
    return out


def percentile(values, share):
    """Of a list, 0 for an empty one."""
    v = sorted(values)
    return v[min(len(v) - 1, int(share * len(v)))] if v else 0


def longest_gap(events):
    """The longest time without a useful answer for one person who went on asking; from the first
    question to the last one, the roll call aside."""
    last, gap = {}, 0
    for e in sorted(events, key=lambda x: x["t1"]):
        if e["op"] == "last":
            continue
        last.setdefault(e["who"], e["t0"])
        gap = max(gap, e["t1"] - last[e["who"]])
        if e["status"] in GOOD[e["op"]]:
            last[e["who"]] = e["t1"]
    return gap


def report(phases):
    """For people."""
    for name, events in phases:
        took = [1000 * (e["t1"] - e["t0"]) for e in events if e["status"]]
        print("phase %-8s %6d answers, p50 %.1f p99 %.1f max %.1f ms; %d times 503, %d without "
              "an answer; longest wait for a useful one %.1f s" % (
                  name, len(took), percentile(took, .5), percentile(took, .99), max(took, default=0),
                  sum(e["status"] == 503 for e in events), len(events) - len(took),
                  longest_gap(events)))


def of_phase(phases, where):
    """NAME or NAME@ROUTER -> its events."""
    name, _, router = where.partition("@")
    out = [e for n, events in phases if n == name for e in events]
    return [e for e in out if e["router"] == int(router)] if router else out


def measure(what, events):
    """One figure of a phase."""
    took = [1000 * (e["t1"] - e["t0"]) for e in events]
    if what == "served":
        return sum(e["status"] in GOOD[e["op"]] for e in events)
    return {"slowest": max(took, default=0), "p99": percentile(took, .99),
            "gap": longest_gap(events)}[what]


def check_limit(what, spec, phases):
    """One of --slowest, --p99, --gap, --served, each PHASE[@ROUTER]:NUMBER. Times are those of a
    machine that is not overloaded: where the calm phase was slow, four times its figure counts."""
    where, number = spec.split(":")
    events, limit = of_phase(phases, where), float(number)
    if what != "served":
        limit = max(limit, 4 * measure(what, of_phase(phases, CALM)))
    got = measure(what, events)
    c = Claim({"slowest": "%s: no request takes longer than %.0f ms",
               "p99": "%s: p99 is at most %.0f ms",
               "gap": "%s: everybody hears something useful every %.0f s",
               "served": "%s: at least %.0f useful answers"}[what] % (where, limit))
    c.seen = len(events)
    if not events or (got < limit if what == "served" else got > limit):
        c.broken("it was %.0f" % got)
    return c


def check_enough(tickets, opts):
    """A history in which nothing happened proves nothing."""
    c = Claim("at least %d people got a ticket and %d a pass" % (opts.tickets, opts.admitted))
    admitted = sum(bool(t.admissions()) for t in tickets.values())
    c.seen = len(tickets)
    if len(tickets) < opts.tickets or admitted < opts.admitted:
        c.broken("%d tickets, %d passes" % (len(tickets), admitted))
    return c


def remembered(events, opts):
    """Without what was told shortly before a power cut (it begins a phase of that name), or was
    under way then: it may have been forgotten. Who left has left all the same, if not."""
    return [e for e in events if e["op"] == "leave" or
            not any(e["t1"] >= t - opts.forgets_s and e["t0"] <= t for t in opts.cuts)]


def judge(events, marks, opts):
    """All claims."""
    phases, everything = phases_of(events, marks), tickets_of(events)
    opts.cuts = [m["t"] for m in marks if opts.power and m["phase"].startswith(opts.power)]
    tickets = tickets_of(remembered(events, opts)) if opts.power else everything
    claims = [check_enough(tickets, opts), check_documented(events, opts)]
    order = check_order_seen if opts.no_stamps else check_order
    for check in (check_kept, check_left, check_one_state, check_passes, check_asker, order, check_falls,
                  check_positions, check_unique):
        claims.append(check(tickets, opts))
    if opts.power:
        claims.append(check_numbers(everything, opts))
    if opts.accepted:
        claims.append(check_accepted(events, everything, opts))
    if opts.rate:
        claims.append(check_rate(tickets, opts))
    for what in ("slowest", "p99", "gap", "served"):
        claims += [check_limit(what, spec, phases) for spec in getattr(opts, what)]
    return claims


def options(argv):
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("history")
    p.add_argument("--phases", help="JSON lines: phase, t (its beginning)")
    p.add_argument("--rate", type=float, default=0, help="releases per second; 0: not looked at")
    p.add_argument("--slack-s", type=float, default=0.3, help="of the rate: a late tick, and one")
    p.add_argument("--idle-s", type=float, default=60, help="who is silent so long may be gone")
    p.add_argument("--pass-ttl-s", type=float, default=300)
    p.add_argument("--apart-s", type=float, default=0,
                   help="joins nearer to one another than this have no order")
    p.add_argument("--stale", action="append", default=[], metavar="PHASE",
                   help="in it nodes show old positions: I5 does not hold for these")
    p.add_argument("--no-stamps", action="store_true",
                   help="wall clocks jump: not released_at counts, but when people heard")
    p.add_argument("--power", metavar="PHASE", help="phases that begin so begin with a power cut")
    p.add_argument("--forgets-s", type=float, default=5,
                   help="which takes what was told so shortly before: a second, and a late sync")
    p.add_argument("--accepted", type=int, default=0,
                   help="passes are shown at routers, and accepted so often; 0: not looked at")
    p.add_argument("--tickets", type=int, default=50)
    p.add_argument("--admitted", type=int, default=20)
    for what in ("slowest", "p99", "gap", "served"):
        p.add_argument("--" + what, action="append", default=[], metavar="PHASE[@ROUTER]:N")
    return p.parse_args(argv)


def main(argv):
    """0: all promises were kept."""
    opts = options(argv)
    marks = read_lines(opts.phases) if opts.phases else []
    events = read_lines(opts.history)
    report(phases_of(events, marks))
    claims = judge(events, marks, opts)
    for c in claims:
        print(c.line())
    return any(c.bad for c in claims)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
