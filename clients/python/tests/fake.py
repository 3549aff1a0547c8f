"""fake.py: a server that answers as it is told, byte for byte, and a signer of passes."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import socket
import sys
import threading
from typing import Any, Callable, List, Union

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from segq import ed25519  # noqa: E402


def answer(status: int = 200, value: Any = None, **headers: str) -> bytes:
    body = b"" if value is None else json.dumps(value).encode()
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}"]
    lines += [f"{k.replace('_', '-')}: {v}" for k, v in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def problem(status: int, code: str, **more: Any) -> bytes:
    headers = {k: str(more.pop(k)) for k in list(more) if k[0].isupper()}
    return answer(status, {"title": "T", "status": status, "code": code, "detail": "d", "request_id": "r", **more}, **headers)


Script = Union[bytes, Callable[[bytes], bytes]]


class Fake:
    """Answers requests in the order of its script; b"" and the end of the script close. `asked` has
    the heads, `connections` how many there were. Bytes that end in b"<cut>" close behind them; b"<stall>" waits."""

    def __init__(self, *script: Script) -> None:
        self.script, self.asked, self.connections = list(script), [], 0  # type: List[Script], List[bytes], int
        self.bodies: List[bytes] = []
        self._lock, self._open = threading.Lock(), []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "Fake":
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.close()
        for c in self._open:
            c.close()

    def _accept(self) -> None:
        while True:
            try:
                c, _ = self._server.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(c)
            threading.Thread(target=self._serve, args=(c,), daemon=True).start()

    def _serve(self, c: socket.socket) -> None:
        f = c.makefile("rb")
        try:
            while True:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    line = f.readline()
                    if not line:
                        return
                    head += line
                n = [int(x[15:]) for x in head.split(b"\r\n") if x.lower().startswith(b"content-length:")]
                body = f.read(n[0]) if n else b""
                with self._lock:
                    self.asked.append(head)
                    self.bodies.append(body)
                    what = self.script.pop(0) if self.script else b""
                said = what(head + body) if callable(what) else what
                whole, _, stall = said.partition(b"<stall>")
                whole, _, cut = whole.partition(b"<cut>")
                c.sendall(whole)
                if stall or said.endswith(b"<stall>"):
                    c.settimeout(20)
                    c.recv(1)
                if not said or said != whole:
                    return
        except OSError:
            pass
        finally:
            f.close()
            c.close()


def b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


class Signer:
    """An Ed25519 key (RFC 8032, 5.1.5 and 5.1.6), for tests alone."""

    def __init__(self, seed: bytes) -> None:
        h = hashlib.sha512(seed).digest()
        self.a = (int.from_bytes(h[:32], "little") & (1 << 254) - 8) | 1 << 254
        self.prefix = h[32:]
        self.public = self._times(self.a)
        self.kid = b64(self.public[:8])

    @staticmethod
    def _times(n: int) -> bytes:
        r, p = (0, 1, 1, 0), ed25519._B
        while n:
            if n & 1:
                r = ed25519._add(r, p)
            p, n = ed25519._double(p), n >> 1
        z = pow(r[2], ed25519.P - 2, ed25519.P)
        x, y = r[0] * z % ed25519.P, r[1] * z % ed25519.P
        return (y | (x & 1) << 255).to_bytes(32, "little")

    def sign(self, m: bytes) -> bytes:
        r = int.from_bytes(hashlib.sha512(self.prefix + m).digest(), "little") % ed25519.L
        big = self._times(r)
        k = int.from_bytes(hashlib.sha512(big + self.public + m).digest(), "little") % ed25519.L
        return big + ((r + k * self.a) % ed25519.L).to_bytes(32, "little")

    def jwt(self, claims: Any, **head: Any) -> str:
        first = {"alg": "EdDSA", "typ": "JWT", "kid": self.kid, **head}
        text = ".".join(b64(json.dumps(o).encode()) for o in (first, claims))
        return f"{text}.{b64(self.sign(text.encode()))}"

    def jwk(self) -> Any:
        return {"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": self.kid, "x": b64(self.public)}
