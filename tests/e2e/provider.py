#!/usr/bin/python3
"""provider.py PORT LOG: a made-up provider of language models, as far as the client `openai` speaks to it. A
request becomes a line of LOG: PATH STATUS, "closed" if its client went amid the answer. Its key is sk-ours.
What is answered the model says: busy is 429 the first time, odd is 400, another one is said back; a stream has three pieces,
the last one after GET /release (or, of model endless, never). Ends with its process."""
import http.server
import json
import select
import sys
import threading
import time

released = threading.Event()
lock = threading.Lock()
busy = []


class Provider(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def say(self, what):
        with lock, open(sys.argv[2], "a") as log:
            log.write("%s %s\n" % (self.path, what))

    def answer(self, status, doc):
        body = json.dumps(doc).encode()
        self.say(status)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def error(self, status, kind, code):
        self.answer(status, {"error": {"message": "says the provider", "type": kind, "param": "model", "code": code}})

    def chunk(self, text):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))

    def is_closed(self):
        return bool(select.select([self.connection], [], [], 0.02)[0])

    def stream(self, model):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for i in range(3):
            while i == 2 and (model == "endless" or not released.is_set()):
                if self.is_closed():
                    self.say("closed")
                    self.close_connection = True
                    return
            doc = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": model,
                   "choices": [{"index": 0, "delta": {"content": "piece %u;" % i}, "finish_reason": None}]}
            self.chunk(b"data: " + json.dumps(doc).encode() + b"\n\n")
        self.chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")
        self.say(200)

    def do_GET(self):
        if self.path == "/release":
            released.set()
        self.answer(200, {"object": "list", "data": [{"id": "m1", "object": "model", "created": 1, "owned_by": "us"}]})

    def do_POST(self):
        ask = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
        model = ask["model"]
        if self.headers.get("authorization") != "Bearer sk-ours":
            self.error(401, "invalid_request_error", "invalid_api_key")
        elif model == "busy" and not busy:
            busy.append(True)
            self.error(429, "requests", "rate_limit_exceeded")
        elif model == "odd":
            self.error(400, "invalid_request_error", "model_not_found")
        elif ask.get("stream"):
            self.stream(model)
        else:
            time.sleep(1 if model == "slow" else 0)
            self.answer(200, {"id": "c1", "object": "chat.completion", "created": 1, "model": model, "choices": [
                {"index": 0, "message": {"role": "assistant", "content": "said " + model}, "finish_reason": "stop"}]})

    def log_message(self, *a):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Provider).serve_forever()
