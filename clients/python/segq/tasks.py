"""Requests in line: submit tasks, wait for their results, look, cancel; schedules; calls.

    with Client("https://q1.example", token=TOKEN) as client:
        task = client.submit("images", {"prompt": "a cat"}, key="tenant7")
        print(client.wait(task).result)

A submission without a name gets an Idempotency-Key, so that one whose answer was lost is repeated
and still is one task.
"""

from __future__ import annotations

import base64
import contextvars
import datetime
import json
import time
import uuid
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Union
from urllib.parse import quote

from .errors import ApiError, NetworkError, SegqError, TaskFailed, Unavailable, error_of
from .scope import Scope, current
from .transport import Answer, Backoff, Stream, Transport, seconds

Span = Union[str, int, float, datetime.timedelta]
UNREAD = (ValueError, KeyError, TypeError, OverflowError, RecursionError)  # an event that is none
FINAL = ("succeeded", "dead", "cancelled", "expired")
BATCH = 1000
BATCH_BYTES = 512 << 10  # of a request, about
WAIT_S = 20  # of one question that waits
BEAT_S = 20  # longest silence of a stream that has beats

# The trace context (W3C, `traceparent`) of what is done now: a worker sets it around a handler,
# submissions and calls hand it on.
traceparent: "contextvars.ContextVar[Optional[str]]" = contextvars.ContextVar("segq_trace", default=None)


class Task(NamedTuple):
    """A task, as last heard. `raw` has all members of the answer."""
    token: str
    state: str
    raw: Mapping[str, Any]

    @property
    def over(self) -> bool:
        return self.state in FINAL

    @property
    def result(self) -> Any:
        """Its JSON; None if there is none, or if it is long or no JSON: client.result()."""
        return self.raw.get("result")

    @property
    def position(self) -> Optional[int]:
        return self.raw.get("position")

    @property
    def eta_s(self) -> Optional[int]:
        return self.raw.get("eta_s")


class Row(NamedTuple):
    """What became of one row of a batch. status 0: no answer; it may be there."""
    status: int
    task: Optional[str]
    error: Optional[SegqError]


class TaskEvent(NamedTuple):
    """A start or an end in a queue. gap: some before it are not known any more; it has no task."""
    id: str
    gap: bool
    task: str = ""
    state: str = ""      # running, or how it ended
    attempts: int = 0
    at: float = 0.0


TaskLike = Union[Task, str]


def span(v: Optional[Span]) -> Optional[Union[str, float]]:
    """A time as segq reads it: seconds, or "30s"."""
    return v.total_seconds() if isinstance(v, datetime.timedelta) else v


def _task_of(said: Any) -> Task:
    if not isinstance(said, dict) or not said.get("task"):
        raise NetworkError(f"an answer that is no task: {str(said)[:60]}")
    return Task(said["task"], said.get("state") or "", said)


def _token(task: TaskLike) -> str:
    return quote(task.token if isinstance(task, Task) else task, safe="")


def _q(name: str) -> str:
    return quote(name, safe="")


def _given(**members: Any) -> Dict[str, Any]:
    return {k: v for k, v in members.items() if v is not None}


def task_body(payload: Any = None, *, name: Optional[str] = None, key: Optional[str] = None,
              priority: Optional[int] = None, delay: Optional[Span] = None, at: Optional[float] = None,
              order: Optional[int] = None, cost: Optional[int] = None, ttl: Optional[Span] = None,
              unique: Optional[Union[str, Mapping[str, Any]]] = None,
              labels: Optional[Sequence[str]] = None, max_attempts: Optional[int] = None,
              retry: Optional[Mapping[str, Any]] = None, result: Optional[str] = None,
              path: Optional[str] = None, method: Optional[str] = None,
              headers: Optional[Mapping[str, str]] = None, body: Optional[str] = None,
              body_json: Any = None, body_base64: Optional[str] = None,
              payload_base64: Optional[str] = None, content_type: Optional[str] = None,
              group: Optional[str] = None, offer_to: Optional[Sequence[str]] = None,
              then: Optional[Mapping[str, Any]] = None, claim: Optional[str] = None,
              idempotency_key: Optional[str] = None) -> Dict[str, Any]:
    """A submission (TaskSubmit of proto/openapi.yaml): a row of submit_many(), the task of a
    schedule. A payload is JSON, or bytes with their content_type. `path` and what follows: of a queue that has an endpoint, in place of the payload.
    offer_to: further queues in which it stands, too, until it is taken from one of them.
    then: the next task of a chain, `{"queue": Q, **task_body(...)}`; `{"$result": "/pointer"}` in its
    payload is that value of this one's result. The trace context goes into those headers, or into a payload that is an object."""
    trace = traceparent.get()
    if trace and path is not None and not any(h.lower() == "traceparent" for h in headers or ()):
        headers = {**(headers or {}), "traceparent": trace}
    elif trace and isinstance(payload, dict):
        payload = {"traceparent": trace, **payload}
    out = _given(name=name, key=key, priority=priority, delay=span(delay), at=at, order=order, cost=cost,
                 ttl=span(ttl), labels=None if labels is None else list(labels), result=result,
                 unique={"key": unique} if isinstance(unique, str) else unique, retry=retry,
                 max_attempts=max_attempts, path=path, method=method, headers=headers, body=body,
                 body_json=body_json, body_base64=body_base64, claim=claim,
                 group=group, offer_to=None if offer_to is None else list(offer_to), then=None if then is None else dict(then), idempotency_key=idempotency_key)
    if isinstance(payload, (bytes, bytearray)):
        payload_base64 = base64.b64encode(payload).decode()
    if payload_base64 is not None:
        out.update(_given(payload_base64=payload_base64, content_type=content_type))
    elif path is None:
        out["payload"] = payload
    return out


class Tasks:
    """The part of Client that is about tasks."""

    transport: Transport

    # ---- submit ----

    def submit(self, queue: str, payload: Any = None, *, wait: Optional[float] = None, **members: Any) -> Task:
        """One task; `members` as of task_body(). wait: the answer comes with the result, or after so
        many seconds."""
        body = task_body(payload, **members)
        headers, key = {}, body.pop("idempotency_key", None)
        if key or not (body.get("name") or body.get("claim")):
            headers["Idempotency-Key"] = key or uuid.uuid4().hex
        if wait is not None:
            headers["Prefer"] = f"wait={int(wait)}"
        return _task_of(self.transport.call(
            "POST", f"/v1/queues/{_q(queue)}/tasks", body, headers=headers,
            timeout=self.transport.timeout + (wait or 0)))

    def submit_many(self, queue: str, rows: Iterable[Mapping[str, Any]]) -> List[Row]:
        """Many, 1000 in a request: rows as task_body() makes them. Their outcomes in that order; rows
        that were put off are asked again as long as `retry_for` says."""
        bodies = [dict(r) for r in rows]
        for b in bodies:
            if not b.get("name"):
                b.setdefault("idempotency_key", uuid.uuid4().hex)
        out: List[Row] = []
        sizes = [len(json.dumps(b)) for b in bodies]
        while len(out) < len(bodies):
            first, size = len(out), 0
            end = first
            while end < len(bodies) and end - first < BATCH and (end == first or size + sizes[end] <= BATCH_BYTES):
                size, end = size + sizes[end], end + 1
            try:
                out += self._rows(f"/v1/queues/{_q(queue)}/tasks/batch", bodies[first:end])
            except (NetworkError, ApiError) as e:
                if e.status == 413 and end == first + 1:  # this one alone is too large
                    out.append(Row(413, None, e))
                elif not out:
                    raise
                else:  # those before it are there
                    out += [Row(e.status or 0, None, e)] * (len(bodies) - len(out))
        return out

    def _rows(self, path: str, bodies: List[Dict[str, Any]]) -> List[Row]:
        out: List[Optional[Row]] = [None] * len(bodies)
        todo, backoff = list(range(len(bodies))), Backoff()
        end = time.monotonic() + self.transport.retry_for
        while todo:
            try:
                said = self.transport.call("POST", path, [bodies[i] for i in todo])
            except (NetworkError, ApiError):
                if len(todo) == len(bodies):
                    raise
                break  # what was put off stays so
            if not isinstance(said, list) or len(said) != len(todo) or not all(isinstance(r, dict) for r in said):
                raise NetworkError("an answer that is no list of outcomes")
            for i, row in zip(todo, said):
                status = row.get("status", 0)
                error = error_of(status, row, row.get("retry_after_s")) if status >= 400 else None
                out[i] = Row(status, row.get("task"), error)
            todo = [i for i in todo if isinstance(out[i].error, Unavailable)]  # type: ignore[union-attr]
            pause = backoff.next()
            if time.monotonic() + pause > end:
                break
            if todo:
                current().sleep(pause)
        return [r for r in out if r is not None]

    # ---- look ----

    def look(self, task: TaskLike) -> Task:
        return _task_of(self.transport.call("GET", f"/v1/tasks/{_token(task)}"))

    def look_by_name(self, queue: str, name: str) -> Task:
        return _task_of(self.transport.call("GET", f"/v1/queues/{_q(queue)}/tasks/{_q(name)}"))

    def count(self, queue: str) -> Mapping[str, Any]:
        """How many wait, and how long one that is submitted now would (TaskCount)."""
        return self.transport.ask("GET", f"/v1/queues/{_q(queue)}/tasks")

    def wait(self, task: TaskLike, timeout: Optional[float] = None) -> Task:
        """Until it is over. TaskFailed: without success; DeadlineExceeded: not in time."""
        with Scope(timeout):
            while True:
                left, asked = current().left(), time.monotonic()
                n = WAIT_S if left is None else max(0, min(WAIT_S, int(left)))
                t = _task_of(self.transport.call(
                    "GET", f"/v1/tasks/{_token(task)}", headers={"Prefer": f"wait={n}"},
                    timeout=self.transport.timeout + n, retry_for=float("inf")))
                if t.state == "succeeded":
                    return t
                if t.over:
                    raise TaskFailed(t.raw)
                if time.monotonic() < asked + 0.5:  # a router that stops does not wait
                    current().sleep(0.5)

    def watch(self, task: TaskLike) -> Iterator[Task]:
        """What becomes of it, as it comes: state, place, progress (`raw`); the last one is over. A stream that
        breaks off is asked for again; where a router has no room for one, it is looked at."""
        token = task.token if isinstance(task, Task) else task
        path = f"/v1/tasks/{_token(task)}/events"

        def ask(router: str) -> Optional[Stream]:
            s = self.transport.stream(router, "GET", path, headers={"Accept": "text/event-stream"})
            if s.status == 200:
                s.patience = BEAT_S
                return s
            if s.status != 204:
                self.transport.judge(s.read())
            s.close()
            return None
        backoff = Backoff()
        while True:
            s, pause = self.transport.until_answered(ask), 0.0
            if s is None:
                t = self.look(token)
                yield t
                if t.over:
                    return
                told = t.raw.get("poll_after_ms")
                pause = backoff.next(max(1.0, min(told, 10**9) / 1000) if isinstance(told, int) else None)
            else:
                router = self.transport.routers[0]
                try:
                    with s:
                        for name, data, _ in s.events():
                            backoff.fails = 0
                            said = json.loads(data)
                            if name == "gone":
                                raise error_of(said["status"], said)
                            if name == "away":
                                pause = min(86400.0, said["poll_after_ms"] / 1000)
                            elif name in ("message", "end"):
                                yield Task(token, said["state"], said)
                            if name == "end":
                                return
                except (NetworkError, *UNREAD):  # its router may be dead: another one knows
                    self.transport.rotate(router)
            current().sleep(pause if pause > 0 else backoff.next())

    def watch_queue(self, queue: str, *, after: Optional[str] = None) -> Iterator[TaskEvent]:
        """Starts and ends of a queue's tasks, as they come, without end. A stream that breaks off is asked for
        again behind the last one; after: the `id` of one that was heard before. The token may `look`."""
        last = after or ""

        def ask(router: str) -> Stream:
            s = self.transport.stream(router, "GET", f"/v1/queues/{_q(queue)}/tasks/events", headers={
                "Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})})
            if s.status not in (200, 204):
                self.transport.judge(s.read())
            return s
        backoff = Backoff()
        while True:
            s, pause = self.transport.until_answered(ask), 0.0
            router = self.transport.routers[0]
            if s.status == 204:  # no room
                pause = backoff.next(seconds(s.headers.get("retry-after")))
            s.patience = BEAT_S
            try:
                with s:
                    for name, data, n in s.events() if s.status == 200 else ():
                        backoff.fails = 0
                        said = json.loads(data)
                        if name == "gone":
                            raise error_of(said["status"], said)
                        if name == "away":
                            pause = min(86400.0, said["poll_after_ms"] / 1000)
                        e = TaskEvent(n or last, name == "gap") if name != "message" else TaskEvent(
                            n or last, False, said["task"], said["state"], said["attempts"], said["at"])
                        last = e.id
                        if name in ("gap", "message"):
                            yield e
            except (NetworkError, *UNREAD):  # its router may be dead: another one knows
                self.transport.rotate(router)
            current().sleep(pause if pause > 0 else backoff.next())

    def result(self, task: TaskLike, *, ack: bool = False) -> Optional[Answer]:
        """Its result, byte for byte (`.body`, `.json()`); None: it is not over. ack: deletes it."""
        a = self.transport.call("GET", f"/v1/tasks/{_token(task)}/result" + ("?ack=1" if ack else ""), raw=True)
        return None if a.status == 202 else a

    # ---- change ----

    def cancel(self, task: TaskLike, *, force: bool = False) -> Mapping[str, Any]:
        """After the answer no attempt begins; force: the one that runs is over, too."""
        return self.transport.ask("DELETE", f"/v1/tasks/{_token(task)}" + ("?force=1" if force else ""))

    def cancel_by_name(self, queue: str, name: str, *, force: bool = False) -> Mapping[str, Any]:
        return self.transport.ask(
            "DELETE", f"/v1/queues/{_q(queue)}/tasks/{_q(name)}" + ("?force=1" if force else ""))

    def change(self, task: TaskLike, *, order: Optional[int] = None, delay: Optional[Span] = None,
               at: Optional[float] = None, priority: Optional[int] = None,
               labels: Optional[Sequence[str]] = None) -> Task:
        """Of a task that has not begun; labels also of one that runs."""
        return _task_of(self.transport.call("PATCH", f"/v1/tasks/{_token(task)}", _given(
            order=order, delay=span(delay), at=at, priority=priority,
            labels=None if labels is None else list(labels))))

    # ---- groups ----

    def group(self, queue: str, name: str) -> Mapping[str, Any]:
        """Its tasks, counted by their states (TaskGroup)."""
        return self.transport.ask("GET", f"/v1/groups/{_q(queue)}/{_q(name)}")

    def seal_group(self, queue: str, name: str) -> Mapping[str, Any]:
        """No more tasks get in; when all are over, the group is."""
        return self.transport.ask("POST", f"/v1/groups/{_q(queue)}/{_q(name)}/seal")

    def cancel_group(self, queue: str, name: str) -> Mapping[str, Any]:
        """Seals it, and cancels what is left of it."""
        return self.transport.ask("POST", f"/v1/groups/{_q(queue)}/{_q(name)}/cancel")

    # ---- schedules ----

    def put_schedule(self, queue: str, name: str, task: Mapping[str, Any], *, cron: Optional[str] = None,
                     zone: Optional[str] = None, every: Optional[Span] = None, jitter: Optional[Span] = None,
                     overlap: Optional[str] = None, catch_up: Optional[str] = None,
                     catch_up_max: Optional[int] = None, from_: Optional[float] = None,
                     until: Optional[float] = None, paused: Optional[bool] = None) -> Mapping[str, Any]:
        """Creates or changes it: `task` (task_body()) by `cron` in a zone, or `every` so often."""
        body = _given(cron=cron, zone=zone, every=span(every), jitter=span(jitter), overlap=overlap,
                      catch_up=catch_up, catch_up_max=catch_up_max, until=until, paused=paused,
                      task=dict(task), **_given(**{"from": from_}))
        return self.transport.ask("PUT", f"/v1/schedules/{_q(queue)}/{_q(name)}", body)

    def schedule(self, queue: str, name: str) -> Mapping[str, Any]:
        return self.transport.ask("GET", f"/v1/schedules/{_q(queue)}/{_q(name)}")

    def schedules(self, queue: str) -> List[Mapping[str, Any]]:
        return list(self.transport.ask("GET", f"/v1/schedules/{_q(queue)}/").get("schedules", ()))

    def run_schedule(self, queue: str, name: str, *, idempotency_key: Optional[str] = None) -> Mapping[str, Any]:
        return self.transport.ask(
            "POST", f"/v1/schedules/{_q(queue)}/{_q(name)}/run",
            headers={"Idempotency-Key": idempotency_key or uuid.uuid4().hex})

    def delete_schedule(self, queue: str, name: str) -> None:
        self.transport.call("DELETE", f"/v1/schedules/{_q(queue)}/{_q(name)}")

    # ---- calls ----

    def call(self, endpoint: str, path: str, body: Optional[bytes] = None, *, method: str = "POST",
             headers: Optional[Mapping[str, str]] = None, wait: Optional[float] = None,
             cost: Optional[int] = None, on_progress: Optional[Callable[[Dict[str, Any]], Any]] = None,
             timeout: float = 600.0, base: str = "/v1/call") -> Stream:
        """A request to an endpoint, when its turn has come: the answer as it comes, whatever its
        status. Use it as a context manager; `pieces()`, `lines()`, `events()`, or `read()` for all.
        timeout: until it begins, and its longest silence. segq's own refusals are raised. Not repeated, but where segq says that nothing was done: give
        an Idempotency-Key, and repeat it yourself. on_progress: hears of the place in line while events()
        is read (its answer is a stream of events then; what is none is raised). base: "/v1/route" where `endpoint` is a route."""
        all_headers = dict(headers or {})
        small = {h.lower() for h in all_headers}
        if "authorization" in small and self.transport.token:
            all_headers["segq-token"] = self.transport.token  # theirs is the target's
        if traceparent.get() and "traceparent" not in small:
            all_headers["traceparent"] = str(traceparent.get())
        if wait is not None:
            all_headers["Prefer"] = f"wait={int(wait)}"
        if on_progress is not None:
            all_headers["segq-progress"] = "events"
            all_headers.setdefault("Accept", "text/event-stream")
        if cost is not None:
            all_headers["segq-cost"] = str(cost)
        end, backoff = time.monotonic() + self.transport.retry_for, Backoff()
        while True:
            router = self.transport.routers[0]
            s = self.transport.stream(router, method, f"{base}/{_q(endpoint)}/{path.lstrip('/')}", body,
                                      all_headers, timeout, repeat=False)
            if s.status < 400 or "segq-status" in s.headers:
                s.on_progress, s.patience = on_progress, timeout
                return s
            try:
                self.transport.judge(s.read())
            except Unavailable as e:
                pause = backoff.next(e.retry_after)
                if e.code != "queue_unavailable" or time.monotonic() + pause > end:
                    raise
                self.transport.rotate(router)
                current().sleep(pause)

    def follow(self, task: TaskLike, *, timeout: float = 600.0) -> Stream:
        """The answer of a task's call, as it comes (`call()` says how to read it): what there is, then
        the rest. Waits until there is something. One that breaks off may be asked for again. timeout:
        its longest silence."""
        path, n = f"/v1/tasks/{_token(task)}/result?follow=1&wait={WAIT_S}", self.transport.timeout + WAIT_S

        def ask(router: str) -> Stream:
            s = self.transport.stream(router, "GET", path, timeout=n)
            if s.status >= 400:
                self.transport.judge(s.read())
            return s
        while True:
            asked = time.monotonic()
            s = self.transport.until_answered(ask)
            if s.status != 202:
                s.patience = timeout
                return s
            s.close()
            if time.monotonic() < asked + 0.5:  # likewise
                current().sleep(0.5)

    # ---- as a target that answered `segq-command: pending` ----

    def complete(self, url: str, outcome: str = "succeeded", *, status: Optional[int] = None, result: Any = None,
                 body: Optional[str] = None, body_base64: Optional[str] = None, reason: Optional[str] = None,
                 delay: Optional[Span] = None) -> Mapping[str, Any]:
        """Says how the call ended: "succeeded", "failed" (tried again), "dead". url: its
        `segq-complete-url`, of which only the right counts; routers are this client's."""
        return self.transport.ask("POST", f"/v1/tasks/{_right(url)}/complete", _given(
            outcome=outcome, status=status, result=result, body=body, body_base64=body_base64, reason=reason,
            delay=span(delay)))

    def keep(self, url: str, lease: Span) -> Mapping[str, Any]:
        """Gives such a call more time."""
        return self.transport.ask("POST", f"/v1/tasks/{_right(url)}/extend", {"lease": span(lease)})


def _right(url: str) -> str:
    return _q(url.split("/v1/tasks/")[-1].split("/")[0])


class Operator:
    """The few calls of operators that programs make: at queuemng, with an admin token."""

    def __init__(self, admin: str, token: str, **options: Any) -> None:
        self.transport = Transport(admin, token, **options)

    def redrive(self, task: TaskLike) -> Mapping[str, Any]:
        """A dead task waits again, with all of its attempts."""
        return self.transport.ask("POST", f"/v1/admin/tasks/{_token(task)}/redrive")

    def redrive_all(self, queue: str, rate: Optional[float] = None) -> Mapping[str, Any]:
        """All dead tasks of a queue, at most `rate` a second."""
        at_most = "" if rate is None else f"?rate_per_s={rate}"
        return self.transport.ask("POST", f"/v1/admin/task-queues/{_q(queue)}/tasks/redrive{at_most}")

    def discard(self, task: TaskLike) -> Mapping[str, Any]:
        """Deletes a task that is over, and its result."""
        return self.transport.ask("POST", f"/v1/admin/tasks/{_token(task)}/discard")

    def close(self) -> None:
        self.transport.close()
