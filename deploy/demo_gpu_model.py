#!/usr/bin/python3
"""demo_gpu_model.py PORT LOG SLOTS PER_S: a made-up model server for deploy/demo_gpu.py. It speaks enough of the
chat completions of OpenAI: streams `max_tokens` pieces of a text, PER_S a second for each of its SLOTS, then the
usage. Beyond its slots it answers 429, which no caller should see. /metrics has what vLLM calls
vllm:num_requests_running and vllm:num_requests_waiting.

LOG gets a line of JSON for each request: began, ended (monotonic seconds), tenant, task, tokens; `ended` null and
no tokens: it was refused."""
import asyncio
import json
import re
import sys
import time

PORT, LOG, SLOTS, PER_S = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])


class Model:
    """Slots, and calls that have them."""

    def __init__(self, log):
        self.log, self.busy = log, 0

    def note(self, **row):
        self.log.write(json.dumps(row) + "\n")
        self.log.flush()

    async def stream(self, writer, ask):
        """The answer, a piece at a time."""
        def piece(x):
            data = b"data: " + (x if isinstance(x, bytes) else json.dumps(x).encode()) + b"\n\n"
            writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        n = int(ask.get("max_tokens", 16))
        for i in range(n):
            piece({"choices": [{"index": 0, "delta": {"content": f"w{i} "}}]})
            await writer.drain()
            await asyncio.sleep(1 / PER_S)
        piece({"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": n, "total_tokens": n}})
        piece(b"[DONE]")
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return n

    async def answer(self, writer, head, body):
        """Answers a request."""
        if head.startswith(b"GET /metrics"):
            text = f"vllm:num_requests_running {self.busy}\nvllm:num_requests_waiting 0\n".encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%b" % (len(text), text))
            return
        ask, began, task = json.loads(body), time.monotonic(), re.search(rb"\r\nsegq-task: *(\S+)", head, re.I)
        row = {"began": began, "tenant": ask.get("user"), "task": task and task.group(1).decode()}
        if self.busy >= SLOTS:
            self.note(**row, ended=None, tokens=0, busy=self.busy)
            writer.write(b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n")
            return
        self.busy += 1
        self.note(**row, busy=self.busy)
        try:
            n = await self.stream(writer, ask)
            self.note(**row, ended=time.monotonic(), tokens=n, busy=self.busy)
        finally:
            self.busy -= 1

    async def serve(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.I)
                body = await reader.readexactly(int(length.group(1)) if length else 0)
                await self.answer(writer, head, body)
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError):
            pass
        finally:
            writer.close()


async def main():
    with open(LOG, "w", encoding="utf-8") as log:
        server = await asyncio.start_server(Model(log).serve, "127.0.0.1", PORT)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


asyncio.run(main())
