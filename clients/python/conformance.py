#!/usr/bin/env python3
"""conformance.py: the Python client behind the line protocol of clients/conformance/README.md."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import os
import signal
import sys
import threading
import time
import wsgiref.simple_server

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import segq  # noqa: E402
from tests import p256  # noqa: E402

KINDS = ((segq.PassInvalid, "pass"), (segq.SignatureInvalid, "signature"), (segq.TaskFailed, "task"),
         (segq.DeadlineExceeded, "deadline"), (segq.Cancelled, "cancelled"), (segq.NetworkError, "network"),
         (segq.ApiError, "api"))

OPERATIONS = """join joinSeveral getQueue poll pollSeveral proveDevice leave leaveSeveral listen verify session getKeys countTasks submitTask submitTasks
    takeTasks takeTasksOfQueues settleTasks tellProgress getTaskByName cancelTaskByName getTask watchTask watchQueue cancelTask patchTask
    getTaskResult completeTask extendTask getGroup sealGroup cancelGroup listSchedules putSchedule getSchedule deleteSchedule runSchedule
    getCall postCall putCall patchCall deleteCall
    getRoutedCall postRoutedCall putRoutedCall patchRoutedCall deleteRoutedCall""".split()


OUT = threading.Lock()
OPENED = {}  # by the number of its question
DEVICES = {}  # keys of devices, by their names here


def keyed(key=None, **options):
    return {**options, **({"key": DEVICES.setdefault(key, p256.Key())} if key else {})}


class Adapter:
    """A client."""

    def __init__(self):
        self.workers, self.gates, self.client = {}, {}, None

    def say(self, **line):
        with OUT:
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()

    def do(self, n, verb, a):
        try:
            self.say(id=n, ok=getattr(self, "do_" + verb)(n, **a))
        except Exception as e:
            kind = next((k for c, k in KINDS if isinstance(e, c)), "other")
            self.say(id=n, error={"kind": kind, "type": type(e).__name__, "status": getattr(e, "status", None),
                                  "code": getattr(e, "code", ""), "reason": getattr(e, "reason", None),
                                  "detail": str(e)})

    # ---- what rows ask for ----

    def do_open(self, n, routers, token=None, timeout_s=10, retry_for_s=60):
        self.client = segq.Client(routers, token, timeout=timeout_s, retry_for=retry_for_s)

    def do_wait_pass(self, n, queue, timeout_s=None, **options):
        line = self.client.line(queue, **keyed(**options))
        with segq.Scope(timeout_s):
            t = line.wait(lambda t: self.say(id=n, event={
                "token": t.token, "device": line.device, "state": t.state, "position": t.position, "eta_s": t.eta_s}))
        return {"token": t.token, "pass": t.pass_}

    def do_poll(self, n, **options):
        line = self.client.line("", **keyed(**options))
        t = line.poll()
        return {"state": t.state, "position": t.position, "pass": t.pass_, "device": line.device}

    def do_leave(self, n, **options):
        self.client.line("", **keyed(**options)).leave()

    def do_wait_places(self, n, **options):
        return self.client.several(**options).wait(lambda p: self.say(id=n, event=p))

    def do_leave_places(self, n, group):
        self.client.several(group=group).leave()

    def gate(self, queue):
        return self.gates.setdefault(queue, segq.Gate(self.client, queue))

    def do_check_pass(self, n, queue, token):
        return self.gate(queue).check(token)._asdict()

    def do_verify_pass(self, n, queue, token):
        return self.gate(queue).verify(token)._asdict()

    def do_serve(self, n, queue, ask="always", kind=""):
        """A site behind the middleware: tells its address, and whom it lets in. /bye ends the session."""
        gate = segq.Gate(self.client, queue, ask=ask, timeout=1)

        def said(p, path):
            more = [("X-Segq-Command", "release")] if path == "/bye" else []
            return [("Content-Type", "application/json"), *more], json.dumps({"ticket": p.ticket, "path": path}).encode()

        def app(environ, start):
            headers, body = said(environ["segq.pass"], environ["PATH_INFO"])
            start("200 OK", headers)
            return [body]

        async def asgi(scope, receive, send):
            headers, body = said(scope["segq.pass"], scope["path"])
            await send({"type": "http.response.start", "status": 200,
                        "headers": [(k.lower().encode(), v.encode()) for k, v in headers]})
            await send({"type": "http.response.body", "body": body})
        if kind == "asgi":
            import uvicorn
            server = uvicorn.Server(uvicorn.Config(gate.asgi(asgi), port=0, log_level="warning", lifespan="off"))
            server.install_signal_handlers = lambda: None
            threading.Thread(target=server.run, daemon=True).start()
            while not server.started:
                time.sleep(0.01)
            return {"url": "http://127.0.0.1:%d" % server.servers[0].sockets[0].getsockname()[1]}

        class Quiet(wsgiref.simple_server.WSGIRequestHandler):
            def log_message(self, *_):
                pass
        site = wsgiref.simple_server.make_server("127.0.0.1", 0, gate.wsgi(app), handler_class=Quiet)
        threading.Thread(target=site.serve_forever, daemon=True).start()
        return {"url": f"http://127.0.0.1:{site.server_port}"}

    def do_claim(self, n, secret, kid=None, members=None):
        return segq.sign_claim(secret, kid=kid, **(members or {}))

    def do_submit(self, n, queue, payload=None, **members):
        t = self.client.submit(queue, payload, **members)
        return {"task": t.token, "state": t.state}

    def do_submit_many(self, n, queue, rows):
        return [{"status": r.status, "task": r.task, "code": r.error.code if r.error else None}
                for r in self.client.submit_many(queue, rows)]

    def do_wait_task(self, n, task, timeout_s=None):
        t = self.client.wait(task, timeout_s)
        return {"state": t.state, "result": t.result}

    def do_watch(self, n, task):
        state = None
        for t in self.client.watch(task):
            state = t.state
            self.say(id=n, event={"state": state, "position": t.position, "progress": t.raw.get("progress")})
        return {"state": state}

    def do_watch_queue(self, n, queue, after=None):
        for e in self.client.watch_queue(queue, after=after):
            self.say(id=n, event=e._asdict())

    def do_look(self, n, task):
        return self.client.look(task).raw

    def do_cancel(self, n, task, force=False):
        return self.client.cancel(task, force=force)

    def do_group(self, n, queue, group, then=""):
        return {"": self.client.group, "seal": self.client.seal_group, "cancel": self.client.cancel_group}[then](queue, group)

    def do_call(self, n, endpoint, path, method="GET", progress=False):
        if progress:
            with self.client.call(endpoint, path, method=method, on_progress=lambda p: self.say(id=n, event=p)) as s:
                for _, data, _ in s.events():
                    self.say(id=n, event={"piece": data})
                return {"status": s.status}
        return self.read(n, self.client.call(endpoint, path, method=method))

    def do_follow(self, n, task):
        return self.read(n, self.client.follow(task))

    def read(self, n, stream):
        with stream as s:
            for piece in s.pieces():
                self.say(id=n, event={"piece": piece.decode()})
            return {"status": s.status}

    def do_fields(self, n):
        """What this client knows of proto/openapi.yaml."""
        def taken(f, *without):
            return [p.rstrip("_") for p in inspect.signature(f).parameters if p not in ("self", *without)]
        names = {"pass_": "pass", "poll_after_s": "poll_after_ms"}
        return {
            "operations": OPERATIONS,
            "TaskSubmit": taken(segq.task_body), "TaskPatch": taken(segq.Client.change, "task"),
            "SchedulePut": taken(segq.Client.put_schedule, "queue", "name"),
            "TaskComplete": taken(segq.Client.complete, "url"),
            "Join": taken(segq.Line.__init__, "transport", "queue", "token", "device", "key", "events", "on_trouble"),
            "Ticket": [names.get(f, f) for f in segq.Ticket._fields if f != "raw"],
            "TaskTaken": [{"token": "task"}.get(f, f) for f in segq.Job.__slots__ if f != "lost" and f[0] != "_"] + ["payload_base64"],
            "reasons": [c.reason for c in (segq.TicketExpired, segq.TicketLeft, segq.TicketNoShow,
                                           segq.TicketFinished, segq.TicketLost)],
            "final": list(segq.tasks.FINAL),
        }

    def do_webhook(self, n, keys, headers, body):
        return segq.Webhook(keys).verify(headers, body)

    def do_work(self, n, queues, concurrency=4, lease_s=30, coroutines=False):
        def tell(name, job, info):
            self.say(id=n, event={"what": name, "task": job and job.token, "attempt": job and job.attempt})

        def handle(job):
            p = job.payload
            if job.content_type:
                return segq.Bytes(p[::-1], job.content_type)
            if p.get("progress"):
                job.progress(**p["progress"])
                time.sleep(p.get("then_ms", 0) / 1000)
            if p.get("fail") and job.attempt <= p.get("times", 99):
                raise ValueError(p["fail"])
            if p.get("nack") and job.attempt <= p.get("times", 99):
                raise segq.Nack(p["nack"], p.get("delay"))
            return p.get("result")

        def pause_s(job):
            return 0 if job.content_type else job.payload.get("ms", 0) / 1000

        def plain(job):
            time.sleep(pause_s(job))
            return handle(job)

        async def coroutine(job):
            await asyncio.sleep(pause_s(job))
            return handle(job)
        w = segq.Worker(self.client, queues, coroutine if coroutines else plain, concurrency=concurrency,
                        lease_s=lease_s, wait_s=1, on_event=tell)
        self.workers[n] = w
        w.run(signals=False)

    def do_stop(self, n, work, drain_s=10):
        self.workers[work].stop(drain_s)
        self.workers[work].join()


def stop_all(*_):
    """SIGTERM: workers drain, and the program ends."""
    workers = [w for a in list(OPENED.values()) for w in list(a.workers.values())]
    for w in workers:
        w.stop(10)

    def end():
        for w in workers:
            w.join()
        os._exit(0)
    threading.Thread(target=end).start()


def main():
    logging.getLogger("segq").setLevel(logging.CRITICAL)  # handlers throw since rows say so
    signal.signal(signal.SIGTERM, stop_all)
    for line in sys.stdin:
        a = json.loads(line)
        n = a.pop("id")
        adapter = OPENED[a.pop("client")] if "client" in a else OPENED.setdefault(n, Adapter())
        threading.Thread(target=adapter.do, args=(n, a.pop("do"), a), daemon=True).start()
    os._exit(0)


if __name__ == "__main__":
    main()
