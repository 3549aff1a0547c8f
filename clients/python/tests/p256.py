"""p256.py: a device's key in plain Python, for tests: slow, and it tells who watches its time the key."""
import base64
import hashlib
import secrets

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G = (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
     0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)


def add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0] and (a[1] + b[1]) % P == 0:
        return None
    m = (3 * a[0] * a[0] - 3) * pow(2 * a[1], -1, P) if a == b else (b[1] - a[1]) * pow(b[0] - a[0], -1, P)
    x = (m * m - a[0] - b[0]) % P
    return x, (m * (a[0] - x) - a[1]) % P


def times(k, a):
    out = None
    while k:
        out, a, k = add(out, a) if k & 1 else out, add(a, a), k >> 1
    return out


class Key:
    def __init__(self):
        self._d = secrets.randbelow(N - 1) + 1
        x, y = (base64.urlsafe_b64encode(v.to_bytes(32, "big")).rstrip(b"=").decode() for v in times(self._d, G))
        self.jwk = {"kty": "EC", "crv": "P-256", "x": x, "y": y}

    def sign(self, data):
        """As DER, so that the client has to read it."""
        k = secrets.randbelow(N - 1) + 1
        r = times(k, G)[0] % N
        s = pow(k, -1, N) * (int.from_bytes(hashlib.sha256(data).digest(), "big") + r * self._d) % N
        parts = b"".join(b"\x02" + bytes([len(v)]) + v for v in (b"\0" * (n.bit_length() % 8 == 0) + n.to_bytes((n.bit_length() + 7) // 8, "big") for n in (r, s)))
        return b"\x30" + bytes([len(parts)]) + parts
