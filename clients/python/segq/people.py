"""People in line: join, be told of the place, get the pass.

    with Client(["https://q1.example", "https://q2.example"]) as client:
        line = client.line("login", token=saved)     # saved: None, or of an earlier run
        for ticket in line:                          # at each news, until it is let in
            print(ticket.position, ticket.eta_s)     # save line.token, and line.device
        login(line.ticket.pass_)

It is told by events where a router has room for that, and polls as it is told otherwise. A router
that dies costs nothing: the place is kept, and another router knows it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import time
import uuid
from typing import Any, Callable, Dict, Generator, Iterator, Mapping, NamedTuple, Optional, Sequence
from urllib.parse import quote

from .errors import ApiError, ChallengeRequired, Forbidden, NetworkError, TooFast, Unauthorized, Unavailable, error_of
from .proof import DeviceKey, proof
from .scope import current
from .transport import Transport, seconds

FIRST_S = 5.0    # for the first event
LATE_S = 3.0     # so late a beat may be
QUIET_S = 90.0   # a router says the place anew sooner, or after the told interval
DEAF_S = 60.0    # then it tries to listen again
CHALLENGES = 4   # of a join, at most
PROOFS = 2       # of a request, at most: the first may lack a nonce
DEVICE = re.compile(r"segq_device_[^\s=;,]+=[\w.-]+", re.ASCII)  # the one cookie that is kept


class Ticket(NamedTuple):
    """A place, as last heard. `raw` has all members of the answer."""
    token: str
    queue: str
    lane: str
    state: str                      # "waiting", "admitted"
    position: Optional[int]         # None: not known at the moment
    position_capped: bool           # "5000+"
    total: int
    eta_s: Optional[int]
    eta_reason: Optional[str]
    poll_after_s: float
    message: Optional[str]          # the operator's notice
    pass_: Optional[str]            # when admitted
    pass_expires_at: Optional[int]  # Unix seconds
    released_at: Optional[float]
    ticket: Optional[str]           # "17-123": its name, for those who ask for help
    segment: int
    prequeue: bool                  # the draw is still to come
    opens_at: Optional[int]         # Unix seconds
    raw: Mapping[str, Any]

    @property
    def admitted(self) -> bool:
        return self.state == "admitted"


def ticket_of(said: Any) -> Ticket:
    """NetworkError: what came is none."""
    try:
        return Ticket(
            said["token"], said["queue"], said["lane"], said["state"], said["position"],
            bool(said.get("position_capped")), said["total"], said["eta_s"], said.get("eta_reason"),
            min(86400.0, max(0.0, said["poll_after_ms"] / 1000)), said.get("message"), said.get("pass"),
            said.get("pass_expires_at"), said.get("released_at"), said.get("ticket"), said["segment"],
            bool(said.get("prequeue")), said.get("opens_at"), said)
    except (KeyError, TypeError, AttributeError, OverflowError) as e:
        raise NetworkError(f"an answer that is no ticket: {str(said)[:60]}") from e


def _object(data: str) -> Dict[str, Any]:
    try:
        said = json.loads(data)
    except RecursionError as e:
        raise ValueError("too deep") from e
    if not isinstance(said, dict):
        raise ValueError("no object")
    return said


COUNTERS = 1 << 22  # far more than any challenge has, as these two:
ROUNDS = 1 << 20  # of one key
WORK = 1 << 30  # rounds in all


def solve(challenge: Any) -> str:
    """The answer to the challenge of a 428, for the header `segq-challenge`: takes a second of work."""
    p = challenge["parameters"]
    nonce, salt, prefix = (bytes.fromhex(p[k]) for k in ("nonce", "salt", "keyPrefix"))
    if not 1 <= p["cost"] <= ROUNDS:
        raise ValueError("nobody works so long for a place")
    for counter in range(min(COUNTERS, WORK // p["cost"])):
        key = hashlib.pbkdf2_hmac("sha256", nonce + counter.to_bytes(4, "big"), salt, p["cost"])
        if key.startswith(prefix):
            said = {"challenge": challenge, "solution": {"counter": counter, "derivedKey": key.hex()}}
            return base64.b64encode(json.dumps(said).encode()).decode()
    raise ValueError("this challenge has no answer")


class Line:
    """One place in one queue. Iterate over it, or wait(). Not for two threads at once, but leave()."""

    def __init__(self, transport: Transport, queue: str, *, token: Optional[str] = None, device: Optional[str] = None,
                 key: Optional[DeviceKey] = None, subject: Optional[str] = None, client: str = "game", lane: Optional[str] = None,
                 claim: Optional[str] = None, events: bool = True,
                 on_trouble: Optional[Callable[[str], None]] = None) -> None:
        self.queue, self.token = queue, token
        self.device = device  # the cookie of a queue with `bind: device`: save it with the token
        self._pair, self._nonce = key, ""  # of a queue with `bind: key`
        self.ticket: Optional[Ticket] = None
        self.trouble = ""  # "offline", "busy": no answer at the moment; the place is kept
        self._t, self._events, self._on_trouble = transport, events, on_trouble
        body = {"client": client, "subject": subject, "lane": lane, "claim": claim}
        self._body = json.dumps({k: v for k, v in body.items() if v is not None}).encode()
        self._key = uuid.uuid4().hex
        self._deaf = 0.0    # it polls until then
        self._missed = 0    # streams in a row that did not begin
        self._id = ""

    # ---- what callers use ----

    def join(self) -> Ticket:
        """Takes the place, or finds it again. `Forbidden`, `NotFound`: it cannot join."""
        if self.token:
            return self.poll()
        path = f"/v1/queues/{quote(self.queue, safe='')}/tickets"
        headers = {"Content-Type": "application/json", "Idempotency-Key": self._key}
        for left in range(CHALLENGES, -1, -1):
            try:
                return self._heard(self._until("POST", path, self._body, headers))
            except ChallengeRequired as e:
                if not left or not e.problem.get("challenge"):  # the site's own check is asked for
                    raise
                try:
                    headers = {**headers, "segq-challenge": solve(e.problem["challenge"])}
                except (KeyError, TypeError, ValueError) as why:
                    raise e from why
            except Forbidden as e:
                if not e.code.startswith("challenge_") or not left:
                    raise
                headers.pop("segq-challenge", None)  # slept over, or from another network
        raise AssertionError("the last try returns or raises")

    def poll(self) -> Ticket:
        """Asks once; also tells segq that somebody still waits. `TicketGone`: it is over."""
        return self._heard(self._until("GET", self._path()))

    def leave(self) -> None:
        """Gives the place up, or ends the session."""
        if not self.token:
            return
        try:
            self._t.call("DELETE", self._path(), headers=self._with({}))
        except (Unauthorized, Forbidden) as e:
            if not self._may_prove(e):
                raise
            self._t.until_answered(self._prove, self._t.retry_for)
            self._t.call("DELETE", self._path(), headers=self._with({}))

    def wait(self, on_ticket: Optional[Callable[[Ticket], Any]] = None) -> Ticket:
        """Returns when it is let in, with the pass."""
        for t in self:
            if on_ticket is not None:
                on_ticket(t)
        assert self.ticket is not None
        return self.ticket

    def __iter__(self) -> Iterator[Ticket]:
        t = self.join()
        while True:
            yield t
            if t.admitted:
                return
            pause = t.poll_after_s
            if self._events and time.monotonic() >= self._deaf:
                try:
                    pause = yield from self._listen(t)
                except NetworkError:  # its router may be dead: another one knows
                    self._t.rotate(self._t.routers[0])
                    self._missed += 1
                    if self._missed > 1:
                        self._be_deaf(DEAF_S)
                    pause = 0.0
                except (Unavailable, TooFast) as e:
                    self._be_deaf(DEAF_S)
                    pause = e.retry_after or pause
                except (Unauthorized, Forbidden) as e:
                    if not self._may_prove(e):
                        raise
                    self._missed += 1
                    if self._missed > 1:
                        self._be_deaf(DEAF_S)
                    pause = 0.0  # the poll proves the key
                if self.ticket is not None and self.ticket.admitted:
                    return
            current().sleep(pause)
            t = self.poll()

    # ---- within ----

    def _path(self) -> str:
        return f"/v1/tickets/{quote(self.token or '', safe='')}"

    def _with(self, headers: Mapping[str, str]) -> Dict[str, str]:
        return {**headers, "Authorization": "", **({"Cookie": self.device} if self.device else {})}

    def _until(self, method: str, path: str, body: Optional[bytes] = None, headers: Mapping[str, str] = {}) -> Ticket:
        def ask(router: str) -> Ticket:
            for left in range(PROOFS if self._pair else 0, -1, -1):
                try:
                    return ticket_of(self._t.judge(self._once(router, method, path, body, headers, method == "POST")))
                except (Unauthorized, Forbidden) as e:
                    if not left or not self._may_prove(e):
                        raise
                if method != "POST":
                    self._prove(router)
            raise AssertionError("the last try returns or raises")
        return self._t.until_answered(ask, trouble=self._say)

    def _once(self, router: str, method: str, path: str, body: Optional[bytes], headers: Mapping[str, str],
              proves: bool) -> Any:
        """One try. proves: with a proof of the key, if there is one."""
        more = {"DPoP": proof(self._pair, router + path, self._nonce)} if proves and self._pair else {}
        a = self._t.once(router, method, path, body, self._with({**headers, **more}))
        its = DEVICE.match(a.headers.get("set-cookie", ""))  # also of a 503: a ticket that was rebound
        if its:
            self.device = its[0]
        self._nonce = a.headers.get("dpop-nonce") or self._nonce
        return a

    def _may_prove(self, e: ApiError) -> bool:
        """The cookie is ten minutes old, or not there: what needs the key itself."""
        return self._pair is not None and e.code in ("proof_required", "other_device")

    def _prove(self, router: str) -> None:
        """Gets a fresh cookie. `Forbidden`: the ticket is another key's."""
        for left in range(PROOFS, -1, -1):
            a = self._once(router, "POST", self._path() + "/device", None, {}, True)
            if a.status < 300:
                return
            if a.status != 401 or not left:
                self._t.judge(a)

    def _say(self, why: str) -> None:
        if why != self.trouble:
            self.trouble = why
            if self._on_trouble is not None:
                self._on_trouble(why)

    def _heard(self, t: Ticket) -> Ticket:
        self.token, self.ticket = t.token, t
        return t

    def _be_deaf(self, seconds: float) -> None:
        self._deaf = time.monotonic() + seconds * (1 + random.random())

    def _listen(self, t: Ticket) -> Generator[Ticket, None, float]:
        """News by events, until there are none; returns how long to wait before a poll."""
        headers = self._with({"Accept": "text/event-stream"})
        if self._id:
            headers["Last-Event-ID"] = self._id
        router, heard = self._t.routers[0], False
        with self._t.stream(router, "GET", self._path() + "/events", None, headers) as s:
            if s.status != 200:
                a = s.read()
                if a.status >= 400:
                    self._t.judge(a)
                self._be_deaf(seconds(a.headers.get("retry-after")) or DEAF_S)
                return t.poll_after_s
            s.patience = FIRST_S
            place_by = time.monotonic() + QUIET_S
            try:
                for name, data, last in s.events():
                    if name == "message":
                        t = self._heard(ticket_of(_object(data)))
                        heard, self._id, self._missed = True, last, 0
                        place_by = time.monotonic() + max(QUIET_S, 2 * t.poll_after_s)
                        self._say("")
                        yield t
                        if t.admitted:
                            return 0.0
                    elif name == "beat":
                        s.patience = min(600.0, float(data) / 1000) + LATE_S
                        if time.monotonic() > place_by:  # beats without places: its node is away
                            return 0.0
                    elif name == "gone":
                        raise error_of(410, _object(data))
                    elif name == "away":
                        self._t.rotate(router)
                        told = _object(data)["poll_after_ms"]
                        return seconds(min(told, 1e12) / 1000 if isinstance(told, (int, float)) else 0) or 0.0
            except (NetworkError, ValueError, KeyError):
                pass
        self._t.rotate(router)
        if not heard:  # something on the way buffers
            self._be_deaf(DEAF_S)
            return 0.0
        return random.random() * max(t.poll_after_s, FIRST_S)  # all who were told at once come apart


class Several:
    """One person's places in several queues: the first turn is taken, the others are given up (`join_groups` of the
    routers), or kept with others="keep": then each place that is let in has its own `pass`, and it ends when none
    waits any more. name: a group of the routers' configuration, in place of queues. Iterate over it, or wait(): what
    comes is Places of proto/openapi.yaml."""

    def __init__(self, transport: Transport, queues: Sequence[str] = (), *, group: Optional[str] = None,
                 name: Optional[str] = None, others: Optional[str] = None, claim: Optional[str] = None,
                 client: str = "game") -> None:
        self.group = group  # each answer has another one: save the last
        self.places: Mapping[str, Any] = {}  # as last heard
        self._t, self._key = transport, uuid.uuid4().hex
        said = {"queues": list(queues) or None, "group": name, "others": others, "claim": claim, "client": client}
        self._body = json.dumps({k: v for k, v in said.items() if v is not None}).encode()

    def join(self) -> Mapping[str, Any]:
        """Takes the places, all or none, or finds them again. `Forbidden`, `NotFound`: it cannot join."""
        if self.group:
            return self.poll()
        return self._ask("POST", "/v1/places", self._body,
                         {"Content-Type": "application/json", "Idempotency-Key": self._key})

    def poll(self) -> Mapping[str, Any]:
        """Asks once; also tells segq that somebody still waits. `TicketGone`: no place is left."""
        return self._ask("GET", self._path())

    def leave(self) -> None:
        """Gives all places up, or ends the session."""
        if self.group:
            self._t.call("DELETE", self._path(), headers={"Authorization": ""})

    def wait(self, on_places: Optional[Callable[[Mapping[str, Any]], Any]] = None) -> Mapping[str, Any]:
        """Returns when the first turn has come: `["pass"]`."""
        for p in self:
            if on_places is not None:
                on_places(p)
        return self.places

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        p = self.join()
        while True:
            yield p
            if p["state"] == "admitted":
                return
            told = p.get("poll_after_ms")
            current().sleep(min(told, 86400000) / 1000 if isinstance(told, int) and told >= 0 else 1.0)
            p = self.poll()

    def _path(self) -> str:
        return f"/v1/places/{quote(self.group or '', safe='')}"

    def _ask(self, method: str, path: str, body: Optional[bytes] = None, headers: Mapping[str, str] = {}) -> Mapping[str, Any]:
        def ask(router: str) -> Mapping[str, Any]:
            said = self._t.judge(self._t.once(router, method, path, body, {**headers, "Authorization": ""}))
            if not isinstance(said, dict) or not isinstance(said.get("group"), str) or "state" not in said:
                raise NetworkError(f"an answer that is no places: {str(said)[:60]}")
            return said
        said = self.places = self._t.until_answered(ask)
        self.group = said["group"]
        if said["state"] == "over":
            raise error_of(410, {"code": "ticket_gone", "detail": "no place is left: join again"})
        return said
