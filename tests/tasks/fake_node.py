"""fake_node.py: tasks in a dict behind the API of tasks, all in one process: for the test of the
judge. With a fault planted it breaks one promise now and then, and keeps the others. What it hands
out too soon stands in front of the line (entry 0): on a slow machine, too, it is begun at once."""
import http.server
import json
import threading
import time

MIME = "application/json"


class Tasks:
    """One queue. Every call under the lock."""

    def __init__(self, fault=None, every=4):
        self.fault, self.every, self.count = fault, every, 0
        self.cond = threading.Condition()
        self.tasks, self.keys, self.names, self.no = {}, {}, {}, 0

    def strikes(self, fault):
        """The planted one, at each `every`th chance."""
        if self.fault != fault:
            return False
        self.count += 1
        return self.count % self.every == 0

    def put(self, m, idem, raw):
        """(status, task)"""
        for table, key in ((self.keys, idem), (self.names, m.get("name"))):
            t = table.get(key) if key else None
            if t and not (t["raw"] == raw and self.strikes("key_forgotten")):
                if t["raw"] == raw or self.strikes("payload_not_compared"):
                    return 200, t
                return 422, {}
        self.no += 1
        now = time.time()
        due = m.get("at") or now + m.get("delay", 0)
        soon = due > now and self.strikes("early")
        t = {"task": "T%08d" % self.no, "state": "waiting", "raw": raw, "key": m.get("key", ""),
             "priority": m.get("priority", 0), "due": due, "attempts": 0, "lease": None, "until": 0, "entry": max(due, now),
             "result": None, "stopping": False, "no": self.no}
        if soon:
            t.update(due=now, entry=0)
        self.tasks[t["task"]] = t
        if self.strikes("done_by_nobody"):
            t.update(state="succeeded", result="{}")
        if self.strikes("lost"):
            del self.tasks[t["task"]]
        for table, key in ((self.keys, idem), (self.names, m.get("name"))):
            if key:
                table[key] = t
        self.cond.notify_all()
        return 201, t

    def ready(self, now):
        """Those that may begin, in order."""
        for t in self.tasks.values():
            if t["state"] == "running" and t["until"] <= now:
                t["state"] = "cancelled" if t["stopping"] else "waiting"
                t["entry"] = now
            # The first one's, and nearly all of it (it is 0.5 s): who holds it is still at work.
            if t["state"] == "running" and self.fault == "lease_ignored" and t["attempts"] == 1 and t["until"] <= now + 0.45:
                t.update(state="waiting", entry=0)
        return sorted((t for t in self.tasks.values() if t["state"] == "waiting" and t["due"] <= now),
                      key=lambda t: (-t["priority"], t["entry"], t["no"]))

    def take(self, n, lease, wait):
        end = time.time() + wait
        while True:
            now = time.time()
            got = self.ready(now)
            if got or now >= end:
                break
            self.cond.wait(min(0.02, end - now))
        if len(got) > 1 and self.strikes("order"):
            got.reverse()
        out = []
        for t in got[:n]:
            t["attempts"] += 1
            if self.strikes("attempt_twice") and t["attempts"] > 1:
                t["attempts"] -= 1
            t.update(state="running", lease="L%d.%d" % (t["no"], t["attempts"]), until=now + lease)
            raw = t["raw"].replace(', "n"', ',"n"') if self.strikes("payload_changed") else t["raw"]
            out.append('{"task":"%s","lease_id":"%s","attempt":%d,"payload":%s,"key":"%s","lease_expires_at":%.3f}' % (
                t["task"], t["lease"], t["attempts"], raw, t["key"], t["until"]))
        return '{"tasks":[%s]}' % ",".join(out)

    def settle(self, verb, token, m, raw):
        """(status, members)"""
        t = self.tasks.get(token)
        if not t:
            return 404, {}
        now = time.time()
        if verb == "ack" and self.strikes("ack_lost"):
            return 200, {"state": "succeeded"}
        if t["state"] != "running" or t["lease"] != m.get("lease_id") or t["until"] <= now:
            if not (self.fault == "stale_ack" and verb == "ack"):
                return 409, {}
        if verb == "ack":
            if self.strikes("result_changed"):
                raw = raw.replace("  ", " ")
            t.update(state="succeeded", result=raw)
        elif verb == "nack":
            if t["stopping"]:
                t.update(state="cancelled")
            else:
                due = now + m.get("delay", 0)
                soon = self.strikes("retry_early")
                t.update(state="waiting", due=now if soon else due, entry=0 if soon else due)
        else:
            t["until"] = now + seconds(m["lease"])
        return 200, {"state": t["state"], "lease_expires_at": t["until"]}

    def cancel(self, token):
        t = self.tasks.get(token)
        if not t:
            return 404, {}
        if t["state"] == "running":
            t["stopping"] = True
        elif t["state"] == "waiting":
            if not self.strikes("cancel_forgotten"):
                t["state"] = "cancelled"
            return 200, {"task": token, "state": "cancelled"}
        elif t["state"] != "cancelled":
            return 409, {}
        return 200, {"task": token, "state": t["state"]}


def seconds(v):
    """Of "500ms", or of a number of seconds."""
    return float(v[:-2]) / 1000 if isinstance(v, str) else float(v)


def raw_member(text, name, at=0):
    """The value as it stands in the text, and where it ends."""
    i = text.find('"%s":' % name, at) + len(name) + 3
    return text[i:json.JSONDecoder().raw_decode(text, i)[1]]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version, disable_nagle_algorithm, wbufsize = "HTTP/1.1", True, 65536

    def log_message(self, *_):
        pass

    def answer(self, status, text):
        if not isinstance(text, str):
            text = json.dumps({k: v for k, v in text.items() if k not in ("raw", "result")})
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", MIME)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def many(self, text, each):
        """A row's answer for each member of an array; the raw text of a row is what it needs."""
        out, i = [], text.index("[") + 1
        decoder = json.JSONDecoder()
        while text[i] != "]":
            m, end = decoder.raw_decode(text, i)
            status, a = each(m, text[i:end])
            out.append(dict(status=status, **{k: a[k] for k in ("task", "state", "lease_expires_at") if k in a}))
            i = end + (text[end] == ",")
        self.answer(207, json.dumps(out))

    def do_POST(self):
        text = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        tasks, parts = self.server.tasks, self.path.strip("/").split("/")
        with tasks.cond:
            if parts[-1] == "batch":
                return self.many(text, lambda m, raw: tasks.put(m, m.get("idempotency_key"), raw_member(raw, "payload")))
            if parts[-1] == "settle":
                return self.many(text, lambda m, raw: tasks.settle(
                    m["verb"], m["task"], m, raw_member(raw, "result") if "result" in m else ""))
            m = json.loads(text)
            if parts[-1] == "tasks":
                return self.answer(*tasks.put(m, self.headers.get("Idempotency-Key"), raw_member(text, "payload")))
            if parts[-1] == "take":
                return self.answer(200, tasks.take(m["n"], seconds(m["lease"]), seconds(m["wait"])))
            return self.answer(*tasks.settle(parts[-1], parts[2], m, raw_member(text, "result") if "result" in m else ""))

    def do_GET(self):
        tasks, parts = self.server.tasks, self.path.strip("/").split("/")
        with tasks.cond:
            t = tasks.names.get(parts[4]) if parts[1] == "queues" else tasks.tasks.get(parts[2])
            if not t:
                return self.answer(404, {})
            if parts[-1] == "result":
                return self.answer(200 if t["result"] else 202, t["result"] or "")
            return self.answer(200, t)

    def do_DELETE(self):
        with self.server.tasks.cond:
            return self.answer(*self.server.tasks.cancel(self.path.strip("/").split("/")[2]))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, fault=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.tasks = Tasks(fault)
        self.url = "http://127.0.0.1:%d" % self.server_address[1]
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
