"""HTTP to any of several routers: connections that are kept, back-off with jitter, Retry-After,
redirects of load balancers.

What is asked here may be asked again: joins and submissions have an Idempotency-Key, everything
else is the same when it is done twice (docs/api.md). So a broken connection, a body that breaks off
and a 503 are answered by the next try, at another router if there is one.
"""

from __future__ import annotations

import json
import math
import os
import random
import socket
import ssl
import threading
import time
import weakref
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, TypeVar, Union
from urllib.parse import urljoin, urlsplit

from .errors import NetworkError, TooFast, Unavailable, error_of
from .http1 import Connection, Unsendable
from .scope import current

T = TypeVar("T")
VERSION = "0.2.0"
WORST_S = 30.0           # of the back-off
BODY_MAX = 64 << 20
REDIRECTS = 4
KEPT = 16                # idle connections to a router
BROKEN = (OSError, ValueError)
SECRET = ("authorization", "cookie", "dpop", "segq-token", "x-segq-gate-secret")


class Answer(NamedTuple):
    """What came back. Names of headers are in small letters."""
    status: int
    headers: Dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body) if self.body else {}


def seconds(text: Any) -> Optional[float]:
    """Of Retry-After, at most a day; None: it is none."""
    try:
        return min(86400.0, max(0.0, float(text))) if text else None
    except (ValueError, TypeError, OverflowError):
        return None


def _origin(u: Any) -> Tuple[str, Optional[str], int]:
    """Scheme, host and port, as they are compared."""
    return u.scheme, u.hostname, u.port or (443 if u.scheme == "https" else 80)


# What has locks and connections: a process that was forked has its own.
_forked: "weakref.WeakSet[Any]" = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: [x.forked() for x in list(_forked)])


class Backoff:
    """1 s, 2 s, 4 s ... 30 s, each up to half as long again."""

    def __init__(self, first: float = 1.0) -> None:
        self.first, self.fails = first, 0

    def next(self, told: Optional[float] = None) -> float:
        """told: what Retry-After said."""
        grown = min(WORST_S, self.first * 2 ** min(self.fails, 10))
        self.fails += 1
        return (told if told else grown) * (1 + random.random() / 2)


class Transport:
    """Connections to routers. Threads may share it."""

    def __init__(self, routers: Union[str, Sequence[str]], token: Optional[str] = None, *,
                 timeout: float = 10.0, retry_for: float = 60.0,
                 context: Optional[ssl.SSLContext] = None,
                 headers: Optional[Mapping[str, str]] = None) -> None:
        urls = [routers] if isinstance(routers, str) else list(routers)
        if not urls or any(urlsplit(u).scheme not in ("http", "https") for u in urls):
            raise ValueError("routers: addresses like https://q1.example")
        if any(c in f"{v}" for c in "\r\n" for v in (token, *(headers or {}).values())):
            raise ValueError("a line break in the token, or in a header: strip() what a file has")
        self.routers = [u.rstrip("/") for u in urls]
        self._named = {_origin(urlsplit(u)) for u in urls}
        random.shuffle(self.routers)
        self.token, self.timeout, self.retry_for = token, timeout, retry_for
        self._context = context
        self._headers = {"User-Agent": f"segq-python/{VERSION}", **(headers or {})}
        self._lock = threading.Lock()
        self._idle: Dict[Tuple[str, str], List[Connection]] = {}
        self._closed = False
        _forked.add(self)

    def forked(self) -> None:
        """What is kept is the parent's: an answer to it would be read here."""
        kept, self._idle, self._lock = self._idle, {}, threading.Lock()
        for v in kept.values():
            for c in v:
                c.scope = current()
                c.close()

    def close(self) -> None:
        """Closes what is kept."""
        with self._lock:
            self._closed = True
            kept = [c for v in self._idle.values() for c in v]
            self._idle.clear()
        for c in kept:
            c.close()

    # ---- connections ----

    def _take(self, scheme: str, netloc: str) -> Connection:
        with self._lock:
            kept = self._idle.get((scheme, netloc))
            if kept:
                return kept.pop()
        parts = urlsplit(f"{scheme}://{netloc}")
        if scheme == "https" and self._context is None:
            self._context = ssl.create_default_context()
        return Connection(parts.hostname or "", parts.port or (443 if scheme == "https" else 80),
                          self._context if scheme == "https" else None)

    def _keep(self, url: str, c: Connection) -> None:
        c.rest()
        with self._lock:
            kept = self._idle.setdefault(urlsplit(url)[:2], [])
            if c.alive and not self._closed and len(kept) < KEPT:
                c.used = True
                kept.append(c)
                return
        c.close()

    def rotate(self, failed: str) -> None:
        """Another router is asked first from now on."""
        with self._lock:
            if self.routers[0] == failed:
                self.routers.append(self.routers.pop(0))

    # ---- one try ----

    def _open(self, url: str, method: str, body: Optional[bytes], headers: Dict[str, str],
              seconds: float, repeat: bool = True, hops: int = 0) -> Tuple[Connection, str]:
        """Asks; the head of the answer is there. Redirects that keep method and body are followed.
        repeat: it may be sent again if a kept connection turns out to be closed."""
        parts = urlsplit(url)
        c = self._ask(url, method, body, headers, seconds, repeat)
        to = c.headers.get("location")
        if c.status not in (307, 308) or not to or "segq-status" in c.headers:  # that one is a target's
            return c, url
        c.close()
        if hops >= REDIRECTS:
            raise NetworkError(f"{parts.netloc}: it redirects in circles")
        try:
            to = urljoin(url, to)
            there = urlsplit(to)
            there.port  # may be no number
        except ValueError as e:
            raise NetworkError(f"{parts.netloc}: a redirect to what is no address: {e}") from None
        if there.scheme not in ("http", "https") or there.scheme < parts.scheme:
            raise NetworkError(f"{parts.netloc}: a redirect to {there.scheme}: is not followed")
        if _origin(there) != _origin(parts) and _origin(there) not in self._named:  # a token is for those whom the caller named
            headers = {k: v for k, v in headers.items() if k.lower() not in SECRET}
        return self._open(to, method, body, headers, seconds, repeat, hops + 1)

    def _ask(self, url: str, method: str, body: Optional[bytes], headers: Mapping[str, str],
             seconds: float, repeat: bool) -> Connection:
        parts, scope = urlsplit(url), current()
        path = (parts.path or "/") + ("?" + parts.query if parts.query else "")
        while True:
            scope.check()
            c = self._take(parts.scheme, parts.netloc)
            if not c.is_open():
                c.close()
                continue
            left = scope.left()
            c.until = time.monotonic() + (seconds if left is None else min(seconds, left))
            c.scope = scope
            try:
                c.ask(method, path, body, headers)
                return c
            except Unsendable:
                c.close()
                raise
            except BROKEN as e:
                c.close()
                scope.check()
                if repeat and c.used and not isinstance(e, (socket.timeout, ValueError)):
                    continue  # the router had closed it meanwhile; a new one tells
                raise NetworkError(f"{parts.netloc}: {e or type(e).__name__}") from e
            except BaseException:
                c.close()
                raise

    def _read(self, c: Connection, url: str) -> bytes:
        """The whole body; a part of one is a broken connection."""
        out, n = [], 0
        try:
            for piece in c.pieces():
                out.append(piece)
                n += len(piece)
                if n > BODY_MAX:
                    raise ValueError(f"more than {BODY_MAX} bytes")
        except BROKEN as e:
            c.close()
            c.scope.check()
            raise NetworkError(f"{urlsplit(url).netloc}: {e or type(e).__name__}") from e
        except BaseException:
            c.close()
            raise
        self._keep(url, c)
        return b"".join(out)

    def once(self, router: str, method: str, path: str, body: Optional[bytes] = None,
             headers: Optional[Mapping[str, str]] = None, timeout: Optional[float] = None) -> Answer:
        """One try at one router. Its answer, whatever it says; NetworkError if there is none."""
        all_headers = self._with(headers)
        c, url = self._open(router + path, method, body, all_headers, timeout or self.timeout)
        return Answer(c.status, c.headers, self._read(c, url))

    def _with(self, headers: Optional[Mapping[str, str]]) -> Dict[str, str]:
        out = dict(self._headers)
        if self.token:
            out["Authorization"] = "Bearer " + self.token
        out.update(headers or {})
        return {k: v for k, v in out.items() if v}

    # ---- until it is answered ----

    def call(self, method: str, path: str, value: Any = None, *,
             headers: Optional[Mapping[str, str]] = None, timeout: Optional[float] = None,
             retry_for: Optional[float] = None, raw: bool = False) -> Any:
        """The answer's JSON (raw: the Answer), after as many tries as `retry_for` seconds have room
        for. Raises what segq said last, or NetworkError."""
        body, all_headers = None, dict(headers or {})
        if value is not None:
            body = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
            all_headers.setdefault("Content-Type", "application/json")
        return self.until_answered(
            lambda router: self.judge(self.once(router, method, path, body, all_headers, timeout), raw),
            self.retry_for if retry_for is None else retry_for)

    def ask(self, method: str, path: str, value: Any = None, **options: Any) -> Dict[str, Any]:
        """call(), of an answer that is an object."""
        said = self.call(method, path, value, **options)
        if not isinstance(said, dict):
            raise NetworkError(f"an answer that is no object: {str(said)[:60]}")
        return said

    def until_answered(self, ask: Callable[[str], T], seconds: float = math.inf,
                       trouble: Callable[[str], None] = lambda _: None) -> T:
        """ask(router) until it does not raise what a later try, or another router, may mend; after so
        many seconds what it raised last. trouble: is told "offline", "busy", and "" at the end."""
        end, backoff = time.monotonic() + seconds, Backoff()
        while True:
            router = self.routers[0]
            try:
                said = ask(router)
                trouble("")
                return said
            except (NetworkError, Unavailable, TooFast) as e:
                if e.code in ("wait_too_long", "endpoint_failed", "wait_over"):
                    raise
                trouble("offline" if isinstance(e, NetworkError) else "busy")
                self.rotate(router)
                pause = backoff.next(getattr(e, "retry_after", None))
                if backoff.fails == 1 and isinstance(e, NetworkError) and len(self.routers) > 1:
                    pause = random.random() / 10  # another one may well be there
                if time.monotonic() + pause > end:
                    raise
                current().sleep(pause)

    @staticmethod
    def judge(a: Answer, raw: bool = False) -> Any:
        """Its JSON, or the exception that it is."""
        if raw and (a.status < 300 or (a.status < 400 and "segq-status" in a.headers)):
            return a
        if 300 <= a.status < 400:
            raise NetworkError(f"a redirect ({a.status}) that is not followed")
        try:
            said = a.json()
        except (ValueError, RecursionError) as e:
            if a.status < 400:
                raise NetworkError(f"an answer that is no JSON: {a.body[:60]!r}") from e
            said = {}
        if a.status < 300:
            return said
        problem = said if isinstance(said, dict) else {}
        told = problem.get("poll_after_ms")  # finer
        after = seconds(min(told, 10**9) / 1000 if isinstance(told, int) else a.headers.get("retry-after"))
        raise error_of(a.status, problem, after)

    # ---- streams ----

    def stream(self, router: str, method: str, path: str, body: Optional[bytes] = None,
               headers: Optional[Mapping[str, str]] = None, timeout: Optional[float] = None,
               repeat: bool = True) -> "Stream":
        """An answer that is read as it comes. Its head has to come within `timeout`."""
        c, url = self._open(router + path, method, body, self._with(headers), timeout or self.timeout, repeat)
        return Stream(self, c, url)


class Stream:
    """An open answer: a context manager. `patience` is the longest silence, in seconds."""

    def __init__(self, transport: Transport, c: Connection, url: str) -> None:
        self._t, self._c, self._url = transport, c, url
        self.status, self.headers = c.status, c.headers
        self.patience = transport.timeout
        self.on_progress: Optional[Callable[[Dict[str, Any]], Any]] = None
        self._each = True  # each piece ends a silence; else an event does

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends it: what is unread is not waited for."""
        self._c.close()

    def read(self) -> Answer:
        """The rest as a whole, for answers that are no streams."""
        return Answer(self.status, self.headers, self._t._read(self._c, self._url))

    def _wait(self) -> None:
        left = self._c.scope.left()
        self._c.until = time.monotonic() + (self.patience if left is None else min(left, self.patience))

    def pieces(self) -> Iterator[bytes]:
        """Bytes, as they come. NetworkError if it ends before its end, or is silent for too long."""
        try:
            self._wait()
            for piece in self._c.pieces():
                yield piece
                if self._each:
                    self._wait()
        except BROKEN as e:
            self._c.scope.check()
            raise NetworkError(f"the stream breaks off: {e or type(e).__name__}") from e

    def lines(self) -> Iterator[str]:
        """Lines without their ends."""
        rest: List[bytes] = []
        n = 0
        for piece in self.pieces():
            first, *more = piece.split(b"\n")
            rest.append(first)
            n += len(first)
            if n > BODY_MAX:
                raise NetworkError(f"a line of more than {BODY_MAX} bytes")
            for part in more:
                yield b"".join(rest).rstrip(b"\r").decode("utf-8", "replace")
                rest, n = [part], len(part)
        if n:
            yield b"".join(rest).rstrip(b"\r").decode("utf-8", "replace")

    def _told(self, name: str, data: str) -> bool:
        """Of `segq-progress: events`: a place in line; or the answer, which is no stream of events."""
        if self.on_progress is None or name not in ("segq.progress", "error"):
            return False
        try:
            said = json.loads(data)
            if name == "segq.progress":
                self.on_progress(said)
                return True
            status, problem = int(said["status"]), said.get("error")
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):  # the target's own error event
            return False
        if status < 400:
            return False
        raise error_of(status, problem if isinstance(problem, dict) else {"detail": str(said.get("body"))[:200]})

    def events(self) -> Iterator[Tuple[str, str, str]]:
        """(event, data, id) of server-sent events (WHATWG HTML, section 9.2). An event that is cut
        off before its blank line is none."""
        name, last = "", ""
        data: List[str] = []
        self._each = False
        for line in self.lines():
            if not line:
                if data and not self._told(name, "\n".join(data)):
                    yield name or "message", "\n".join(data), last
                if data:
                    self._wait()
                name, data = "", []
                continue
            field, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if field == "event":
                name = value
            elif field == "data":
                data.append(value)
            elif field == "id" and len(value) <= 128 and value.isascii() and value.isprintable():
                last = value  # another one is a stranger's: no header could send it back
