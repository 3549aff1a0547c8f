#!/usr/bin/python3
"""openapi.py SPEC.json ROUTER ADMIN TOKEN-FILE SEGQCTL: asks a running cluster everything that
proto/openapi.yaml (as JSON) describes, well and badly, and compares the answers: the status is
one of those, the type too, the body has the members that must be there and no others.

Every operation must be asked, and be answered with each status of WANTED. A line per
disagreement; the last line says how many answers were compared. Queue `login` must be open, and
have a lane `vip`; the key for its claims lies beside the token.
"""
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request

from openapi_spec import Spec

EVERYWHERE = {404, 405}  # said once, in `info`: unknown path, wrong method


class Asker:
    def __init__(self, spec, router, admin, token_file, segqctl):
        self.spec, self.router, self.admin = spec, router, admin
        self.token_file, self.segqctl = token_file, segqctl
        with open(token_file, encoding="utf-8") as f:
            self.token = f.read().strip()
        self.bad, self.seen, self.n = [], {}, 0

    def ask(self, method, url, body=None, want=None, **headers):
        """One request. url: /v1/admin... goes to queuemng. Gives status, headers, body."""
        own = url.startswith("/v1/admin") or url in ("/", "/metrics")
        if own and "Authorization" not in headers:
            headers["Authorization"] = "Bearer " + self.token
        data = None
        if body is not None:
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        q = urllib.request.Request((self.admin if own else self.router) + url, data, headers,
                                   method=method)
        for _ in range(20):  # a machine that is busy may say 503: asked again, as it is told
            try:
                got = fetch(q)
            except OSError:  # closed behind an answer that we were too slow to read
                time.sleep(1)
                continue
            self.compare(method, url.split("?")[0], got, None if got[0] == 503 else want)
            if got[0] != 503:
                break
            time.sleep(int(got[1].get("Retry-After") or 1))
        else:
            raise SystemExit(f"{method} {url}: no answer but 503")
        return got

    def compare(self, method, path, got, want):
        status, headers, body = got
        name, op = self.spec.find(method, path)
        what = f"{method} {path} {status}"
        self.n += 1
        if want is not None and status != want:
            self.bad.append(f"{what}: not {want}: {body[:200]!r}")
        self.heads(what, status, headers)
        if op is None:
            if status not in EVERYWHERE and method != "HEAD":
                self.bad.append(f"{what}: no such operation")
            return
        self.seen.setdefault((name, method), set()).add(status)
        self.bad += [f"{what}: {f}" for f in
                     self.spec.answer_faults(op, status, headers, body)]

    def heads(self, what, status, headers):
        """What every answer has."""
        wanted = ["Date", "Cache-Control", "X-Content-Type-Options"]
        wanted += ["Retry-After"] if status in (429, 503) else []
        wanted += ["Allow"] if status == 405 else []
        self.bad += [f"{what}: no {h}" for h in wanted if h not in headers]

    def claim(self, *options):
        """Signed for lane vip of queue login."""
        key = os.path.join(os.path.dirname(self.token_file), "claim.key")
        return subprocess.run([self.segqctl, "claim", "login", "--lane", "vip", "--key", key, *options],
                              check=True, capture_output=True, text=True).stdout.strip()

    def unseen(self):
        return [f"{m} {p}: not asked" for p, m, _ in self.spec.operations()
                if (p, m) not in self.seen]


def fetch(request):
    try:
        with urllib.request.build_opener(Stay).open(request, timeout=60) as r:
            return r.status, r.headers, r.read()
    except urllib.error.HTTPError as e:
        return e.code, e.headers, e.read()


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def tickets(a):
    """Joins, polls, verdicts, sessions; what is wrong with each."""
    a.ask("GET", "/v1/queues/login", want=200)
    a.ask("GET", "/v1/queues/nothing", want=404)
    a.ask("POST", "/v1/queues/nothing/tickets", want=404)
    for body, want in (("{", 400), ('{"lane": "vip"}', 403), ('{"claim": "x.y.z"}', 403),
                       ('{"client": "toaster"}', 400), ('{"subject": ""}', 400)):
        a.ask("POST", "/v1/queues/login/tickets", body, want)
    a.ask("POST", "/v1/queues/login/tickets", " " * 20000, 413)
    a.ask("POST", "/v1/queues/login/tickets", "x", 415, **{"Content-Type": "text/plain"})
    a.ask("GET", "/v1/tickets/forged", want=404)
    a.ask("DELETE", "/v1/tickets/forged", want=404)
    a.ask("POST", "/v1/places", {"queues": ["login"]}, 400)
    a.ask("POST", "/v1/places", {"queues": ["login", "nosuch"]}, 404)
    a.ask("POST", "/v1/places", {"group": "nosuch"}, 404)
    a.ask("GET", "/v1/places/forged", want=404)
    a.ask("DELETE", "/v1/places/forged", want=404)
    a.ask("GET", "/v1/tickets/forged/events", want=404)
    contacts(a)
    a.ask("GET", "/v1/verify?queue=login", want=401)
    a.ask("GET", "/v1/verify?queue=login&redirect=1", want=303)
    _, _, body = a.ask("POST", "/v1/queues/login/tickets", {"subject": "boris"}, 201)
    token = json.loads(body)["token"]
    a.ask("POST", "/v1/queues/login/tickets", {"subject": "boris"}, 200)
    a.ask("GET", "/v1/admin/tickets/" + token, want=200)
    a.ask("GET", "/v1/admin/tickets/nonsense", want=404)
    a.ask("POST", "/v1/admin/tickets/nonsense/rebind", want=404)
    a.ask("POST", f"/v1/admin/tickets/{token}/rebind", want=409)
    return token


def contacts(a):
    _, _, body = a.ask("POST", "/v1/queues/login/tickets", {}, 201)
    token = json.loads(body)["token"]
    a.ask("PUT", "/v1/tickets/forged/contact", {"contact": "x"}, 404)
    a.ask("PUT", f"/v1/tickets/{token}/contact", {"contact": 1}, 400)
    a.ask("PUT", f"/v1/tickets/{token}/contact", {"contact": "x"}, 403)
    a.ask("DELETE", f"/v1/tickets/{token}/contact", want=204)
    a.ask("POST", f"/v1/tickets/{token}/device", want=409)
    a.ask("DELETE", "/v1/tickets/" + token, want=204)


def let_in(a, token):
    """Polls until it has its pass: what is told then."""
    for _ in range(600):
        _, _, body = a.ask("GET", "/v1/tickets/" + token, want=200)
        t = json.loads(body)
        if t["state"] == "admitted":
            _, _, events = a.ask("GET", f"/v1/tickets/{token}/events", want=200)
            if t["pass"].encode() not in events:
                raise SystemExit(f"who listens is told something else: {events!r}")
            return t["pass"]
        wait_a_tick(a)
    raise SystemExit("it was never let in")


def replaces(a, token, want):
    """A join with a claim for another lane, in place of that ticket."""
    a.ask("POST", "/v1/queues/login/tickets", {"claim": a.claim("--replaces", token)}, want)


def wait_a_tick(a):
    """Something that takes a moment and is worth asking: a wrong admin token is answered late."""
    a.ask("GET", "/v1/admin/queues", want=401, Authorization="Bearer wrong")


def sessions(a, token, good):
    bearer = {"Authorization": "Bearer " + good}
    a.ask("GET", "/v1/verify?queue=login", want=204, **bearer)
    a.ask("GET", "/v1/verify?queue=other", want=403, **bearer)
    a.ask("POST", "/v1/session", {"command": "dance"}, 400, **bearer)
    a.ask("POST", "/v1/session", {"command": "revoke"}, 401, **bearer)
    a.ask("POST", "/v1/session", {"command": "release"}, 401)
    a.ask("POST", "/v1/session", {"command": "release"}, 204, **bearer)
    a.ask("GET", "/v1/verify?queue=login", want=403, **bearer)
    a.ask("GET", "/v1/tickets/" + token, want=410)
    a.ask("GET", f"/v1/tickets/{token}/events", want=410)
    a.ask("DELETE", "/v1/tickets/" + token, want=204)
    a.ask("GET", "/v1/admin/tickets/" + token, want=200)


def pages(a):
    a.ask("GET", "/q/login?return=/", want=200)
    a.ask("GET", "/q/nothing", want=404)
    a.ask("GET", "/q/login/join", want=303)
    a.ask("GET", "/q/login/words", want=200)
    a.ask("GET", "/q/nothing/words", want=404)
    a.ask("GET", "/q/login/worker.js", want=404)
    a.ask("GET", "/q/login/tell", want=303)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    a.ask("POST", "/q/login/join", "return=/", 303, **form, **{"Sec-Fetch-Site": "same-origin"})
    a.ask("POST", "/q/login/join", "return=/", 403, **form, **{"Sec-Fetch-Site": "cross-site"})
    for path in ("/.well-known/jwks.json", "/healthz", "/readyz"):
        a.ask("GET", path, want=200)
    a.ask("GET", "/nowhere", want=404)
    a.ask("PUT", "/healthz", want=405)


def server_token(a):
    with open(a.token_file.replace("admin.token", "task.token"), encoding="utf-8") as f:
        return {"Authorization": "Bearer " + f.read().strip()}


def tasks(a):
    """Strangers may do nothing; a server may, and a task's token shows the task."""
    queue, one = "/v1/queues/images/tasks", "/v1/tasks/" + "A" * 44
    for path in ("", "/batch", "/take", "/settle"):
        a.ask("POST", queue + path, "{}", 401)
    for path in ("/ack", "/nack", "/extend", "/progress"):
        a.ask("POST", one + path, "{}", 401)
    for path in ("/complete", "/extend"):
        a.ask("POST", "/v1/tasks/" + "A" * 52 + path, '{"lease":1}' if "ex" in path else "{}", 404)
    a.ask("POST", "/v1/tasks/take", {"queues": ["images"]}, 401)
    a.ask("GET", queue, want=401)
    for method in ("GET", "DELETE"):
        a.ask(method, queue + "/close-7", want=401)
        a.ask(method, one, want=404)
    a.ask("GET", one + "/result", want=404)
    a.ask("GET", one + "/events", want=404)
    a.ask("GET", queue + "/events", want=401)
    a.ask("PATCH", one, "{}", 401)
    server = server_token(a)
    new = json.loads(a.ask("POST", queue, {"payload": 1, "delay": "1h"}, 201, **server)[2])
    a.ask("GET", "/v1/tasks/" + new["task"], want=200)
    a.ask("GET", queue, want=200, **server)
    a.ask("POST", "/v1/tasks/take", {"queues": ["images", "ride/7"]}, 200, **server)
    a.ask("POST", "/v1/tasks/take", {"queues": []}, 400, **server)
    for body in ({"payload": 2, "name": "second"}, {"payload": 3, "name": "third"}):
        a.ask("POST", queue, body, 201, **server)
    first = json.loads(a.ask("POST", queue + "/take", {"wait": "10s"}, 200, **server)[2])["tasks"][0]
    said = {"lease_id": first["lease_id"], "percent": 40, "text": "page 4", "data": {"page": 4}, "lease": "30s"}
    a.ask("POST", f"/v1/tasks/{first['task']}/progress", said, 200, **server)
    a.ask("GET", f"/v1/tasks/{first['task']}", want=200)
    a.ask("POST", f"/v1/tasks/{first['task']}/progress", said | {"percent": 101}, 400, **server)
    a.ask("POST", f"/v1/tasks/{first['task']}/progress", said | {"lease_id": "A" * len(said["lease_id"])}, 409, **server)
    a.ask("POST", queue, {"payload_base64": "iVBORw==", "content_type": "image/png", "name": "png"}, 201, **server)
    a.ask("POST", queue + "?name=raw&delay=1h", "x", 201, **server | {"Content-Type": "image/png"})
    a.ask("DELETE", queue + "/png", want=200, **server)
    ack = {"lease_id": first["lease_id"], "take": {"queue": "images", "wait": "10s"}}
    a.ask("POST", f"/v1/tasks/{first['task']}/ack", ack | {"take": {}}, 400, **server)
    second = json.loads(a.ask("POST", f"/v1/tasks/{first['task']}/ack", ack, 200, **server)[2])["tasks"][0]
    a.ask("POST", f"/v1/tasks/{second['task']}/nack",
          {"lease_id": second["lease_id"], "take": {"queue": "images"}}, 200, **server)
    a.ask("DELETE", queue + "/third", want=200, **server)
    a.ask("POST", queue, {"payload": 1, "delay": "1h", "group": "batch7", "then": {"queue": "images"}}, 201, **server)
    group = "/v1/groups/images/batch7"
    a.ask("GET", group, want=401)
    a.ask("GET", group, want=200, **server)
    a.ask("GET", "/v1/groups/images/none", want=404, **server)
    for verb in ("seal", "cancel"):
        a.ask("POST", f"{group}/{verb}", want=401)
        a.ask("POST", f"{group}/{verb}", want=200, **server)
    a.ask("POST", queue, {"payload": 1, "group": "batch7"}, 409, **server)
    a.ask("GET", "/v1/schedules/images/", want=401)
    one = "/v1/schedules/images/nightly"
    a.ask("PUT", one, {"cron": "61 * * * *", "task": {"payload": 1}}, 400, **server)
    a.ask("PUT", one, {"cron": "0 3 * * mon", "task": {"payload": 1}}, 201, **server)
    for path in (one, "/v1/schedules/images/"):
        a.ask("GET", path, want=200, **server)
    a.ask("GET", "/v1/admin/task-queues/images/tasks/schedules", want=200)
    a.ask("POST", one + "/run", want=401)
    a.ask("POST", one + "/run", want=200, **server)
    a.ask("POST", "/v1/schedules/images/weekly/run", want=404, **server)
    order = "/v1/admin/task-queues/images/tasks/schedules/nightly/run"
    a.ask("POST", order, want=200)
    schedules(a)
    a.ask("DELETE", one, want=204, **server)
    a.ask("GET", one, want=404, **server)
    admin = "/v1/admin/tasks/" + new["task"]
    a.ask("GET", "/v1/admin/task-queues/images/tasks?state=scheduled&n=1", want=200)
    a.ask("GET", "/v1/admin/task-queues/images/tasks?n=0", want=400)
    for query, want in (("?pool=*", 200), ("?pool=nothing", 404), ("", 400)):
        a.ask("GET", "/v1/admin/task-queues/busiest" + query, want=want)
        a.ask("POST", "/v1/admin/task-queues/export" + query, want=want)
    a.ask("GET", "/v1/admin/task-queues/images/tasks?order=start&n=5", want=200)
    a.ask("GET", "/v1/queues/images/tasks?order=start&payload=1", want=200, **server)
    for path in ("keys?by=limited", "keys?top=0"):
        a.ask("GET", "/v1/admin/task-queues/images/tasks/" + path, want=400 if "=0" in path else 200)
    key = "/v1/admin/task-queues/images/tasks/keys/tenant7%2Fuser42"
    a.ask("GET", key, want=404)
    a.ask("PATCH", key, {}, 404)
    a.ask("PUT", key, {"rate_per_s": 5, "weight": 2}, 201)
    a.ask("PUT", key, {}, 412, **{"If-None-Match": "*"})
    a.ask("PUT", key, {"inherit": True, "weight": 2}, 400)
    a.ask("PATCH", key, {"max_concurrent": 3}, 200)
    a.ask("PATCH", key, {}, 412, **{"If-Match": '"99"'})
    for order in ("/pause", "/resume"):
        a.ask("POST", key + order, want=200)
    a.ask("GET", key, want=200)
    a.ask("GET", "/v1/admin/pinned-keys", want=200)
    a.ask("DELETE", key, want=200)
    a.ask("POST", key + "/resume", want=404)
    for order in ("redrive?rate_per_s=5", "stop", "discard", "cancel?key=nobody&force=true"):
        a.ask("POST", "/v1/admin/task-queues/images/tasks/" + order, want=200)
    a.ask("GET", admin, want=200)
    for query, want in (("?bytes=100", 200), ("?bytes=0", 400)):
        a.ask("GET", admin + "/payload" + query, want=want)
    a.ask("POST", admin + "/redrive", want=409)
    a.ask("POST", admin + "/run?force=true", want=400)
    a.ask("POST", admin + "/run", want=200)
    a.ask("DELETE", "/v1/tasks/" + new["task"] + "?force=1", want=200)
    a.ask("POST", admin + "/cancel", want=409)
    a.ask("POST", admin + "/discard", want=200)
    a.ask("GET", admin, want=404)


def looks(a):
    for path in ("manager", "cluster", "live?queue=login&pool=*", "history?queue=login", "audit",
                 "cluster/history?range=1h", "queues", "queues/login", "targets", "suspects", "suspects?queue=login"):
        a.ask("GET", "/v1/admin/" + path, want=200)
        a.ask("POST", "/v1/admin/" + path.replace("/login", "/login/nothing"), "{}")
    for path, want in (("history", 400), ("history?queue=nothing", 404),
                       ("history?pool=*", 200), ("history?pool=nothing", 404), ("audit?n=0", 400),
                       ("queues/login/history?range=24h", 200),
                       ("queues/login/history?range=1d", 400),
                       ("queues/nothing/history", 404), ("cluster/history?range=", 400),
                       ("queues/nothing", 404), ("nothing", 404), ("suspects?queue=nothing", 404)):
        a.ask("GET", "/v1/admin/" + path, want=want)
    a.ask("GET", "/v1/admin/whoami", want=200)
    a.ask("POST", "/v1/admin/tokens/reload", want=409)  # no file
    a.ask("POST", "/v1/admin/session", want=200)
    a.ask("DELETE", "/v1/admin/session", want=200)
    a.ask("POST", "/v1/admin/queues/login/history", "{}", 405)
    a.ask("GET", "/metrics", want=200)
    a.ask("GET", "/", want=200)


def heads(a):
    """HEAD works where GET does, and has no body."""
    for url in ("/v1/queues/login", "/healthz", "/q/login/words", "/v1/admin/cluster",
                "/v1/admin/queues/login", "/v1/admin/audit", "/"):
        _, _, body = a.ask("HEAD", url, want=200)
        if body:
            a.bad.append(f"HEAD {url}: a body")


def orders(a):
    q = "/v1/admin/queues/"
    a.ask("PUT", q + "second", {"release_per_s": 5}, 201)
    a.ask("PUT", q + "second", {"release_per_s": 6}, 200)
    a.ask("PUT", q + "second", {}, 412, **{"If-None-Match": "*"})
    a.ask("PATCH", q + "second", {"pass_ttl": "10m"}, 200)
    a.ask("PATCH", q + "second", {"pass_ttl": "never"}, 400)
    a.ask("PATCH", q + "second", {}, 412, **{"If-Match": '"99"'})
    a.ask("PATCH", q + "nothing", {}, 404)
    for verb in ("pause", "resume", "close", "open", "passthrough", "reject", "flush"):
        a.ask("POST", q + "second/" + verb, want=200)
        a.ask("POST", q + "nothing/" + verb, want=404)
    until(a, "POST", "/v1/queues/second/tickets", 403)
    a.ask("POST", q + "second/passthrough", want=200)
    a.ask("POST", q + "second/release?n=3", want=200)
    a.ask("GET", q + "second/preview", want=200)
    a.ask("GET", q + "nothing/preview", want=404)
    a.ask("POST", q + "second/release?n=x", want=400)
    a.ask("DELETE", q + "second", want=200)
    a.ask("DELETE", q + "second", want=404)
    a.ask("POST", q + "second/restore", want=200)
    a.ask("POST", q + "second/restore", want=409)
    a.ask("DELETE", q + "second?final=true", want=200)
    a.ask("POST", q + "second/restore", want=404)
    for verb in ("drain", "undrain"):
        a.ask("POST", "/v1/admin/nodes/segment.1/" + verb, want=200)
        a.ask("POST", "/v1/admin/nodes/nobody/" + verb, want=404)
    a.ask("POST", "/v1/admin/nodes/segment.1/forget", want=409)
    a.ask("POST", "/v1/admin/nodes/nobody/forget", want=404)


def schedules(a):
    one, mine = "/v1/admin/task-queues/images/tasks/schedules/nightly", {"every": "1h", "task": {"payload": 1}}
    other = one.replace("nightly", "weekly")
    for method, body in (("GET", None), ("PATCH", {"paused": True}), ("DELETE", None)):
        a.ask(method, other, body, 404)
    a.ask("GET", one, want=200)
    a.ask("PUT", other, mine, 201, **{"If-None-Match": "*"})
    a.ask("PUT", other, mine, 412, **{"If-None-Match": "*"})
    a.ask("PUT", other, mine, 200)
    a.ask("PUT", other, {"every": "1ms", "task": {}}, 400)
    a.ask("PUT", other, {"every": "1h", "task": {"payload": "x" * 17000}}, 413)
    a.ask("PATCH", other, {"paused": True, "jitter": None}, 200)
    a.ask("PATCH", other, {"paused": True}, 412, **{"If-Match": '"2"'})
    a.ask("DELETE", other, None, 412, **{"If-Match": '"2"'})
    a.ask("DELETE", other, want=200)
    a.ask("GET", "/v1/admin/ticks?cron=@daily&zone=Europe%2FBerlin", want=200)
    a.ask("GET", "/v1/admin/ticks?cron=61", want=400)


def pools(a):
    p = "/v1/admin/pools"
    a.ask("PUT", p + "/ride%2F*", {"partitions": 4, "key": {"rate_per_s": 5}}, 201)
    a.ask("PUT", p + "/ride%2F*", {"lease": "1m"}, 200)
    a.ask("PUT", p + "/ride%2F*", {"partitions": 5}, 409)
    a.ask("PUT", p + "/ride%2F*", {}, 412, **{"If-None-Match": "*"})
    a.ask("PUT", p + "/-ride", {}, 400)
    a.ask("PATCH", p + "/ride%2F*", {"paused": True}, 200)
    a.ask("PATCH", p + "/ride%2F*", {}, 412, **{"If-Match": '"99"'})
    a.ask("PATCH", p + "/nothing", {}, 404)
    a.ask("GET", p + "/ride%2F*", want=200)
    a.ask("GET", p + "/nothing", want=404)
    a.ask("GET", p, want=200)
    a.ask("GET", "/v1/admin/task-queues", want=200)
    a.ask("DELETE", p + "/ride%2F*?final=true", want=200)
    a.ask("DELETE", p + "/ride%2F*", want=404)


def budgets(a):
    b = "/v1/admin/budgets"
    a.ask("PUT", b + "/gpu", {"rate_per_s": 50}, 201)
    a.ask("PUT", b + "/gpu", {}, 400)
    a.ask("PATCH", b + "/gpu", {"max_active": 9}, 200)
    a.ask("PATCH", b + "/none", {"max_active": 9}, 404)
    a.ask("GET", b + "/gpu", want=200)
    a.ask("GET", b, want=200)
    a.ask("DELETE", b + "/gpu", want=200)
    a.ask("GET", b + "/gpu", want=404)


def routes(a, server):
    r, rules = "/v1/admin/routes", [{"endpoints": ["self"]}]
    a.ask("PUT", r + "/words", {"rules": rules}, 201)
    a.ask("PUT", r + "/words", {"rules": []}, 400)
    a.ask("PATCH", r + "/words", {"pointer": "/kind"}, 200)
    a.ask("PATCH", r + "/none", {"pointer": "/kind"}, 404)
    a.ask("GET", r + "/words", want=200)
    a.ask("GET", r, want=200)
    a.ask("DELETE", "/v1/admin/endpoints/self", want=409)
    call = "/v1/route/words/healthz"
    while a.ask("GET", call, **server)[0] != 200:  # routers know it within a second
        wait_a_tick(a)
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        a.ask(method, call, want=202, Prefer="wait=0", **server)
        a.ask(method, "/v1/route/none/healthz", want=404, **server)
    a.ask("POST", call, want=401)
    a.ask("POST", call, '{"kind":1,"kind":2}', 400, **server)
    a.ask("DELETE", r + "/words", want=200)
    a.ask("GET", r + "/words", want=404)


def endpoints(a):
    """One that calls this router: what it answers to /healthz is a target's answer."""
    e, target = "/v1/admin/endpoints", {"url": a.router, "allow": ["127.0.0.0/8", "::1"]}
    a.ask("PUT", e + "/self", target, 201)
    a.ask("PUT", e + "/self", target, 200)
    a.ask("PUT", e + "/self", target, 412, **{"If-None-Match": "*"})
    a.ask("PUT", e + "/other", {"url": "http://user@host/"}, 400)
    a.ask("PATCH", e + "/self", {"max_concurrent": 4}, 200)
    a.ask("PATCH", e + "/self", {}, 412, **{"If-Match": '"99"'})
    a.ask("PATCH", e + "/nothing", {}, 404)
    a.ask("GET", e + "/self", want=200)
    a.ask("GET", e + "/nothing", want=404)
    a.ask("GET", e, want=200)
    for verb in ("pause", "resume", "trip", "reset", "probe"):
        a.ask("POST", e + "/self/" + verb, want=200)
        a.ask("POST", e + "/nothing/" + verb, want=404)
    a.ask("GET", e + "/self/probe", want=200)
    a.ask("GET", e + "/nothing/probe", want=404)
    a.ask("GET", e + "/self/targets", want=200)
    a.ask("GET", e + "/nothing/targets", want=404)
    a.ask("PUT", e + "/two", {"targets": [{"url": "http://one/"}, {"url": "http://two/"}]}, 201)
    a.ask("GET", e + "/two/targets", want=200)
    for verb in ("drain", "undrain"):
        a.ask("POST", f"{e}/two/{verb}?url=http://one/", want=200)
        a.ask("POST", f"{e}/two/{verb}", want=400)
        a.ask("POST", f"{e}/nothing/{verb}?url=http://one/", want=404)
    a.ask("DELETE", e + "/two?final=true", want=200)
    a.ask("POST", "/v1/call/self/healthz", want=401)
    server = server_token(a)
    while a.ask("GET", "/v1/call/self/healthz", **server)[0] != 200:
        wait_a_tick(a)
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        a.ask(method, "/v1/call/self/healthz", want=202, Prefer="wait=0", **server)
        a.ask(method, "/v1/call/nobody/healthz", want=404, **server)
    a.ask("GET", "/v1/call/self/nothing", want=404, **server)
    a.ask("POST", "/v1/queues/self/tasks", {"path": "/healthz", "method": "GET"}, 201, **server)
    a.ask("POST", "/v1/queues/self/tasks", {"payload": 1}, 400, **server)
    a.ask("POST", "/v1/queues/self/tasks/take", {}, 409, **server)
    classic(a, server)
    routes(a, server)
    a.ask("GET", "/v1/admin/task-queues", want=200)
    a.ask("DELETE", e + "/self?final=true", want=200)
    a.ask("DELETE", e + "/self", want=404)


def classic(a, server):
    c = "/compat/v1/"
    ask = {"target_url": a.router + "/healthz", "http_method": "GET", "timestamp": int(time.time())}
    a.ask("POST", c + "submitTask", ask, 401)
    a.ask("POST", c + "submitTask", {**ask, "timestamp": 1}, 400, **server)
    a.ask("POST", c + "submitTask", {**ask, "target_url": "http://nobody/"}, 404, **server)
    _, _, body = a.ask("POST", c + "submitTask", ask, 200, **server)
    task = json.loads(body)["task_id"]
    a.ask("GET", c + "queryTask?task_id=" + task, want=200)
    a.ask("GET", c + "queryTask", want=400)
    a.ask("GET", c + "queryTask?task_id=AAAA", want=404)
    until(a, "GET", "/v1/tasks/" + task + "/result", 200)
    a.ask("POST", c + "cancelTask", {"task_id": task}, 409)
    a.ask("POST", c + "cancelTask", {}, 400)
    a.ask("POST", c + "cancelTask", {"task_id": "AAAA"}, 404)


def aws(a):
    """The words of AWS' waiting room: its event is the line `login`, once that bears silence."""
    q, e = "/v1/admin/queues/login", "?event_id=Sample"
    a.ask("POST", "/assign_queue_num", {"event_id": "nosuch"}, 400)
    a.ask("POST", "/assign_queue_num", {"event_id": "Sample"}, 403)
    for path in ("/serving_num", "/waiting_num", "/public_key"):
        a.ask("GET", path + e, want=403)
        a.ask("GET", path + "?event_id=nosuch", want=400)
    a.ask("PATCH", q, {"state": "paused", "away": 0, "idle": {"browser": "1h"}}, 200)
    until(a, "GET", "/serving_num" + e, 200)
    a.ask("GET", "/waiting_num" + e, want=200)
    a.ask("GET", "/public_key" + e, want=200)
    _, _, body = a.ask("POST", "/assign_queue_num", {"event_id": "Sample"}, 200)
    me = json.loads(body)["api_request_id"]
    until(a, "GET", "/queue_num" + e + "&request_id=" + me, 200)
    a.ask("GET", "/queue_pos_expiry" + e + "&request_id=" + me, want=202)
    a.ask("POST", "/generate_token", {"event_id": "Sample", "request_id": me}, 202)
    a.ask("POST", "/generate_token", {"event_id": "Sample", "request_id": "forged"}, 404)
    for path in ("/queue_num", "/queue_pos_expiry"):
        a.ask("GET", path + e + "&request_id=forged", want=404)
    a.ask("PATCH", q, {"state": "open"}, 200)
    until(a, "POST", "/generate_token", 200, {"event_id": "Sample", "request_id": me})
    a.ask("GET", "/queue_pos_expiry" + e + "&request_id=" + me, want=200)
    a.ask("DELETE", "/v1/tickets/" + me, want=204)
    for path in ("/queue_num", "/queue_pos_expiry"):
        a.ask("GET", path + e + "&request_id=" + me, want=410)
    a.ask("POST", "/generate_token", {"event_id": "Sample", "request_id": me}, 410)
    a.ask("PATCH", q, {"away": "75s", "idle": {"browser": "3m"}}, 200)


def early(a):
    """A queue that opens by the clock, before and while people may come early."""
    q = "/v1/admin/queues/early"
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86400))
    a.ask("PUT", q, {"opens_at": at, "message": "Tomorrow."}, 201)
    until(a, "GET", "/v1/queues/early", 200)
    a.ask("POST", "/v1/queues/early/tickets", want=403)
    a.ask("PATCH", q, {"prequeue": "2d"}, 200)
    _, _, body = until(a, "POST", "/v1/queues/early/tickets", 201)
    if json.loads(body).get("prequeue") is not True:
        a.bad.append(f"an early ticket: {body!r}")
    _, _, body = a.ask("GET", "/v1/queues/early", want=200)
    if "draw" not in json.loads(body):
        a.bad.append(f"the queue of a draw: {body!r}")
    a.ask("DELETE", q, want=200)


def until(a, method, url, status, body=None):
    """Asks until the routers have heard of it."""
    for _ in range(600):
        got = a.ask(method, url, body)
        if got[0] == status:
            return got
        wait_a_tick(a)
    raise SystemExit(f"{method} {url} was never answered with {status}")


def main():
    a = Asker(Spec(sys.argv[1]), *sys.argv[2:])
    a.ask("POST", "/v1/admin/queues/login/pause", want=200)
    token = tickets(a)
    pages(a)
    tasks(a)
    a.ask("POST", "/v1/admin/queues/login/resume", want=200)
    good = let_in(a, token)
    replaces(a, token, 409)
    sessions(a, token, good)
    replaces(a, token, 410)
    looks(a)
    heads(a)
    orders(a)
    pools(a)
    budgets(a)
    endpoints(a)
    early(a)
    aws(a)
    a.bad += a.unseen()
    print("\n".join(a.bad + [f"{a.n} answers, {len(a.bad)} disagree"]))
    return 1 if a.bad else 0


if __name__ == "__main__":
    sys.exit(main())
