#!/usr/bin/python3
"""listen.py ROUTER N: N people join and listen. Prints a line when all do (`listening N`), and at
the end the longest time, in ms, from a release to the event that told it.
"""
import http.client
import json
import sys
import threading
import time
import urllib.parse

at = urllib.parse.urlsplit(sys.argv[1])
n = int(sys.argv[2])
ready = threading.Barrier(n + 1)
late_ms = []


def call():
    return http.client.HTTPConnection(at.hostname, at.port, timeout=120)


def person():
    c = call()
    c.request("POST", "/v1/queues/login/tickets")
    token = json.load(c.getresponse())["token"]
    c = call()
    c.request("GET", f"/v1/tickets/{token}/events")
    events = c.getresponse()
    first = True
    for line in events:
        if not line.startswith(b"data: "):
            continue
        ticket = json.loads(line[6:])
        if not isinstance(ticket, dict):
            continue  # a beat
        if first:
            first = False
            ready.wait()
        if ticket["state"] == "admitted":
            late_ms.append(1000 * (time.time() - ticket["released_at"]))
            return
    raise SystemExit("it ended before the admission")


people = [threading.Thread(target=person) for _ in range(n)]
for p in people:
    p.start()
ready.wait()
print("listening", n, flush=True)
for p in people:
    p.join()
if len(late_ms) != n:
    raise SystemExit(f"only {len(late_ms)} of {n} were told")
print("late", round(sorted(late_ms)[-1]))
