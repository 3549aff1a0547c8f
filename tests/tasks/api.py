"""api.py: the API of tasks as a caller sees it: requests over connections that stay, the texts
that driver and judge both know, and the form of a history.

A history is a folder of files, one for each process that asked, with a JSON list per line:
  ["put", t0, t1, status, how, [[by, n, other, key, priority, delay, at, idem, name, code, task]...]]
  ["take", t0, t1, status, lease, [[task, attempt, lease_id, until, by, n, same]...]]
  ["settle", t0, t1, status, verb, [[task, attempt, lease_id, delay, code, until]...]]
  ["cancel", t0, t1, status, task, state]
  ["get", t0, t1, status, task, state, attempts]     asked until it is final
  ["result", t0, t1, status, task, text, length, sha256]    of the whole, as the answer's head says
  ["named", t0, t1, status, by, n, task]
Times are Unix seconds of one clock; status 0: no answer came. `code` is the answer to this row:
a status, or 0. A submission is known by (by, n): the number of who submits, and a count of his;
`other` 1: its key again, with another payload."""
import http.client
import json
import os
import time

FINAL = ("succeeded", "dead", "cancelled", "expired")
LATER = (0, 408, 429, 500, 502, 503, 504)  # asked again


def payload_of(run, by, n, other=0, size=0):
    """As it is sent, byte for byte: blanks are kept."""
    pad = ',"pad":"%s"' % ("x" * size) if size else ""
    return '{"run":"%s","by":%d, "n":%d%s%s}' % (run, by, n, ',"other":1' if other else "", pad)


def result_of(by, n, attempt):
    """What the worker of this attempt gives."""
    return '{"of":[%d,%d],  "attempt":%d,"odd":"\\u00e9 \\n"}' % (by, n, attempt)


class Api:
    """Asks the routers in turn: the next one when a connection breaks, or one puts us off (503)."""

    def __init__(self, routers, token, timeout=30):
        self.routers, self.token, self.timeout = routers, token, timeout
        self.at, self.conn, self.head = 0, None, {}

    def ask(self, method, path, body=None, headers=None):
        """(t0, t1, status, text, Retry-After in s or None); status 0: no answer."""
        head = {"Authorization": "Bearer " + self.token} if self.token else {}
        head.update(headers or {})
        if body is not None:
            head.setdefault("Content-Type", "application/json")
        t0 = time.time()
        try:
            if self.conn is None:
                host = self.routers[self.at].split("://")[-1].rstrip("/")
                self.conn = http.client.HTTPConnection(host, timeout=self.timeout)
            self.conn.request(method, path, body.encode() if body is not None else None, head)
            r = self.conn.getresponse()
            text = r.read().decode()
            self.head = r.headers
            if r.will_close:
                self.drop()
            if r.status == 503:
                self.turn_to_next()
            return t0, time.time(), r.status, text, r.getheader("Retry-After")
        except (OSError, http.client.HTTPException):
            self.turn_to_next()
            return t0, time.time(), 0, "", None

    def said(self, name):
        """A field of the last answer's head, or ""."""
        return self.head.get(name) or ""

    def turn_to_next(self):
        """Another router, on a new connection."""
        self.drop()
        self.at = (self.at + 1) % len(self.routers)

    def drop(self):
        """The connection ends."""
        if self.conn:
            self.conn.close()
        self.conn = None


class History:
    """Writes lines to a file of its own."""

    def __init__(self, folder, name):
        self.file = open(os.path.join(folder, name + ".jsonl"), "w", encoding="utf-8")

    def line(self, *what):
        """Whole lines at once: others read while it grows."""
        self.file.write(json.dumps(what, separators=(",", ":")) + "\n")
        self.file.flush()


def pause(retry_after, most=1.0):
    """As long as the answer says, but no longer than `most`."""
    try:
        time.sleep(min(float(retry_after), most))
    except (TypeError, ValueError):
        time.sleep(0.1)


def parsed(text):
    """The answer's object; of no JSON an empty one."""
    try:
        out = json.loads(text)
        return out if isinstance(out, (dict, list)) else {}
    except ValueError:
        return {}
