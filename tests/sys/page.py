"""page.py PORT FILE: serves FILE's present text to every GET, for the monitor stories.
A file that starts with "status N" answers N; "hang" accepts and never answers."""
import http.server
import sys
import threading


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with open(sys.argv[2], encoding="utf-8") as f:
            text = f.read()
        status = 200
        if text.startswith("hang"):
            threading.Event().wait(20)
            return
        if text.startswith("status "):
            status = int(text.split()[1])
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Page).serve_forever()
