#!/usr/bin/python3
"""usage_target.py PORT DIR: a made-up model server that says what it used. POST of JSON {"name": N, "used": U,
"way": W}:
  stream   events, the last of them with {"usage": {"total_tokens": U}}, when DIR/N.go is there
  whole    a JSON answer that has it
  header   text, and x-tokens-used: U
  none     a JSON answer without it
  busy     429 once, then as whole
DIR/seen has a line for each request: N. Ends with its process."""
import http.server
import json
import os
import sys
import threading
import time

lock = threading.Lock()


class Target(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body, *fields):
        self.send_response(status)
        for name, value in (("Content-Type", "application/json"), *fields):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def piece(self, text):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))

    def stream(self, q):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.piece(b'data: {"choices": [{"delta": "a"}], "usage": null}\n\n')
        while not os.path.exists(os.path.join(sys.argv[2], q["name"] + ".go")):
            time.sleep(0.02)
        event = b'data: {"choices": [], "usage": {"prompt_tokens": 1, "total_tokens": %d}}\n\ndata: [DONE]\n\n' % q["used"]
        for i in range(0, len(event), 7):
            self.piece(event[i:i + 7])
        self.wfile.write(b"0\r\n\r\n")

    def do_POST(self):
        q = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with lock:
            path = os.path.join(sys.argv[2], "seen")
            again = os.path.exists(path) and q["name"] in open(path).read().split()
            with open(path, "a") as log:
                log.write(q["name"] + "\n")
        usage = json.dumps({"usage": {"total_tokens": q["used"]}}).encode()
        if q["way"] == "stream":
            self.stream(q)
        elif q["way"] == "busy" and not again:
            self.answer(429, b"{}", ("Retry-After", "1"))
        elif q["way"] == "header":
            self.answer(200, b"text", ("X-Tokens-Used", str(q["used"])))
        else:
            self.answer(200, b"{}" if q["way"] == "none" else usage)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


Server(("127.0.0.1", int(sys.argv[1])), Target).serve_forever()
