#!/usr/bin/env python3
"""shop.py PORT LOG: the demo shop behind the gates of sys_gate. It knows nothing of segq
but one thing that a site may do: it answers X-Segq-Command when its address says so
(/cart?command=release). It sets a cookie of its own where it is asked to (?cookie=basket). To everything else it answers 200 with what it was asked, as JSON:
method, path, headers, how many bytes of body. LOG gets a line per request.
"""

import base64
import hashlib
import http.server
import json
import sys
import urllib.parse


GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455


class Shop(http.server.BaseHTTPRequestHandler):
    """One answer for all."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        """Says what came; with a websocket's handshake, 101 and a word."""
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        with open(sys.argv[2], "a", encoding="utf-8") as log:
            log.write(f"{self.command} {self.path}\n")
        if self.headers.get("Upgrade") == "websocket":
            self.send_response(101)
            self.send_header("Upgrade", "websocket")
            self.send_header("Connection", "Upgrade")
            key = self.headers.get("Sec-WebSocket-Key", "") + GUID
            accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
            self.send_header("Sec-WebSocket-Accept", accept)
            self.end_headers()
            self.wfile.write(b"hello")
            self.close_connection = True
            return
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        said = json.dumps({
            "method": self.command, "path": self.path, "body": len(body),
            "headers": [[k.lower(), v] for k, v in self.headers.items()],
        }).encode()
        self.send_response(int(query.get("status", ["200"])[0]))
        for command in query.get("command", []):
            self.send_header("X-Segq-Command", command)
        for cookie in query.get("cookie", []):
            self.send_header("Set-Cookie", cookie + "=1")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(said)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_OPTIONS = do_PATCH = answer

    def log_message(self, *args):
        """Requests are in LOG."""


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()
