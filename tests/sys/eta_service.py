#!/usr/bin/python3
"""eta_service.py PORT LOG MODE: an operator's own service for waits. Each question becomes a line of LOG (JSON: moment,
path, question). What it answers says the file MODE:
  right     two seconds a place
  late      the same, after three seconds
  wrong     waits that fall
  garbage   no JSON
  long      the same answer as `right`, with 5000 blanks behind it
  moved     302, to /other
  error     500
Ends with its process."""
import http.server
import json
import sys
import threading
import time

LOCK = threading.Lock()
RIGHT = json.dumps({"places": [{"place": 1, "eta_s": 2}, {"place": 1000, "eta_s": 2000}]}).encode()
WRONG = json.dumps({"places": [{"place": 1, "eta_s": 2}, {"place": 1000, "eta_s": 1}]}).encode()
BODY = {"wrong": WRONG, "garbage": b"soon", "long": RIGHT + b" " * 5000}
STATUS = {"moved": 302, "error": 500}


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with LOCK, open(sys.argv[2], "a", encoding="utf-8") as log:
            log.write(json.dumps({"at": time.monotonic(), "path": self.path, "question": question}) + "\n")
        with open(sys.argv[3], encoding="utf-8") as f:
            mode = f.read().strip()
        if mode == "late":
            time.sleep(3)
        body = BODY.get(mode, RIGHT)
        self.send_response(STATUS.get(mode, 200))
        self.send_header("Location", "/other")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Service).serve_forever()
