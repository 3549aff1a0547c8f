#!/usr/bin/python3
"""openapi_fuzz.py SPEC.json ROUTER ADMIN TOKEN-FILE [EXAMPLES]: asks a running cluster each
operation of proto/openapi.yaml EXAMPLES times (40), with parameters and bodies drawn from their
schemas: good ones, ones with a fault, and bytes. On one connection per port, so that an answer
that does not fit its request is noticed by the next one. What must hold of each answer:

  the status, type, members and types are described; a problem's status is the answer's
  a body that the schema forbids is not accepted (2xx)
  the connection goes on, or the answer said that it is closed

Before that, each member of each body once with each of some values of other types.

Ends with "N requests, N disagree"; a disagreement is made as small as hypothesis can. SEED=n:
other examples. Queue `fuzz` is made, and must not be anybody's.
"""
import http.client
import json
import os
import string
import sys
import time
import urllib.parse

from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st

from openapi_spec import Spec

TEXT = st.text(st.characters(blacklist_categories=["Cs"]), max_size=80)
ANY = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT, inner, max_size=4)),
    max_leaves=8)
VISIBLE = st.text(string.ascii_letters + string.digits + string.punctuation + " ", max_size=80)
NOBODY = object()


# ---- values from schemas ---------------------------------------------------------------


def good(schema):
    """Values that a schema (as Spec.schema gives it) allows."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "oneOf" in schema:
        return st.one_of([good(s) for s in schema["oneOf"]])
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    return KINDS.get(kind, lambda _: ANY)(schema)


def good_text(schema):
    if "pattern" in schema:
        return st.from_regex(schema["pattern"].replace("$", r"\Z"))
    return st.text(st.characters(blacklist_categories=["Cs", "Cc"]),
                   min_size=schema.get("minLength", 0), max_size=min(schema.get("maxLength", 60), 60))


def good_object(schema):
    members = {k: good(v) for k, v in schema.get("properties", {}).items()
               if not v.get("readOnly")}
    must = set(schema.get("required", [])) & set(members)
    return st.fixed_dictionaries({k: v for k, v in members.items() if k in must},
                                 optional={k: v for k, v in members.items() if k not in must})


KINDS = {
    "string": good_text,
    "object": good_object,
    "boolean": lambda s: st.booleans(),
    "integer": lambda s: st.integers(s.get("minimum", -10), s.get("maximum", 10**6)),
    "number": lambda s: st.floats(s.get("minimum", -10), s.get("maximum", 10**6)),
    "array": lambda s: st.lists(good(s["items"]), min_size=s.get("minItems", 0), max_size=3),
}


OTHERS = [5, "5", True, None, [], {}, 1.5, "", -1, 10**20]  # of each type, and odd ones
WRONG = st.one_of(st.sampled_from(OTHERS), ANY)


@st.composite
def faulty(draw, schema):
    """A good object, mostly one with nothing else in it, with one member replaced by a value
    that may be of the wrong type, or with a member that nobody knows."""
    value = draw(st.one_of(good({**schema, "properties": {}}), good(schema)))
    if not isinstance(value, dict):
        return draw(ANY)
    at, known = value, schema
    for _ in range(draw(st.integers(0, 2))):  # somewhere inside
        inner = {k: v for k, v in known.get("properties", {}).items() if "properties" in v}
        if not inner:
            break
        name = draw(st.sampled_from(sorted(inner)))
        at[name] = at[name] if isinstance(at.get(name), dict) else {}
        at, known = at[name], inner[name]
    names = sorted(known.get("properties", {}))
    at[draw(st.sampled_from(names) if names and draw(st.integers(0, 9)) else TEXT)] = draw(WRONG)
    return value


def each_member(schema):
    """Objects with one member, each with each of the values OTHERS; members inside, too."""
    for name, inner in sorted(schema.get("properties", {}).items()):
        yield from ({name: v} for v in OTHERS + ([[v] for v in OTHERS] if "items" in inner else []))
        yield from ({name: v} for v in each_member(inner))
        yield from ({name: [v]} for v in each_member(inner.get("items", {})))


def as_json(value):
    """Bytes: NaN and infinities stand as JavaScript has them, and are no JSON."""
    return json.dumps(value).encode()


def bodies(schema):
    """(bytes, value): value is what the bytes say as JSON; NOBODY if nothing is claimed of it."""
    def cut(pair):
        body, at = pair
        return body[:at % (len(body) + 1)], NOBODY
    plain = st.one_of(good(schema), faulty(schema), ANY).map(lambda v: (as_json(v), v))
    return st.one_of(
        plain, plain,
        st.tuples(good(schema).map(as_json), st.integers(0, 400)).map(cut),
        st.tuples(good(schema).map(as_json), st.binary(min_size=1, max_size=3))
        .map(lambda p: (p[0] + p[1], NOBODY)),
        st.binary(max_size=60).map(lambda b: (b, NOBODY)),
        st.just((b"", NOBODY)))


# ---- requests ---------------------------------------------------------------------------


class Port:
    """One connection to one of our ports; kept as long as the server keeps it."""

    def __init__(self, url):
        where = urllib.parse.urlsplit(url)
        self.host, self.port, self.link = where.hostname, where.port, None

    def ask(self, method, target, body, headers):
        for last in (False, True):  # a connection that was idle may have been closed
            fresh = self.link is None
            if fresh:
                self.link = http.client.HTTPConnection(self.host, self.port, timeout=30)
            try:
                self.link.request(method, target, body, headers)
                a = self.link.getresponse()
                if a.headers.get("Content-Type", "").startswith("text/event-stream"):
                    first = a.read1(4096)  # the rest may come for as long as the ticket waits
                    self.close()
                    return a.status, a.headers, first
                return a.status, a.headers, a.read()
            except (ConnectionError, http.client.RemoteDisconnected) as e:
                self.close()
                if fresh or last:
                    raise AssertionError(f"no answer: {e!r}") from e
            except http.client.HTTPException as e:
                self.close()
                raise AssertionError(f"no HTTP: {e!r}") from e
        raise AssertionError("unreachable")

    def close(self):
        if self.link is not None:
            self.link.close()
        self.link = None


class Fuzzer:
    def __init__(self, spec, router, admin, token):
        self.spec, self.token = spec, token
        self.router, self.admin = Port(router), Port(admin)
        self.n, self.bad, self.tokens = 0, [], ["EAAA", "0-1"]

    def port(self, path, op):
        return self.admin if "admin" in op["tags"] else self.router

    def path_value(self, name, schema):
        """Mostly one that leads somewhere. Nodes that are there are left alone."""
        text = st.one_of(good(schema), TEXT.filter(bool))
        if name == "queue":
            return st.one_of(st.just("fuzz"), st.just("fuzz"), text.map(lambda t: "x" + t))
        if name in ("token", "ticket"):
            return st.one_of(st.sampled_from(self.tokens), text)
        if name == "node":
            return text.filter(lambda t: not t.startswith(("segment.", "router.", "queuemng")))
        return text

    @staticmethod
    def field_value(schema):
        """Bytes that may stand in a header: the client library sends no others."""
        return st.one_of(good(schema).map(str), VISIBLE).map(
            lambda t: t.encode("latin-1", "replace").replace(b"\n", b"").replace(b"\r", b"").strip())

    def targets(self, path, op):
        parts = {p["name"]: self.path_value(p["name"], self.spec.schema(p["schema"]))
                 for p in self.spec.parameters(path, op) if p["in"] == "path"}
        query = {p["name"]: st.one_of(good(self.spec.schema(p["schema"])).map(str), TEXT)
                 for p in self.spec.parameters(path, op) if p["in"] == "query"}

        def build(pair):
            names, members = pair
            url = path
            for k, v in names.items():
                url = url.replace("{" + k + "}", urllib.parse.quote(v, safe=""))
            return url + ("?" + urllib.parse.urlencode(members) if members else "")
        return st.tuples(st.fixed_dictionaries(parts),
                         st.fixed_dictionaries({}, optional=query)).map(build)

    def fields(self, path, op):
        some = {p["name"]: self.field_value(self.spec.schema(p["schema"]))
                for p in self.spec.parameters(path, op) if p["in"] == "header"}
        some.update({"Accept": VISIBLE, "Cookie": VISIBLE, "X-Forwarded-For": VISIBLE,
                     "Accept-Language": VISIBLE, "Origin": VISIBLE, "Sec-Fetch-Site": VISIBLE})
        return st.fixed_dictionaries({}, optional={k: v for k, v in some.items()})

    def requests(self, path, op):
        body = self.spec.at(op.get("requestBody", {})).get("content", {})
        kinds = {k: self.spec.schema(v["schema"]) for k, v in body.items()}
        entity = st.one_of([st.tuples(st.just(k), self.entities(k, s)) for k, s in kinds.items()] +
                           [st.just((None, (b"", NOBODY)))] * (not kinds))
        return st.tuples(self.targets(path, op), self.fields(path, op), entity)

    @staticmethod
    def entities(kind, schema):
        if "json" in kind:
            return bodies(schema)
        if schema.get("type") == "string":
            return st.binary(max_size=300).map(lambda b: (b, NOBODY))
        form = good(schema).map(lambda v: urllib.parse.urlencode(v).encode())
        return st.one_of(form, st.binary(max_size=60)).map(lambda b: (b, NOBODY))

    def once(self, path, method, op, request):
        target, fields, (kind, (body, value)) = request
        self.n += 1
        headers = dict(fields)
        if kind:
            headers["Content-Type"] = kind
        if "admin" in op["tags"]:
            headers["Authorization"] = "Bearer " + self.token
        port = self.port(path, op)
        status, got, answer = port.ask(method, target, body, headers)
        if (got.get("Connection") or "").lower() == "close":
            port.close()
        faults = self.spec.answer_faults(op, status, got, answer)
        if kind and "json" in kind and value is not NOBODY and 200 <= status < 300:
            schema = self.spec.at(op["requestBody"])["content"][kind]["schema"]
            faults += [f"accepted, though {f}" for f in self.spec.faults(schema, value, answer=False)]
        if method == "POST" and status == 201 and b'"token"' in answer and len(self.tokens) < 12:
            self.tokens.append(json.loads(answer)["token"])
        assert not faults, f"{method} {target} {headers} {body[:300]!r}\n  -> {status}: {faults}"

    def make_queue(self):
        """Before each operation: the one before may have deleted or closed it. Routers have
        heard of it when they answer for it."""
        self.admin.ask("PUT", "/v1/admin/queues/fuzz", b'{"state": "paused"}', {
            "Authorization": "Bearer " + self.token, "Content-Type": "application/json"})
        for _ in range(100):
            if self.router.ask("GET", "/v1/queues/fuzz", b"", {})[0] == 200:
                return
            time.sleep(0.05)
        raise SystemExit("routers do not hear of the queue")

    def members(self, path, method, op):
        kind, said = "application/json", self.spec.at(op.get("requestBody", {})).get("content", {})
        if kind not in said:
            return
        target = path.replace("{queue}", "fuzz")
        for value in each_member(self.spec.schema(said[kind]["schema"])):
            try:
                self.once(path, method, op, (target, {}, (kind, (as_json(value), value))))
            except AssertionError as e:
                self.disagree(e)

    def disagree(self, what):
        self.bad.append(str(what))
        print("FAIL", what, flush=True)

    def operation(self, path, method, op, examples):
        """One operation, again and again; the smallest request that disagrees is kept."""
        @seed(int(os.environ.get("SEED", "1")))
        @settings(max_examples=examples, deadline=None, database=None,
                  suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
                  phases=[Phase.generate, Phase.shrink])
        @given(self.requests(path, op))
        def run(request):
            self.once(path, method, op, request)
        try:
            run()
        except AssertionError as e:
            self.disagree(e)


def main():
    spec_file, router, admin, token_file = sys.argv[1:5]
    examples = int(sys.argv[5]) if len(sys.argv) > 5 else 40
    with open(token_file, encoding="utf-8") as f:
        fuzz = Fuzzer(Spec(spec_file), router, admin, f.read().strip())
    for path, method, op in fuzz.spec.operations():
        fuzz.make_queue()
        fuzz.members(path, method, op)
        fuzz.operation(path, method, op, examples)
    print(f"{fuzz.n} requests, {len(fuzz.bad)} disagree")
    return 1 if fuzz.bad else 0


if __name__ == "__main__":
    sys.exit(main())
