"""hostile.py PORT FILE LOG: a Prometheus that answers every question as the word in FILE says:
"good 10" as it should, anything else as it should not (see ANSWERS). Appends the path of each
request to LOG. Threads, since most of the answers never end."""
import itertools
import json
import socket
import sys
import threading
import time

OK = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
flips = itertools.cycle(("0", "100"))


def vector(value, age_s=0.0, copies=1):
    """What Prometheus says of an instant query."""
    row = {"metric": {}, "value": [time.time() - age_s, value]}
    return json.dumps({"status": "success", "data": {"resultType": "vector",
                                                     "result": [row] * copies}})


def whole(body, status="200 OK", extra=""):
    """An answer as it should be."""
    return [f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{extra}\r\n{body}".encode()]


def drip(text):
    """A character every 50 ms, for ever in the end."""
    for c in text:
        yield c.encode()
        time.sleep(0.05)
    while True:
        yield b" "
        time.sleep(0.05)


def endless(begin, more):
    """As fast as it is taken."""
    yield begin.encode()
    block = more.encode() * max(1, 65536 // len(more))
    while True:
        yield block


ANSWERS = {
    "good": lambda v: whole(vector(v)),
    "flapping": lambda v: whole(vector(next(flips))),
    "nan": lambda v: whole(vector("NaN")),
    "inf": lambda v: whole(vector("+Inf")),
    "negative": lambda v: whole(vector("-1")),
    "1e308": lambda v: whole(vector("1e308")),
    "overflow": lambda v: whole(vector("1e999")),
    "stale": lambda v: whole(vector("10", 3600)),
    "future": lambda v: whole(vector("10", -3600)),
    "empty": lambda v: whole(vector("10", copies=0)),
    "two": lambda v: whole(vector("10", copies=2)),
    "error": lambda v: whole('{"status":"error","error":"\\u001b[31m bad \\r\\n query"}', "400 No"),
    "500": lambda v: whole("oops", "500 Oops"),
    "redirect": lambda v: whole("", "302 Found", "Location: /moved/api/v1/query?query=x\r\n"),
    "json": lambda v: whole(vector("10")[:-3]),
    "deep": lambda v: whole("[" * 200000),
    "short": lambda v: [(OK + "Content-Length: 1000\r\n\r\n" + vector("10")).encode()],
    "garbage": lambda v: [bytes(range(256)) * 40],
    "nothing": lambda v: [],
    "drip": lambda v: drip(OK + "Content-Length: 4000\r\n\r\n" + vector("10")),
    "huge": lambda v: endless(OK + "Content-Length: 99999999999\r\n\r\n", " "),
    "chunks": lambda v: endless(OK + "Transfer-Encoding: chunked\r\n\r\n", "10\r\n" + " " * 16 + "\r\n"),
    "heads": lambda v: endless(OK, "X-Y: z\r\n"),
    "line": lambda v: endless("HTTP/1.1 200 ", "O"),
    "interim": lambda v: endless("", "HTTP/1.1 100 Continue\r\n\r\n"),
}


def path_of(conn):
    """Reads a request's head, returns its path."""
    head = b""
    while b"\r\n\r\n" not in head:
        part = conn.recv(4096)
        if not part:
            return ""
        head += part
    return head.split(b" ", 2)[1].decode("latin-1")


def serve(conn):
    """One connection, one answer."""
    with conn:
        try:
            path = path_of(conn)
            with open(sys.argv[3], "a", encoding="utf-8") as log:
                log.write(path + "\n")
            with open(sys.argv[2], encoding="utf-8") as f:
                word, _, value = f.read().strip().partition(" ")
            if word == "hang":
                time.sleep(60)
                return
            for part in ANSWERS[word](value):
                conn.sendall(part)
        except OSError:
            pass


def main():
    server = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=50)
    while True:
        conn, _ = server.accept()
        threading.Thread(target=serve, args=(conn,), daemon=True).start()


main()
