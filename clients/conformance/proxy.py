"""proxy.py: stands between a client and a router, passes on, and breaks what it is told to break.

    p = Proxy("http://127.0.0.1:8080")
    p.rule("GET", r"/v1/tickets/", cut(20), times=1)

A rule counts for so many requests; the first that fits is used. `p.asked` has every request, with the
moment at which it came.
"""

import json
import re
import socket
import threading
import time
from urllib.parse import urlsplit


class Request:
    def __init__(self, head, body):
        self.at, self.head, self.body = time.monotonic(), head, body
        self.method, self.path = head.split(b" ")[0].decode(), head.split(b" ")[1].decode()

    def header(self, name):
        m = re.search(rb"(?im)^%s: *([^\r]*)" % name.encode(), self.head)
        return m[1].decode() if m else None


def read_head(f):
    """Up to the blank line; b"": the end."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = f.readline()
        if not line:
            return b""
        head += line
    return head


def say(status, value=None, headers=None, text=None):
    """An answer of its own."""
    def go(p, r, c):
        body = text if text is not None else b"" if value is None else json.dumps(value).encode()
        lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}", "Content-Type: application/json"]
        lines += [f"{k}: {v}" for k, v in (headers or {}).items()]
        c.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        return True
    return go


def problem(status, code, headers=None, **more):
    return say(status, {"title": "Said", "status": status, "code": code, "detail": "said by the proxy",
                        "request_id": "x", **more}, headers)


def drop():
    """Closes; the router hears nothing."""
    return lambda p, r, c: False


def drop_answer():
    """The router has done it; the client hears nothing."""
    def go(p, r, c):
        p.ask(r)
        return False
    return go


def cut(n):
    """n bytes of the body, then the end."""
    def go(p, r, c):
        head, body = p.ask(r)
        c.sendall(head + body[:n])
        return False
    return go


def also(*lines):
    """The router's answer, with more lines in its head, before and behind its own."""
    def go(p, r, c):
        head, body = p.ask(r)
        first, _, rest = head.partition(b"\r\n")
        more = "".join(f"{x}\r\n" for x in lines).encode()
        c.sendall(first + b"\r\n" + more + rest[:-2] + more + b"\r\n" + body)
        return False
    return go


def drip():
    """A head, and then a byte now and then."""
    def go(p, r, c):
        head, body = p.ask(r)
        c.sendall(head)
        for b in body[:-1] * 50:
            c.sendall(bytes([b]))
            time.sleep(0.2)
        return False
    return go


def stall():
    """The request is swallowed; the connection stays."""
    def go(p, r, c):
        c.settimeout(60)
        c.recv(1)
        return False
    return go


def garbage():
    """200, and what is no JSON."""
    return say(200, text=b'{"token":"x","queue')


def cut_stream(events, rest=25):
    """So many events of a stream, a part of the next one, then the end."""
    def go(p, r, c):
        with p.connect(r) as s:
            seen = b""
            while seen.count(b"\n\n") <= events and len(seen) < 1 << 20:
                piece = s.recv(65536)
                if not piece:
                    break
                seen += piece
            parts = seen.split(b"\n\n")
            c.sendall(b"\n\n".join(parts[:events]) + b"\n\ndata: {\"token\":\"x\",\"state\":\"admitted\""[:rest])
        return False
    return go


def mute_stream():
    """The head of a stream, and nothing behind it: something on the way buffers."""
    def go(p, r, c):
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        c.settimeout(60)
        c.recv(1)
        return False
    return go


class Proxy:
    def __init__(self, target):
        parts = urlsplit(target)
        self.target = parts.hostname, parts.port
        self.asked, self.rules, self.lock = [], [], threading.Lock()
        self.server = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.server.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.server.close()

    def rule(self, method, path, what, times=1):
        with self.lock:
            self.rules.append([method, re.compile(path), what, times])

    def count(self, method, path):
        return len(self.those(method, path))

    def those(self, method, path):
        return [r for r in list(self.asked) if r.method == method and re.search(path, r.path)]

    def accept(self):
        while True:
            try:
                c, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(c,), daemon=True).start()

    def pick(self, r):
        with self.lock:
            self.asked.append(r)
            for rule in self.rules:
                if rule[0] == r.method and rule[1].search(r.path) and rule[3]:
                    rule[3] -= 1
                    return rule[2]
        return None

    def serve(self, c):
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        f = c.makefile("rb")
        try:
            while True:
                head = read_head(f)
                if not head:
                    return
                m = re.search(rb"(?im)^content-length: *(\d+)", head)
                r = Request(head, f.read(int(m[1])) if m else b"")
                what = self.pick(r)
                if not (what(self, r, c) if what else self.pass_on(r, c)):
                    return
        except OSError:
            pass
        finally:
            f.close()
            c.close()

    def connect(self, r):
        """A connection to the router, with the request sent."""
        s = socket.create_connection(self.target, 5)
        s.settimeout(90)
        head = re.sub(rb"(?im)^(host|connection):[^\n]*\n", b"", r.head)
        first, _, rest = head.partition(b"\r\n")
        s.sendall(first + b"\r\nHost: proxy\r\nConnection: close\r\n" + rest + r.body)
        return s

    def ask(self, r):
        """(head, body) of the router's answer."""
        with self.connect(r) as s:
            raw = b""
            while True:
                piece = s.recv(65536)
                if not piece:
                    break
                raw += piece
        head, _, body = raw.partition(b"\r\n\r\n")
        return head + b"\r\n\r\n", body

    def pass_on(self, r, c):
        """Bytes as they come, until the router or the client closes."""
        with self.connect(r) as s:
            gone = threading.Event()

            def watch():  # a client that leaves: so does its request
                try:
                    while not gone.is_set():
                        c.settimeout(0.5)
                        try:
                            if not c.recv(1, socket.MSG_PEEK):
                                s.shutdown(socket.SHUT_RDWR)
                                return
                            return
                        except socket.timeout:
                            pass
                except OSError:
                    pass
            threading.Thread(target=watch, daemon=True).start()
            try:
                while True:
                    piece = s.recv(65536)
                    if not piece:
                        break
                    c.sendall(piece)
            finally:
                gone.set()
        return False
