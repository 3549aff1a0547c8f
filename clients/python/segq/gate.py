"""At the door: passes, checked here or by a router; middleware for WSGI and ASGI; claims.

    gate = Gate("http://q1.example", "login")
    gate.check(token)                       # Pass, or PassInvalid: no router is asked
    app = gate.wsgi(app)                    # or gate.asgi(app): environ["segq.pass"]

A pass is a JWT (EdDSA) of the routers' published keys; its audience is the queue. Keys are fetched
when needed, kept for as long as their answer says, and fetched anew for a `kid` that is not known.
A pass that was revoked is seen by routers only: `verify()`.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextvars
import hashlib
import hmac
import json
import logging
import re
import threading
import time
import uuid
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union
from urllib.parse import quote

from . import ed25519
from .errors import (ApiError, NetworkError, PassExpired, PassInvalid, PassNotYetValid, SegqError, TooFast,
                     Unavailable)
from .http1 import Unsendable
from .transport import Answer, Transport, _forked

JWT_MAX = 4096
KEYS_S = 60.0       # if the answer does not say for how long
KEYS_MAX_S = 3600.0  # whatever the answer says
AGAIN_S = 5.0       # keys are asked for at most so often
AWAY_S = 1.0        # so long nobody asks after no router has answered
STALE_S = 86400.0   # while no router answers, old keys do
KNOWN_MAX = 4096
COOKIE = "segq_pass"
COMMAND = "x-segq-command"
log = logging.getLogger("segq")


class Pass(NamedTuple):
    """A good pass."""
    queue: str
    ticket: str             # "17-123"
    subject: str            # who joined; else the ticket
    lane: str
    issued_at: int          # Unix seconds
    expires_at: int
    claims: Mapping[str, Any]


class Verdict(NamedTuple):
    """What a router says of a request."""
    queue: str
    bypass: Optional[str]   # no pass, but a rule lets it past the room
    ticket: Optional[str]
    subject: Optional[str]
    lane: Optional[str]
    expires_at: Optional[int]
    set_cookie: Optional[str]  # the pass was renewed: for the visitor
    new_pass: Optional[str]    # likewise, if it came as a bearer


def _b64(text: str) -> bytes:
    """base64url without padding, in its one form."""
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if _text(raw) != text:
        raise ValueError("not canonical")
    return raw


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _object(raw: bytes) -> Dict[str, Any]:
    def once(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
        if len({k for k, _ in pairs}) != len(pairs):
            raise ValueError("a member is there twice")
        return dict(pairs)
    o = json.loads(raw, object_pairs_hook=once)
    if not isinstance(o, dict):
        raise ValueError("no object")
    return o


class _Keys:
    """The routers' public keys."""

    def __init__(self, transport: Transport) -> None:
        self._t = transport
        self._lock = threading.Lock()
        self._keys: Dict[str, bytes] = {}
        self._until = self._asked = self._got = -1e9  # monotonic
        _forked.add(self)

    def forked(self) -> None:
        self._lock = threading.Lock()

    def warm(self) -> None:
        """Has them fetched beside, if they are old: for the time when no router answers."""
        now = time.monotonic()
        if now >= self._until and now >= self._asked + AGAIN_S:
            self._asked = now
            threading.Thread(target=self._warm, daemon=True).start()

    def _warm(self) -> None:
        with self._lock:
            try:
                self._fetch(time.monotonic())
            except SegqError:
                pass  # who needs them asks again, and hears why

    def get(self, kid: str) -> Dict[str, bytes]:
        """All that are known; asks if it must. NetworkError, Unavailable: none is known."""
        now = time.monotonic()
        known = kid in self._keys
        if now < self._until and (known or now < self._asked + AGAIN_S):
            return self._keys
        if self._lock.acquire(blocking=not known):  # who has a key that will do does not wait
            try:
                if now >= self._asked:  # nobody else has asked meanwhile
                    self._fetch(now)
            finally:
                self._lock.release()
        if not self._keys:  # who waited for another's question: it was in vain
            raise NetworkError("no router has told its keys yet")
        return self._keys

    def _fetch(self, now: float) -> None:
        self._asked = time.monotonic()
        try:
            a = self._t.call("GET", "/.well-known/jwks.json", headers={"Authorization": ""}, raw=True,
                             retry_for=0 if self._keys else 3)
            keys = {k["kid"]: _b64(k["x"]) for k in a.json()["keys"]
                    if k.get("kty") == "OKP" and k.get("crv") == "Ed25519"}
            if not keys:
                raise ValueError("none of them is for passes")
            self._keys = keys
        except (SegqError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
            self._asked = time.monotonic()  # who waited meanwhile does not ask the same again
            if not self._keys or now - self._got > STALE_S:
                raise e if isinstance(e, SegqError) else NetworkError(f"the keys cannot be read: {e}") from e
            self._until = now + AGAIN_S
            return
        age = re.search(r"max-age=(\d+)", a.headers.get("cache-control", ""))
        self._got = self._asked = time.monotonic()
        self._until = self._got + (min(KEYS_MAX_S, max(AGAIN_S, float(age[1]))) if age else KEYS_S)


class Gate:
    """For one queue. leeway_s: how far clocks may differ. ask, of the middleware: "always" has a
    router decide about each request (renewal, revocation, bypass), and checks here only while none
    answers; "renew" checks here, and asks when a third of the pass is over, so that it is renewed;
    "never" only checks here. room: another address of this site that has the waiting page; visitors
    come back there."""

    def __init__(self, routers: Union[str, Sequence[str], Any], queue: str, *, leeway_s: float = 30.0,
                 ask: str = "always", timeout: float = 2.0, room: str = "", secret: Optional[str] = None) -> None:
        if ask not in ("always", "renew", "never"):
            raise ValueError("ask: always, renew or never")
        given = getattr(routers, "transport", None)
        self._t: Transport = given or Transport(routers, timeout=timeout)
        self.queue, self.leeway_s, self.ask, self.room = queue, leeway_s, ask, room
        self._timeout, self._secret, self._away = timeout, secret, 0.0
        self._keys = _Keys(self._t)
        self._known: Dict[str, Tuple[str, Pass]] = {}

    # ---- here ----

    def check(self, token: str, *, method: Optional[str] = None, path: Optional[str] = None) -> Pass:
        """PassInvalid, PassExpired, PassNotYetValid: it opens nothing. A pass that is bound needs the
        request's method and path; one that is good once needs a router: verify()."""
        if not isinstance(token, str):
            raise PassInvalid("none", "no pass")
        known = self._known.get(token)
        if known is None or known[0] not in self._keys.get(known[0]):
            known = self._opened(token)
        self._in_time(known[1])
        self._bound(known[1].claims, method, path)
        return known[1]

    def _opened(self, token: str) -> Tuple[str, Pass]:
        """The kid that signed it, and what it says."""
        parts = token.split(".")
        try:
            if len(parts) != 3 or len(token) > JWT_MAX:
                raise ValueError("not three parts")
            head, claims, signature = _object(_b64(parts[0])), _object(_b64(parts[1])), _b64(parts[2])
        except (ValueError, binascii.Error, RecursionError) as e:
            raise PassInvalid("malformed", str(e)) from None
        if head.get("alg") != "EdDSA" or "crit" in head:
            raise PassInvalid("algorithm", "a pass is signed with EdDSA, and needs no extension")
        kid = head.get("kid")
        if not isinstance(kid, str):
            raise PassInvalid("malformed", "it does not say which key has signed it")
        key = self._keys.get(kid).get(kid)
        if key is not None and ed25519.fast_verify(key, signature, f"{parts[0]}.{parts[1]}".encode()):
            return self._read(token, kid, claims)
        raise PassInvalid("unknown_key" if key is None else "signature", "no router of this cluster has signed it")

    def _read(self, token: str, kid: str, c: Dict[str, Any]) -> Tuple[str, Pass]:
        if any(type(c.get(n)) is not int for n in ("exp", "iat", "nbf")) or \
                any(type(c.get(n)) is not str for n in ("aud", "jti", "sub", "lane")):
            raise PassInvalid("malformed", "members of a pass are missing")
        if c["aud"] != self.queue:
            raise PassInvalid("other_queue", f"it is for {c['aud']}")
        p = Pass(c["aud"], c["jti"], c["sub"], c["lane"], c["iat"], c["exp"], c)
        if len(self._known) >= KNOWN_MAX:
            self._known.clear()
        self._known[token] = kid, p
        return kid, p

    def _in_time(self, p: Pass) -> None:
        now = time.time()
        if now >= p.expires_at + self.leeway_s:
            raise PassExpired("expired", f"since {now - p.expires_at:.0f} s")
        if now < p.claims["nbf"] - self.leeway_s:
            raise PassNotYetValid("not_yet_valid", f"for {p.claims['nbf'] - now:.0f} s; are the clocks right?")

    @staticmethod
    def _bound(c: Mapping[str, Any], method: Optional[str], path: Optional[str]) -> None:
        if "use" in c:
            raise PassInvalid("once", "it is good once, which only a router can tell: verify()")
        if c.get("htm") is not None and c["htm"] != method:
            raise PassInvalid("other_method", f"it is for {c['htm']}")
        if c.get("htu") is None:
            return
        plain = (path or "").partition("?")[0]
        below = plain == c["htu"] or plain.startswith(c["htu"].rstrip("/") + "/")
        if not below or re.search(r"[%\\;#\x00-\x20\x7f]|//|/\.\.?(/|$)", plain):
            raise PassInvalid("other_url", f"it is for {c['htu']}")

    # ---- by a router ----

    def verify(self, token: Optional[str], *, headers: Optional[Mapping[str, str]] = None,
               once: bool = False) -> Verdict:
        """Asks a router; ApiError with its code: no. headers: of the visitor's request, and
        X-Original-URI, X-Original-Method (believed of a trusted proxy)."""
        ask = {"Authorization": f"Bearer {token}" if token else "", **(headers or {})}
        if self._secret:  # asked again it is the same question: a pass that is good once is used once
            ask.update({"X-Segq-Ask": uuid.uuid4().hex, "X-Segq-Gate-Secret": self._secret})
        path = f"/v1/verify?queue={quote(self.queue, safe='')}" + ("&use=once" if once else "")

        def asked(router: str) -> Answer:
            a: Answer = self._t.judge(self._t.once(router, "GET", path, None, ask, self._timeout), raw=True)
            if a.status != 204 or a.headers.get("x-segq-queue", self.queue) != self.queue or \
                    not ("x-segq-ticket" in a.headers or "x-segq-bypass" in a.headers):
                raise NetworkError(f"what answers ({a.status}) is no router: it lets nobody in")
            return a
        for more in range(len(self._t.routers) - 1, -1, -1):  # each router once: a visitor waits
            try:
                a = self._t.until_answered(asked, 0)
                break
            except Unsendable as e:
                raise PassInvalid("malformed", str(e)) from None
            except (NetworkError, Unavailable):
                if not more:
                    raise
        h = a.headers
        expires = h.get("x-segq-expires", "")
        return Verdict(h.get("x-segq-queue", self.queue), h.get("x-segq-bypass"), h.get("x-segq-ticket"),
                       h.get("x-segq-subject"), h.get("x-segq-lane"), int(expires) if expires.isdigit() else None,
                       h.get("set-cookie"), h.get("x-segq-pass"))

    def session(self, token: str, command: str) -> None:
        """"release": its slot is free; "revoke", "extend", "extend=600" need `secret` (gate_secret_file)."""
        self._session([("bearer", token)], command)

    def _session(self, tokens: List[Tuple[str, str]], command: str) -> None:
        self._t.call("POST", "/v1/session", {"command": command}, headers={
            **self._passes(tokens), "X-Segq-Gate-Secret": self._secret or ""})

    # ---- middleware ----

    def decide(self, method: str, uri: str, headers: Mapping[str, str]) -> "Decision":
        """About a visitor's request; headers in small letters."""
        tokens = self._presented(headers)
        if self.ask != "always":
            p, why = self._first_good(tokens, method, uri)
            if p is None:
                if self.ask == "never" or why.code != "once":
                    return self._refuse(method, uri, headers, why)
            elif self.ask == "never" or time.time() < p[1].issued_at + (p[1].expires_at - p[1].issued_at) / 3:
                return Decision(p[1], None, [], 0, b"")
        try:
            if time.monotonic() < self._away:
                raise NetworkError("no router answered a moment ago")
            d = self._admit(self.verify(None, headers=self._visitor(method, uri, headers, tokens)))
            self._keys.warm()
            return d
        except (NetworkError, Unavailable, TooFast) as e:
            if isinstance(e, NetworkError) and time.monotonic() >= self._away:
                self._away = time.monotonic() + AWAY_S
            p, why = self._first_good(tokens, method, uri)
            return Decision(p[1], None, [], 0, b"") if p else self._refuse(method, uri, headers, e)
        except ApiError as e:
            return self._refuse(method, uri, headers, e)
        except PassInvalid as e:  # cannot even be asked about
            return self._refuse(method, "/", headers, e)

    @staticmethod
    def _presented(headers: Mapping[str, str]) -> List[Tuple[str, str]]:
        """("bearer" or "cookie", pass), at most four, as routers do; ("device", name=value)."""
        out, devices = [], []
        scheme, _, rest = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and rest.strip():
            out.append(("bearer", rest.strip()))
        for part in re.split(r"[;,]", headers.get("cookie", "")):
            name, _, value = part.strip().partition("=")
            if name == COOKIE and value:
                out.append(("cookie", value))
            elif name.startswith("segq_device_"):
                devices.append(("device", part.strip()))
        return out[:4] + devices[:8]

    def _first_good(self, tokens: List[Tuple[str, str]], method: str, uri: str
                    ) -> Tuple[Optional[Tuple[str, Pass]], SegqError]:
        why: SegqError = PassInvalid("none", "no pass")
        for kind, token in tokens:
            if kind == "device":
                continue
            try:
                return (kind, self.check(token, method=method, path=uri)), why
            except SegqError as e:
                if isinstance(why, PassInvalid) and why.code != "once":  # which a router can tell
                    why = e
        return None, why

    @staticmethod
    def _visitor(method: str, uri: str, headers: Mapping[str, str], tokens: List[Tuple[str, str]]) -> Dict[str, str]:
        """What the router is told of the visitor: not the site's other cookies."""
        out = {n: headers[n.lower()] for n in ("Accept", "Referer", "Sec-Fetch-Mode", "Sec-Fetch-Dest")
               if headers.get(n.lower())}
        out.update({"X-Original-URI": uri, "X-Original-Method": method})
        return {**out, **Gate._passes(tokens)}

    @staticmethod
    def _passes(tokens: List[Tuple[str, str]]) -> Dict[str, str]:
        return {"Authorization": next((f"Bearer {t}" for k, t in tokens if k == "bearer"), ""),
                "Cookie": "; ".join(t if k == "device" else f"{COOKIE}={t}" for k, t in tokens if k != "bearer")}

    @staticmethod
    def _admit(v: Verdict) -> "Decision":
        more = [("Set-Cookie", v.set_cookie)] if v.set_cookie else []
        if v.new_pass:
            more.append(("X-Segq-Pass", v.new_pass))
        return Decision(None, v, more, 0, b"")

    def _refuse(self, method: str, uri: str, headers: Mapping[str, str], why: SegqError) -> "Decision":
        if not isinstance(why, (PassInvalid, ApiError)) or (why.status or 0) >= 500 or why.status == 429:
            body = json.dumps({"title": "Busy", "status": 503, "code": "queue_unavailable",
                               "detail": "nobody can say whether you may come in: try again"}).encode()
            return Decision(None, None, [("Content-Type", "application/problem+json"), ("Retry-After", "2"),
                                         ("Cache-Control", "no-store")], 503, body)
        back = uri if method in ("GET", "HEAD") and uri.startswith("/") and not uri.startswith("//") else "/"
        where = f"{self.room}/q/{quote(self.queue, safe='')}?return={quote(back, safe='/')}"
        status = why.status or 401
        more = [("X-Segq-Location", where), ("Cache-Control", "no-store")]
        goes = headers.get("sec-fetch-mode", "navigate") == "navigate" and "text/html" in headers.get("accept", "")
        astray = not self.room and uri.startswith("/q/")  # what should be the room: it would go in circles
        if goes and method in ("GET", "HEAD", "POST") and why.code != "pass_used" and not astray:
            return Decision(None, None, [*more, ("Location", where)], 303, b"")
        detail = "/q/ and /v1/ of this site have to lead to the routers" if astray else why.detail
        body = json.dumps({"title": "No pass", "status": status, "code": why.code, "detail": detail,
                           "location": where}).encode()
        return Decision(None, None, [*more, ("Content-Type", "application/problem+json")], status, body)

    def _obey(self, commands: List[str], headers: Mapping[str, str]) -> None:
        """`X-Segq-Command: release` of the application's answer, in the background: for us, not for
        the visitor."""
        tokens = self._presented(headers)

        def tell() -> None:
            try:
                self._session(tokens, commands[0])
            except SegqError as e:
                log.warning("segq gate: %s: %s", commands[0], e)
        if commands and tokens:
            threading.Thread(target=tell, daemon=True).start()

    def wsgi(self, app: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
        """The application behind the gate; `environ["segq.pass"]` is the Pass or Verdict."""
        def gated(environ: Dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
            headers = {k[5:].replace("_", "-").lower(): v for k, v in environ.items() if k.startswith("HTTP_")}
            path = quote(environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""), safe="/;=,@:!$&'()*+~",
                         encoding="latin-1")
            query = environ.get("QUERY_STRING", "")
            d = self.decide(environ["REQUEST_METHOD"], (path or "/") + (f"?{query}" if query else ""), headers)
            if d.status:
                start(f"{d.status} Refused", [*d.headers, ("Content-Length", str(len(d.body)))])
                return [] if environ["REQUEST_METHOD"] == "HEAD" else [d.body]
            for k in [k for k in environ if k.startswith("HTTP_X_SEGQ_")]:
                del environ[k]  # the visitor's; applications believe a gate's
            environ["segq.pass"] = d.given or d.verdict

            def more(status: str, given: List[Tuple[str, str]], *rest: Any) -> Any:
                self._obey([v for k, v in given if k.lower() == COMMAND], headers)
                return start(status, [*((k, v) for k, v in given if k.lower() != COMMAND), *d.headers], *rest)
            return app(environ, more)
        return gated

    def asgi(self, app: Callable[..., Any]) -> Callable[..., Any]:
        """Likewise; `scope["segq.pass"]`. Routers are asked by a thread beside the loop."""
        async def gated(scope: Dict[str, Any], receive: Any, send: Any) -> None:
            if scope["type"] == "lifespan":
                await app(scope, receive, send)
                return
            headers: Dict[str, str] = {}
            for k, v in scope["headers"]:
                name = k.decode("latin-1").lower()
                headers[name] = f"{headers[name]}; {v.decode('latin-1')}" if name in headers else v.decode("latin-1")
            raw = scope.get("raw_path") or quote(scope["path"], safe="/;=,@:!$&'()*+~").encode()
            raw = raw.encode("latin-1") if isinstance(raw, str) else raw  # of uvicorn's websockets
            query = scope.get("query_string", b"")
            uri = (raw + (b"?" + query if query else b"")).decode("latin-1")
            d = await asyncio.get_running_loop().run_in_executor(
                None, contextvars.copy_context().run, self.decide, scope.get("method", "GET"), uri, headers)
            if d.status and scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 4401})
                return
            pairs = [(k.lower().encode(), v.encode("latin-1")) for k, v in d.headers]
            if d.status:
                await send({"type": "http.response.start", "status": d.status,
                            "headers": [*pairs, (b"content-length", str(len(d.body)).encode())]})
                await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else d.body})
                return

            async def more(message: Dict[str, Any]) -> None:
                if message["type"] == "http.response.start":
                    given = list(message.get("headers", []))
                    self._obey([v.decode() for k, v in given if k.decode().lower() == COMMAND], headers)
                    message = {**message, "headers": [*((k, v) for k, v in given if k.decode().lower() != COMMAND), *pairs]}
                await send(message)
            theirs = [(k, v) for k, v in scope["headers"] if not k.lower().startswith(b"x-segq-")]
            await app({**scope, "headers": theirs, "segq.pass": d.given or d.verdict}, receive, more)
        return gated


class Decision(NamedTuple):
    """status 0: come in, with `headers` for the answer; else the answer itself."""
    given: Optional[Pass]
    verdict: Optional[Verdict]
    headers: List[Tuple[str, str]]
    status: int
    body: bytes


# ---- claims ---------------------------------------------------------------------------------


def sign_claim(secret: Union[str, bytes], *, kid: Optional[str] = None, ttl_s: int = 300, alg: str = "HS256",
               **members: Any) -> str:
    """A signed claim (`claim_keys` of conf/router.yaml). For a lane: aud (the queue), lane, and sub
    (binds the subject), replaces. For a task: queues, jti, and key, priority. secret: as it stands in
    its file (HS256); an Ed25519 private key in PEM (alg="EdDSA", needs `cryptography`)."""
    now = int(time.time())
    head = {"alg": alg, "typ": "JWT", **({"kid": kid} if kid else {})}
    body = {"iat": now, "exp": now + ttl_s, **{k: v for k, v in members.items() if v is not None}}
    signed = ".".join(_text(json.dumps(o, separators=(",", ":"), ensure_ascii=False).encode()) for o in (head, body))
    raw = secret.encode() if isinstance(secret, str) else secret
    if alg == "HS256":
        return f"{signed}.{_text(hmac.new(raw.strip(), signed.encode(), hashlib.sha256).digest())}"
    if alg != "EdDSA":
        raise ValueError("alg: HS256 or EdDSA")
    try:
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError as e:
        raise ValueError("to sign with EdDSA takes the package cryptography") from e
    return f"{signed}.{_text(load_pem_private_key(raw, None).sign(signed.encode()))}"
