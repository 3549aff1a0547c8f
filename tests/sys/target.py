#!/usr/bin/python3
"""target.py PORT LOG [ADDRESS]: an HTTP target for stories. Each request becomes a line of LOG (JSON: method,
path, headers with small letters, body in base64, moment). What it answers, the path says:
  /echo...        200, the request's body, its own Content-Type
  /status/N       N, "status N"; /status/N?times=K: K times so, then 200
  /slow/MS        200 after so long
  /sum            200, "LENGTH SHA256" of the body; /sum?times=K: K times 503 before that
  /early          200 as soon as the head is here, and no more of the body is read
  /left/N/RESET   200, X-Left: N, X-Reset: RESET
  /page           200, a page of HTML
  /long/N         200, N bytes of x
  /made           201, a Location below /made, a Link, a cookie, and fields that are not for others
  /moved          302, to /echo/there on this host
  /bytes/N        200, N bytes of noise: always the same; an image
  /pending/N[/M]  202: the call goes on for N seconds, from its second attempt on for M; its right
                  is in LOG
Ends with its process."""
import base64
import hashlib
import http.server
import json
import random
import sys
import threading
import time
import urllib.parse

lock = threading.Lock()
seen = {}


class Target(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, kind, body, **more):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def any(self):
        if "/early" in self.path:
            self.close_connection = True
            return self.answer(200, "text/plain", b"enough")
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        with lock, open(sys.argv[2], "a") as log:
            log.write(json.dumps({"method": self.command, "path": self.path, "at": time.time(),
                                  "headers": {k.lower(): v for k, v in self.headers.items()},
                                  "body": base64.b64encode(body).decode() if len(body) < 1 << 20 else "",
                                  "length": len(body)}) + "\n")
            seen[self.path] = seen.get(self.path, 0) + 1
            times = seen[self.path]
        url = urllib.parse.urlsplit(self.path)
        part = url.path.strip("/").split("/")
        part = part[1:] if part[0] == "api" else part
        limit = int(dict(urllib.parse.parse_qsl(url.query)).get("times", "0"))
        if part[0] == "status" and (limit == 0 or times <= limit):
            self.answer(int(part[1]), "text/plain", b"status " + part[1].encode())
        elif part[0] == "sum" and times > limit:
            self.answer(200, "text/plain", b"%d %s" % (len(body), hashlib.sha256(body).hexdigest().encode()))
        elif part[0] == "sum":
            self.answer(503, "text/plain", b"again")
        elif part[0] == "slow":
            time.sleep(int(part[1]) / 1000)
            self.answer(200, "text/plain", b"slept")
        elif part[0] == "left":
            self.answer(200, "text/plain", b"left", X_Left=part[1], X_Reset=part[2])
        elif part[0] == "page":
            self.answer(200, "text/html; charset=utf-8", b"<script>alert(1)</script>")
        elif part[0] == "long":
            self.answer(200, "text/plain", b"x" * int(part[1]))
        elif part[0] == "made":
            self.answer(201, "text/plain", b"made", Location=url.path + "/7", Link="<x>; rel=next",
                        ETag='"7"', Set_Cookie="a=1", X_Accel_Redirect="/secret", Connection="x-hop",
                        X_Hop="1")
        elif part[0] == "moved":
            self.answer(302, "text/plain", b"", Location="http://%s/api/echo/there" % self.headers["host"])
        elif part[0] == "bytes":
            self.answer(200, "image/png", random.Random(int(part[1])).randbytes(int(part[1])))
        elif part[0] == "pending":
            self.answer(202, "text/plain", b"later", segq_command="pending=" + part[1 if times == 1 else -1])
        else:
            self.answer(200, self.headers.get("content-type") or "application/octet-stream", body)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = any

    def log_message(self, *a):
        pass


http.server.ThreadingHTTPServer((sys.argv[3] if len(sys.argv) > 3 else "127.0.0.1", int(sys.argv[1])), Target).serve_forever()
