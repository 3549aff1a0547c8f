"""rows.py: what each row of table.txt does, and claims. A row gets a Row of run.py."""

import base64
import hashlib
import hmac
import http.client
import http.server
import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request

from proxy import Proxy, also, cut, cut_stream, drip, drop, drop_answer, garbage, mute_stream, problem, say

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TICKETS, EVENTS = r"^/v1/tickets/[^/]*$", r"/events$"
# Rows whose line lets nobody in at first.
PAUSED = {"news_by_events", "news_by_polls", "resume", "stream_cut", "stream_mute", "reasons_of_410", "router_dies",
          "cut_body", "slow_body", "garbage", "lost_join", "unknown_token", "server_token", "device", "device_key",
          "device_refused", "places", "places_kept", "places_claim"}
# `bind` of a row's line.
BINDS = {"device": "device", "device_key": "key", "device_refused": "key"}
# What else its line has.
LINES = {"challenge": {"challenge": {"mode": "on", "cost": "1024"}}}
# One of these goes first, alone: a virtual machine that has just begun keeps no times.
FIRST = ("submit_and_wait", "join_open")
LONG = {"challenge", "task_events", "work_progress", "burst_503", "place_of_call", "stream_of_call", "work_again", "stream_mute", "work_extends", "work_slow_router", "slow_body", "clock_ahead", "clock_behind"}

# Rows whose leases and answers are timed against their tasks: a machine that is too slow for these breaks them.
TIMED = {"work_extends", "work_lost", "work_progress", "work_slow_router", "slow_body"}


def waits(event):
    return event.get("state") == "waiting"


# ---- people -----------------------------------------------------------------------------------


def row_join_open(r):
    c = r.client()
    got = c.ask("wait_pass", queue=r.queue)
    r.claim(len(got["pass"].split(".")) == 3, "a pass has three parts")
    if "gate" not in r.parts:
        return
    here = c.ask("check_pass", queue=r.queue, token=got["pass"])
    there = c.ask("verify_pass", queue=r.queue, token=got["pass"])
    r.claim(here["ticket"] == there["ticket"], f"{here} here, {there} at the router")


def row_news_by_events(r):
    others = [r.join() for _ in range(3)]
    asked = r.client().begin("wait_pass", queue=r.queue)
    r.claim(asked.wait_for(waits)["position"] == 4, "it is fourth")
    r.until(lambda: r.proxy.count("GET", EVENTS), text="it never listens")
    polls = r.proxy.count("GET", TICKETS)
    for t in others:
        r.leave(t)
    asked.wait_for(lambda e: e["position"] == 1, 5)
    r.order("resume")
    r.claim(asked.result(10)["pass"], "it gets its pass")
    r.claim(r.proxy.count("GET", TICKETS) == polls, "it polls although it listens")
    r.claim(r.proxy.count("GET", EVENTS) == 1, "it listens more than once")
    places = [e["position"] for e in asked.events]
    r.claim(places == sorted(places, reverse=True), f"places grew: {places}")


def row_news_by_polls(r):
    r.proxy.rule("GET", EVENTS, say(204, headers={"Retry-After": "60"}), times=99)
    asked = r.client().begin("wait_pass", queue=r.queue)
    r.until(lambda: r.proxy.count("GET", TICKETS) >= 3, text="it does not poll")
    polls = [q.at for q in r.proxy.those("GET", TICKETS)]
    r.claim(min(b - a for a, b in zip(polls, polls[1:])) > 0.15, "it polls sooner than told")
    r.order("resume")
    r.claim(asked.result(10)["pass"], "it gets its pass")
    r.claim(r.proxy.count("GET", EVENTS) <= 1, "it asks for events again and again")


def row_resume(r):
    first = r.client(alone=True)
    here = first.begin("wait_pass", queue=r.queue).wait_for(waits)
    behind = r.join()
    first.end()
    again = r.client().begin("wait_pass", queue=r.queue, token=here["token"])
    r.claim(again.wait_for(waits)["position"] == here["position"], "the place is another one")
    r.order("resume")
    r.claim(again.result(10)["token"] == here["token"], "the token is another one")
    r.claim(r.proxy.count("POST", r"/tickets$") == 1, "it joined again")
    r.leave(behind)


def taken(c, token):
    """None: the routers do not know yet that it may be taken over."""
    try:
        return c.ask("poll", token=token)
    except Exception as e:
        if getattr(e, "code", "") != "other_device":
            raise
        return None


def row_device(r):
    r.proxy.rule("POST", r"/tickets$", also("Set-Cookie: sid=1; Path=/", "Set-Cookie: segq_pass=x"))
    first = r.client(alone=True)
    here = first.begin("wait_pass", queue=r.queue).wait_for(waits)
    token, kept = here["token"], {"token": here["token"], "device": here["device"]}
    r.claim((here["device"] or "").startswith(f"segq_device_{r.queue}="), f"no device: {here}")
    if "events" in r.parts:
        r.until(lambda: r.proxy.count("GET", EVENTS), text="it never listens")
    r.claim(first.ask("poll", **kept)["position"] == 1, "the place is not its own")
    first.end()
    c = r.client()
    r.raises("another device", lambda: c.ask("poll", token=token), kind="api", status=403, code="other_device")
    try:
        c.ask("leave", token=token)
    except Exception:
        pass  # some clients do not say
    again = c.begin("wait_pass", queue=r.queue, **kept)
    r.claim(again.wait_for(waits)["position"] == 1, "it is not kept")
    there = Proxy(r.proxy.url)
    there.rule("GET", TICKETS, problem(503, "queue_unavailable"), times=9)
    r.proxy.rule("GET", TICKETS, say(307, headers={"Location": f"{there.url}/v1/tickets/{token}"}))
    c.ask("poll", **kept)
    there.close()
    r.claim(not any(b"segq_device" in q.head for q in there.asked), "the device went to another host")
    told = [q.header("Cookie") for q in r.proxy.asked]
    r.claim(set(told) == {None, here["device"]} and told[0] is None, f"cookies: {set(told)}, not {here['device']}")
    r.order("resume")
    r.claim(again.result(10)["token"] == token, "the token is another one")
    r.cluster.operate("POST", f"/v1/admin/tickets/{token}/rebind")
    other = r.until(lambda: taken(c, token), text="it does not take it over")
    r.claim(other["state"] == "admitted" and other["device"] != here["device"], f"as the first device: {other}")
    r.raises("the old one", lambda: c.ask("poll", **kept), kind="api", status=403, code="other_device")
    c.ask("leave", token=token, device=other["device"])
    r.raises("a poll after that", lambda: c.ask("poll", token=token, device=other["device"]), kind="api", status=410)


def proofs(r):
    """How many requests had one, by method and by the end of the path."""
    with_one = [(q.method, q.path.rsplit("/", 1)[-1]) for q in r.proxy.asked if q.header("DPoP")]
    return {k: with_one.count(k) for k in set(with_one)}


def row_device_key(r):
    old = problem(401, "proof_required")
    r.proxy.rule("GET", EVENTS, old)
    c = r.client()
    here = c.begin("wait_pass", queue=r.queue, key="mine")
    token = here.wait_for(waits)["token"]
    first = here.events[0]["device"] or ""
    r.claim(first.startswith(f"segq_device_{r.queue}=") and "." in first, f"no cookie of a key: {first}")
    r.until(lambda: r.proxy.count("GET", EVENTS) > 1, text="it listens no more, since its cookie was old")
    r.until(lambda: r.proxy.asked[-1].path.endswith("/events"))
    r.claim(set(proofs(r)) <= {("POST", "tickets"), ("POST", "device")}, f"proofs: {proofs(r)}")
    r.raises("without the key", lambda: c.ask("poll", token=token), kind="api", status=403, code="other_device")
    r.raises("another key", lambda: c.ask("poll", token=token, key="other"), kind="api", status=403, code="other_device")
    again = c.ask("poll", token=token, key="mine")
    r.claim(again["position"] == 1 and "." in (again["device"] or ""), f"it is not proved: {again}")
    before = proofs(r)
    kept = {"token": token, "device": again["device"], "key": "mine"}
    r.claim(c.ask("poll", **kept)["position"] == 1, "the fresh cookie does not do")
    r.claim(proofs(r) == before, "it proves what was proved")
    there = Proxy(r.proxy.url)
    r.proxy.rule("GET", TICKETS, old)
    r.proxy.rule("POST", "/device$", say(307, headers={"Location": f"{there.url}/v1/tickets/{token}/device"}))
    r.claim(c.ask("poll", **kept)["position"] == 1, "an old cookie is the end")
    there.close()
    r.claim(not any(q.header("DPoP") for q in there.asked), "a proof went to another host")
    r.order("resume")
    r.claim(here.result(10)["token"] == token, "the token is another one")
    r.proxy.rule("DELETE", TICKETS, old)
    c.ask("leave", **kept)
    r.claim(r.proxy.count("DELETE", TICKETS) == 2, "with an old cookie it does not leave")
    r.raises("a poll after that", lambda: c.ask("poll", token=token, key="mine"), kind="api", status=410)


def row_device_refused(r):
    old, away = problem(401, "proof_required"), problem(503, "queue_unavailable", poll_after_ms=200)
    r.proxy.rule("GET", EVENTS, old, times=999)
    c = r.client(retry_for_s=2)
    here = c.begin("wait_pass", queue=r.queue, key="mine").wait_for(waits)
    time.sleep(1)
    r.claim(r.proxy.count("GET", EVENTS) <= 4, f"{r.proxy.count('GET', EVENTS)} times a second it wants to listen")
    r.proxy.rule("DELETE", TICKETS, old)
    r.proxy.rule("POST", "/device$", away, times=999)
    r.proxy.rule("GET", TICKETS, away, times=999)
    try:
        c.begin("leave", token=here["token"], device=here["device"], key="mine").result(15)
    except Exception as e:  # the C client says that it has left
        r.claim(getattr(e, "status", 0) == 503, f"a leave while nobody proves: {e}")
    r.claim(r.proxy.count("POST", "/device$") > 1, "it leaves without a fresh cookie")


def row_leave(r):
    c = r.client()
    got = c.ask("wait_pass", queue=r.queue)
    c.ask("leave", token=got["token"])
    c.ask("leave", token=got["token"])  # once more is the same
    r.raises("a poll after that", lambda: c.ask("poll", token=got["token"]), kind="api", status=410)


def row_places(r):
    other = r.queue + "-b"
    second_queue(r, other)
    r.proxy.rule("POST", "/v1/places$", drop_answer())
    r.proxy.rule("GET", "/v1/places/", problem(503, "queue_unavailable"))
    c = r.client()
    asked = c.begin("wait_places", queues=[r.queue, other])
    here = asked.wait_for(waits)
    r.claim([p["position"] for p in here["places"]] == [1, 1], f"it stands behind its own lost join: {here}")
    keys = [q.header("Idempotency-Key") or "" for q in r.proxy.those("POST", "/v1/places$")]
    r.claim(len(keys) == 2 and keys[0] == keys[1] and len(keys[0]) >= 16, f"keys: {keys}")
    r.until(lambda: r.proxy.count("GET", "/v1/places/") >= 2, text="it does not poll")
    again = c.begin("wait_places", queues=[], group=here["group"])
    again.wait_for(waits)
    r.cluster.operate("POST", f"/v1/admin/queues/{other}/resume")
    got = asked.result(20)
    r.claim(got["pass"] and again.result(20)["pass"] == got["pass"], "two who wait for the same places have two passes")
    r.claim([(p["state"], p.get("reason") or None) for p in got["places"]] == [("over", "given_up"), ("admitted", None)], f"{got}")
    r.claim(r.proxy.count("POST", "/v1/places$") == 2, "it joined again")
    r.claim(not any(q.header("Authorization") for q in r.proxy.asked), "the server's token was sent")
    c.ask("leave_places", group=got["group"])
    r.raises("a wait after that", lambda: c.ask("wait_places", queues=[], group=got["group"]), kind="api", status=410)
    r.raises("no such queue", lambda: c.ask("wait_places", queues=[r.queue, "no-such"]), kind="api", status=404, code="queue_not_found")


def passes(said):
    return [(p["state"], bool(p.get("pass"))) for p in said["places"]]


def second_queue(r, other):
    r.cluster.operate("PUT", f"/v1/admin/queues/{other}", {"release_per_s": 1000, "poll_min": "200ms", "poll_max": "1s", "grace": "10m"})
    r.cluster.operate("POST", f"/v1/admin/queues/{other}/pause")
    r.until(lambda: all(paused(r, x, other) for x in r.cluster.routers), text="routers do not know the second queue")


def row_places_kept(r):
    other = r.queue + "-c"
    second_queue(r, other)
    c = r.client()
    asked = c.begin("wait_places", queues=[r.queue, other], others="keep")
    asked.wait_for(waits)
    r.order("resume")
    asked.wait_for(lambda p: ("admitted", True) in passes(p) and p["state"] == "waiting")
    r.cluster.operate("POST", f"/v1/admin/queues/{other}/resume")
    got = asked.result(20)
    r.claim(passes(got) == [("admitted", True)] * 2, f"at the end: {got}")
    c.ask("leave_places", group=got["group"])


def row_places_claim(r):
    other = r.queue + "-d"
    second_queue(r, other)
    claim = signed(r, {"aud": [r.queue, other], "lane": "default", "sub": "anna", "exp": int(time.time()) + 300})
    c = r.client()
    here, again = (c.begin("wait_places", queues=q, claim=claim).wait_for(waits) for q in ([r.queue, other], [other, r.queue]))
    tickets = [{p["queue"]: p["ticket"] for p in x["places"]} for x in (here, again)]
    r.claim(tickets[0] == tickets[1], f"the same claim has other places: {tickets}")
    c.ask("leave_places", group=again["group"])
    bad = signed(r, {"aud": [r.queue], "lane": "default", "sub": "anna", "exp": int(time.time()) + 300})
    r.raises("a claim for one of them", lambda: c.ask("wait_places", queues=[r.queue, other], claim=bad), kind="api", status=403)


def row_places_named(r):
    for name in ("pair-a", "pair-b"):
        r.cluster.operate("PUT", f"/v1/admin/queues/{name}", {"release_per_s": 1000, "poll_min": "200ms", "poll_max": "1s"})
    r.until(lambda: all(is_there(r, f"{x}/v1/queues/{q}") for x in r.cluster.routers for q in ("pair-a", "pair-b")),
            text="routers do not know the queues")
    c = r.client()
    got = c.ask("wait_places", queues=[], name="pair")
    r.claim(sorted(p["queue"] for p in got["places"]) == ["pair-a", "pair-b"] and passes(got) == [("admitted", True)] * 2, f"{got}")
    body = json.loads(r.proxy.those("POST", "/v1/places$")[0].body)
    r.claim({k for k in body if body[k] is not None} <= {"group", "client"}, f"{body}")
    c.ask("leave_places", group=got["group"])
    r.raises("no such group", lambda: c.ask("wait_places", queues=[], name="pears"), kind="api", status=404, code="queue_not_found")


def signed(r, members):
    with open(os.path.join(r.cluster.dir, "secrets/claim.key"), encoding="utf-8") as f:
        return r.client(token=None).ask("claim", secret=f.read().strip(), kid="shop", members=members)


def is_there(r, url):
    try:
        return r.cluster.http("GET", url) is not None
    except OSError:
        return False


def paused(r, router, queue):
    try:
        return r.cluster.http("GET", f"{router}/v1/queues/{queue}")["state"] == "paused"
    except OSError:
        return False


def row_reasons_of_410(r):
    c = r.client()
    types = set()
    for reason in ("expired", "left", "no_show", "finished", "segment_lost", "a_new_one"):
        gone = {"title": "Gone", "status": 410, "code": "ticket_gone", "detail": "d", "request_id": "x", "reason": reason}
        r.proxy.rule("GET", TICKETS, say(410, gone))
        want = {} if reason == "a_new_one" else {"reason": reason}
        e = r.raises(f"{reason}, by a poll", lambda: c.ask("poll", token="T"), kind="api", status=410,
                     code="ticket_gone", **want)
        types.add(e and e.type)
        if "events" not in r.parts:
            continue
        r.proxy.rule("GET", EVENTS, say(200, headers={"Content-Type": "text/event-stream"},
                                        text=f"event: gone\ndata: {json.dumps(gone)}\n\n".encode()))
        r.raises(f"{reason}, by an event", lambda: c.ask("wait_pass", queue=r.queue, timeout_s=10), kind="api",
                 status=410, **want)
    r.claim(len(types) == 6, f"types: {types}")


def row_unknown_token(r):
    c = r.client()
    r.raises("a wait", lambda: c.ask("wait_pass", queue=r.queue, token="A" * 55), kind="api", status=404, code="ticket_unknown")
    r.claim(len(r.proxy.asked) == 1, f"asked {len(r.proxy.asked)} times")


def row_refused_joins(r):
    c = r.client()
    r.raises("no such queue", lambda: c.ask("wait_pass", queue="no-such"), kind="api", status=404, code="queue_not_found")
    r.order("close")
    r.until(lambda: r.cluster.http("GET", f"{r.cluster.routers[0]}/v1/queues/{r.queue}")["state"] == "closed")
    asked = len(r.proxy.asked)
    r.raises("a closed queue", lambda: c.ask("wait_pass", queue=r.queue), kind="api", status=403, code="queue_closed")
    r.claim(len(r.proxy.asked) == asked + 1, "it asks again although it is refused")


def row_challenge(r):
    late = []

    def first_is_late(p, q, c):
        if late or not q.header("segq-challenge"):
            return p.pass_on(q, c)
        late.append(q.header("segq-challenge"))
        return problem(403, "challenge_expired")(p, q, c)
    r.proxy.rule("POST", r"/tickets$", first_is_late, times=9)
    c = r.client()
    r.claim(c.ask("wait_pass", 90, queue=r.queue)["pass"], "it gets its pass")
    joins = r.proxy.those("POST", r"/tickets$")
    said = [q.header("segq-challenge") for q in joins]
    r.claim(len(said) == 4 and said[0] is None and said[2] is None, f"it asks without an answer first: {len(said)} joins")
    r.claim(None not in (said[1], said[3]) and said[1] != said[3], "it says the same answer again")
    r.claim(len({q.header("Idempotency-Key") for q in joins}) == 1, "joins with several keys")
    r.claim(not any(q.header("segq-challenge") for q in r.proxy.asked if q.method == "GET"), "polls have an answer")
    with_check = Proxy(r.proxy.url)
    with_check.rule("POST", r"/tickets$", problem(428, "challenge_required", verify=True), times=9)
    try:
        other = r.client(routers=[with_check.url])
        r.raises("the site's own check", lambda: other.ask("wait_pass", queue=r.queue), kind="api", status=428, code="challenge_required")
        r.claim(with_check.count("POST", r"/tickets$") == 1, "it asks again, without a token")
    finally:
        with_check.close()


def row_lost_join(r):
    r.proxy.rule("POST", r"/tickets$", drop_answer())
    asked = r.client().begin("wait_pass", queue=r.queue)
    r.claim(asked.wait_for(waits)["position"] == 1, "it stands behind its own lost join")
    keys = {q.header("Idempotency-Key") for q in r.proxy.those("POST", r"/tickets$")}
    r.claim(len(keys) == 1 and None not in keys and len(min(keys)) >= 16, f"keys: {keys}")


def row_stream_cut(r):
    r.proxy.rule("GET", EVENTS, cut_stream(1))
    asked = r.client().begin("wait_pass", queue=r.queue)
    r.until(lambda: r.proxy.count("GET", TICKETS) >= 1 or r.proxy.count("GET", EVENTS) >= 2,
            text="nothing is asked after the stream broke off")
    r.claim(not any(e["state"] == "admitted" for e in asked.events), "half an event was believed")
    r.order("resume")
    r.claim(asked.result(10)["pass"], "it gets its pass")


def row_stream_mute(r):
    r.proxy.rule("GET", EVENTS, mute_stream(), times=9)
    asked = r.client().begin("wait_pass", queue=r.queue)
    r.until(lambda: r.proxy.count("GET", TICKETS) >= 2, 20, "it listens to nothing")
    r.order("resume")
    r.claim(asked.result(10)["pass"], "it gets its pass")
    r.claim(r.proxy.count("GET", EVENTS) == 1, "it listens to nothing again and again")


def row_burst_503(r):
    r.proxy.rule("POST", r"/tickets$", problem(503, "queue_unavailable"), times=3)
    r.claim(r.client().ask("wait_pass", queue=r.queue)["pass"], "it gets its pass")
    at = [q.at for q in r.proxy.those("POST", r"/tickets$")]
    pauses = [b - a for a, b in zip(at, at[1:])]
    r.claim(len(at) == 4, f"{len(at)} requests")
    r.claim(min(pauses) >= 0.5 and sum(pauses) >= 3 and max(pauses) < 10, f"pauses: {pauses}")
    r.claim(pauses[-1] > pauses[0], f"pauses do not grow: {pauses}")


def row_retry_after(r):
    r.proxy.rule("POST", r"/tickets$", problem(503, "queue_unavailable", {"Retry-After": "2"}))
    r.client().ask("wait_pass", queue=r.queue)
    a, b = (q.at for q in r.proxy.those("POST", r"/tickets$"))
    r.claim(2 <= b - a < 5, f"after {b - a:.2f} s")


def row_too_fast(r):
    r.proxy.rule("POST", r"/tickets$", problem(429, "too_fast", {"Retry-After": "9"}, poll_after_ms=1500))
    r.client().ask("wait_pass", queue=r.queue)
    a, b = (q.at for q in r.proxy.those("POST", r"/tickets$"))
    r.claim(1.5 <= b - a < 4.5, f"after {b - a:.2f} s")


def row_garbage(r):
    r.proxy.rule("POST", r"/tickets$", garbage())
    r.proxy.rule("GET", EVENTS, say(204, headers={"Retry-After": "60"}), times=99)
    asked = r.client().begin("wait_pass", queue=r.queue)
    asked.wait_for(waits)
    r.proxy.rule("GET", TICKETS, garbage())
    r.until(lambda: not r.proxy.rules[-1][3], text="it does not poll")
    r.order("resume")
    r.claim(asked.result(10)["pass"], "it gets its pass")


def row_cut_body(r):
    r.proxy.rule("POST", r"/tickets$", cut(40))
    r.proxy.rule("GET", EVENTS, say(204, headers={"Retry-After": "60"}), times=99)
    asked = r.client().begin("wait_pass", queue=r.queue)
    r.claim(asked.wait_for(waits)["position"] == 1, "it stands behind its own lost join")
    r.proxy.rule("GET", TICKETS, cut(30))
    r.until(lambda: not r.proxy.rules[-1][3], text="it does not poll")
    r.order("resume")
    r.claim(asked.result(10)["pass"], "it gets its pass")


def row_slow_body(r):
    r.proxy.rule("POST", r"/tickets$", drip())
    asked = r.client(timeout_s=1.5).begin("wait_pass", queue=r.queue)
    asked.wait_for(waits, 10)
    a, b = (q.at for q in r.proxy.those("POST", r"/tickets$"))
    r.claim(1.5 <= b - a < 6, f"it waits {b - a:.1f} s for a body that drips")


def row_redirect(r):
    there = r.cluster.routers[1]
    r.proxy.rule("POST", r"/tickets$", say(307, headers={"Location": f"{there}/v1/queues/{r.queue}/tickets"}))
    c = r.client()
    r.claim(c.ask("wait_pass", queue=r.queue)["pass"], "it gets its pass")
    if "tasks" not in r.parts:
        return
    at = f"/v1/queues/{r.queue}/tasks"
    r.proxy.rule("POST", r"/tasks$", say(307, headers={"Location": at}))
    task = c.ask("submit", queue=r.queue, payload={"a": 1})["task"]
    r.claim(r.task(task)["state"] == "waiting", "the body got lost")
    c.ask("cancel", task=task)


def row_redirect_token(r):
    c, there, at = r.client(), Proxy(r.proxy.url), f"/v1/queues/{r.queue}/tasks"
    try:
        there.rule("POST", r"/tasks$", say(200, {"task": "T", "state": "waiting"}))
        r.proxy.rule("POST", r"/tasks$", say(307, headers={"Location": there.url + at}))
        r.claim(c.ask("submit", queue=r.queue, payload={"a": 1})["task"] == "T", "it did not follow")
        there.rule("POST", r"/tasks$", say(307, headers={"Location": r.proxy.url + "/back"}))
        r.proxy.rule("POST", r"^/back$", say(200, {"task": "B", "state": "waiting"}))
        r.proxy.rule("POST", r"/tasks$", say(307, headers={"Location": there.url + at}))
        r.claim(c.ask("submit", queue=r.queue, payload={"a": 1})["task"] == "B", "it did not follow back")
    finally:
        there.close()
    r.claim([q.method for q in there.asked] == ["POST"] * 2, f"{len(there.asked)} requests at the other port")
    there.asked += r.proxy.those("POST", r"^/back$")
    r.claim(not any(r.token.encode() in q.head for q in there.asked),
            "the token went to another port, or where that one sent the client")
    for where in (at, r.proxy.url + at):
        r.proxy.rule("POST", r"/tasks$", say(307, headers={"Location": where}))
        c.ask("cancel", task=c.ask("submit", queue=r.queue, payload={})["task"])
    tokens = [q.header("Authorization") for q in r.proxy.those("POST", r"/tasks$")]
    r.claim(tokens == [f"Bearer {r.token}"] * 6, f"tokens at the same origin: {tokens}")


def row_redirect_named(r):
    there, foreign = Proxy(r.cluster.routers[1]), Proxy(r.proxy.url)
    named, at = (r.proxy, there), f"/v1/queues/{r.queue}/tasks"
    c = r.client(routers=[d.url for d in named])
    try:
        for a, b in (named, named[::-1]):
            a.rule("POST", r"/tasks$", say(307, headers={"Location": b.url + at}))
        r.claim(c.ask("submit", queue=r.queue, payload={})["state"] == "waiting", "it did not follow")
        tokens = [q.header("Authorization") for d in named for q in d.asked]
        r.claim(tokens == [f"Bearer {r.token}"] * 3, f"tokens between the routers that it was told: {tokens}")
        for a in named:
            a.rule("POST", r"/tasks$", say(307, headers={"Location": foreign.url + at}))
            a.rule("POST", r"^/back$", say(200, {"task": "B", "state": "waiting"}))
        foreign.rule("POST", r"/tasks$", say(307, headers={"Location": there.url + "/back"}))
        r.claim(c.ask("submit", queue=r.queue, payload={})["task"] == "B", "it did not follow a stranger")
        after = foreign.asked + there.those("POST", r"^/back$")
        r.claim(len(after) == 2 and not any(r.token.encode() in q.head for q in after),
                "the token went to a stranger, or where that one sent the client")
    finally:
        there.close()
        foreign.close()


def row_server_token(r):
    c = r.client()
    asked = c.begin("wait_pass", queue=r.queue)
    token = asked.wait_for(waits)["token"]
    r.until(lambda: r.proxy.count("GET", EVENTS), text="it never listens")
    c.ask("poll", token=token)
    r.order("resume")
    asked.result(10)
    c.ask("leave", token=token)
    r.claim(not any(r.token in (q.header("Authorization") or "") for q in r.proxy.asked), "the token was sent")
    c.ask("submit", queue=r.queue, payload={})
    r.claim(r.proxy.asked[-1].header("Authorization") == f"Bearer {r.token}", "and not where it must be")


def clock(r, date, code):
    c = r.client(date=date)
    got = c.ask("wait_pass", queue=r.queue)
    r.claim(got["pass"], "it gets its pass")
    if "gate" not in r.parts:
        return
    r.raises("the pass, here", lambda: c.ask("check_pass", queue=r.queue, token=got["pass"]), kind="pass", code=code)
    r.claim(c.ask("verify_pass", queue=r.queue, token=got["pass"])["ticket"], "and at a router")
    task = c.ask("submit", queue=r.queue + "-t", payload={"result": 5})["task"]
    work = c.begin("work", queues=[r.queue + "-t"], lease_s=5)
    r.claim(c.ask("wait_task", task=task, timeout_s=15)["result"] == 5, "its worker works")
    c.ask("stop", work=work.id)


def row_clock_ahead(r):
    clock(r, "1 hour", "expired")


def row_clock_behind(r):
    clock(r, "1 hour ago", "not_yet_valid")


# ---- gate -------------------------------------------------------------------------------------


def row_pass_forged(r):
    c = r.client()
    good = c.ask("wait_pass", queue=r.queue)["pass"]
    head, body, sig = good.split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))

    def text(o):
        return base64.urlsafe_b64encode(json.dumps(o).encode()).rstrip(b"=").decode()
    for what, token, code in (
            ("longer", f"{head}.{text({**claims, 'exp': claims['exp'] + 9999})}.{sig}", "signature"),
            ("unsigned", f"{text({'alg': 'none'})}.{body}.", "algorithm"),
            ("of HS256", f"{text({'alg': 'HS256'})}.{body}.{sig}", "algorithm"),
            ("of another cluster", f"{text({'alg': 'EdDSA', 'kid': 'AAAAAAAAAAA'})}.{body}.{sig}", "unknown_key"),
            ("cut", good[:-9], None), ("without a kid", f"{text({'alg': 'EdDSA'})}.{body}.{sig}", "malformed"),
            ("no pass", "x", "malformed")):
        want = {"code": code} if code else {}
        r.raises(what, lambda t=token: c.ask("check_pass", queue=r.queue, token=t), kind="pass", **want)
        r.raises(what, lambda t=token: c.ask("verify_pass", queue=r.queue, token=t), kind="api", status=401)
    r.raises("another queue's", lambda: c.ask("check_pass", queue="login", token=good), kind="pass", code="other_queue")
    r.raises("another queue's", lambda: c.ask("verify_pass", queue="login", token=good), kind="api", status=403)


def row_keys_rotate(r):
    c = r.client()
    good = c.ask("wait_pass", queue=r.queue)["pass"]
    other = {"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": "AAAAAAAAAAA",
             "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
    r.proxy.rule("GET", "jwks", say(200, {"keys": [other]}, {"Cache-Control": "max-age=0"}))
    r.raises("before its key is known", lambda: c.ask("check_pass", queue=r.queue, token=good), kind="pass", code="unknown_key")
    for _ in range(20):
        c.begin("check_pass", queue=r.queue, token=good)
    r.claim(r.proxy.count("GET", "jwks") <= 2, "each pass of an unknown key asks for keys")

    def is_good():
        try:
            return c.ask("check_pass", queue=r.queue, token=good)["ticket"]
        except Exception:
            return False
    r.until(is_good, 10, "the new key is never fetched")
    r.claim(r.proxy.count("GET", "jwks") <= 3, "keys are asked for too often")


def visit(url, token=None, accept="*/*"):
    """(status, headers, body) of a visitor's request, whose redirects are not followed."""
    parts = urllib.parse.urlsplit(url)
    h = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
    h.request("GET", parts.path or "/", headers={"Accept": accept, **({"Cookie": f"a=b; segq_device_x=1; segq_pass={token}"} if token else {})})
    a = h.getresponse()
    got = a.status, {k.lower(): v for k, v in a.getheaders()}, a.read()
    h.close()
    return got


def row_middleware(r):
    middleware(r, "")


def row_middleware_async(r):
    middleware(r, "asgi")


def middleware(r, kind):
    c = r.client()
    got = c.ask("wait_pass", queue=r.queue)
    for ask in ("always", "renew", "never"):
        site = c.ask("serve", queue=r.queue, ask=ask, kind=kind)["url"]
        status, _, body = visit(site + "/cart", got["pass"])
        r.claim(status == 200 and json.loads(body)["path"] == "/cart" and json.loads(body)["ticket"], f"{ask}: {status} {body}")
        status, headers, _ = visit(site + "/cart")
        where = f"/q/{r.queue}?return=/cart"
        r.claim(status == 401 and headers.get("x-segq-location", "").endswith(where), f"{ask}: {status} {headers}")
        status, headers, _ = visit(site + "/cart", accept="text/html")
        r.claim(status in (302, 303) and headers["location"].endswith(where), f"{ask}: {status} {headers}")
        status, headers, body = visit(f"{site}/q/{r.queue}", accept="text/html")
        r.claim(status == 401 and "location" not in headers and b"lead to the routers" in body,
                f"{ask}: the room's own address goes in circles: {status} {headers}")
        r.claim(visit(site, got["pass"][:-6] + "AAAAAA")[0] == 401, f"{ask}: a forged pass gets in")
    always = c.ask("serve", queue=r.queue, kind=kind)["url"]
    visit(always, got["pass"])
    told = [q.header("Cookie") or "" for q in r.proxy.asked]
    r.claim(not any("a=b" in t for t in told), "the site's own cookies are told")
    r.claim(any("segq_device_x=1" in t and "segq_pass=" in t for t in told), "whose device it is is not told")
    for answers in (say(302, headers={"Location": "/login"}), say(200, text=b"welcome"), say(204)):
        site = c.ask("serve", queue=r.queue, kind=kind)["url"]
        r.proxy.rule("GET", "/v1/verify", answers)
        r.claim(visit(site)[0] in (401, 503), "what is no router's answer lets in")
    got_keys = r.proxy.count("GET", "jwks")
    alone = c.ask("serve", queue=r.queue, kind=kind)["url"]
    r.claim(visit(alone, got["pass"])[0] == 200, "in")
    r.until(lambda: r.proxy.count("GET", "jwks") > got_keys, 5, "keys are not fetched while there are routers")
    for path in ("/v1/verify", "jwks"):
        r.proxy.rule("GET", path, drop(), times=99)
    r.claim(visit(alone, got["pass"])[0] == 200, "no router answers at all, and who has a pass is turned away")
    r.claim(visit(always, got["pass"])[0] == 200, "no router answers, and who has a pass is turned away")
    r.claim(visit(always)[0] in (401, 503), "no router answers, and all get in")
    r.proxy.rules.clear()
    r.claim("x-segq-command" not in visit(always + "/bye", got["pass"])[1], "the command is handed on")
    r.until(lambda: visit(always, got["pass"])[0] == 403, 5, "a pass that was given back gets in")


def row_claim(r):
    c = r.client(token=None)
    with open(os.path.join(r.cluster.dir, "secrets/claim.key"), encoding="utf-8") as f:
        secret = f.read()
    claim = c.ask("claim", secret=secret, kid="shop", members={"queues": [r.queue], "jti": "order-17", "key": "tenant7"})
    one = c.ask("submit", queue=r.queue, payload={"a": 1}, claim=claim)
    two = c.ask("submit", queue=r.queue, payload={"a": 1}, claim=claim)
    r.claim(one["task"] == two["task"], "used again it is another task")
    r.claim(r.task(one["task"])["key"] == "tenant7", "the key is not the claim's")
    bad = c.ask("claim", secret="x" * 32, kid="shop", members={"queues": [r.queue], "jti": "order-18"})
    r.raises("of another secret", lambda: c.ask("submit", queue=r.queue, payload={}, claim=bad), kind="api", status=403)


# ---- tasks ------------------------------------------------------------------------------------


def row_submit_and_wait(r):
    c = r.client()
    c.begin("work", queues=[r.queue])
    task = c.ask("submit", queue=r.queue, payload={"result": {"url": "ü"}}, key="tenant7", priority=3, cost=5, labels=["b"])["task"]
    got = c.ask("wait_task", task=task, timeout_s=20)
    r.claim(got == {"state": "succeeded", "result": {"url": "ü"}}, f"{got}")
    seen = r.task(task)
    r.claim((seen["key"], seen["priority"], seen["cost"], seen["labels"]) == ("tenant7", 3, 5, ["b"]), f"{seen}")
    late = c.ask("submit", queue=r.queue, payload={}, delay="1h")
    r.claim(late["state"] == "scheduled", f"{late}")
    r.raises("a wait that ends", lambda: c.ask("wait_task", task=late["task"], timeout_s=1), kind="deadline")


def row_lost_submit(r):
    r.proxy.rule("POST", r"/tasks$", drop_answer())
    c = r.client()
    task = c.ask("submit", queue=r.queue, payload={"a": 1})["task"]
    r.claim(r.proxy.count("POST", r"/tasks$") == 2, "asked once")
    n = r.cluster.http("GET", f"{r.cluster.routers[1]}/v1/queues/{r.queue}/tasks", None, r.token)["waiting"]
    r.claim(n == 1, f"{n} tasks")
    r.proxy.rule("POST", r"/batch$", drop_answer())
    c.ask("submit_many", queue=r.queue, rows=[{"payload": 1}, {"payload": 2}])
    n = r.cluster.http("GET", f"{r.cluster.routers[1]}/v1/queues/{r.queue}/tasks", None, r.token)["waiting"]
    r.claim(n == 3, f"{n} tasks, after a batch of two")
    r.claim(task, "and it has a token")


def row_batch(r):
    rows = r.client().ask("submit_many", queue=r.queue, rows=[{"payload": 1}, {"payload": 2, "priority": 99}, {"payload": 3, "name": "x"}])
    r.claim([x["status"] for x in rows] == [201, 400, 201], f"{rows}")
    r.claim(rows[1]["code"] == "bad_request" and rows[0]["task"] and not rows[1]["task"], f"{rows}")
    many = r.client().ask("submit_many", queue=r.queue, rows=[{"payload": i} for i in range(1500)])
    r.claim(len({x["task"] for x in many}) == 1500, "more than 1000 are more than one request")


def row_names(r):
    c = r.client()
    a, b = (c.ask("submit", queue=r.queue, payload={"a": 1}, name="order-7")["task"] for _ in range(2))
    r.claim(a == b, "two tasks")
    r.raises("another payload", lambda: c.ask("submit", queue=r.queue, payload={"a": 2}, name="order-7"), kind="api", status=422,
             code="idempotency_mismatch")


def row_unique(r):
    c = r.client()
    u = {"key": "cart7", "on_conflict": "reject"}
    c.ask("submit", queue=r.queue, payload={"a": 1}, unique=u)
    r.raises("the second", lambda: c.ask("submit", queue=r.queue, payload={"a": 2}, unique=u), kind="api", status=409, code="unique_conflict")


def row_cancelled(r):
    c = r.client()
    task = c.ask("submit", queue=r.queue, payload={})["task"]
    asked = c.begin("wait_task", task=task, timeout_s=20)
    c.ask("cancel", task=task)
    r.raises("the wait", lambda: asked.result(10), kind="task", code="cancelled")


def row_dead(r):
    c = r.client()
    c.begin("work", queues=[r.queue])
    task = c.ask("submit", queue=r.queue, payload={"fail": "no paper"}, max_attempts=1)["task"]
    e = r.raises("the wait", lambda: c.ask("wait_task", task=task, timeout_s=20), kind="task", code="dead")
    r.claim(e and "no paper" in e.detail, f"{e}")


def row_chain(r):
    c = r.client()
    c.begin("work", queues=[r.queue, r.queue + "/2"])
    task = c.ask("submit", queue=r.queue, payload={"result": {"url": "cat.png"}}, then={
        "queue": r.queue + "/2", "payload": {"result": {"sent": {"$result": "/url"}}}})["task"]
    c.ask("wait_task", task=task, timeout_s=20)
    second = r.until(lambda: r.task(task)["then"].get("task"), text="no second one")
    r.claim(c.ask("wait_task", task=second, timeout_s=20)["result"] == {"sent": "cat.png"}, f"{r.task(second)}")


def row_groups(r):
    c = r.client()
    c.begin("work", queues=[r.queue])
    rows = c.ask("submit_many", queue=r.queue, rows=[{"payload": {"result": i}, "group": "batch7"} for i in range(5)])
    r.claim([x["status"] for x in rows] == [201] * 5, f"{rows}")
    said = c.ask("group", queue=r.queue, group="batch7", then="seal")
    r.claim(said["sealed"] and said["tasks"] == 5, f"{said}")
    r.raises("one more", lambda: c.ask("submit", queue=r.queue, payload={}, group="batch7"), kind="api", status=409, code="group_sealed")
    r.until(lambda: c.ask("group", queue=r.queue, group="batch7")["over"], text="it is never over")
    c.ask("submit", queue=r.queue, payload={}, group="batch8", delay="1h")
    c.ask("group", queue=r.queue, group="batch8", then="cancel")
    r.until(lambda: c.ask("group", queue=r.queue, group="batch8")["states"].get("cancelled") == 1, text="it is not cancelled")


def row_task_events(r):
    c = r.client()
    said = {"percent": 40, "text": "page 4 of 10", "data": {"page": [4]}}
    task = r.submit({"progress": said, "then_ms": 2500, "result": 1})
    r.proxy.rule("GET", f"/{task}/events$", cut_stream(1), times=1)
    asked = c.begin("watch", task=task)
    asked.wait_for(lambda e: e["state"] == "waiting")
    c.begin("work", queues=[r.queue])
    asked.wait_for(lambda e: e["state"] == "running")
    asked.wait_for(lambda e: e["progress"] and {k: v for k, v in e["progress"].items() if k != "at"} == said)
    r.claim(asked.result(10)["state"] == "succeeded", "another end")
    r.claim(2 <= r.proxy.count("GET", f"/{task}/events$") <= 4, "not asked for again, or all the time")
    other = r.submit({}, delay="1h")
    asked = c.begin("watch", task=other)
    asked.wait_for(lambda e: e["state"] == "scheduled")
    c.ask("cancel", task=other)
    r.claim(asked.result(5)["state"] == "cancelled", "its end is not heard")
    r.proxy.rule("GET", "/T/events$", say(200, text=b'event: beat\ndata: 15000\n\nevent: end\ndata: {"state":"dead"}\n\n'))
    r.claim(c.ask("watch", task="T")["state"] == "dead" and r.proxy.count("GET", "/T/events$") == 1, "a beat ends its stream")
    for text in (b"", b"", b'event: end\ndata: {"state":"dead"}\n\n'):
        r.proxy.rule("GET", "/U/events$", say(200, text=text))
    r.claim(c.ask("watch", task="U")["state"] == "dead", "another end")
    a, b, d = (q.at for q in r.proxy.those("GET", "/U/events$"))
    r.claim(b - a > 0.95 and d - b > 1.9, f"streams that bring nothing are asked for after {b - a:.1f} s and {d - b:.1f} s")
    r.proxy.rule("GET", "/V/events$", say(204, headers={"Retry-After": "60"}))
    r.proxy.rule("GET", "/V$", say(200, {"task": "V", "queue": "q", "state": "running", "poll_after_ms": 1500}))
    r.proxy.rule("GET", "/V/events$", say(200, text=b'event: end\ndata: {"state":"dead"}\n\n'))
    asked = c.begin("watch", task="V")
    asked.wait_for(lambda e: e["state"] == "running")
    r.claim(asked.result(10)["state"] == "dead", "another end where there is no room")
    a, b = (q.at for q in r.proxy.those("GET", "/V/events$"))
    r.claim(b - a > 1.4, f"no room, and asked again after {b - a:.1f} s, not when it was told")


def row_queue_events(r):
    feed, c = r"/tasks/events$", r.client(alone=True)
    r.proxy.rule("GET", feed, cut_stream(2))
    asked, tasks = c.begin("watch_queue", queue=r.queue), []
    r.client().begin("work", queues=[r.queue], concurrency=1)
    r.until(lambda: tasks.append(r.submit({"result": 1})) or asked.events, text="it hears nothing")
    tasks += [r.submit({"result": 1}), r.submit({"result": 1})]
    asked.wait_for(lambda e: (e.get("task"), e.get("state")) == (tasks[-1], "succeeded"))
    heard = [(e["task"], e["state"]) for e in asked.events if not e["gap"]]
    ids = [int(e["id"]) for e in asked.events]
    r.claim(len(heard) == len(asked.events), "a gap")
    r.claim(ids == sorted(set(ids)), f"not in order, or twice: {ids}")
    # The one behind the first may have begun before that one's end was recorded, and before the feed.
    wanted = {(t, s) for t in tasks[tasks.index(heard[0][0]) + 2:] for s in ("running", "succeeded")}
    r.claim(wanted <= set(heard), f"not heard: {wanted - set(heard)}")
    streams = r.proxy.those("GET", feed)
    r.claim(len(streams) == 2 and streams[1].header("Last-Event-ID") == str(ids[0]), "it goes on elsewhere, or asks too often")

    problem_401 = {"title": "x", "status": 401, "code": "unauthorized", "detail": "d", "request_id": "x"}
    for what in (say(204, headers={"Retry-After": "1"}), say(200, text=b'id: 5\nevent: gap\ndata: {"after":"3"}\n\n'),
                 say(200, text=f"event: gone\ndata: {json.dumps(problem_401)}\n\n".encode())):
        r.proxy.rule("GET", feed, what)
    asked = c.begin("watch_queue", queue=r.queue, after="3")
    r.raises("a token that has gone", asked.result, kind="api", status=401, code="unauthorized")
    r.claim([(e["id"], e["gap"]) for e in asked.events] == [("5", True)], f"the gap: {asked.events}")
    r.claim([q.header("Last-Event-ID") for q in r.proxy.those("GET", feed)[2:]] == ["3", "3", "5"], "where it goes on")


def row_tokens(r):
    for token in ("wrong", None):
        before = len(r.proxy.asked)
        c = r.client(token=token)
        r.raises(f"token {token}", lambda c=c: c.ask("submit", queue=r.queue, payload={}), kind="api", status=401)
        r.claim(len(r.proxy.asked) == before + 1, "asked again")


def endpoint_is_called(r):
    """Its task node has heard of the endpoint of the row's name, and said so."""
    r.until(lambda: any(e["name"] == r.queue and e["nodes"] for e in r.cluster.operate("GET", "/v1/admin/task-queues")["endpoints"]),
            text="no task node calls the endpoint")


def row_stream_of_call(r):
    heard = threading.Event()  # what follows the first piece waits for it

    class Target(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for i in range(4):
                self.wfile.write(b"6\r\npiece%d\r\n" % i)
                self.wfile.flush()
                if self.path.startswith("/half"):
                    time.sleep(0.3)  # so some of it is passed on before it breaks off
                elif i == 0:
                    heard.wait(60)
                    heard.clear()
            if self.path.startswith("/whole"):
                self.wfile.write(b"0\r\n\r\n")
            else:
                self.close_connection = True
                self.connection.close()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Target)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        r.cluster.operate("PUT", "/v1/admin/endpoints/" + r.queue, {
            "url": f"http://127.0.0.1:{server.server_port}", "allow": ["127.0.0.0/8"]})
        endpoint_is_called(r)
        c = r.client()
        asked = c.begin("call", endpoint=r.queue, path="/whole")
        first = asked.wait_for(lambda e: "piece0" in e["piece"], 30)
        r.claim("piece3" not in first["piece"], "it came as a whole")
        heard.set()
        r.claim(asked.result(15)["status"] == 200, "status")
        r.claim("".join(e["piece"] for e in asked.events) == "piece0piece1piece2piece3", f"{asked.events}")
        task = c.ask("submit", queue=r.queue, path="/whole", method="GET")["task"]
        asked = c.begin("follow", task=task)
        first = asked.wait_for(lambda e: "piece0" in e["piece"])
        r.claim("piece3" not in first["piece"], "what is followed came as a whole")
        heard.set()
        r.claim(asked.result(15)["status"] == 200, "status of what is followed")
        r.claim("".join(e["piece"] for e in asked.events) == "piece0piece1piece2piece3", f"{asked.events}")
        r.raises("one that breaks off", lambda: c.ask("call", endpoint=r.queue, path="/half"), kind="network")
    finally:
        server.shutdown()
        server.server_close()


def row_place_of_call(r):
    class Target(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            time.sleep(2.5)
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(b"data: done\n\n")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Target)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        r.cluster.operate("PUT", "/v1/admin/endpoints/" + r.queue, {
            "url": f"http://127.0.0.1:{server.server_port}", "allow": ["127.0.0.0/8"], "max_concurrent": 1})
        endpoint_is_called(r)
        c = r.client()
        calls = [c.begin("call", endpoint=r.queue, path="/x", progress=True) for _ in range(3)]
        for asked in calls:
            r.claim(asked.result(20)["status"] == 200, "status")
            r.claim([e["piece"] for e in asked.events if "piece" in e] == ["done"], f"{asked.events}")
        places = [e["position"] for asked in calls for e in asked.events if "position" in e]
        r.claim(2 in places or 1 in places, f"places: {places}")
    finally:
        server.shutdown()
        server.server_close()


# ---- workers ----------------------------------------------------------------------------------


def done(r, tasks, seconds=20):
    r.until(lambda: all(r.task(t)["state"] == "succeeded" for t in tasks), seconds,
            f"not done: {[r.task(t) for t in tasks][:2]}")


def many(r, n, payload):
    rows = r.client(routers=[r.cluster.routers[1]]).ask("submit_many", queue=r.queue, rows=[{"payload": payload(i)} for i in range(n)])
    return [x["task"] for x in rows]


def once(r, coroutines):
    tasks = many(r, 200, lambda i: {"ms": 2, "result": i})
    c = r.client()
    work = c.begin("work", queues=[r.queue], concurrency=4, coroutines=coroutines)
    r.until(lambda: sum(e["what"] == "succeeded" for e in work.events) == 200, 20, "not all are done")
    running = most = 0
    for e in work.events:
        running += (e["what"] == "started") - (e["what"] == "succeeded")
        most = max(most, running)
    r.claim(most <= 4, f"{most} at a time")
    c.ask("stop", work=work.id)
    done(r, tasks[::20])
    started = [e["task"] for e in work.events if e["what"] == "started"]
    r.claim(sorted(started) == sorted(tasks), "some began twice")
    r.claim(r.task(tasks[7])["result"] == 7, "another result")
    takes = [json.loads(q.body)["n"] for q in r.proxy.those("POST", "/take$")]
    r.claim(max(takes) <= 4, f"it takes {max(takes)}, more than it can begin")


def row_work_once(r):
    once(r, False)


def row_work_coroutines(r):
    once(r, True)


def row_work_extends(r):
    c = r.client()
    work = c.begin("work", queues=[r.queue], lease_s=2)
    task = r.submit({"ms": 5000, "result": 1})
    done(r, [task])
    r.claim(r.task(task)["attempts"] == 1, f"{r.task(task)}")
    r.claim(any(e["what"] == "extended" for e in work.events), "nobody heard of it")


def row_work_slow_router(r):  # long leases: those of 3 s lapsed on a loaded machine
    doors, slow = [r.proxy, Proxy(r.cluster.routers[1])], []

    def late(p, q, c):  # the first one that is asked to extend
        if b'"extend"' in q.body:
            slow or slow.append(p)
            time.sleep(1.8 if slow[0] is p else 0)
        return p.pass_on(q, c)
    try:
        for p in doors:
            p.rule("POST", r"/(settle|extend)$", late, times=999)
        queues = [f"{r.queue}/{q}" for q in "abcd"]
        r.client(routers=[p.url for p in doors]).begin("work", queues=queues, lease_s=8, concurrency=4)
        tasks = [r.submit({"ms": 9000, "result": 1}, queue=q) for q in queues]
        done(r, tasks, 40)
        r.claim(slow, "nobody extends")
        r.claim([r.task(t)["attempts"] for t in tasks] == [1] * 4, f"attempts: {[r.task(t)['attempts'] for t in tasks]}")
    finally:
        doors[1].close()


def row_work_progress(r):
    r.client().begin("work", queues=[r.queue], concurrency=1, lease_s=2)
    said = {"percent": 40, "text": "page 4 of 10", "data": {"page": [4]}}
    task = r.submit({"progress": said, "then_ms": 2500, "result": 1})
    r.until(lambda: "progress" in r.task(task), 2.4, "nothing is shown")
    shown = r.task(task)["progress"]
    r.claim({k: v for k, v in shown.items() if k != "at"} == said, f"{shown}")
    done(r, [task])
    r.claim("progress" not in r.task(task), "it stays behind its end")

    def late(p, q, c):  # it is not done for who has given it up
        time.sleep(0.6)
        try:
            return c.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b"" and p.pass_on(q, c)
        except BlockingIOError:
            return p.pass_on(q, c)
    r.proxy.rule("POST", "/progress$", late, times=9)
    task = r.submit({"progress": said, "then_ms": 5000, "result": 1})
    r.until(lambda: "progress" in r.task(task), 4.9, "nothing is shown where a router is slow")
    done(r, [task])


def row_work_bytes(r):
    c, body = r.client(), b"\x89PNG\r\n\x1a\n\0\xff{"
    c.begin("work", queues=[r.queue])
    at = f"{r.cluster.routers[1]}/v1/queues/{r.queue}/tasks?key=tenant7&labels=a,b"
    auth = {"Authorization": "Bearer " + r.cluster.token}
    raw = urllib.request.urlopen(urllib.request.Request(at, body, {**auth, "Content-Type": "image/png"}), timeout=10)
    first = json.load(raw)["task"]
    second = c.ask("submit", queue=r.queue, payload_base64=base64.b64encode(body).decode(), content_type="image/png")["task"]
    done(r, [first, second])
    r.claim(r.task(first)["content_type"] == "image/png", f"{r.task(first)}")
    for task in (first, second):
        with urllib.request.urlopen(f"{r.cluster.routers[0]}/v1/tasks/{task}/result", timeout=10) as a:
            r.claim(a.read() == body[::-1] and a.headers["Content-Type"] == "image/png", f"another result: {a.headers}")


def row_work_lost(r):
    c = r.client()
    work = c.begin("work", queues=[r.queue], lease_s=1, concurrency=1)
    task = r.submit({"ms": 2500})
    work.wait_for(lambda e: e["what"] == "started")
    c.ask("cancel", task=task, force=True)
    work.wait_for(lambda e: e["what"] == "lost" and e["task"] == task)
    done(r, [r.submit({"result": 1})])
    r.claim(not any(e["what"] == "succeeded" and e["task"] == task for e in work.events), "it counts as done")
    r.claim(r.task(task)["state"] == "cancelled", f"{r.task(task)}")


def row_work_again(r):
    task = r.submit({"result": 1})
    r.proxy.rule("POST", "/take$", drop_answer())
    work = r.client().begin("work", queues=[r.queue], lease_s=2)
    done(r, [task])
    started = [e for e in work.events if e["what"] == "started"]
    r.claim([e["attempt"] for e in started] == [2], f"{started}")


def row_work_ack_lost(r):
    r.proxy.rule("POST", "/settle$", drop_answer())
    work = r.client().begin("work", queues=[r.queue], lease_s=5)
    task = r.submit({"result": 1})
    done(r, [task])
    r.until(lambda: r.proxy.count("POST", "/settle$") >= 2, text="it is not repeated")
    r.claim(r.task(task)["attempts"] == 1, f"{r.task(task)}")
    r.claim(not any(e["what"] == "lost" for e in work.events), "the repeat counts as lost")


def row_work_throws(r):
    c = r.client()
    work = c.begin("work", queues=[r.queue])
    task = c.ask("submit", queue=r.queue, payload={"fail": "no\npaper", "times": 1, "result": 2}, retry={"min": "100ms"})["task"]
    done(r, [task])
    seen = r.task(task)
    r.claim("no paper" in seen["history"][0]["reason"] and seen["attempts"] == 2, f"{seen}")
    work.wait_for(lambda e: e["what"] == "succeeded")
    r.claim([e["what"] for e in work.events if e["what"] in ("failed", "succeeded")] == ["failed", "succeeded"], f"{work.events}")


def row_work_nack(r):
    r.client().begin("work", queues=[r.queue])
    task = r.submit({"nack": "later", "delay": "2s", "times": 1, "result": 1})
    done(r, [task])
    first, last = r.task(task)["history"][0], r.task(task)["history"][-1]
    r.claim(first["end"] == "nack" and first["reason"] == "later", f"{first}")
    r.claim(last["started_at"] - first["ended_at"] >= 1.9, f"{first}, {last}")


def row_work_drains(r):
    tasks = [r.submit({"ms": 1500, "result": i}) for i in range(6)]
    c = r.client(alone=True)
    work = c.begin("work", queues=[r.queue], concurrency=2)
    r.until(lambda: sum(e["what"] == "started" for e in work.events) == 2)
    c.process.send_signal(signal.SIGTERM)
    r.claim(c.process.wait(15) == 0, "it does not end well")
    states = sorted(r.task(t)["state"] for t in tasks)
    r.claim(states == ["succeeded"] * 2 + ["waiting"] * 4, f"{states}")


def row_work_gives_back(r):
    task = r.submit({"ms": 20000, "result": 1})
    c = r.client()
    work = c.begin("work", queues=[r.queue], lease_s=30)
    work.wait_for(lambda e: e["what"] == "started")
    c.ask("stop", work=work.id, drain_s=0.3)
    seen = r.task(task)
    r.claim(seen["state"] in ("waiting", "retrying") and seen["history"][0]["end"] == "nack", f"{seen}")


def row_work_queues(r):
    tasks = [r.submit({"result": q}, queue=f"{r.queue}/{q}") for q in "abc"]
    r.client().begin("work", queues=[f"{r.queue}/{q}" for q in "abc"])
    done(r, tasks)
    r.claim([r.task(t)["result"] for t in tasks] == ["a", "b", "c"], "results")


def row_webhooks(r):
    c = r.client()
    old, new = b"o" * 24, b"n" * 32
    keys = ["whsec_" + base64.b64encode(k).decode() for k in (new, old)]
    now = int(time.time())

    def signed(key, body=b'{"a":1}', at=now):
        mac = hmac.new(key, f"id7.{at}.".encode() + body, hashlib.sha256).digest()
        return {"webhook-id": "id7", "webhook-timestamp": str(at), "webhook-signature": "v1," + base64.b64encode(mac).decode()}
    start = '{"type":"task.started","timestamp":"2026-01-01T00:00:00Z","data":{"id":"7","state":"running","started_at":1}}'
    r.claim(c.ask("webhook", keys=keys, headers=signed(new, start.encode()), body=start) == "id7", "the notice of a start")
    for k in (old, new):
        r.claim(c.ask("webhook", keys=keys, headers=signed(k), body='{"a":1}') == "id7", "a good one")
    cut = {**signed(new, f"{now}.x".encode(), now - 9), "webhook-id": f"id7.{now - 9}", "webhook-timestamp": str(now)}
    for what, headers, body in (("a call that is cut in another place", cut, "x"), ("a changed body", signed(new), '{"a":2}'), ("another key", signed(b"x" * 24), '{"a":1}'),
                                ("an old call", signed(new, at=now - 600), '{"a":1}'), ("no signature", {}, '{"a":1}')):
        r.raises(what, lambda h=headers, b=body: c.ask("webhook", keys=keys, headers=h, body=b), kind="signature")


# ---- types --------------------------------------------------------------------------------------

# Operations of the routers that clients leave out.
WITHOUT = {"classicSubmit", "classicQuery", "classicCancel",  # another API's words
           "ackTask", "nackTask", "extendTask",               # settleTasks does it for many
           "putContact", "deleteContact",                     # a page's, with its person's consent: one request
           "health", "ready"}                                 # of each process

# Schemas that each client declares, member by member.
DECLARED = {"TaskSubmit", "TaskPatch", "SchedulePut", "TaskComplete", "Join", "Ticket", "TaskTaken"}


def row_fields(r):
    text = subprocess.run([os.path.join(r.cluster.bin, "../deploy/yaml2json"), os.path.join(ROOT, "proto/openapi.yaml")],
                          capture_output=True, text=True, check=True).stdout
    doc = json.loads(text)[0]
    known = r.client().ask("fields")
    more = set(known) - {"operations", "reasons", "final"}  # what else it declares
    for name in sorted(DECLARED | more):
        theirs = set(doc["components"]["schemas"][name]["properties"])
        r.claim(set(known[name]) == theirs, f"{name}: {sorted(set(known[name]) ^ theirs)}")
    wanted = {o["operationId"] for p, item in doc["paths"].items() if not p.startswith("/q/") for o in item.values()
              if isinstance(o, dict) and "operationId" in o and set(o.get("tags", [])) & {"public", "tasks", "system"}
              and not p.startswith("/metrics")}
    missing = wanted - WITHOUT - set(known["operations"])
    r.claim(not missing, f"operations: {sorted(missing)}")
    r.claim(not set(known["operations"]) - wanted, f"no such operations: {set(known['operations']) - wanted}")
    reasons = set(doc["components"]["schemas"]["Problem"]["properties"]["reason"]["enum"])
    r.claim(set(known["reasons"]) == reasons, f"reasons: {set(known['reasons']) ^ reasons}")
    states = set(doc["components"]["schemas"]["TaskState"]["enum"]) - {"scheduled", "waiting", "running", "retrying"}
    r.claim(set(known["final"]) == states, f"final states: {set(known['final']) ^ states}")


# ---- alone --------------------------------------------------------------------------------------


def row_router_dies(r):
    doors = [r.proxy, Proxy(r.cluster.routers[1])]
    asked = r.client(routers=[d.url for d in doors]).begin("wait_pass", queue=r.queue)
    i = r.until(lambda: 1 + next((i for i, d in enumerate(doors) if d.count("GET", EVENTS)), -1), text="it never listens") - 1
    doors[i].close()  # its supervisor starts the router anew, but nobody reaches it
    r.all_of(i, lambda those: [os.kill(r.cluster.pid(f"router.{n}"), signal.SIGKILL) for n in set(those)])
    r.until(lambda: doors[1 - i].asked, 20, "it never asks the other router")
    r.until(lambda: up(r), 20, "the router does not come back")
    r.order("resume")
    r.claim(asked.result(20)["pass"], "it gets its pass")
    doors[1].close()
    places = [e["position"] for e in asked.events if e["position"] is not None]
    r.claim(places == sorted(places, reverse=True), f"places grew: {places}")
    r.claim(len({e["token"] for e in asked.events}) == 1, "it joined again")


def up(r):
    try:
        return all(r.cluster.http("GET", f"{x}/readyz") or True for x in r.cluster.routers)
    except OSError:
        return False


def row_task_node_dies(r):
    tasks = many(r, 200, lambda i: {"ms": 20, "result": i})
    work = r.client(routers=list(r.cluster.routers)).begin("work", queues=[r.queue], concurrency=8, lease_s=4)
    r.until(lambda: sum(e["what"] == "succeeded" for e in work.events) > 40)
    r.all_of(0, lambda _: os.kill(r.cluster.pid("task.0"), signal.SIGKILL))

    def over():
        try:
            return all(r.task(t)["state"] == "succeeded" for t in tasks)
        except OSError:
            return False
    r.until(over, 30, "not all are done")
    r.claim(all(r.task(t)["result"] == i for i, t in enumerate(tasks)), "another result")
