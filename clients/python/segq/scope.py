"""Scopes: how long calls may take, and how they are cancelled from another thread.

    with Scope(timeout=30) as scope:       # all calls of this thread within the block
        client.wait_for_pass("login")      # DeadlineExceeded after 30 s
    scope.cancel()                         # from any thread: Cancelled

Scopes nest: the nearest deadline counts. Time is that of the monotonic clock, so a wall clock that
is set changes nothing.
"""

from __future__ import annotations

import contextvars
import socket
import threading
import time
from typing import Any, Optional, Set

from .errors import Cancelled, DeadlineExceeded

_current: "contextvars.ContextVar[Optional[Scope]]" = contextvars.ContextVar("segq_scope", default=None)


class Scope:
    """A block of calls that end together."""

    def __init__(self, timeout: Optional[float] = None) -> None:
        self._end = None if timeout is None else time.monotonic() + timeout
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._sockets: Set[socket.socket] = set()
        self._parent: Optional[Scope] = None
        self._children: Set[Scope] = set()
        self._mark: Any = None

    def __enter__(self) -> "Scope":
        self._parent = _current.get()
        if self._parent is not None:
            self._parent._adopt(self)
        self._mark = _current.set(self)
        return self

    def __exit__(self, *_: Any) -> None:
        _current.reset(self._mark)
        if self._parent is not None:
            with self._parent._lock:
                self._parent._children.discard(self)

    def _adopt(self, child: "Scope") -> None:
        with self._lock:
            self._children.add(child)
        if self._over.is_set():
            child.cancel()

    def cancel(self) -> None:
        """Ends all calls of the block, also those that wait for an answer. From any thread."""
        self._over.set()
        with self._lock:
            sockets, children = list(self._sockets), list(self._children)
        for s in sockets:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for c in children:
            c.cancel()

    @property
    def cancelled(self) -> bool:
        return self._over.is_set()

    def left(self) -> Optional[float]:
        """Seconds, also of the scopes around it; None: as long as it takes."""
        mine = None if self._end is None else self._end - time.monotonic()
        theirs = self._parent.left() if self._parent is not None else None
        return min((x for x in (mine, theirs) if x is not None), default=None)

    def check(self) -> None:
        """Raises if it is over."""
        if self._over.is_set():
            raise Cancelled("cancelled")
        left = self.left()
        if left is not None and left <= 0:
            raise DeadlineExceeded("no time is left")

    def sleep(self, seconds: float) -> None:
        """Waits so long, if the scope does."""
        left = self.left()
        self._over.wait(seconds if left is None else max(0.0, min(seconds, left)))
        self.check()

    def watch(self, sock: socket.socket) -> None:
        """Has cancel() end what waits for this socket."""
        with self._lock:
            self._sockets.add(sock)
        if self._over.is_set():
            self.cancel()

    def forget(self, sock: socket.socket) -> None:
        with self._lock:
            self._sockets.discard(sock)


class _Endless(Scope):
    """The scope of those who have none."""

    def watch(self, sock: socket.socket) -> None:
        pass

    def forget(self, sock: socket.socket) -> None:
        pass


_endless = _Endless()


def current() -> Scope:
    return _current.get() or _endless
