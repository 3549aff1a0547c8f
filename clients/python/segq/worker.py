"""A worker: takes tasks, runs a handler for each, and says how it ended.

    def handle(job):
        return {"url": draw(job.payload["prompt"])}      # the result; an exception: tried again

    Worker(client, "images", handle, concurrency=8).run()    # until SIGTERM

A handler may be a coroutine function. It takes only what it can begin (`concurrency`), extends the
leases of what runs, settles ends together, and at the end finishes what runs or gives it back.

A task may run twice (a worker that dies, an answer that is lost): make repeats harmless, for
example with `job.token` as idempotency key.
"""

from __future__ import annotations

import asyncio
import base64
import collections
import inspect
import json
import logging
import queue as queues
import signal
import threading
import time
from typing import Any, Awaitable, Callable, Deque, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, Union
from urllib.parse import quote

from .errors import ApiError, NetworkError, SegqError, TooFast, Unavailable
from .scope import Scope
from .tasks import BATCH, Span, span, traceparent
from .transport import Backoff, Transport

log = logging.getLogger("segq")
REASON_MAX = 200         # bytes
SETTLE_BYTES = 200 << 10  # of a request
UNSETTLED_MAX = 2000     # ends that wait to be told: no more is taken
GATHER_S = 0.002         # so long a take waits for more slots while others work


class Nack(Exception):
    """Raised by a handler: the task is given back, and tried again after `delay`."""

    def __init__(self, reason: str = "", delay: Optional[Span] = None) -> None:
        super().__init__(reason)
        self.reason, self.delay = reason, delay


class Bytes(NamedTuple):
    """A result that is no JSON, with its Content-Type; bytes alone are application/octet-stream."""
    body: bytes
    content_type: str = "application/octet-stream"


class Job:
    """A task in a handler's hands."""

    __slots__ = ("token", "queue", "key", "attempt", "payload", "content_type", "lease_id", "lease_expires_at", "lost",
                 "_until", "_extend_at", "_over", "_size", "_async", "_said")

    def __init__(self, said: Mapping[str, Any], queue: str, lease_s: float, now: float) -> None:
        self.token: str = said["task"]
        self.queue: str = said.get("queue") or queue
        self.key: Optional[str] = said.get("key")
        self.attempt: int = said["attempt"]
        self.content_type: Optional[str] = said.get("content_type")  # the payload is bytes then; None: JSON
        self.payload: Any = said.get("payload")
        if self.content_type is not None:
            self.payload = base64.b64decode(said.get("payload_base64") or "")
        self.lease_id: str = said["lease_id"]
        self.lease_expires_at: Optional[float] = said.get("lease_expires_at")  # Unix seconds, when taken
        self.lost = False  # cancelled by force, or its lease has ended: another worker may have it
        self._until, self._extend_at = now + lease_s, now + lease_s / 2
        self._over = False
        self._size = 0  # of the result
        self._async: Optional["asyncio.Task[Any]"] = None
        self._said: Optional[Dict[str, Any]] = None  # progress that is to be told

    def progress(self, percent: Optional[int] = None, text: Optional[str] = None, data: Any = None) -> None:
        """Says how far it is: 0 to 100, 200 bytes, any JSON of 1 KiB. Returns at once: the newest word is
        told, some four times a second; one that is refused is `trouble` of on_event."""
        said = {"percent": percent, "text": text and _plain(text), "data": data}
        self._said = {k: v for k, v in said.items() if v is not None and v != ""} or None

    @property
    def traceparent(self) -> Optional[str]:
        """The trace context that its submitter handed on (of payloads that are objects)."""
        v = self.payload.get("traceparent") if isinstance(self.payload, dict) else None
        return v if isinstance(v, str) else None


Handler = Callable[[Job], Union[Any, Awaitable[Any]]]


def _plain(text: str) -> str:
    """At most 200 bytes, no control characters."""
    text = "".join(c if c.isprintable() else " " for c in text).strip()
    return text.encode("utf-8", "replace")[:REASON_MAX].decode("utf-8", "ignore")


def _reason(e: BaseException) -> str:
    """What people see in the task's history: at most 200 bytes, no control characters."""
    try:
        text = str(e) if isinstance(e, Nack) else f"{type(e).__name__}: {e}"
    except Exception:  # its own __str__ fails
        text = ""
    return _plain(text) or type(e).__name__


def _outcomes(said: Any, n: int) -> List[Dict[str, Any]]:
    """Of a settlement of n rows."""
    if not isinstance(said, list) or len(said) != n or \
            not all(isinstance(r, dict) and isinstance(r.get("status"), int) for r in said):
        raise NetworkError("an answer that is no list of outcomes")
    return said


class Worker:
    """`on_event(name, job, info)` hears of taken, started, succeeded, failed, given_back, extended, lost
    (each with its job) and trouble (job None), for metrics and traces; it must be quick.
    prefetch: so many are taken ahead (their leases run). drain_s: at the end, for what runs."""

    def __init__(self, client: Any, queue: Union[str, Sequence[str]], handler: Handler, *,
                 concurrency: int = 8, lease_s: float = 30.0, wait_s: float = 2.0, prefetch: int = 0,
                 drain_s: float = 25.0,
                 on_event: Optional[Callable[[str, Optional[Job], Mapping[str, Any]], None]] = None) -> None:
        self._t: Transport = client.transport
        self.queues: List[str] = [queue] if isinstance(queue, str) else list(queue)
        if not 1 <= len(self.queues) <= 16:
            raise ValueError("a worker has 1 to 16 queues")
        if concurrency < 1 or prefetch < 0 or not lease_s > 0:
            raise ValueError("concurrency: at least 1; prefetch: at least 0; lease_s: more than 0")
        self.handler, self.concurrency, self.lease_s = handler, concurrency, lease_s
        self.wait_s, self.prefetch, self.drain_s, self.on_event = wait_s, prefetch, drain_s, on_event
        self.counts: Dict[str, int] = collections.Counter()
        self._is_async = inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(
            getattr(handler, "__call__", None))
        self._lock = threading.Lock()
        self._change = threading.Condition(self._lock)  # a slot is free, an end is to be told, it stops
        self._slots = concurrency + prefetch
        self._used = 0                                  # a handler has it, or will
        self._jobs: Set[Job] = set()                    # taken, and not over
        # By queue, each told by a thread: one whose node is away delays no other's.
        self._ends: Dict[str, Deque[Tuple[Job, Dict[str, Any]]]] = {}
        self._settlers: List[threading.Thread] = []
        self._telling = 0
        self._todo: "queues.SimpleQueue[Optional[Job]]" = queues.SimpleQueue()
        self._stopping = threading.Event()
        self._end_at: Optional[float] = None            # of the drain
        self._taking = Scope()
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._own_loop = True
        self._turns: Optional[asyncio.Semaphore] = None
        self._threads: List[threading.Thread] = []
        self._patience_s = 0.0  # of the keeper, with one answer
        self._refused: Optional[SegqError] = None

    # ---- what callers use ----

    def run(self, *, signals: bool = True) -> None:
        """Works until stop(), or SIGTERM or SIGINT (a second one gives back at once). Raises what segq
        says where no later try can help (a token that may not take)."""
        mine = signals and threading.current_thread() is threading.main_thread()
        before = {s: signal.signal(s, lambda *_: self.stop()) for s in (signal.SIGTERM, signal.SIGINT)} if mine else {}
        try:
            self.start()
            while not self._stopping.is_set():
                time.sleep(0.1)  # amid a wait() the handler of a signal could not set()
            self.join()
        finally:
            for s, h in before.items():
                signal.signal(s, h)
        if self._refused is not None:
            raise self._refused

    async def run_async(self) -> None:
        """The same, in the loop that runs: handlers are coroutines of it. Cancelled: it gives back."""
        if not self._is_async:
            raise TypeError("the handler is no coroutine function")
        loop = self._loop = asyncio.get_running_loop()
        self._own_loop = False
        self.start()
        try:
            while not self._stopping.is_set():
                await asyncio.sleep(0.1)
        finally:
            if not self._stopping.is_set():  # cancelled
                self.stop(0)
                self._taking.cancel()
            await loop.run_in_executor(None, self.join)
        if self._refused is not None:
            raise self._refused

    def start(self) -> None:
        """Begins, and returns."""
        if self._is_async and self._own_loop:
            self._loop = asyncio.new_event_loop()
            self._spawn(self._loop.run_forever, "loop")
        elif not self._is_async:
            for i in range(self.concurrency):
                self._spawn(self._work, f"work-{i}")
        self._taker = self._spawn(self._take, "take")
        self._spawn(self._extend, "extend")
        self._spawn(self._tell_progress, "progress")

    def stop(self, drain_s: Optional[float] = None) -> None:
        """Takes nothing more; what runs has `drain_s` seconds. Called again: none."""
        again = self._stopping.is_set()
        self._end_at = time.monotonic() + (0 if again else self.drain_s if drain_s is None else drain_s)
        self._stopping.set()
        if again:
            self._taking.cancel()

    def join(self) -> None:
        """Returns when what ran is over, or given back, and segq knows it."""
        self._taker.join()  # the take under way: what it brings is begun
        with self._lock:
            while self._jobs and time.monotonic() < (self._end_at or 0):
                self._change.wait(0.1)
            left = list(self._jobs)
        for j in left:
            self._give_back(j)
        with self._lock:
            while (self._untold() or self._telling) and any(t.is_alive() for t in self._settlers):
                self._change.wait(0.1)
        for _ in range(self.concurrency):
            self._todo.put(None)
        if self._loop is not None and self._own_loop:
            self._loop.call_soon_threadsafe(self._loop.stop)
        with self._lock:
            self._change.notify_all()

    # ---- within ----

    def _spawn(self, f: Callable[..., Any], name: str, *args: Any) -> threading.Thread:
        t = threading.Thread(target=f, args=args, name=f"segq-{name}", daemon=True)
        self._threads.append(t)
        t.start()
        return t

    def _untold(self) -> int:
        return sum(map(len, self._ends.values()))

    def _say(self, name: str, job: Optional[Job] = None, **info: Any) -> None:
        self.counts[name] += 1
        if self.on_event is not None:
            try:
                self.on_event(name, job, info)
            except Exception:
                log.exception("on_event")

    # ---- taking ----

    def _free(self) -> int:
        """Waits for a slot, and a moment longer for more of them; 0: it stops."""
        with self._lock:
            while not self._stopping.is_set():
                free = self._slots - self._used
                if free > 0 and self._untold() < UNSETTLED_MAX:
                    if free * 2 < self._slots:
                        self._change.wait(GATHER_S)
                    return min(BATCH, self._slots - self._used)
                self._change.wait(0.2)
        return 0

    def _take(self) -> None:
        many = len(self.queues) > 1
        path = "/v1/tasks/take" if many else f"/v1/queues/{quote(self.queues[0], safe='')}/tasks/take"
        body: Dict[str, Any] = {"queues": self.queues} if many else {}
        backoff = Backoff(0.2)
        with self._taking:
            while True:
                n = self._free()
                if not n:
                    return
                body.update(n=n, lease=self.lease_s, wait=self.wait_s)
                asked = time.monotonic()
                try:
                    said = self._t.call("POST", path, body, timeout=self._t.timeout + self.wait_s, retry_for=0)
                    self._begin(said["tasks"])
                    backoff.fails = 0
                    if not said["tasks"] and time.monotonic() < asked + max(0.1, self.wait_s / 2):
                        self._stopping.wait(0.1)  # a router that stops does not wait
                except Exception as e:  # whatever was answered: this thread goes on
                    if self._over(e) or self._stopping.is_set():
                        return
                    self._say("trouble", None, error=e)
                    self._stopping.wait(backoff.next(getattr(e, "retry_after", None)))

    def _over(self, e: Exception) -> bool:
        """It can never work: the token, the queue, our own request."""
        if not isinstance(e, ApiError) or (e.status or 500) >= 500 or e.status == 429:
            return False
        self._refused = e
        log.error("segq worker: %s", e)
        self.stop()
        return True

    def _begin(self, tasks: List[Mapping[str, Any]]) -> None:
        now = time.monotonic()
        jobs = [Job(t, self.queues[0], self.lease_s, now) for t in tasks]
        with self._lock:
            self._jobs.update(jobs)
            self._used += len(jobs)
        if self.on_event is not None:
            for j in jobs:
                self._say("taken", j)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._begin_async, jobs)
        else:
            for j in jobs:
                self._todo.put(j)

    # ---- running ----

    def _work(self) -> None:
        while True:
            j = self._todo.get()
            if j is None:
                return
            mark = traceparent.set(j.traceparent)
            try:
                if not j._over:
                    self._say("started", j)
                    self._succeeded(j, self.handler(j))
            except BaseException as e:  # also sys.exit(): the thread is ours
                self._failed(j, e)
            finally:
                traceparent.reset(mark)
                self._free_slot()

    def _free_slot(self) -> None:
        with self._lock:
            self._used -= 1
            self._change.notify_all()

    def _begin_async(self, jobs: List[Job]) -> None:
        assert self._loop is not None
        if self._turns is None:  # made here, it belongs to the loop that runs
            self._turns = asyncio.Semaphore(self.concurrency)
        for j in jobs:
            j._async = self._loop.create_task(self._work_async(j))

    async def _work_async(self, j: Job) -> None:
        traceparent.set(j.traceparent)  # of this asyncio.Task alone
        assert self._turns is not None
        try:
            async with self._turns:
                if not j._over:
                    self._say("started", j)
                    self._succeeded(j, await self.handler(j))
        except asyncio.CancelledError:
            if not j._over:
                self._failed(j, Nack("cancelled in the worker"))
        except (Exception, SystemExit) as e:
            self._failed(j, e)
        finally:
            self._free_slot()

    def _succeeded(self, j: Job, result: Any) -> None:
        row: Dict[str, Any] = {"task": j.token, "verb": "ack", "lease_id": j.lease_id}
        if isinstance(result, (bytes, bytearray)):
            result = Bytes(bytes(result))
        if isinstance(result, Bytes):
            row["result_base64"] = base64.b64encode(result.body).decode()
            row["content_type"] = result.content_type
            j._size = len(row["result_base64"])
        elif result is not None:
            try:
                j._size = len(json.dumps(result, allow_nan=False, ensure_ascii=False).encode())
            except (TypeError, ValueError, RecursionError) as e:
                return self._failed(j, Nack(f"the result is no JSON: {e}"))
            row["result"] = result
        self._end(j, row, "succeeded", {})

    def _failed(self, j: Job, e: BaseException) -> None:
        row: Dict[str, Any] = {"task": j.token, "verb": "nack", "lease_id": j.lease_id, "reason": _reason(e)}
        if isinstance(e, Nack) and e.delay is not None:
            row["delay"] = span(e.delay)
        if not isinstance(e, Nack):
            log.warning("segq handler: task %s...: %s", j.token[:12], row["reason"], exc_info=e)
        self._end(j, row, "failed", {"error": e})

    def _give_back(self, j: Job) -> None:
        row = {"task": j.token, "verb": "nack", "lease_id": j.lease_id, "reason": "the worker stops", "delay": 0}
        j.lost = True
        self._end(j, row, "given_back", {})
        self._cancel(j)

    def _cancel(self, j: Job) -> None:
        if self._loop is not None and j._async is not None:
            self._loop.call_soon_threadsafe(j._async.cancel)

    def _end(self, j: Job, row: Dict[str, Any], name: str, info: Mapping[str, Any]) -> None:
        with self._lock:
            if j._over:
                return
            j._over = True
            self._jobs.discard(j)
            if j.queue not in self._ends:
                self._ends[j.queue] = collections.deque()
                self._settlers.append(self._spawn(self._settle, "settle", j.queue))
            self._ends[j.queue].append((j, row))
            self._change.notify_all()
        self._say(name, j, **info)

    # ---- telling ----

    def _settle(self, q: str) -> None:
        rows: List[Tuple[Job, Dict[str, Any]]]
        ends = self._ends[q]
        while True:
            with self._lock:
                while not ends:
                    if self._stopping.is_set() and not self._jobs and not self._taker.is_alive():
                        return
                    self._change.wait(0.2)
                size, rows = 0, []
                while ends and len(rows) < BATCH and size < SETTLE_BYTES:
                    rows.append(ends.popleft())
                    size += rows[-1][0]._size
                self._telling += len(rows)
            self._tell_or_say(q, rows)
            with self._lock:
                self._telling -= len(rows)
                self._change.notify_all()

    def _tell_or_say(self, q: str, rows: List[Tuple[Job, Dict[str, Any]]]) -> None:
        try:
            self._tell(q, rows)
        except Exception as e:  # what segq does not hear is tried again when its lease ends
            self._say("trouble", None, error=e)

    def _tell(self, q: str, rows: List[Tuple[Job, Dict[str, Any]]]) -> None:
        """Until each row has an answer, as long as its lease."""
        backoff, end = Backoff(0.2), time.monotonic() + self.lease_s
        while rows:
            try:
                said = _outcomes(self._t.call("POST", f"/v1/queues/{quote(q, safe='')}/tasks/settle",
                                              [row for _, row in rows], retry_for=0), len(rows))
            except (NetworkError, Unavailable, TooFast) as e:
                self._say("trouble", None, error=e)
                self._pause(backoff, end, e)
                continue
            except Exception as e:  # a refusal, or what cannot be written
                one, why = not isinstance(e, ApiError) or e.status in (400, 413), getattr(e, "detail", e)
                if len(rows) > 1 and one:  # one of them: each alone tells which
                    for pair in rows:
                        self._tell_or_say(q, [pair])
                    return
                if len(rows) > 1 or not one or not self._plainer(rows[0], why):
                    raise
                rows = [(rows[0][0], self._plainer(rows[0], why))]
                continue
            again = []
            for (j, row), r in zip(rows, said):
                if r["status"] in (429, 503):
                    again.append((j, row))
                elif r["status"] in (400, 413) and self._plainer((j, row), r.get("detail")):
                    again.append((j, self._plainer((j, row), r.get("detail"))))
                elif r["status"] >= 400 and row["verb"] != "extend":
                    self._say("lost", j, status=r["status"], code=r.get("code"))
                elif r["status"] >= 400:
                    self._lose(j, r)
                elif row["verb"] == "extend":
                    self._say("extended", j)
            rows = again
            if rows:
                self._pause(backoff, end, SegqError(f"{len(rows)} ends could not be told"))

    @staticmethod
    def _plainer(end: Tuple[Job, Dict[str, Any]], why: Any) -> Dict[str, Any]:
        """In place of an end that is refused (a result that is too long, a delay that is none): a nack
        that says so. {}: it was that."""
        j, row = end
        if not row.keys() & {"delay", "result", "result_base64"}:
            return {}
        said = {k: v for k, v in row.items() if k not in ("delay", "result", "result_base64", "content_type")}
        return {**said, "verb": "nack", "reason": _reason(Nack(f"its end was refused: {why}"))}

    @staticmethod
    def _pause(backoff: Backoff, end: float, e: SegqError) -> None:
        pause = backoff.next(getattr(e, "retry_after", None))
        if time.monotonic() + pause > end:
            raise e
        time.sleep(pause)

    # ---- leases ----

    def _extend(self) -> None:
        """A request for all that are at half of their lease."""
        self._judge_patience(True)
        while not (self._stopping.is_set() and not self._taker.is_alive() and not self._jobs):
            time.sleep(min(0.5, self.lease_s / 8))
            try:
                self._extend_due(time.monotonic())
            except Exception as e:  # whatever was answered: this thread goes on
                self._say("trouble", None, error=e)

    def _extend_due(self, now: float) -> None:
        with self._lock:
            due = [j for j in self._jobs if j._extend_at <= now]
        by_queue: Dict[str, List[Tuple[Job, Dict[str, Any]]]] = {}
        for j in due:
            if j._until <= now:
                self._lose(j, {"code": "lease_over"})
                continue
            by_queue.setdefault(j.queue, []).append((j, {
                "task": j.token, "verb": "extend", "lease_id": j.lease_id, "lease": self.lease_s}))
        for q, rows in by_queue.items():
            for i in range(0, len(rows), BATCH):
                self._extend_some(q, rows[i:i + BATCH])

    def _extend_some(self, q: str, rows: List[Tuple[Job, Dict[str, Any]]]) -> None:
        asked = time.monotonic()
        try:
            said = _outcomes(self._t.call(
                "POST", f"/v1/queues/{quote(q, safe='')}/tasks/settle", [r for _, r in rows],
                retry_for=0, timeout=self._patience_s), len(rows))
        except SegqError as e:  # the next turn tries again
            self._judge_patience(isinstance(e, ApiError))
            self._say("trouble", None, error=e)
            return
        self._judge_patience(True)
        for (j, _), r in zip(rows, said):
            if r["status"] < 400:
                j._until, j._extend_at = asked + self.lease_s, asked + self.lease_s / 2
                self._say("extended", j)
            elif r["status"] not in (429, 503):
                self._lose(j, r)

    def _judge_patience(self, answered: bool) -> None:
        """One thread keeps all leases: a router that is slow has a small part of one, and then another
        is asked. Where all are slow, each has twice the time of the one before."""
        least = min(2.0, max(0.25, self.lease_s / 16))
        self._patience_s = least if answered else min(max(1.0, self.lease_s / 4), self._patience_s * 2)

    # ---- progress ----

    def _tell_progress(self) -> None:
        while not (self._stopping.is_set() and not self._taker.is_alive() and not self._jobs):
            time.sleep(0.25)
            with self._lock:
                said = [(j, j._said) for j in self._jobs if j._said is not None]
            for j, row in said:
                if j._said is row:
                    j._said = None
                try:
                    self._t.call("POST", f"/v1/tasks/{j.token}/progress", {"lease_id": j.lease_id, **row},
                                 retry_for=0, timeout=max(1.0, self.lease_s / 4))
                except ApiError as e:
                    if e.status in (409, 410):
                        self._lose(j, {"code": e.code, "status": e.status})
                    else:
                        self._say("trouble", j, error=e)
                except Exception as e:  # whatever was answered: this thread goes on
                    self._say("trouble", j, error=e)

    def _lose(self, j: Job, said: Mapping[str, Any]) -> None:
        """It is not ours any more: its handler is told, and its end is nobody's business."""
        with self._lock:
            if j._over:
                return
            j._over = j.lost = True
            self._jobs.discard(j)
            self._change.notify_all()
        self._say("lost", j, code=said.get("code"), status=said.get("status"))
        self._cancel(j)
