#!/usr/bin/env python3
"""Submits tasks of several keys and costs to a queue, takes and acknowledges them, and judges J23: for
each key, in no window between two takes did more units start than the rate in units lets.

    task_units_judge.py ROUTER TOKEN QUEUE ROOM UNITS_PER_SECOND

A start is not before its take was asked, nor behind its answer: the window between the first request and
the last answer is at least as long as the real one, so a slow machine breaks nothing."""
import json
import sys
import time
import urllib.error
import urllib.request

router, token, queue, room, rate = sys.argv[1:4] + [float(v) for v in sys.argv[4:6]]
COSTS = {"a": [1, 7, 25, 3, 50, 2, 2, 30, 11, 19], "b": [5] * 30, "c": [40, 40, 40, 1, 1]}


def call(path, body, deadline):
    """The answer, asked again until there is one: the task node is killed meanwhile."""
    while True:
        q = urllib.request.Request(router + path, json.dumps(body).encode(),
                                   {"Authorization": "Bearer " + token})
        try:
            with urllib.request.urlopen(q, timeout=20) as a:
                return json.load(a)
        except (OSError, ValueError) as e:
            if time.monotonic() > deadline:
                raise SystemExit(f"no answer to {path}: {e}")
            time.sleep(0.2)


def submit(deadline):
    return sum(len(costs) for costs in COSTS.values()), [
        call(f"/v1/queues/{queue}/tasks", {"key": key, "payload": i, "cost": cost, "name": f"{key}{i}"}, deadline)
        for key, costs in COSTS.items() for i, cost in enumerate(costs)]


def work(n, deadline):
    """[(asked, answered, key, cost)] of all starts, and the order of each key."""
    starts, done = [], set()
    while len(done) < n and time.monotonic() < deadline:
        asked = time.monotonic()
        tasks = call(f"/v1/queues/{queue}/tasks/take", {"n": 5, "lease": "60s", "wait": "2s"}, deadline)["tasks"]
        now = time.monotonic()
        for t in tasks:
            starts.append((asked, now, t["key"], COSTS[t["key"]][t["payload"]], t["payload"]))
            call(f"/v1/tasks/{t['task']}/ack", {"lease_id": t["lease_id"]}, deadline)
            done.add((t["key"], t["payload"]))
        print("started", len(done), flush=True)
    return starts, done


def broken(starts):
    """The first window of a key in which more started than may: at most one task is larger than the room."""
    for key in COSTS:
        own = [s for s in starts if s[2] == key]
        for i in range(len(own)):
            units = 0
            for j in range(i, len(own)):
                units += own[j][3]
                most = max(room, max(s[3] for s in own[i:j + 1])) + rate * (own[j][1] - own[i][0])
                if units > most + 0.003 * rate:  # the node's clock has milliseconds, also over its restart
                    return f"key {key}: {units} units started in a window in which {most:.1f} may"
    return None


def main():
    deadline = time.monotonic() + 170
    n, _ = submit(deadline)
    starts, done = work(n, deadline)
    why = broken(starts)
    if why is None and len(done) < n:
        why = f"{n - len(done)} of {n} tasks never started"
    if why is None and any([s[4] for s in starts if s[2] == k] != sorted(s[4] for s in starts if s[2] == k)
                           for k in COSTS):
        why = "J6: a smaller task went before one of its key that did not fit"
    print(why or f"ok {len(starts)} starts of {n} tasks")


main()
