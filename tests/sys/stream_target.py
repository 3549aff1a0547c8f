#!/usr/bin/python3
"""stream_target.py PORT DIR: an HTTP target that tells its answers when a story wants it to.
  /NAME        200, chunked, text/event-stream: the k-th line, "data: k", when DIR/NAME.k is there; the end
               when DIR/NAME.end is
  /sized/N     200, N bytes of noise with Content-Length, as fast as they are taken
DIR/seen has a line for each request: its path; DIR/NAME.closed is made when its caller has gone.
Ends with its process."""
import http.server
import os
import random
import select
import sys
import threading
import time

lock = threading.Lock()


class Target(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def is_there(self, name):
        return os.path.exists(os.path.join(sys.argv[2], name))

    def lines(self, name):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        k = 1
        while True:
            ends = self.is_there(name + ".end")  # looked at first: lines were wanted before it
            if self.is_there("%s.%u" % (name, k)):
                line = b"data: %u\n\n" % k
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                k += 1
            elif ends:
                break
            if select.select([self.connection], [], [], 0.02)[0]:
                raise ConnectionResetError
        self.wfile.write(b"0\r\n\r\n")

    def do_GET(self):
        name = self.path.strip("/")
        with lock, open(os.path.join(sys.argv[2], "seen"), "a") as log:
            log.write(name + "\n")
        if name.startswith("sized/"):
            n = int(name[6:])
            self.send_response(200)
            self.send_header("Content-Type", "image/png")
            self.send_header("Content-Length", str(n))
            self.end_headers()
            self.wfile.write(random.Random(n).randbytes(n))
            return
        try:
            self.lines(name)
        except (ConnectionError, BrokenPipeError):
            open(os.path.join(sys.argv[2], name + ".closed"), "w").close()
            self.close_connection = True

    def log_message(self, *a):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Target).serve_forever()
