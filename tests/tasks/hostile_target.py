#!/usr/bin/python3
"""hostile_target.py PORT FOLDER: an HTTP target that answers each call as its path says, and writes
down what came and when, with one clock (FOLDER/target.jsonl; call_judge.py has the lines). A path is
.../BY/N/PLAN; a plan is words with dashes between them, one for each time that (BY, N) comes; the
last one stays:
  ok       200, a result that names the attempt      slow     the same, after 0.2 s
  long     200, 100 000 bytes                        500      so; also any other three digits
  429 503  with Retry-After: 1                       302      Location: the trap
  retry    500, segq-command: retry=1                abort    500, segq-command: abort
  hang     nothing, until the caller goes            drip     a byte each 0.1 s, and no end
  reset    the connection is reset                   half     so amid the body
  endless  200, bytes without an end
While the file FOLDER/storm is there, each call gets 500. The trap is a listener at 127.0.0.2 and the
same port: nobody may connect to it. Ends with its process."""
import asyncio
import hashlib
import json
import os
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api import result_of  # noqa: E402

LONG, CHUNK = b"x" * 100000, b"10000\r\n" + b"y" * 65536 + b"\r\n"
HOLD_S = 1  # of each Retry-After, and of segq-command: retry


class Gone(Exception):
    """The caller has closed the connection."""


class Target:
    """One listener's calls; all of them in one process, so its clock is one."""

    def __init__(self, port, folder):
        self.port, self.storm = port, os.path.join(folder, "storm")
        self.log = open(os.path.join(folder, "target.jsonl"), "w", encoding="utf-8")
        self.last, self.times = 0, {}

    def line(self, *what):
        self.log.write(json.dumps(what, separators=(",", ":")) + "\n")
        self.log.flush()

    async def serve(self, reader, writer):
        """Calls of a connection, one behind the other."""
        ahead = byte_of(reader)
        try:
            while ahead:
                ahead = await self.one(reader, writer, ahead)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()

    async def one(self, reader, writer, ahead):
        """The byte behind this call, to come; None: the connection ends."""
        first = await ahead
        if not first:
            return None
        began = time.time()
        head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = {k.lower(): v.strip() for k, _, v in (f.partition(":") for f in head[1:] if f)}
        body = await reader.readexactly(int(fields.get("content-length", 0)))
        by, n, plan = head[0].split(" ")[1].split("/")[-3:]
        word, times = self.word_of(by, n, plan.split("-"))
        self.last += 1
        no = self.last
        self.line("arrive", began, no, fields.get("segq-task", ""), int(fields.get("segq-attempt", 0)),
                  int(fields.get("segq-redelivered", 0)), fields.get("segq-queue", ""), int(by), int(n), word,
                  body.decode("latin-1"))
        a = Answer(self, no, byte_of(reader), writer)
        try:
            await self.answer(a, word, result_of(int(by), int(n), times).encode())
            return a.ahead
        except (Gone, ConnectionError):
            self.line("leave", time.time(), no, 0, "gone", 0, a.sent, "")
            return None

    def word_of(self, by, n, plan):
        """What this call gets, and how often (by, n) has been here."""
        times = self.times[by, n] = self.times.get((by, n), 0) + 1
        word = plan[min(times, len(plan)) - 1]
        return ("500" if os.path.exists(self.storm) else word), times

    async def answer(self, a, word, result):
        if word in ("ok", "slow"):
            await a.rest(0.2 if word == "slow" else 0)
            a.whole(200, result)
        elif word == "long":
            a.whole(200, LONG)
        elif word == "retry":
            a.whole(500, b"", "segq-command: retry=%d" % HOLD_S, HOLD_S)
        elif word == "abort":
            a.whole(500, b"", "segq-command: abort")
        elif word in ("429", "503"):
            a.whole(int(word), b"", "Retry-After: %d" % HOLD_S, HOLD_S)
        elif word == "302":
            a.whole(302, b"", "Location: http://127.0.0.2:%d/trap" % self.port)
        elif word in ("hang", "drip", "endless"):
            await getattr(a, word)()
        elif word in ("reset", "half"):
            a.cut(result if word == "half" else b"")
        else:
            a.whole(int(word), b"status " + word.encode())


def byte_of(reader):
    """The next byte, to come; b"" or an exception of it: the caller has gone."""
    ahead = asyncio.ensure_future(reader.read(1))
    ahead.add_done_callback(lambda f: f.cancelled() or f.exception())
    return ahead


class Answer:
    """To one call. What is written down is written before the last byte leaves."""

    def __init__(self, target, no, ahead, writer):
        self.target, self.no, self.ahead, self.writer = target, no, ahead, writer
        self.sent = 0 # bytes of an endless one

    async def rest(self, seconds):
        """Raises Gone if the caller does not wait for so long."""
        await asyncio.wait({self.ahead}, timeout=seconds)
        if self.ahead.done():
            raise Gone
        return True

    def left(self, status, how, hold=0, body=b""):
        self.target.line("leave", time.time(), self.no, status, how, hold, len(body), hashlib.sha256(body).hexdigest())

    def head(self, status, *fields):
        self.writer.write(("HTTP/1.1 %d X\r\n%s\r\n\r\n" % (status, "\r\n".join(fields))).encode())

    def whole(self, status, body, field="X-Y: z", hold=0):
        """The connection stays."""
        self.left(status, "said", hold, body)
        self.head(status, "Content-Type: application/json", "Content-Length: %d" % len(body), field)
        self.writer.write(body)

    async def hang(self):
        while await self.rest(60):
            pass

    async def drip(self):
        self.head(200, "Content-Length: 100000")
        while await self.rest(0.1):
            self.writer.write(b"z")

    async def endless(self):
        self.head(200, "Transfer-Encoding: chunked")
        while await self.rest(0):
            self.writer.write(CHUNK)
            self.sent += len(CHUNK)
            await self.writer.drain()

    def cut(self, body):
        """A reset, perhaps behind half of the answer."""
        self.left(0, "cut")
        if body:
            self.head(200, "Content-Length: %d" % len(body))
            self.writer.write(body[:len(body) // 2])
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()
        self.ahead = None


async def main(port, folder):
    target = Target(port, folder)

    async def trap(_, writer):
        target.line("trap", time.time(), "127.0.0.2")
        writer.close()

    await asyncio.start_server(trap, "127.0.0.2", port)
    async with await asyncio.start_server(target.serve, "127.0.0.1", port, limit=1 << 20, backlog=1024) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
