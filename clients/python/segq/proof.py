"""A device that has a key (queues with `bind: key`): proofs of RFC 9449. Python's own library has no ECDSA, so the
key is the caller's: in the package `cryptography`, in a module of hardware, wherever it is safe.

    class Key:                                      # with the package cryptography
        def __init__(self, private):                # ec.generate_private_key(ec.SECP256R1())
            n = private.public_key().public_numbers()
            b64 = lambda v: base64.urlsafe_b64encode(v.to_bytes(32, "big")).rstrip(b"=").decode()
            self.jwk = {"kty": "EC", "crv": "P-256", "x": b64(n.x), "y": b64(n.y)}
            self.sign = lambda data: private.sign(data, ec.ECDSA(hashes.SHA256()))
"""

from __future__ import annotations

import base64
import json
import os
import time
from typing import Any, Mapping

try:
    from typing import Protocol
except ImportError:  # Python 3.7
    Protocol = object  # type: ignore[assignment]


class DeviceKey(Protocol):
    """A key of the curve P-256. `sign`: ECDSA with SHA-256, as DER, or as r and s of 32 bytes each."""
    jwk: Mapping[str, str]

    def sign(self, data: bytes) -> bytes: ...


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _part(v: Mapping[str, Any]) -> str:
    return _b64(json.dumps(v).encode())


def _raw(signature: bytes) -> bytes:
    """r and s. ValueError: it is no signature of that curve."""
    if len(signature) == 64:
        return signature
    at, out = 2, b""
    for _ in range(2):
        if signature[:1] != b"\x30" or signature[at:at + 1] != b"\x02":
            raise ValueError("sign() of the device's key returns no ECDSA signature")
        n = signature[at + 1]
        out += int.from_bytes(signature[at + 2:at + 2 + n], "big").to_bytes(32, "big")
        at += 2 + n
    return out


def proof(key: DeviceKey, url: str, nonce: str = "") -> str:
    """The header DPoP for a POST to that address."""
    jwk = {k: key.jwk[k] for k in ("kty", "crv", "x", "y")}
    text = _part({"typ": "dpop+jwt", "alg": "ES256", "jwk": jwk}) + "." + _part(
        {"htm": "POST", "htu": url, "iat": int(time.time()), "jti": _b64(os.urandom(12)), "nonce": nonce})
    return text + "." + _b64(_raw(key.sign(text.encode())))
