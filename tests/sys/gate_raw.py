#!/usr/bin/env python3
"""gate_raw.py PORT HOST CERT COOKIE: requests that no HTTP library sends, over TLS, one
connection each. Prints a line per request: its name, and the statuses that came back.
Whatever a front makes of them, the shop must not see one without a pass (COOKIE is a good
one, for those that try to hide a second request behind a good first).
"""

import concurrent.futures
import socket
import ssl
import sys

PORT, HOST, CERT, COOKIE = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
HEAD = f"Host: {HOST}\r\n"
PASS = f"Cookie: segq_pass={COOKIE}\r\n"
SECOND = f"GET /secret-{{}} HTTP/1.1\r\n{HEAD}\r\n"


def hidden(name):
    """A request that must be seen as one of its own, without a pass."""
    return SECOND.format(name)


def requests():
    """Name -> bytes."""
    body = hidden("cl-te")
    yield "absolute-form", f"GET http://{HOST}/secret-abs HTTP/1.1\r\n{HEAD}\r\n"
    yield "absolute-elsewhere", f"GET http://other/secret-abs HTTP/1.1\r\n{HEAD}\r\n"
    yield "two-hosts", f"GET /secret-hosts HTTP/1.1\r\n{HEAD}Host: other\r\n\r\n"
    yield "no-host", "GET /secret-nohost HTTP/1.0\r\n\r\n"
    yield "dots-to-room", f"GET /q/../secret-dots HTTP/1.1\r\n{HEAD}\r\n"
    yield "escaped-dots", f"GET /q/%2e%2e/secret-dots HTTP/1.1\r\n{HEAD}\r\n"
    yield "escaped-slash", f"GET /q%2f..%2fsecret-dots HTTP/1.1\r\n{HEAD}\r\n"
    yield "backslash", f"GET /q\\..\\secret-dots HTTP/1.1\r\n{HEAD}\r\n"
    yield "rule-dots", f"GET /static/../secret-rule HTTP/1.1\r\n{HEAD}\r\n"
    yield "rule-escaped", f"GET /static/%2e%2e/secret-rule HTTP/1.1\r\n{HEAD}\r\n"
    yield "rule-slash", f"GET /static/..%2fsecret-rule HTTP/1.1\r\n{HEAD}\r\n"
    yield "rule-double", f"GET /static//../secret-rule HTTP/1.1\r\n{HEAD}\r\n"
    yield "rule-params", f"GET /static/..;/secret-rule HTTP/1.1\r\n{HEAD}\r\n"
    yield "rule-header", (f"GET /secret-rule HTTP/1.1\r\n{HEAD}"
                          "X-Original-URI: /static/x\r\nX-Forwarded-Uri: /static/x\r\n\r\n")
    yield "space-in-path", f"GET /static /secret-x HTTP/1.1\r\n{HEAD}\r\n"
    yield "connect", f"CONNECT /secret-connect HTTP/1.1\r\n{HEAD}\r\n"
    yield "odd-method", f"FOO /secret-method HTTP/1.1\r\n{HEAD}\r\n"
    yield "upgrade", (f"GET /secret-ws HTTP/1.1\r\n{HEAD}Upgrade: websocket\r\nConnection: "
                      "Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                      "Sec-WebSocket-Version: 13\r\n\r\n")
    yield "h2c", (f"GET /secret-h2c HTTP/1.1\r\n{HEAD}Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk"
                  "\r\nConnection: Upgrade, HTTP2-Settings\r\n\r\n")
    yield "cl-te", (f"POST /ok-cl-te HTTP/1.1\r\n{HEAD}{PASS}Content-Length: {len(body)}\r\n"
                    f"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{body}")
    yield "te-cl", (f"POST /ok-te-cl HTTP/1.1\r\n{HEAD}{PASS}Transfer-Encoding: chunked\r\n"
                    f"Content-Length: 4\r\n\r\n5\r\nabcde\r\n0\r\n\r\n{hidden('te-cl')}")
    yield "te-te", (f"POST /ok-te-te HTTP/1.1\r\n{HEAD}{PASS}Transfer-Encoding: chunked\r\n"
                    f"Transfer-Encoding: x\r\n\r\n0\r\n\r\n{hidden('te-te')}")
    yield "two-lengths", (f"POST /ok-lengths HTTP/1.1\r\n{HEAD}{PASS}Content-Length: 0\r\n"
                          f"Content-Length: {len(body)}\r\n\r\n{hidden('lengths')}")
    yield "pipelined", (f"GET /ok-pipe HTTP/1.1\r\n{HEAD}{PASS}\r\n{hidden('pipe')}")
    yield "bare-lf", f"GET /secret-lf HTTP/1.1\n{HEAD}X: y\n\n"
    yield "folded", f"GET /secret-fold HTTP/1.1\r\n{HEAD}X-A: b\r\n {PASS}\r\n"
    yield "name-blank", f"GET /secret-blank HTTP/1.1\r\n{HEAD}X-Segq-Queue : login\r\n\r\n"
    yield "huge-cookie", (f"GET /secret-huge HTTP/1.1\r\n{HEAD}Cookie: segq_pass="
                          f"{'a' * 7000}\r\n\r\n")
    yield "huger-cookie", (f"GET /secret-huge HTTP/1.1\r\n{HEAD}Cookie: segq_pass="
                           f"{'a' * 60000}\r\n\r\n")
    for n in (80, 95, 98, 99, 100, 101, 150, 500):
        lines = "".join(f"X-A{i}: b\r\n" for i in range(n))
        yield f"many-lines-{n}", f"GET /secret-lines HTTP/1.1\r\n{HEAD}{lines}\r\n"
        yield f"many-values-{n}", f"GET /secret-lines HTTP/1.1\r\n{HEAD}" + "X-A: b\r\n" * n + "\r\n"
    yield "many-cookies", (f"GET /secret-many HTTP/1.1\r\n{HEAD}Cookie: "
                           f"{'segq_pass=a; ' * 300}b=c\r\n\r\n")


def ask(raw):
    """The statuses of what is answered until the other end closes or is silent."""
    context = ssl.create_default_context(cafile=CERT)
    context.set_alpn_protocols(["http/1.1"])
    got = b""
    with socket.create_connection(("127.0.0.1", PORT), timeout=60) as plain:
        with context.wrap_socket(plain, server_hostname=HOST) as s:
            # The last one says that it is the last: the front closes when all is answered.
            last = f"GET /q/none HTTP/1.1\r\n{HEAD}Connection: close\r\n\r\n"
            try:
                s.sendall((raw + last).encode())
                while chunk := s.recv(65536):
                    got += chunk
            except OSError:
                pass
    return [line[9:12].decode() for line in got.split(b"\r\n") if line[:9] == b"HTTP/1.1 "]


with concurrent.futures.ThreadPoolExecutor(8) as pool:
    names, texts = zip(*requests())
    for name, statuses in zip(names, pool.map(ask, texts)):
        print(name, *statuses)
