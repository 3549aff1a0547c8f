"""late.py join ROUTER QUEUE OPENS_MS FILE: people join from now on until five seconds after the
opening, about a hundred a second; what each was told goes to FILE, a JSON line each.
late.py judge ROUTER QUEUE OPENS_MS FILE: was it true? Who was told that he draws is in a segment
that draws, and nobody else; and nobody whose join was sent after the opening is."""
import http.client
import json
import sys
import threading
import time
import urllib.parse

THREADS = 4
LATE_S = 5


def call(router, method, path):
    """(status, JSON or None); status 0: no answer."""
    host = urllib.parse.urlparse(router)
    conn = http.client.HTTPConnection(host.hostname, host.port, timeout=4)
    try:
        conn.request(method, path, "{}" if method == "POST" else None,
                     {"Content-Type": "application/json"})
        r = conn.getresponse()
        return r.status, json.loads(r.read())
    except (OSError, http.client.HTTPException, ValueError):
        return 0, None
    finally:
        conn.close()


def join(router, queue, opens_ms, path):
    """Many threads, one file."""
    lock = threading.Lock()
    with open(path, "w", encoding="utf-8") as out:
        def people():
            while time.time() * 1000 < opens_ms + LATE_S * 1000:
                sent = time.time() * 1000
                status, t = call(router, "POST", "/v1/queues/%s/tickets" % queue)
                if status == 201:
                    with lock:
                        out.write(json.dumps({"sent": sent, "ticket": t["ticket"],
                                              "draws": t.get("prequeue", False)}) + "\n")
                        out.flush()
                time.sleep(0.04)
        threads = [threading.Thread(target=people) for _ in range(THREADS)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()


def judge(router, queue, opens_ms, path):
    """Prints what was looked at; exits with 1 if something was not true."""
    people = [json.loads(line) for line in open(path, encoding="utf-8")]
    segments = {}
    while not segments or any(p["draws"] and seg(p) not in segments for p in people):
        _, q = call(router, "GET", "/v1/queues/" + queue)
        segments = {s["segment"]: s["count"] for s in ((q or {}).get("draw") or {}).get("segments", [])}
        time.sleep(0.1)
    wrong = [p for p in people if (seg(p) in segments) != p["draws"]]
    late = [p for p in people if p["sent"] >= opens_ms and seg(p) in segments]
    early = sum(p["draws"] for p in people)
    print("%d people, %d draw, %d were told something else, %d came late and draw" % (
        len(people), early, len(wrong), len(late)))
    for p in (wrong + late)[:5]:
        print("sent %.3f s after the opening: %s" % ((p["sent"] - opens_ms) / 1000, p))
    return bool(wrong or late or early < 20 or early == len(people))


def seg(person):
    """The segment that a ticket's name says."""
    return int(person["ticket"].split("-")[0])


if __name__ == "__main__":
    DO = {"join": join, "judge": judge}[sys.argv[1]]
    sys.exit(DO(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5]) or 0)
