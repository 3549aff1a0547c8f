#!/usr/bin/env python3
"""test_client.py: the Python client beside servers that do as they are told (fake.py). What the real
cluster does is clients/conformance. The last line is "test_client: N passed, M failed"."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
import random
import signal
import sys
import threading
import time
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from fake import Fake, Signer, answer, b64, problem  # noqa: E402

import segq  # noqa: E402
from segq import ed25519, http1  # noqa: E402
from segq.errors import error_of  # noqa: E402
from segq.scope import Scope  # noqa: E402
from segq.transport import Backoff, Transport  # noqa: E402

TICKET = {"token": "T1", "queue": "login", "lane": "default", "state": "waiting", "position": 5, "total": 9,
          "eta_s": 3, "poll_after_ms": 50, "segment": 1}
IN = {**TICKET, "state": "admitted", "position": 0, "pass": "P", "pass_expires_at": 1}


def quick():
    """No pauses but those that segq told."""
    return mock.patch.object(Backoff, "next", lambda self, told=None: setattr(self, "fails", self.fails + 1) or told or 0.01)


class Bytes(unittest.TestCase):
    """One answer, as it comes over a connection."""

    def get(self, *script, **options):
        with Fake(*script) as f, segq.Client(f.url, **{"retry_for": 0, **options}) as c:
            return c.transport.call("GET", "/x"), f

    def test_connection_is_kept(self):
        with Fake(answer(200, 1), answer(200, 2), answer(200, 3, Connection="close"), answer(200, 4)) as f:
            with segq.Client(f.url) as c:
                self.assertEqual([c.transport.call("GET", "/") for _ in range(4)], [1, 2, 3, 4])
            self.assertEqual(f.connections, 2)

    def test_connection_that_was_closed_meanwhile_is_no_failure(self):
        with Fake(answer(200, 1) + b"<cut>", answer(200, 2)) as f, segq.Client(f.url, retry_for=0) as c:
            self.assertEqual(c.transport.call("GET", "/"), 1)
            time.sleep(0.05)
            self.assertEqual(c.transport.call("GET", "/"), 2)

    def test_chunks(self):
        said, _ = self.get(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[1,\r\n2;x=y\r\n2]\r\n0\r\nT: x\r\n\r\n")
        self.assertEqual(said, [1, 2])

    def test_what_is_cut_off_is_no_answer(self):
        for bad in (b"<cut>", b"HTTP/1.1 200 OK\r\nContent-Le<cut>", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[1]<cut>",
                    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[1]\r\n<cut>",
                    b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", b"SSH-2.0-x\r\n\r\n",
                    b"HTTP/1.1 007 OK\r\nContent-Length: 3\r\n\r\n[1]",
                    *(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s\r\n[1]\r\n0\r\n\r\n" % n
                      for n in (b"-3", b"+3", b"0x3", b"0_3", b"2"))):
            with self.subTest(bad), self.assertRaises(segq.NetworkError):
                self.get(bad)

    def test_chunk_that_begins_at_the_end_of_a_piece(self):
        """The rest of its line comes with more than a head may have."""
        class Two(http1.Connection):
            pieces_ = [b"1", b"0000\r\n" + b"x" * (http1.PIECE - 6), b"x" * 6 + b"\r\n0\r\n\r\n"]

            def _more(self, n=http1.PIECE):
                if not self._in:
                    self._in = self.pieces_.pop(0)
                out, self._in = self._in[:n], self._in[n:]
                return out
        self.assertEqual(sum(map(len, Two("h", 80, None)._chunks())), 1 << 16)

    def test_what_is_behind_an_answer_is_none(self):
        """An answer that is longer than it says: the rest does not answer the next question."""
        with Fake(answer(200, 1) + answer(200, "evil"), answer(200, 2)) as f, segq.Client(f.url, retry_for=0) as c:
            self.assertEqual([c.transport.call("GET", "/"), c.transport.call("GET", "/")], [1, 2])

    def test_long_lines(self):
        said = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"x" * (1 << 20) + b"\na\r\n\nb<cut>"
        with Fake(said, said) as f, segq.Client(f.url) as c:
            with c.call("e", "/") as s:
                self.assertEqual([len(x) for x in s.lines()], [1 << 20, 1, 0, 1])
            with mock.patch("segq.transport.BODY_MAX", 1 << 19), c.call("e", "/") as s, self.assertRaises(segq.NetworkError):
                list(s.lines())

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_process_that_was_forked_has_its_own_connections(self):
        with Fake(*[answer(200, i) for i in range(3)]) as f, segq.Client(f.url) as c:
            c.transport.call("GET", "/")
            pid = os.fork()
            if not pid:
                said = None
                try:
                    said = c.transport.call("GET", "/")
                finally:
                    os._exit(0 if said == 1 else 1)
            self.assertEqual(os.waitpid(pid, 0)[1], 0)
            self.assertEqual(c.transport.call("GET", "/"), 2)
            self.assertEqual(f.connections, 2)

    def test_whatever_comes_is_an_answer_or_an_error_of_ours(self):
        """Bytes are changed, cut, doubled: no exception of another kind, and no wait."""
        good = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[1,\r\n2\r\n2]\r\n0\r\n\r\n", answer(201, TICKET),
                problem(410, "ticket_gone", reason="left"), problem(503, "queue_unavailable", Retry_After="0"),
                answer(207, [{"status": 201, "task": "T"}, {"status": 400}]), events(event(TICKET, i=5), event(IN))]
        calls = (lambda c: c.line("q", token="T", events=False).poll(), lambda c: c.submit_many("q", [{}, {}]),
                 lambda c: c.wait("T"), lambda c: c.figures("q"), lambda c: list(c.call("e", "/").events()), lambda c: c.schedules("q"))
        dice = random.Random(int(os.environ.get("SEED", 7)))
        for i in range(int(os.environ.get("ROUNDS", 60))):
            b = bytearray(dice.choice(good))
            for _ in range(dice.randint(0, 4)):
                at = dice.randrange(len(b))
                what = dice.randrange(3)
                b[at:at + (what > 0) + dice.randrange(4)] = [bytes([dice.randrange(256)]), b"", bytes(b[at:at + 9])][what]
            with self.subTest(i=i, said=bytes(b)), quick(), Fake(bytes(b) + b"<cut>") as f:
                with segq.Client(f.url, timeout=1, retry_for=0) as c, segq.Scope(0.04):
                    try:
                        dice.choice(calls)(c)
                    except segq.SegqError:
                        pass

    def test_garbage_is_no_answer(self):
        with self.assertRaises(segq.NetworkError):
            self.get(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{oops")

    def test_slow_head_and_slow_body_are_bounded_as_a_whole(self):
        """Each byte comes in time; all together do not."""
        for start in (b"HTTP/1.1 200 OK\r\nA: ", b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n"):
            with Fake() as f:
                f._serve = lambda c, start=start: self.drip(c, start)
                with segq.Client(f.url, timeout=0.5, retry_for=0) as c:
                    t0 = time.monotonic()
                    with self.assertRaises(segq.NetworkError):
                        c.transport.call("GET", "/")
                    self.assertLess(time.monotonic() - t0, 1.5)

    @staticmethod
    def drip(c, start):
        try:
            c.recv(999)
            c.sendall(start)
            for _ in range(60):
                c.sendall(b"x")
                time.sleep(0.1)
        except OSError:
            pass

    def test_header_with_a_line_break_is_not_sent(self):
        with Fake(answer(200, 1)) as f, segq.Client(f.url, retry_for=0) as c:
            for text in ("a\r\nHost: b", "\ud800"):
                with self.assertRaises(ValueError):  # at once: it is the same in each try
                    c.transport.call("GET", "/", headers={"X": text}, retry_for=60)
            self.assertEqual(f.asked, [])
            for more in ({"token": "S\n"}, {"headers": {"X": "\r"}}):
                with self.assertRaises(ValueError):
                    segq.Client(f.url, **more)


class Tries(unittest.TestCase):
    def test_busy_is_asked_again_after_the_told_time(self):
        with Fake(problem(503, "queue_unavailable", Retry_After="1"), answer(200, 7)) as f, segq.Client(f.url) as c:
            t0 = time.monotonic()
            self.assertEqual(c.transport.call("GET", "/"), 7)
            self.assertTrue(1 <= time.monotonic() - t0 < 3)

    def test_told_times_that_are_none(self):
        for told in ("inf", "nan", "1e400", "-5", "Wed, 21 Oct 2026 07:28:00 GMT", "x"):
            with self.subTest(told), Fake(problem(503, "queue_unavailable", Retry_After=told)) as f, segq.Client(f.url, retry_for=0) as c:
                with self.assertRaises(segq.Unavailable) as e:
                    c.transport.call("GET", "/")
                self.assertTrue(e.exception.retry_after is None or 0 <= e.exception.retry_after <= 86400)
        for told in (-5, 10**400):
            with Fake(problem(429, "too_fast", poll_after_ms=told)) as f, segq.Client(f.url, retry_for=0) as c:
                with self.assertRaises(segq.TooFast) as e:
                    c.transport.call("GET", "/")
                self.assertTrue(0 <= (e.exception.retry_after or 0) <= 86400)

    def test_redirect_to_nowhere(self):
        for to in ("http://x:99999/", "http://[x/", "http://h:x/", "ftp://h/"):
            with self.subTest(to), Fake(answer(307, None, Location=to)) as f, segq.Client(f.url, retry_for=0) as c:
                with self.assertRaises(segq.NetworkError):
                    c.transport.call("GET", "/")

    def test_backoff_grows_and_is_bounded(self):
        b = Backoff()
        pauses = [b.next() for _ in range(9)]
        self.assertTrue(all(1 <= p / 2 ** min(i, 5) <= 1.5 for i, p in enumerate(pauses[:5])), pauses)
        self.assertTrue(all(30 <= p <= 45 for p in pauses[5:]), pauses)
        self.assertTrue(7 <= b.next(7) <= 10.5)

    def test_another_router_is_asked(self):
        with Fake() as dead, Fake(*[answer(200, 1)] * 4) as f:
            with segq.Client([dead.url, f.url], retry_for=5) as c:
                self.assertEqual([c.transport.call("GET", "/") for _ in range(4)], [1] * 4)
            self.assertLessEqual(len(dead.asked), 1)

    def test_refusal_is_not_asked_again(self):
        for status, code, kind in ((400, "bad_request", segq.BadRequest), (401, "unauthorized", segq.Unauthorized),
                                   (403, "not_eligible", segq.Forbidden), (404, "queue_not_found", segq.NotFound),
                                   (409, "conflict", segq.Conflict), (422, "idempotency_mismatch", segq.BadRequest),
                                   (429, "wait_too_long", segq.TooFast), (502, "endpoint_failed", segq.Unavailable)):
            with self.subTest(code), Fake(problem(status, code)) as f, segq.Client(f.url) as c:
                with self.assertRaises(kind) as e:
                    c.transport.call("GET", "/")
                self.assertEqual((e.exception.status, e.exception.code, e.exception.detail), (status, code, "d"))
                self.assertEqual(len(f.asked), 1)

    def test_reasons_of_410_are_types(self):
        for reason in ("expired", "left", "no_show", "finished", "segment_lost"):
            e = error_of(410, {"code": "ticket_gone", "reason": reason})
            self.assertIsInstance(e, segq.TicketGone)
            self.assertIsNot(type(e), segq.TicketGone)
            self.assertEqual(e.reason, reason)
        self.assertIs(type(error_of(410, {"code": "ticket_gone", "reason": "new"})), segq.TicketGone)
        self.assertIsInstance(error_of(404, {"code": "ticket_unknown"}), segq.TicketGone)

    def test_redirect_keeps_method_and_body_and_the_token_stays_at_home(self):
        with Fake(answer(200, 1)) as there:
            other = there.url.replace("127.0.0.1", "localhost")
            with Fake(answer(307, None, Location=other + "/y")) as f, segq.Client(f.url, token="S", retry_for=0) as c:
                self.assertEqual(c.transport.call("POST", "/x", {"a": 1}), 1)
            self.assertTrue(there.asked[0].startswith(b"POST /y "))
            self.assertEqual(there.bodies, [b'{"a":1}'])
            self.assertNotIn(b"Authorization", there.asked[0])
            self.assertIn(b"Authorization: Bearer S", f.asked[0])

    def test_redirects_end(self):
        with Fake(*[answer(307, None, Location="/x")] * 9) as f, segq.Client(f.url, retry_for=0) as c:
            with self.assertRaises(segq.SegqError):
                c.transport.call("GET", "/x")
            self.assertLessEqual(len(f.asked), 6)


class Scopes(unittest.TestCase):
    def test_deadline_and_cancel(self):
        with Fake(*[b"<stall>"] * 4) as f, segq.Client(f.url) as c:
            t0 = time.monotonic()
            with self.assertRaises(segq.DeadlineExceeded), segq.Scope(0.3):
                c.transport.call("GET", "/")
            scope = segq.Scope()
            threading.Timer(0.3, scope.cancel).start()
            with self.assertRaises(segq.Cancelled), scope, segq.Scope(60):
                c.transport.call("GET", "/")
            self.assertLess(time.monotonic() - t0, 3)

    def test_asyncio_cancel_ends_the_connection(self):
        async def go(f):
            async with segq.AsyncClient(f.url) as c:
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(c.look("T"), 0.3)
        with Fake(b"<stall>") as f:
            t0 = time.monotonic()
            asyncio.run(go(f))
            self.assertLess(time.monotonic() - t0, 3)


def events(*pieces, end=b""):
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + b"".join(pieces) + (end or b"<cut>")


def event(data, name="", i=""):
    return ((f"id: {i}\n" if i != "" else "") + (f"event: {name}\n" if name else "")
            + f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n").encode()


class People(unittest.TestCase):
    def line(self, *script, **options):
        with quick(), Fake(*script) as f, segq.Client(f.url) as c:
            line = c.line("login", **options)
            seen = [t.position for t in line]
            return seen, line, f

    def test_polls(self):
        seen, line, f = self.line(answer(201, TICKET), answer(200, {**TICKET, "position": 2}), answer(200, IN), events=False)
        self.assertEqual((seen, line.ticket.pass_, line.token), ([5, 2, 0], "P", "T1"))

    def test_events(self):
        seen, line, f = self.line(answer(201, TICKET), events(event(TICKET, i=5), event("5000", "beat"), event({**TICKET, "position": 1}), event(IN)))
        self.assertEqual(seen, [5, 5, 1, 0])

    def test_stream_that_is_cut_amid_an_event_says_nothing(self):
        cut = events(event(TICKET, i=5) + b"data: " + json.dumps(IN).encode()[:40])
        with mock.patch("random.random", return_value=0.0):
            seen, line, f = self.line(answer(201, TICKET), cut, answer(200, IN))
        self.assertEqual(seen, [5, 5, 0])

    def test_no_room_for_listeners(self):
        seen, _, f = self.line(answer(201, TICKET), b"HTTP/1.1 204 No\r\nRetry-After: 60\r\n\r\n", answer(200, TICKET), answer(200, IN))
        self.assertEqual(seen, [5, 5, 0])
        self.assertEqual(sum(b"/events" in a for a in f.asked), 1)

    def test_date_in_place_of_seconds(self):
        no = b"HTTP/1.1 204 No\r\nRetry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n\r\n"
        self.assertEqual(self.line(answer(201, TICKET), no, answer(200, IN))[0], [5, 0])

    def test_events_that_are_none(self):
        for bad in (event("1e400", "beat"), event([], "gone"), event([], "away"), event({"poll_after_ms": "x"}, "away"),
                    event("[" * 9999), event(7)):
            with self.subTest(bad[:40]), mock.patch("random.random", return_value=0.0):
                seen, _, _ = self.line(answer(201, TICKET), events(event(TICKET, i=5), bad), answer(200, IN))
                self.assertEqual(seen, [5, 5, 0])

    def test_router_that_refuses_to_be_listened_to_is_polled_at_its_pace(self):
        for refusal in (b"", problem(503, "queue_unavailable")):
            with self.subTest(refusal):
                asked = [lambda q, no=refusal: no if b"/events" in q.split(b"\r\n")[0] else answer(200, TICKET)] * 9
                _, _, f = self.line(answer(201, TICKET), *asked, *[answer(200, IN)] * 9)
                self.assertLessEqual(sum(b"/events" in a for a in f.asked), 4)  # twice, each over a kept connection first

    def test_gone_by_event(self):
        with self.assertRaises(segq.TicketNoShow):
            self.line(answer(201, TICKET), events(event({"status": 410, "code": "ticket_gone", "reason": "no_show"}, "gone")))

    def test_join_that_costs_work_is_worked_for(self):
        """Also anew, if its challenge has expired meanwhile; each with the key that asked."""
        nonce, salt = b"n" * 16, b"s" * 16
        key = hashlib.pbkdf2_hmac("sha256", nonce + (5).to_bytes(4, "big"), salt, 3)
        asks = problem(428, "challenge_required", challenge={"signature": "s", "parameters": {
            "nonce": nonce.hex(), "salt": salt.hex(), "cost": 3, "keyLength": 32, "keyPrefix": key[:16].hex()}})
        for code in "challenge_expired", "challenge_used", "challenge_other_address":
            _, _, f = self.line(asks, problem(403, code), asks, answer(201, IN))
            said = [x.split(b": ")[1] for a in f.asked for x in a.split(b"\r\n") if x.startswith(b"segq-challenge")]
            self.assertEqual([json.loads(base64.b64decode(x))["solution"] for x in said], [{"counter": 5, "derivedKey": key.hex()}] * 2)
            self.assertEqual(len({x for a in f.asked for x in a.split(b"\r\n") if x.startswith(b"Idempotency-Key")}), 1)
        endless = {"nonce": nonce.hex(), "salt": salt.hex(), "cost": 10**12, "keyLength": 32, "keyPrefix": "ff"}
        for parameters in endless, {**endless, "cost": 1, "salt": "x"}, {}:
            with self.subTest(parameters), self.assertRaises(segq.ChallengeRequired):
                self.line(problem(428, "challenge_required", challenge={"signature": "s", "parameters": parameters}))
        with self.assertRaises(segq.ChallengeRequired):
            self.line(*[asks] * 9)

    def test_join_is_repeated_with_its_key(self):
        _, _, f = self.line(b"", answer(201, IN))
        keys = {x for a in f.asked for x in a.split(b"\r\n") if x.startswith(b"Idempotency-Key")}
        self.assertEqual((len(f.asked), len(keys)), (2, 1))

    def test_saved_token_is_not_joined_again(self):
        _, _, f = self.line(answer(200, IN), token="T1")
        self.assertTrue(f.asked[0].startswith(b"GET /v1/tickets/T1 "))

    def test_server_token_is_not_sent(self):
        with Fake(answer(201, IN)) as f, segq.Client(f.url, token="S") as c:
            c.wait_for_pass("login")
            self.assertNotIn(b"Authorization", f.asked[0])

    def test_trouble_is_said_and_is_over(self):
        said = []
        self.line(b"", problem(503, "queue_unavailable"), answer(201, IN), on_trouble=said.append)
        self.assertEqual(said, ["offline", "busy", ""])


class Keys(unittest.TestCase):
    """RFC 8032, section 7.1; and what must not pass."""
    VECTORS = (
        ("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
         "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"),
        ("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
         "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"),
        ("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
         "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"))

    def test_vectors(self):
        for how in (ed25519.verify, ed25519.fast_verify):
            for public, message, signature in self.VECTORS:
                p, m, s = (bytes.fromhex(x) for x in (public, message, signature))
                self.assertTrue(how(p, s, m))
                self.assertFalse(how(p, s, m + b"x"))
                for i in (0, 31, 32, 63):
                    self.assertFalse(how(p, s[:i] + bytes([s[i] ^ 1]) + s[i + 1:], m), i)
                more = (int.from_bytes(s[32:], "little") + ed25519.L).to_bytes(33, "little")
                if not more[32]:  # the same signature, written in a second way
                    self.assertFalse(how(p, s[:32] + more[:32], m))
                self.assertFalse(how(p, s[:63], m))
                self.assertFalse(how(b"\xff" * 32, s, m))

    def test_keys_of_a_small_order(self):
        """They have signed every eighth message at least, whoever asks."""
        self.assertEqual(len({y % ed25519.P for y in ed25519.SMALL}), 5)
        zero = b"\x01" + b"\0" * 63
        for y in ed25519.SMALL:
            for n in (y, y + (1 << 255), y + ed25519.P):
                if n < 1 << 256 and (n < y + ed25519.P or y < 19):
                    public = n.to_bytes(32, "little")
                    for how in (ed25519.verify, ed25519.fast_verify):
                        self.assertFalse(any(how(public, zero, bytes([i])) for i in range(32)), public)
            p = ed25519._point(y.to_bytes(32, "little"))
            for _ in range(3):
                p = ed25519._double(p)
            self.assertEqual((p[0] % ed25519.P, (p[1] - p[2]) % ed25519.P), (0, 0))  # it is of such an order

    def test_signer_of_these_tests(self):
        k = Signer(bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"))
        self.assertEqual(k.public.hex(), self.VECTORS[0][0])
        self.assertEqual(k.sign(b"").hex(), self.VECTORS[0][2])


class Signed:
    OLD, NEW = Signer(b"1" * 32), Signer(b"2" * 32)

    def claims(self, **more):
        now = int(time.time())
        return {"iss": "segq", "aud": "login", "sub": "u", "jti": "1-2", "lane": "default", "iat": now, "nbf": now,
                "exp": now + 300, **more}

    def gate(self, f, **options):
        return segq.Gate(f.url, "login", **options)

    def keys(self, *signers, age=60):
        return answer(200, {"keys": [s.jwk() for s in signers]}, Cache_Control=f"public, max-age={age}")


class Gates(Signed, unittest.TestCase):
    def refused(self, token, code, kind=segq.PassInvalid, **options):
        with Fake(self.keys(self.OLD)) as f, self.assertRaises(kind) as e:
            self.gate(f).check(token, **options)
        self.assertEqual(e.exception.code, code)

    def test_good_pass_and_keys_are_asked_for_once(self):
        with Fake(self.keys(self.OLD)) as f:
            g = self.gate(f)
            for _ in range(3):
                self.assertEqual(g.check(self.OLD.jwt(self.claims())).ticket, "1-2")
            self.assertEqual(g.check(self.OLD.jwt(self.claims(sub="v"))).subject, "v")
            self.assertEqual(len(f.asked), 1)

    def test_what_opens_nothing(self):
        good = self.OLD.jwt(self.claims())
        head, body, sig = good.split(".")
        self.refused(self.NEW.jwt(self.claims()), "unknown_key")
        self.refused(self.NEW.jwt(self.claims(), kid=self.OLD.kid), "signature")
        self.refused(f"{head}.{b64(json.dumps(self.claims(lane='vip')).encode())}.{sig}", "signature")
        self.refused(f"{head}.{body}", "malformed")
        self.refused("", "malformed")
        self.refused(good + "=", "malformed")
        self.refused(self.OLD.jwt(self.claims(aud="other")), "other_queue")
        self.refused(self.OLD.jwt(self.claims(aud=["login"])), "malformed")
        self.refused(self.OLD.jwt(self.claims(exp=True)), "malformed")
        self.refused(self.OLD.jwt(self.claims(), alg="none"), "algorithm")
        self.refused(self.OLD.jwt(self.claims(), crit=["x"]), "algorithm")
        self.refused(self.OLD.jwt(self.claims(), kid=["x"]), "malformed")
        self.refused(self.OLD.jwt(self.claims(), kid=None), "malformed")
        self.refused(self.OLD.jwt(self.claims(exp=int(time.time()) - 60)), "expired", segq.PassExpired)
        self.refused(self.OLD.jwt(self.claims(nbf=int(time.time()) + 60)), "not_yet_valid", segq.PassNotYetValid)
        self.refused(self.OLD.jwt(self.claims(use="once")), "once")

    def test_clocks_may_differ_a_little(self):
        with Fake(self.keys(self.OLD)) as f:
            with self.assertRaises(segq.PassInvalid):
                self.gate(f).check(None)
            g = self.gate(f, leeway_s=30)
            g.check(self.OLD.jwt(self.claims(exp=int(time.time()) - 20)))
            g.check(self.OLD.jwt(self.claims(nbf=int(time.time()) + 20)))

    def test_bound_passes(self):
        t = self.OLD.jwt(self.claims(htm="POST", htu="/api/images"))
        with Fake(self.keys(self.OLD)) as f:
            g = self.gate(f)
            g.check(t, method="POST", path="/api/images/7?x=1")
            for method, path, code in (("GET", "/api/images", "other_method"), ("POST", "/api/images2", "other_url"),
                                       ("POST", "/api/images/../x", "other_url"), ("POST", "/api/images/%2e%2e/x", "other_url"),
                                       ("POST", "/api/images/..;/x", "other_url"), ("POST", "/api/images/a b", "other_url"),
                                       (None, None, "other_method"), ("POST", None, "other_url")):
                with self.assertRaises(segq.PassInvalid) as e:
                    g.check(t, method=method, path=path)
                self.assertEqual(e.exception.code, code)

    def test_keys_rotate(self):
        with Fake(self.keys(self.OLD), self.keys(self.NEW)) as f:
            g = self.gate(f)
            old, new = self.OLD.jwt(self.claims()), self.NEW.jwt(self.claims())
            g.check(old)
            with mock.patch("segq.gate.AGAIN_S", 0):
                g.check(new)  # a kid that is not known: asked anew at once
            with self.assertRaises(segq.PassInvalid):
                g.check(old)  # its key is gone, also for passes that were seen
            self.assertEqual(len(f.asked), 2)

    def test_unknown_kids_do_not_ask_each_time(self):
        with Fake(self.keys(self.OLD)) as f:
            g = self.gate(f)
            for i in range(5):
                with self.assertRaises(segq.PassInvalid):
                    g.check(self.NEW.jwt(self.claims(sub=str(i))))
            self.assertEqual(len(f.asked), 1)

    def test_old_keys_do_while_no_router_answers(self):
        with Fake(self.keys(self.OLD, age=0)) as f, mock.patch("segq.gate.AGAIN_S", 0):
            g = self.gate(f)
            self.assertEqual([g.check(self.OLD.jwt(self.claims())).lane for _ in range(2)], ["default"] * 2)

    def test_keys_are_asked_for_now_and_then_whatever_their_age(self):
        for age in (0, 10**30):
            with Fake(self.keys(self.OLD, age=age)) as f:
                g = self.gate(f)
                for i in range(3):
                    g.check(self.OLD.jwt(self.claims(sub=str(i))))
                self.assertEqual(len(f.asked), 1)
                self.assertLess(g._keys._until, time.monotonic() + 3601)

    def test_keys_that_are_none(self):
        for bad in ({"keys": [1]}, {"keys": []}, [], {"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": [], "x": ""}]}, {}):
            with self.subTest(bad), Fake(self.keys(self.OLD), *[answer(200, bad)] * 3) as f, mock.patch("segq.gate.AGAIN_S", 0):
                g = self.gate(f)
                g.check(self.OLD.jwt(self.claims()))
                with self.assertRaises(segq.PassInvalid):
                    g.check(self.NEW.jwt(self.claims()))
                g.check(self.OLD.jwt(self.claims()))  # the old ones still do
            with Fake(answer(200, bad)) as f, self.assertRaises(segq.NetworkError):
                self.gate(f).check(self.OLD.jwt(self.claims()))

    def test_who_waits_for_keys_in_vain_is_not_told_that_the_pass_is_bad(self):
        def slow(_):
            time.sleep(0.3)
            return problem(404, "not_found")
        with Fake(slow, *[problem(404, "not_found")] * 9) as f:
            g, why = self.gate(f), []

            def check():
                try:
                    g.check(self.OLD.jwt(self.claims()))
                except segq.SegqError as e:
                    why.append(e)
            threads = [threading.Thread(target=check) for _ in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertEqual((len(why), len(f.asked)), (4, 1))
            self.assertFalse([e for e in why if isinstance(e, segq.PassInvalid)])

    def test_claim(self):
        head, body, sig = segq.sign_claim("s" * 32 + "\n", kid="shop", aud="login", lane="vip", sub=None).split(".")
        want = hmac.new(b"s" * 32, f"{head}.{body}".encode(), hashlib.sha256).digest()
        self.assertEqual(sig, b64(want))
        said = json.loads(base64.urlsafe_b64decode(body + "=="))
        self.assertEqual((said["aud"], said["lane"], "sub" in said, said["exp"] - said["iat"]), ("login", "vip", False, 300))


class Middleware(Signed, unittest.TestCase):
    """The same gate, behind WSGI and ASGI."""

    def wsgi(self, f, ask, **environ):
        g, seen = self.gate(f, ask=ask, timeout=0.5), {}

        def app(env, start):
            seen["pass"] = env["segq.pass"]
            start("200 OK", [])
            return [b"hello"]

        def start(status, headers):
            seen["status"], seen["headers"] = int(status.split()[0]), dict(headers)
        list(g.wsgi(app)({"REQUEST_METHOD": "GET", "PATH_INFO": "/shop", "QUERY_STRING": "a=1", **environ}, start))
        return seen

    def test_wsgi(self):
        cookie = {"HTTP_COOKIE": f"a=b; segq_pass={self.OLD.jwt(self.claims())}"}
        with Fake(self.keys(self.OLD)) as f:
            seen = self.wsgi(f, "never", **cookie)
            self.assertEqual((seen["status"], seen["pass"].ticket), (200, "1-2"))
        with Fake(self.keys(self.OLD)) as f:
            self.assertEqual(self.wsgi(f, "never")["headers"]["X-Segq-Location"], "/q/login?return=/shop%3Fa%3D1")
            self.assertEqual(self.wsgi(f, "never", HTTP_ACCEPT="text/html")["status"], 303)
        with Fake(b"HTTP/1.1 204 No\r\nX-Segq-Ticket: 1-2\r\nSet-Cookie: segq_pass=new\r\n\r\n") as f:
            seen = self.wsgi(f, "always", **cookie)
            self.assertEqual((seen["pass"].ticket, seen["headers"]["Set-Cookie"]), ("1-2", "segq_pass=new"))
            self.assertNotIn(b"a=b", f.asked[0])
            self.assertIn(b"X-Original-URI: /shop?a=1", f.asked[0])
        for lets_in in (b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n", answer(301, None), answer(200, {}),
                        answer(204, None), b"HTTP/1.1 204 No\r\nX-Segq-Ticket: 1-2\r\nX-Segq-Queue: other\r\n\r\n"):
            with self.subTest(lets_in), Fake(lets_in) as f:  # none of them is a router's yes
                self.assertEqual(self.wsgi(f, "always")["status"], 503)
        with Fake(problem(403, "pass_revoked")) as f:  # a router's no counts, whatever the signature
            self.assertEqual(self.wsgi(f, "always", **cookie)["status"], 403)

    def test_what_a_visitor_sends(self):
        good = self.OLD.jwt(self.claims())
        cookie = {"HTTP_COOKIE": f"segq_pass={good}", "HTTP_X_SEGQ_TICKET": "9-9"}
        with Fake(self.keys(self.OLD)) as f:
            env = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", **cookie}
            list(self.gate(f, ask="never").wsgi(lambda env, start: [])(env, None))
            self.assertNotIn("HTTP_X_SEGQ_TICKET", env)
            env = {"REQUEST_METHOD": "HEAD", "PATH_INFO": "/"}
            self.assertEqual(list(self.gate(f, ask="never").wsgi(None)(env, lambda *_: None)), [])
        with Fake(self.keys(self.OLD)) as f:
            once = self.OLD.jwt(self.claims(use="once"))
            self.assertEqual(self.gate(f, ask="never").decide("GET", "/", {"cookie": f"segq_pass={once}"}).status, 401)
            self.assertEqual(len(f.asked), 1)  # for the keys
        with Fake() as f:
            d = self.gate(f).decide("GET", "/a\r\nX-Segq: b", {})
            self.assertEqual((d.status, f.asked), (401, []))
            with self.assertRaises(segq.PassInvalid):
                self.gate(f).verify("a\nX: b")

    def test_passes_of_another_kind_beside_ours(self):
        """A bearer of the site itself, and our cookie: the session that ends is ours."""
        with Fake(answer(204, None)) as f:
            g = self.gate(f)
            g._obey(["release"], {"authorization": "Bearer theirs", "cookie": "segq_pass=ours; a=b"})
            end = time.monotonic() + 5
            while not f.asked and time.monotonic() < end:
                time.sleep(0.01)
            self.assertIn(b"Cookie: segq_pass=ours\r\n", f.asked[0])

    def test_pass_that_is_good_once_is_asked_about_under_one_name(self):
        yes = b"HTTP/1.1 204 No\r\nX-Segq-Ticket: 1-2\r\n\r\n"
        with Fake(b"") as dead, Fake(yes) as f:
            g = segq.Gate([dead.url, f.url], "login", secret="s")
            g._t.routers = [dead.url, f.url]
            self.assertEqual(g.verify("P", once=True).ticket, "1-2")
            names = {x for a in dead.asked + f.asked for x in a.split(b"\r\n") if x.startswith(b"X-Segq-Ask")}
            self.assertEqual(len(names), 1)

    def test_keys_are_there_when_no_router_is(self):
        """They were never needed while routers answered."""
        yes = b"HTTP/1.1 204 No\r\nX-Segq-Ticket: 1-2\r\n\r\n"
        headers = {"cookie": f"segq_pass={self.OLD.jwt(self.claims())}"}
        with Fake(yes, self.keys(self.OLD)) as f:
            g = self.gate(f, timeout=0.5)
            self.assertEqual(g.decide("GET", "/", headers).status, 0)
            end = time.monotonic() + 5
            while not g._keys._keys and time.monotonic() < end:
                time.sleep(0.01)
            self.assertTrue(g._keys._keys)
        self.assertEqual(g.decide("GET", "/", headers).status, 0)
        self.assertEqual(g.decide("GET", "/", {}).status, 503)

    def test_no_router_answers(self):
        with Fake(self.keys(self.OLD)) as f:
            g = self.gate(f, timeout=0.5)
            g.check(self.OLD.jwt(self.claims()))
            headers = {"cookie": f"segq_pass={self.OLD.jwt(self.claims())}"}
            self.assertEqual(g.decide("GET", "/", headers).status, 0)
            self.assertEqual(g.decide("GET", "/", {}).status, 503)

    def test_websockets(self):
        async def go(f, headers):
            sent = []

            async def app(scope, receive, send):
                await send({"type": "websocket.accept"})

            async def send(m):
                sent.append((m["type"], m.get("code")))
            for raw in (b"/ws", "/ws"):
                await self.gate(f, ask="never").asgi(app)(
                    {"type": "websocket", "path": "/ws", "raw_path": raw, "query_string": b"a=1", "headers": headers}, None, send)
            with self.assertRaises(KeyError):  # what is neither is not let through
                await self.gate(f, ask="never").asgi(app)({"type": "webtransport"}, None, send)
            return sent
        with Fake(*[self.keys(self.OLD)] * 2) as f:
            cookie = [(b"cookie", b"segq_pass=" + self.OLD.jwt(self.claims()).encode())]
            self.assertEqual(asyncio.run(go(f, cookie)), [("websocket.accept", None)] * 2)
            self.assertEqual(asyncio.run(go(f, [])), [("websocket.close", 4401)] * 2)

    def test_asgi(self):
        async def go(f, headers):
            sent, seen = [], {}

            async def app(scope, receive, send):
                seen["pass"] = scope["segq.pass"]
                await send({"type": "http.response.start", "status": 200, "headers": []})

            async def send(m):
                sent.append(m)
            await self.gate(f, ask="never").asgi(app)(
                {"type": "http", "method": "GET", "path": "/ü", "query_string": b"", "headers": headers}, None, send)
            return sent[0], seen
        with Fake(self.keys(self.OLD)) as f:
            first, seen = asyncio.run(go(f, [(b"authorization", b"Bearer " + self.OLD.jwt(self.claims()).encode())]))
            self.assertEqual((first["status"], seen["pass"].ticket), (200, "1-2"))
        with Fake(self.keys(self.OLD)) as f:
            first, seen = asyncio.run(go(f, []))
            self.assertEqual((first["status"], seen), (401, {}))
            self.assertIn((b"x-segq-location", b"/q/login?return=/%C3%BC"), [(k, v.replace(b"%25", b"%")) for k, v in first["headers"]])


class Hooks(unittest.TestCase):
    SECRET, ID, AT, BODY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'

    def headers(self, signature, at=None):
        return {"Webhook-Id": self.ID, "webhook-timestamp": str(at or self.AT), "WEBHOOK-SIGNATURE": signature}

    def at(self, seconds):
        return mock.patch("time.time", return_value=seconds)

    def test_the_standards_own_example(self):
        good = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        with self.at(self.AT + 10):
            h = segq.Webhook(["whsec_" + base64.b64encode(b"n" * 24).decode(), self.SECRET])
            self.assertEqual(h.verify(self.headers("v1,AAAA v2,x " + good), self.BODY), self.ID)
            for headers, body in ((self.headers(good), self.BODY + b" "), (self.headers("v1a" + good[2:]), self.BODY),
                                  (self.headers(""), self.BODY), (self.headers(good, "9" * 5000), self.BODY),
                                  (self.headers("v1,AAAA " * 99 + good), self.BODY), (self.headers(good, self.AT + 1), self.BODY), ({}, self.BODY)):
                with self.assertRaises(segq.SignatureInvalid):
                    h.verify(headers, body)
        for off in (-301, 301):
            with self.at(self.AT + off), self.assertRaises(segq.SignatureInvalid):
                h.verify(self.headers(good), self.BODY)

    def test_id_with_a_full_stop(self):
        """What was signed as ID.AT.TEXT.{} is not ID.AT at the time TEXT."""
        body = f"{self.AT + 5000}.x".encode()
        raw = base64.b64decode(self.SECRET[6:])
        sig = "v1," + base64.b64encode(hmac.new(raw, f"{self.ID}.{self.AT}.".encode() + body, hashlib.sha256).digest()).decode()
        h = segq.Webhook(self.SECRET)
        with self.at(self.AT):
            h.verify(self.headers(sig), body)
        with self.at(self.AT + 5000), self.assertRaises(segq.SignatureInvalid):
            h.verify({"webhook-id": f"{self.ID}.{self.AT}", "webhook-timestamp": str(self.AT + 5000), "webhook-signature": sig}, b"x")

    def test_ed25519(self):
        k = Signer(b"7" * 32)
        sig = base64.b64encode(k.sign(f"{self.ID}.{self.AT}.".encode() + self.BODY)).decode()
        h = segq.Webhook("whpk_" + base64.b64encode(k.public).decode())
        with self.at(self.AT):
            h.verify(self.headers("v1a," + sig), self.BODY)
            with self.assertRaises(segq.SignatureInvalid):
                h.verify(self.headers("v1," + sig), self.BODY)

    def test_wrong_keys_are_said(self):
        for bad in ([], "x", "whsec_", "whsec_AAAA", "whpk_" + base64.b64encode(b"1" * 31).decode()):
            with self.assertRaises(ValueError):
                segq.Webhook(bad)


class Lines:
    """A queue in memory, in place of the transport: takes and settles as segq does."""
    timeout, token = 1.0, "S"

    def __init__(self, n):
        self.todo = [{"task": f"T{i}", "lease_id": f"L{i}", "attempt": 1, "payload": {"i": i, "traceparent": "00-a"}} for i in range(n)]
        self.rows, self.sizes, self.answers = [], [], {}
        self.lock = threading.Lock()
        self.broken = 0

    def call(self, method, path, body=None, **_):
        json.dumps(body)
        with self.lock:
            if self.broken:
                self.broken -= 1
                raise segq.NetworkError("broken")
            if path.endswith("/take"):
                out, self.todo = self.todo[:body["n"]], self.todo[body["n"]:]
                self.sizes.append((body["n"], len(out)))
            else:
                self.rows += body
                return [self.answers.get((r["task"], r["verb"]), {"status": 200}) for r in body]
        if not out:
            time.sleep(0.02)
        return {"tasks": out}


class Workers(unittest.TestCase):
    def run_worker(self, lines, handler, until, **options):
        client = mock.Mock(transport=lines)
        w = segq.Worker(client, "q", handler, **{"concurrency": 4, "wait_s": 0, "drain_s": 2, **options})
        w.start()
        end = time.monotonic() + 10
        while not until(w) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertTrue(until(w))
        w.stop()
        w.join()
        return w

    def test_handler_that_exits(self):
        """sys.exit() of a handler ends no thread, and no loop."""
        async def coroutine(job):
            await asyncio.sleep(0)
            sys.exit(3)
        for handler in (lambda job: sys.exit(3), coroutine):
            lines = Lines(3)
            with self.assertLogs("segq", "WARNING"):
                self.run_worker(lines, handler, lambda w: w.counts["failed"] == 3, concurrency=1)
            self.assertEqual({r["reason"] for r in self.verbs(lines)["nack"]}, {"SystemExit: 3"})

    def test_exceptions_that_cannot_be_said(self):
        class Mute(Exception):
            def __str__(self):
                raise ValueError
        lines = Lines(2)

        def handle(job):
            raise Mute if job.token == "T0" else segq.Nack("x", delay=object())
        with self.assertLogs("segq", "WARNING"), quick():
            self.run_worker(lines, handle, lambda w: len(lines.rows) == 2)
        self.assertEqual({r["task"]: r["reason"][:4] for r in self.verbs(lines)["nack"]}, {"T0": "Mute", "T1": "its "})

    def test_end_that_cannot_be_written_spoils_no_others(self):
        lines = Lines(3)
        gate = threading.Barrier(3)

        def handle(job):
            gate.wait(5)
            if job.token == "T1":
                raise segq.Nack("x", delay=object())
        self.run_worker(lines, handle, lambda w: len(lines.rows) == 3, concurrency=3)
        self.assertEqual(sorted(r["task"] for r in self.verbs(lines)["ack"]), ["T0", "T2"])

    def test_queue_whose_node_is_away_delays_no_others(self):
        class Two(Lines):
            def call(self, method, path, body=None, **more):
                if path.endswith("/a/tasks/settle"):
                    raise segq.NetworkError("away")
                return super().call(method, path, body, **more)
        lines = Two(2)
        lines.todo[0]["queue"], lines.todo[1]["queue"] = "a", "b"

        def handle(job):
            if job.queue == "b":
                time.sleep(0.3)  # a's is told first
        w = segq.Worker(mock.Mock(transport=lines), ["a", "b"], handle, concurrency=2, lease_s=5, wait_s=0)
        w.start()
        end = time.monotonic() + 2
        while not lines.rows and time.monotonic() < end:
            time.sleep(0.01)
        w.stop(0)
        self.assertEqual([r["task"] for r in lines.rows], ["T1"])

    def test_answers_that_are_none_end_no_thread(self):
        class Odd(Lines):
            odd = [{"tasks": [7]}, {"tasks": 7}, [], {"tasks": [{"task": "X"}]}]

            def call(self, method, path, body=None, **more):
                if path.endswith("/take") and self.odd:
                    return self.odd.pop(0)
                said = super().call(method, path, body, **more)
                if path.endswith("/settle") and body[0]["verb"] == "extend" and len(self.rows) < 3:
                    return ["x", {"status": "y"}, {}][len(self.rows) - 1]
                return said
        lines = Odd(1)
        with quick():
            self.run_worker(lines, lambda job: time.sleep(1.9), lambda w: w.counts["succeeded"] == 1, lease_s=1.6)
        self.assertEqual([r["verb"] for r in lines.rows][-1], "ack")
        self.assertGreaterEqual(len(self.verbs(lines)["extend"]), 3)

    def test_router_that_does_not_wait_is_not_asked_all_the_time(self):
        class Quick(Lines):
            def call(self, *a, **k):
                self.sizes.append(a)
                return {"tasks": []}
        lines = Quick(0)
        self.run_worker(lines, print, lambda w: len(lines.sizes) > 2)
        self.assertLess(len(lines.sizes), 9)

    def test_coroutines_ahead_wait_for_their_turn(self):
        lines, most, now = Lines(20), [0], [0]

        async def handle(job):
            now[0] += 1
            most[0] = max(most[0], now[0])
            await asyncio.sleep(0.01)
            now[0] -= 1
        self.run_worker(lines, handle, lambda w: w.counts["succeeded"] == 20, concurrency=2, prefetch=6)
        self.assertEqual(most, [2])

    def test_worker_that_could_do_nothing(self):
        for bad in ({"concurrency": 0}, {"prefetch": -1}, {"lease_s": 0}, {"lease_s": float("nan")}):
            with self.assertRaises(ValueError):
                segq.Worker(mock.Mock(), "q", print, **bad)

    def verbs(self, lines):
        out = {}
        for r in lines.rows:
            out.setdefault(r["verb"], []).append(r)
        return out

    def test_end_that_is_refused_is_told_plainly(self):
        lines = Lines(2)
        lines.answers["T0", "ack"] = {"status": 413, "detail": "the result is too long"}
        lines.answers["T1", "nack"] = {"status": 400, "detail": "delay"}

        def handle(job):
            if job.token == "T1":
                raise segq.Nack("later", delay="-1s")
            return "long"
        with quick():
            w = self.run_worker(lines, handle, lambda w: len(lines.rows) == 4)
        self.assertIn("too long", "".join(r["reason"] for r in self.verbs(lines)["nack"]))
        self.assertEqual(w.counts["lost"], 1)  # T1, since Lines refuses all its nacks

    def test_result_that_is_no_text_spoils_no_others(self):
        lines = Lines(3)
        bad = {"T0": float("nan"), "T1": "\ud800", "T2": 1}
        self.run_worker(lines, lambda job: bad[job.token], lambda w: w.counts["succeeded"] + w.counts["failed"] == 3)
        self.assertEqual([r["task"] for r in self.verbs(lines)["ack"]], ["T2"])
        self.assertEqual(len(self.verbs(lines)["nack"]), 2)

    def test_each_is_done_once_and_told(self):
        lines, most, now = Lines(200), [0], [0]

        def handle(job):
            with lines.lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            time.sleep(0.001)
            with lines.lock:
                now[0] -= 1
            return job.payload["i"]
        self.run_worker(lines, handle, lambda w: w.counts["succeeded"] == 200)
        acks = self.verbs(lines)["ack"]
        self.assertEqual(sorted(r["result"] for r in acks), list(range(200)))
        self.assertLessEqual(most[0], 4)
        self.assertLessEqual(max(n for n, _ in lines.sizes), 4)  # only what it can begin

    def test_coroutines(self):
        lines = Lines(200)

        async def handle(job):
            await asyncio.sleep(0.01)
            return job.payload["i"]
        t0 = time.monotonic()
        self.run_worker(lines, handle, lambda w: w.counts["succeeded"] == 200, concurrency=100)
        self.assertEqual(len(self.verbs(lines)["ack"]), 200)
        self.assertLess(time.monotonic() - t0, 2)

    def test_handler_that_throws(self):
        lines = Lines(3)

        def handle(job):
            if job.payload["i"] == 0:
                raise ValueError("a\nb" + "ü" * 200)
            if job.payload["i"] == 1:
                raise segq.Nack("no paper", delay="5s")
            return object()
        with self.assertLogs("segq", "WARNING"):
            self.run_worker(lines, handle, lambda w: w.counts["failed"] == 3)
        by = {r["task"]: r for r in self.verbs(lines)["nack"]}
        self.assertTrue(by["T0"]["reason"].startswith("ValueError: a b"))
        self.assertLessEqual(len(by["T0"]["reason"].encode()), 200)
        self.assertEqual((by["T1"]["reason"], by["T1"]["delay"]), ("no paper", "5s"))
        self.assertIn("no JSON", by["T2"]["reason"])

    def test_leases_are_extended_and_lost(self):
        lines, seen = Lines(2), []
        lines.answers["T1", "extend"] = {"status": 409, "code": "conflict"}

        def handle(job):
            time.sleep(1.2)
            seen.append((job.token, job.lost))
        w = self.run_worker(lines, handle, lambda w: len(seen) == 2, lease_s=0.8)
        v = self.verbs(lines)
        self.assertGreaterEqual(len([r for r in v["extend"] if r["task"] == "T0"]), 2)
        self.assertEqual(sorted(seen), [("T0", False), ("T1", True)])
        self.assertEqual([r["task"] for r in v["ack"]], ["T0"])
        self.assertEqual(w.counts["lost"], 1)

    def test_progress_the_newest_word_is_told(self):
        class Told(Lines):
            said = []

            def call(self, method, path, body=None, **more):
                if not path.endswith("/progress"):
                    return super().call(method, path, body, **more)
                self.said.append((path.split("/")[3], body))
                if path.split("/")[3] == "T1":
                    raise segq.Conflict(409, {"code": "conflict"})
                return {}
        lines = Told(2)

        def handle(job):
            for i in range(100):
                job.progress(i, "a\nb", [i])
            end = time.monotonic() + 5
            while not job.lost and (job.token == "T1" or not lines.said) and time.monotonic() < end:
                time.sleep(0.02)
        w = self.run_worker(lines, handle, lambda w: w.counts["succeeded"] + w.counts["lost"] == 2)
        by = dict(lines.said)
        self.assertEqual(len(lines.said), 2)
        self.assertEqual({k: v for k, v in by["T0"].items() if k != "lease_id"},
                         {"percent": 99, "text": "a b", "data": [99]})
        self.assertEqual(w.counts["lost"], 1)

    def test_what_does_not_end_is_given_back(self):
        lines = Lines(3)
        stop = threading.Event()
        self.run_worker(lines, lambda job: stop.wait(20), lambda w: w.counts["started"] == 2, concurrency=2,
                        prefetch=1, drain_s=0.2)
        stop.set()
        self.assertEqual(sorted(r["task"] for r in self.verbs(lines)["nack"]), ["T0", "T1", "T2"])

    def test_broken_connections_lose_nothing(self):
        lines = Lines(50)

        def handle(job):
            with lines.lock:
                lines.broken = 1
        with quick():
            self.run_worker(lines, handle, lambda w: w.counts["succeeded"] == 50)
        self.assertEqual(len({r["task"] for r in self.verbs(lines)["ack"]}), 50)

    def test_trace_context_is_handed_on(self):
        lines, seen = Lines(1), []

        def handle(job):
            seen.append(segq.task_body({"x": 1})["payload"]["traceparent"])
            seen.append(segq.task_body(path="/x")["headers"]["traceparent"])
        self.run_worker(lines, handle, lambda w: w.counts["succeeded"] == 1)
        self.assertEqual(seen, ["00-a"] * 2)
        self.assertEqual(segq.task_body({"x": 1})["payload"], {"x": 1})

    def test_sigterm_drains(self):
        lines, done = Lines(4), []

        def handle(job):
            if job.token == "T0":
                os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.1)
            done.append(job.token)
        segq.Worker(mock.Mock(transport=lines), "q", handle, concurrency=2, wait_s=0).run()
        self.assertEqual(len(self.verbs(lines)["ack"]), len(done))
        self.assertGreaterEqual(len(done), 2)

    def test_refusal_ends_it(self):
        class Refusing(Lines):
            def call(self, *a, **k):
                raise error_of(403, {"code": "not_eligible"})
        with self.assertLogs("segq", "ERROR"), self.assertRaises(segq.Forbidden):
            segq.Worker(mock.Mock(transport=Refusing(0)), "q", print).run()


class Tasks(unittest.TestCase):
    def test_lost_answer_is_repeated_under_its_key(self):
        with quick(), Fake(b"", answer(201, {"task": "T", "state": "waiting"})) as f, segq.Client(f.url) as c:
            self.assertEqual(c.submit("q", 1).token, "T")
            keys = {x for a in f.asked for x in a.split(b"\r\n") if x.startswith(b"Idempotency-Key")}
            self.assertEqual((len(f.asked), len(keys)), (2, 1))

    def test_rows_that_are_put_off_are_asked_again(self):
        first = answer(207, [{"status": 201, "task": "A"}, {"status": 503, "code": "queue_unavailable"}, {"status": 400, "code": "bad_request"}])
        with quick(), Fake(first, answer(207, [{"status": 201, "task": "B"}])) as f, segq.Client(f.url) as c:
            rows = c.submit_many("q", [segq.task_body(i) for i in range(3)])
            self.assertEqual([(r.status, r.task) for r in rows], [(201, "A"), (201, "B"), (400, None)])
            self.assertIsInstance(rows[2].error, segq.BadRequest)
            self.assertEqual(json.loads(f.bodies[0])[1]["idempotency_key"], json.loads(f.bodies[1])[0]["idempotency_key"])

    def test_router_that_does_not_wait_is_not_asked_all_the_time(self):
        running = answer(200, {"task": "T", "state": "running"})
        with Fake(*[running] * 99) as f, segq.Client(f.url) as c:
            with self.assertRaises(segq.DeadlineExceeded):
                c.wait("T", timeout=0.8)
            self.assertLess(len(f.asked), 4)
        with Fake(*[answer(202, {})] * 99) as f, segq.Client(f.url) as c, segq.Scope(0.8):
            with self.assertRaises(segq.DeadlineExceeded):
                c.follow("T")
            self.assertLess(len(f.asked), 4)

    def test_batch_of_large_rows_is_several(self):
        def say(q):
            rows = json.loads(q.partition(b"\r\n\r\n")[2])
            if len(rows[0]["payload"]) > 1 << 20:
                return problem(413, "payload_too_large")
            return answer(207, [{"status": 201, "task": r["payload"][:2]} for r in rows])
        sizes = [200_000] * 6 + [2_000_000, 10]
        with Fake(*[say] * 9) as f, segq.Client(f.url, retry_for=0) as c:
            rows = c.submit_many("q", [segq.task_body(f"{i:02}" + "x" * n) for i, n in enumerate(sizes)])
        self.assertEqual([r.task for r in rows], ["00", "01", "02", "03", "04", "05", None, "07"])
        self.assertEqual((rows[6].status, rows[6].error.code), (413, "payload_too_large"))
        self.assertTrue(all(len(b) < 1 << 20 or len(json.loads(b)) == 1 for b in f.bodies))

    def test_answer_that_comes_before_the_body_has_gone(self):
        def refuse(c):
            c.recv(999)
            c.sendall(problem(413, "payload_too_large", Connection="close"))
            c.close()  # what is unread resets the connection
        with Fake() as f:
            f._serve = refuse
            with segq.Client(f.url, retry_for=0) as c, self.assertRaises(segq.BadRequest):
                c.submit("q", "x" * (20 << 20))

    def test_batch_that_breaks_off_tells_what_is_there(self):
        first = answer(207, [{"status": 201, "task": f"A{i}"} for i in range(1000)])
        with Fake(first) as f, segq.Client(f.url, retry_for=0) as c:
            rows = c.submit_many("q", [{}] * 1002)
        self.assertEqual([(r.status, r.task) for r in rows[998:]], [(201, "A998"), (201, "A999"), (0, None), (0, None)])
        self.assertIsInstance(rows[1001].error, segq.NetworkError)
        half = answer(207, [{"status": 201, "task": "A"}, {"status": 503, "code": "queue_unavailable"}])
        with quick(), Fake(half) as f, segq.Client(f.url, retry_for=0.2) as c:
            self.assertEqual([r.status for r in c.submit_many("q", [{}, {}])], [201, 503])
        with Fake() as f, segq.Client(f.url, retry_for=0) as c, self.assertRaises(segq.NetworkError):
            c.submit_many("q", [{}])

    def test_failed_task_is_raised(self):
        dead = {"task": "T", "state": "dead", "history": [{"end": "nack", "reason": "no paper"}]}
        with Fake(answer(200, {"task": "T", "state": "running"}), answer(200, dead)) as f, segq.Client(f.url) as c:
            with self.assertRaises(segq.TaskFailed) as e:
                c.wait("T", timeout=30)
            self.assertEqual((e.exception.code, e.exception.detail), ("dead", "no paper"))

    def test_queue_is_heard_on_behind_the_last_event_that_could_be_read(self):
        def start(i, task):
            return event({"task": task, "state": "running", "attempts": 1, "at": 1}, i=i)
        for bad in (event({"state": "running"}, i=6), event("[" * 99999, i=6), event(7, i=6), event({"poll_after_ms": 10**400}, "away", i=6)):
            with self.subTest(bad[:40]), quick(), segq.Client("http://x") as c, \
                    Fake(events(event("15000", "beat", 4), start(5, "A"), bad), events(start(6, "B"))) as f:
                c.transport.routers = [f.url]
                got = [(e.id, e.task) for _, e in zip(range(2), c.watch_queue("q"))]
                self.assertEqual(got, [("5", "A"), ("6", "B")])
                self.assertIn(b"\r\nLast-Event-ID: 5\r\n", f.asked[1])

    def test_id_that_is_none_of_ours_is_not_sent_back(self):
        said = {"task": "A", "state": "running", "attempts": 1, "at": 1}
        for bad in ("\u20ac", "a\rX: y", "1" * 9000):
            with self.subTest(bad[:9]), quick(), Fake(events(event(said, i=bad)), events(event(said, i=6))) as f, segq.Client(f.url) as c:
                self.assertEqual([e.id for _, e in zip(range(2), c.watch_queue("q", after="4"))], ["4", "6"])
                self.assertIn(b"\r\nLast-Event-ID: 4\r\n", f.asked[1])

    def test_streams_that_bring_nothing_are_asked_for_more_and_more_seldom(self):
        said = event({"task": "X", "state": "running", "attempts": 1, "at": 1}, i=5)
        for watch in (lambda c: c.watch("X"), lambda c: c.watch_queue("q")):
            with Fake(events(), events(), events(said)) as f, segq.Client(f.url) as c, mock.patch.object(Scope, "sleep") as sleep:
                self.assertEqual(next(watch(c)).state, "running")
                a, b = (call.args[-1] for call in sleep.call_args_list)
                self.assertTrue(1 <= a <= 1.5 and 2 <= b <= 3, (a, b))

    def test_stream_that_was_closed_is_read_no_further(self):
        with Fake(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc<stall>") as f, segq.Client(f.url) as c:
            s = c.call("gen", "/x")
            pieces = s.pieces()
            self.assertEqual(next(pieces), b"abc")
            s.close()
            with self.assertRaises(segq.NetworkError):
                next(pieces)

    def test_call_is_not_repeated(self):
        with quick(), Fake(answer(200, 0), b"", answer(200, 1)) as f, segq.Client(f.url) as c:
            self.assertEqual(c.transport.call("GET", "/"), 0)  # a connection that is kept
            with self.assertRaises(segq.NetworkError):
                c.call("gen", "/x", b"1")
            self.assertEqual((len(f.asked), f.connections), (2, 1))

    def test_progress_of_a_call(self):
        places, sse = [], b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        said = sse + b": life\n\n" + event({"position": 12}, "segq.progress") + event("hello") + b"<cut>"
        refused = sse + event({"status": 429, "error": {"message": "too many", "code": "rate"}}, "error") + b"<cut>"
        with Fake(said, refused) as f, segq.Client(f.url) as c:
            with c.call("gen", "/x", on_progress=places.append) as s:
                self.assertEqual([d for _, d, _ in s.events()], ["hello"])
            self.assertEqual(places, [{"position": 12}])
            self.assertIn(b"segq-progress: events", f.asked[0])
            with self.assertRaises(segq.TooFast) as e, c.call("gen", "/x", on_progress=places.append) as s:
                list(s.events())
            self.assertEqual((e.exception.code, e.exception.detail), ("rate", "too many"))

    def test_call_passes_the_targets_answer_on(self):
        said = answer(503, None, segq_status="503")
        with Fake(said, problem(401, "unauthorized")) as f, segq.Client(f.url, token="S") as c:
            with c.call("gen", "/x", headers={"Authorization": "theirs"}) as s:
                self.assertEqual(s.status, 503)
            self.assertIn(b"segq-token: S", f.asked[0])
            with self.assertRaises(segq.Unauthorized):
                c.call("gen", "/x")


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    got = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    bad = len(got.failures) + len(got.errors)
    print(f"test_client: {got.testsRun - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
