#!/usr/bin/python3
"""aws_client.py EVENT N ROUTER...: N visitors as the published sample page of AWS' Virtual Waiting Room
makes them. Each asks for a place, then for its number until it is told, then only for the number that is
served, which names nobody; when that has reached its own it asks for its token until it gets it. They
take the routers in turn, question by question. Prints a line for each who is through, in that order:
"number served access_token"; "lost WHY" for one that is not. Then "counter fell" if it ever did at a
router."""
import json
import sys
import threading
import time
import urllib.error
import urllib.request

event, n, routers = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
say, fell, highest = threading.Lock(), threading.Event(), {}
END = time.monotonic() + 300


def ask(router, path, body=None):
    """(status, what it says); 0: nobody answers."""
    data = None if body is None else json.dumps(body).encode()
    req = urllib.request.Request(router + path, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(req, timeout=20) as a:
            return a.status, json.load(a)
    except urllib.error.HTTPError as e:
        return e.code, json.loads(e.read() or b"{}")
    except OSError:
        return 0, {}


def until(good, path, body=None, at=0, give_up=()):
    """The first answer that is good; retried as the page does, with longer and longer pauses."""
    wait, k = 0.1, at
    while time.monotonic() < END:
        status, said = ask(routers[k % len(routers)], path, body)
        if status == 200 and good(said, routers[k % len(routers)]):
            return said
        if status in give_up:
            raise RuntimeError(f"{path.split('?')[0]}: {status} {said}")
        k += 1
        if status != 200:
            time.sleep(wait)
            wait = min(wait * 2, 2)
        else:
            time.sleep(0.3)  # the page: 3 s
    raise RuntimeError(f"{path.split('?')[0]}: never")


def grew(said, router):
    with say:
        if said["serving_counter"] < highest.get(router, 0):
            fell.set()
        highest[router] = max(highest.get(router, 0), said["serving_counter"])
    return said["serving_counter"]


def visitor(k):
    try:
        me = until(lambda s, r: True, "/assign_queue_num", {"event_id": event}, k)["api_request_id"]
        mine = until(lambda s, r: True, f"/queue_num?event_id={event}&request_id={me}", at=k + 1,
                     give_up=(400, 404, 410))["queue_number"]
        served = until(lambda s, r: grew(s, r) >= mine, f"/serving_num?event_id={event}", at=k)["serving_counter"]
        token = until(lambda s, r: True, "/generate_token", {"event_id": event, "request_id": me}, k + 1,
                      (400, 404, 410))
        with say:
            print(mine, served, token["access_token"], flush=True)
    except RuntimeError as e:
        with say:
            print("lost", e, flush=True)


threads = [threading.Thread(target=visitor, args=(k,)) for k in range(n)]
for t in threads:
    t.start()
for t in threads:
    t.join()
if fell.is_set():
    print("counter fell")
