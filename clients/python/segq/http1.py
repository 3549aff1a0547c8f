"""One connection of HTTP/1.1, as a client. In place of http.client, which bounds the wait for the
next byte only: here a whole answer has a moment until which it must be there, and a scope that may
end it from another thread. Bodies that end before their end are errors."""

from __future__ import annotations

import re
import select
import socket
import ssl
import time
from typing import Dict, Iterator, Mapping, Optional

from .scope import Scope

CONNECT_S = 5.0
HEAD_MAX = 64 << 10
PIECE = 64 << 10


class Broken(OSError):
    """The answer is none: cut off, or not HTTP."""


class Unsendable(ValueError):
    """The request is none: the same in each try."""


class Connection:
    """`until` (of the monotonic clock) and `scope` are those of the request under way."""

    def __init__(self, host: str, port: int, context: Optional[ssl.SSLContext]) -> None:
        self.host, self.port, self.context = host, port, context
        self.until, self.scope = 0.0, Scope()
        self.used = False  # at least one answer has come over it
        self.alive = False  # it may be used again once the body has been read
        self.status = 0
        self.headers: Dict[str, str] = {}
        self._sock: Optional[socket.socket] = None
        self._in = b""

    def close(self) -> None:
        if self._sock is not None:
            self.scope.forget(self._sock)
            self._sock.close()
            self._sock = None

    def is_open(self) -> bool:
        """False: it was closed by the other side, as far as one can see, or says what nobody asked."""
        if self._sock is None or self._in:
            return not self._in
        try:
            return not select.select([self._sock], [], [], 0)[0]
        except (OSError, ValueError):  # more descriptors than select() can
            return True

    def rest(self) -> None:
        """Nothing is under way."""
        if self._sock is not None:
            self.scope.forget(self._sock)

    def _left(self) -> float:
        self.scope.check()
        left = self.until - time.monotonic()
        if left <= 0:
            raise socket.timeout("no answer in time")
        return left

    def _connect(self) -> socket.socket:
        s = socket.create_connection((self.host, self.port), min(CONNECT_S, self._left()))
        try:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return s if self.context is None else self.context.wrap_socket(s, server_hostname=self.host)
        except BaseException:
            s.close()
            raise

    def ask(self, method: str, path: str, body: Optional[bytes], headers: Mapping[str, str]) -> None:
        """Sends a request and reads the head of the answer: `status`, `headers` (small letters)."""
        if self._sock is None:
            self._sock = self._connect()
        self.scope.watch(self._sock)
        port = "" if self.port == (443 if self.context else 80) else f":{self.port}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}{port}"]
        lines += [f"{k}: {v}" for k, v in headers.items()]
        if body is not None or method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Length: {len(body or b'')}")
        head = "\r\n".join(lines)
        if head.count("\n") != len(lines) - 1 or head.count("\r") != len(lines) - 1:
            raise Unsendable("a line break in a header or a path")
        try:
            raw = head.encode("utf-8")
        except UnicodeEncodeError as e:
            raise Unsendable(f"a header or a path is no text: {e.reason}") from None
        self._sock.settimeout(self._left())
        try:
            self._sock.sendall(raw + b"\r\n\r\n" + (body or b""))
        except (BrokenPipeError, ConnectionResetError):
            self._head(method)  # it may have said why it closed: a body that is too large
            if self.status < 400:
                raise
            self.alive = False
        else:
            self._head(method)

    def _more(self, n: int = PIECE) -> bytes:
        """What is there, at least a byte; b"" at the end of the connection."""
        if self._in:
            out, self._in = self._in[:n], self._in[n:]
            return out
        sock = self._sock
        if sock is None:
            raise Broken("it was closed")
        sock.settimeout(self._left())
        return sock.recv(n)

    def _line(self) -> bytes:
        while b"\n" not in self._in:
            have, self._in = self._in, b""
            piece = self._more()
            self._in = have + piece
            if not piece or (len(self._in) > HEAD_MAX and b"\n" not in piece):
                raise Broken("closed before its answer" if not piece else "a head that is too long")
        line, _, self._in = self._in.partition(b"\n")
        return line.rstrip(b"\r")

    def _head(self, method: str) -> None:
        self.status = 100
        while 100 <= self.status < 200:
            words = self._line().split(None, 2)
            if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not re.fullmatch(rb"[1-9]\d\d", words[1]):
                raise Broken("what answers is no HTTP server")
            self.status, self.headers, size = int(words[1]), {}, 0
            while True:
                line = self._line()
                if not line:
                    break
                size += len(line)
                if size > HEAD_MAX:
                    raise Broken("a head that is too long")
                name, _, value = line.decode("latin-1").partition(":")
                name = name.strip().lower()
                if name != "set-cookie" or not self.headers.get(name, "").startswith("segq_device_"):  # of several, ours
                    self.headers[name] = value.strip()
        self.alive = words[0] != b"HTTP/1.0" and "close" not in self.headers.get("connection", "").lower()
        self._none = method == "HEAD" or self.status in (204, 304)

    def pieces(self) -> Iterator[bytes]:
        """The body, as it comes. Broken if it ends too early."""
        length = self.headers.get("content-length")
        if self._none:
            return
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            yield from self._chunks()
        elif length is not None:
            if not length.isdigit():
                raise Broken("Content-Length is no number")
            yield from self._exactly(int(length))
        else:
            self.alive = False
            while True:
                piece = self._more()
                if not piece:
                    return
                yield piece

    def _exactly(self, n: int) -> Iterator[bytes]:
        while n:
            piece = self._more(min(n, PIECE))
            if not piece:
                raise Broken("the body breaks off")
            n -= len(piece)
            yield piece

    def _chunks(self) -> Iterator[bytes]:
        while True:
            size = self._line().partition(b";")[0].strip()
            if not re.fullmatch(rb"[0-9A-Fa-f]{1,15}", size):
                raise Broken("the body breaks off")
            n = int(size, 16)
            if not n:
                while self._line():
                    pass
                return
            yield from self._exactly(n)
            if self._line():
                raise Broken("a piece is longer than it says")
