"""Ed25519 signatures, checked in Python alone (RFC 8032, section 5.1.7), as libsodium checks them:
S below the group's order, the bytes of R compared, no key of a small order. About 3 ms a
signature; with the package `cryptography`, which is used if it is there, 0.1 ms. Public data only:
it need not be constant in time."""

from __future__ import annotations

import hashlib
from typing import Optional, Tuple

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
I = pow(2, (P - 1) // 4, P)
Y8 = 0x5fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826
SMALL = (0, 1, P - 1, Y8, P - Y8)  # of points whose order divides 8: such a key has signed anything

Point = Tuple[int, int, int, int]  # extended: X, Y, Z, T = XY/Z


def _add(p: Point, q: Point) -> Point:
    a = (p[1] - p[0]) * (q[1] - q[0]) % P
    b = (p[1] + p[0]) * (q[1] + q[0]) % P
    c = 2 * p[3] * q[3] * D % P
    d = 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def _double(p: Point) -> Point:
    a, b = p[0] * p[0] % P, p[1] * p[1] % P
    h = a + b
    e = h - (p[0] + p[1]) ** 2 % P
    g = a - b
    f = 2 * p[2] * p[2] % P + g
    return e * f % P, g * h % P, f * g % P, e * h % P


def _point(text: bytes) -> Optional[Point]:
    y = int.from_bytes(text, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    if y >= P:
        return None
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    if v * x * x % P != u:
        x = x * I % P
        if v * x * x % P != u:
            return None
    if x == 0 and sign:
        return None
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


_B = _point(b"\x58" + b"\x66" * 31)
assert _B is not None


def is_small(public: bytes) -> bool:
    return (int.from_bytes(public, "little") & (1 << 255) - 1) % P in SMALL


def verify(public: bytes, signature: bytes, message: bytes) -> bool:
    """True: who has the private half of `public` (32 bytes) has signed the message."""
    if len(public) != 32 or len(signature) != 64 or is_small(public):
        return False
    s = int.from_bytes(signature[32:], "little")
    a = _point(public)
    if s >= L or a is None:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % L
    neg = (P - a[0], a[1], a[2], P - a[3])
    both = _add(_B, neg)  # type: ignore[arg-type]
    r: Point = (0, 1, 1, 0)
    for i in range(max(s.bit_length(), h.bit_length()) - 1, -1, -1):  # s*B - h*A, a bit of both at a time
        r = _double(r)
        bits = (s >> i & 1, h >> i & 1)
        if bits != (0, 0):
            r = _add(r, both if bits == (1, 1) else _B if bits[0] else neg)  # type: ignore[arg-type]
    z = pow(r[2], P - 2, P)
    x, y = r[0] * z % P, r[1] * z % P
    return (y | (x & 1) << 255).to_bytes(32, "little") == signature[:32]


try:
    from cryptography.exceptions import InvalidSignature as _Invalid
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey as _Key

    _Key.from_public_bytes(b"\x58" + b"\x66" * 31)  # refused where OpenSSL may not
except Exception:  # not there, or broken
    fast_verify = verify
else:
    def fast_verify(public: bytes, signature: bytes, message: bytes) -> bool:
        """verify(), by `cryptography`."""
        if is_small(public):
            return False
        try:
            _Key.from_public_bytes(public).verify(signature, message)
            return True
        except (_Invalid, ValueError):
            return False
