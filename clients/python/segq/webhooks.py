"""Calls and notices that segq sends: are they segq's? (Standard Webhooks,
https://github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md)

    hook = Webhook("whsec_...")                 # or ["whsec_NEW", "whsec_OLD"], "whpk_..."
    hook.verify(request.headers, request.body)  # SignatureInvalid, or the task's id
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from typing import List, Mapping, Sequence, Tuple, Union

from . import ed25519
from .errors import SignatureInvalid

TOLERANCE_S = 300
SIGNATURES = 16  # of one call, that are looked at


def _key(text: str) -> Tuple[str, bytes]:
    kind, _, rest = text.strip().partition("_")
    try:
        raw = base64.b64decode(rest, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if kind == "whsec" and 24 <= len(raw) <= 64:
        return "v1", raw
    if kind == "whpk" and len(raw) == 32:
        return "v1a", raw
    raise ValueError("a webhook key: whsec_ and base64 of 24 to 64 bytes, or whpk_ and base64 of 32")


class Webhook:
    """keys: secrets (whsec_) and public keys (whpk_); any of them may have signed, so that old and
    new ones go side by side. tolerance_s: how far the clocks, and an old call, may be off."""

    def __init__(self, keys: Union[str, Sequence[str]], tolerance_s: float = TOLERANCE_S) -> None:
        self._keys: List[Tuple[str, bytes]] = [_key(k) for k in ([keys] if isinstance(keys, str) else keys)]
        if not self._keys:
            raise ValueError("no keys")
        self.tolerance_s = tolerance_s

    def verify(self, headers: Mapping[str, str], body: Union[bytes, str]) -> str:
        """headers: names in any case. Returns `webhook-id`, the same in each attempt."""
        small = {k.lower(): v for k, v in headers.items()}
        try:
            name, stamp, said = (small["webhook-" + n] for n in ("id", "timestamp", "signature"))
        except KeyError as e:
            raise SignatureInvalid(f"the header {e.args[0]} is missing") from None
        if "." in name:  # it parts what is signed, which could be parted in another place
            raise SignatureInvalid("webhook-id has a full stop")
        if not stamp.isascii() or not stamp.isdigit() or len(stamp) > 18:
            raise SignatureInvalid("webhook-timestamp is no number")
        if abs(time.time() - int(stamp)) > self.tolerance_s:
            raise SignatureInvalid("too old, or one of the two clocks is wrong")
        data = body.encode() if isinstance(body, str) else body
        signed = f"{name}.{stamp}.".encode() + data
        for one in said.split()[:SIGNATURES]:
            version, _, text = one.partition(",")
            try:
                signature = base64.b64decode(text, validate=True)
            except (binascii.Error, ValueError):
                continue
            for kind, key in self._keys:
                if kind == version and self._good(kind, key, signature, signed):
                    return name
        raise SignatureInvalid("no signature of a key that is known")

    @staticmethod
    def _good(kind: str, key: bytes, signature: bytes, signed: bytes) -> bool:
        if kind == "v1a":
            return ed25519.fast_verify(key, signature, signed)
        return hmac.compare_digest(hmac.new(key, signed, hashlib.sha256).digest(), signature)
