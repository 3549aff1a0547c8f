#!/usr/bin/env python3
"""test_check_history.py: the judge of the chaos scenarios, with planted histories: a clean one is
clean, and each broken promise is seen by its claim, and by no other. Ends with "N passed, M
failed"."""
import copy
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_history as ch  # noqa: E402

RATE = 10
N = 60  # people, who join one after the other and are let in one after the other


def token(who):
    """Of a person."""
    return "T%03d" % who


def line(op, who, t0, **more):
    """A request that took 10 ms."""
    return dict({"op": op, "who": who, "router": who % 2, "t0": t0, "t1": t0 + 0.01,
                 "status": 200}, **more)


def clean():
    """Person i joins at i/20 s, is released at 10 + i/RATE s, polls every second until then and
    twice after it, and is asked for a last time."""
    out = []
    for who in range(N):
        joined, released = who / 20, 10 + who / RATE
        out.append(line("join", who, joined, status=201, token=token(who), state="waiting",
                        position=who + 1, segment=who // 20, subject="p%d" % who))
        for k in range(1, 30):
            t = joined + k
            e = line("poll", who, t, asked=token(who), token=token(who), segment=who // 20)
            if t < released:
                ahead = who - max(0, int((t - 10) * RATE) + 1) if t >= 10 else who
                e.update(state="waiting", position=max(1, ahead + 1))
            else:
                e.update(state="admitted", position=0, released_at=released, jti="j%d" % who,
                         **{"pass": "hash%d" % who})
            out.append(e)
        out.append(line("last", who, 40, **{k: out[-1][k] for k in (
            "asked", "token", "state", "position", "released_at", "jti", "pass")}))
    return out


def verdict(events, *args):
    """Names of the claims that are broken."""
    opts = ch.options(["--rate", str(RATE), *args, "-"])
    marks = [{"phase": "calm", "t": 0}, {"phase": "cut", "t": 15}]
    return sorted({c.name.split(" ")[0] for c in ch.judge(events, marks, opts) if c.bad})


def of(events, who, op="poll"):
    """A person's requests."""
    return [e for e in events if e["who"] == who and e["op"] == op]


# Each plants one thing into a clean history; the key says who must notice.


def lost_404(ev):
    of(ev, 7)[3].update(status=404, code="ticket_unknown", state=None)


def lost_410(ev):
    of(ev, 7, "last")[0].update(status=410, reason="idle", state=None)


def never_answered(ev):
    of(ev, 7, "last")[0].update(status=0, err="TimeoutError")


def waiting_again(ev):
    of(ev, 3)[-1].update(state="waiting", position=None)


def second_pass(ev):
    of(ev, 3)[-1].update(jti="other")


def others_pass(ev):
    for e in of(ev, 3) + of(ev, 3, "last"):
        if e["state"] == "admitted":
            e.update({"jti": "j4"})


def no_pass(ev):
    for e in of(ev, 3) + of(ev, 3, "last"):
        if e["state"] == "admitted":
            e.update({"jti": None, "pass": None})


def others_answer(ev):
    of(ev, 30)[4]["token"] = token(31)


def leave_forgotten(ev):
    ev.append(line("leave", 59, 4.5, asked=token(59), status=204))


def overtaken(ev):
    for e in of(ev, 3) + of(ev, 3, "last"):
        if e["state"] == "admitted":
            e["released_at"] = 12.35  # long after those who joined behind; the rate bears one


def position_grows(ev):
    of(ev, 59)[8]["position"] = 58 + 20


def positions_contradict(ev):
    for e in of(ev, 58, "join") + of(ev, 58):
        e["position"] = 5 if e["state"] == "waiting" else 0


def token_of_two(ev):
    """The join's answer of 12 goes to 13, who joined when 12 did."""
    e = copy.deepcopy(of(ev, 12, "join")[0])
    e.update(who=13, subject="p13")
    ev.append(e)


def subject_twice(ev):
    for e in of(ev, 13, "join"):
        e["subject"] = "p12"


def burst(ev):
    for who in range(40, 50):
        for e in of(ev, who) + of(ev, who, "last"):
            if e["state"] == "admitted":
                e["released_at"] = 13.9 + who / 1000


def undocumented(ev):
    of(ev, 5)[2].update(status=502, state=None)


def no_retry_after(ev):
    of(ev, 5)[2].update(status=503, state=None, code="queue_unavailable")


PLANTED = {"I1": [lost_404, lost_410, never_answered, waiting_again,
                   leave_forgotten], "I3": [overtaken],
           "I2": [second_pass, others_pass, no_pass, others_answer], "I4": [position_grows],
           "I5": [positions_contradict], "I6": [token_of_two, subject_twice], "I7": [burst],
           "I9": [undocumented, no_retry_after]}
# What cannot be planted alone: who goes back to waiting was let in by no two answers, and so on.
BESIDE = {"burst": {"I3"}}

# These look bad and are not.


def left(ev):
    """Who leaves may be gone, also when the leave was not answered."""
    ev.append(line("leave", 7, 4, asked=token(7), status=0, err="TimeoutError"))
    for e in of(ev, 7) + of(ev, 7, "last"):
        if e["t0"] > 4:
            e.update(status=410, reason="left", state=None)


def put_off(ev):
    """503 with Retry-After, and no answer at all."""
    of(ev, 5)[2].update(status=503, state=None, code="queue_unavailable", retry_after="1")
    of(ev, 5)[3].update(status=0, state=None, err="TimeoutError")


def overlapping_joins(ev):
    """Two who joined at the same time have no order."""
    of(ev, 12, "join")[0]["t1"] = 2.5
    for e in of(ev, 12) + of(ev, 12, "last"):
        if e["state"] == "admitted":
            e["released_at"] = 11.65
    for e in of(ev, 12):  # nor do they say anything about one another's positions
        e["position"] = 0 if e["state"] == "admitted" else None


def overlapping_polls(ev):
    """The answer to an older question may come later."""
    first, second = of(ev, 59)[9:11]
    first["t1"] = second["t1"] + 1


def unknown_position(ev):
    of(ev, 30)[4]["position"] = None


INNOCENT = [left, put_off, overlapping_joins, overlapping_polls, unknown_position]


def main():
    """All of them."""
    passed, failed = 0, []

    def claim(name, got, want):
        nonlocal passed
        if got == want:
            passed += 1
        else:
            failed.append("%s: %s, not %s" % (name, got, want))

    claim("clean", verdict(clean()), [])
    for promise, plants in PLANTED.items():
        for plant in plants:
            events = clean()
            plant(events)
            got = set(verdict(events)) - BESIDE.get(plant.__name__, set())
            claim(plant.__name__, got, {promise})
    for plant in INNOCENT:
        events = clean()
        plant(events)
        claim(plant.__name__, verdict(events), [])
    slow = clean()
    of(slow, 5)[20]["t1"] += 3
    claim("slow", verdict(slow, "--slowest", "cut:2000", "--p99", "cut:500"), ["cut:"])
    stale = clean()
    positions_contradict(stale)
    claim("old positions in calm", verdict(stale, "--stale", "calm"), [])
    claim("not old in cut", verdict(stale, "--stale", "cut"), ["I5"])
    for e in slow:
        e["t1"] += 0.6 * (e["op"] == "poll" and e["t0"] < 15)
    claim("a slow machine", verdict(slow, "--p99", "cut:500"), [])
    claim("slow even so", verdict(slow, "--slowest", "cut:2000"), ["cut:"])
    claim("not slow", verdict(clean(), "--slowest", "cut:2000", "--gap", "cut:5"), [])
    claim("gap", verdict([e for e in clean() if not (e["who"] == 2 and 16 < e["t0"] < 25)],
                         "--gap", "cut:5"), ["cut:"])
    jumps = clean()
    for e in jumps:
        e["released_at"] = e.get("released_at", 0) * -1  # a clock that goes back
    claim("wall clocks jump", verdict(jumps, "--no-stamps"), [])
    for e in of(jumps, 3):
        e.update(state="waiting", position=None)
    claim("still waits, others are in", verdict(jumps, "--no-stamps"), ["I3"])
    shown = clean()
    for e in [e for e in shown if e.get("state") == "admitted" and e["op"] == "poll"]:
        for router in (0, 1):
            shown.append(line("verify", e["who"], e["t1"] + 0.01, status=204, of=e["token"]))
            shown[-1]["router"] = router
    claim("passes are accepted", verdict(shown, "--accepted", "500"), [])
    claim("too few are accepted", verdict(shown, "--accepted", "50000"), ["I2"])
    at = of(shown, 7, "verify")[3]
    at.update(status=401)
    claim("a good pass is refused", verdict(shown, "--accepted", "500"), ["I2"])
    claim("it was over", verdict(shown, "--accepted", "500", "--pass-ttl-s", "6"), [])
    shown.append(line("leave", 7, at["t0"] - 0.005, asked=token(7), status=0, err="TimeoutError"))
    claim("it was given back", verdict(shown, "--accepted", "500"), [])
    cut = clean()  # of those who joined shortly before the power cut at 15 (in a wide sense)
    for e in of(cut, 50) + of(cut, 50, "last"):
        if e["t1"] > 12:
            e.update(status=410, reason="segment_lost", state=None)
    claim("forgotten", verdict(cut, "--power", "cut"), ["I1"])
    claim("forgotten by a power cut", verdict(cut, "--power", "cut", "--forgets-s", "13",
                                             "--tickets", "30"), [])
    for e in cut:  # 51 has the number of 52, behind another time of issue
        for key in ("asked", "token"):
            if e["who"] in (51, 52) and key in e:
                e[key] = "EAAAAAAAAAAMAAAAHGs" + "AB"[e["who"] - 51] + "g" * 35
    claim("a number twice", verdict(cut, "--power", "cut", "--forgets-s", "13",
                                             "--tickets", "30"), ["I2"])
    told = ("--power", "cut", "--forgets-s", "0")  # 59 heard 10 of router 1 shortly before the cut at 15

    def asks_again(*answers, args=told):
        """What is broken if these follow, each (t0, router, position)."""
        events = clean()
        for t0, router, position in answers:
            events.append(dict(line("poll", 59, t0, asked=token(59), token=token(59), segment=2,
                                    state="waiting", position=position), router=router))
        return verdict(events, *args)

    claim("another router knew less", asks_again((15.02, 0, 14)), [])
    claim("it says so for a while", asks_again((15.02, 0, 14), (15.2, 1, 10), (15.4, 0, 14)), [])
    claim("it tells more than it told", asks_again((15.02, 0, 12), (15.1, 0, 13)), ["I4"])
    claim("more than moved so late", asks_again((15.02, 0, 15)), ["I4"])
    claim("the same router knew more", asks_again((15.02, 1, 11)), ["I4"])
    claim("told long before", asks_again((14.5, 1, 10), (15.02, 0, 12)), ["I4"])
    claim("no power was lost", asks_again((15.02, 0, 11), args=()), ["I4"])
    claim("lost long ago", asks_again((15.03, 0, 11), args=("--power", "calm", *told[2:])), ["I4"])
    claim("nothing served", verdict(clean(), "--served", "cut:5000"), ["cut:"])
    claim("an empty phase proves nothing", verdict(clean(), "--p99", "healed:9"), ["healed:"])
    claim("an empty history proves nothing", "at" in verdict([]), True)
    for f in failed:
        print("FAIL " + f)
    print("test_check_history: %d passed, %d failed" % (passed, len(failed)))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
