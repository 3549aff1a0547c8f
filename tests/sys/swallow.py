#!/usr/bin/env python3
"""swallow.py PORT ROUTER: hands requests on to ROUTER (http://host:port), and answers back; of
the first join the answer is lost: the router has given a place, and nobody hears of it. Nor does it
know of events, like an older router: it answers 404.
"""

import http.server
import sys
import urllib.error
import urllib.request


class Front(http.server.BaseHTTPRequestHandler):
    """All methods alike, but for the first POST."""

    protocol_version = "HTTP/1.1"
    lost = False

    def hand_on(self):
        """The router's answer, or a closed connection."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection")}
        url = sys.argv[2] + self.path.replace("/events", "/not-here")
        ask = urllib.request.Request(url, body, headers, method=self.command)
        try:
            got = urllib.request.urlopen(ask, timeout=20)
        except urllib.error.HTTPError as e:
            got = e
        said = got.read()
        if self.command == "POST" and not Front.lost:
            Front.lost = self.close_connection = True
            print("lost", got.status, flush=True)
            return
        self.send_response(got.status)
        for name in ("Content-Type", "Retry-After"):
            if got.headers.get(name):
                self.send_header(name, got.headers[name])
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    do_GET = do_POST = do_DELETE = hand_on

    def log_message(self, *args):
        """What was lost is said above."""


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Front).serve_forever()
