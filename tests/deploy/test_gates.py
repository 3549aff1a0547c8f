#!/usr/bin/env python3
"""test_gates.py BUILD: the samples of gates that cannot be run here (deploy/envoy,
deploy/traefik): they are YAML, name only what is there, strip what a visitor may invent, ask
for verdicts and never hand them out. BUILD is the folder with deploy/yaml2json. The last line
is "test_gates: N passed, M failed".
"""
import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(ROOT, "build", "rel")
TOLD = ["Queue", "Ticket", "Subject", "Lane", "Device", "Expires", "Bypass"]


def yaml_of(*path):
    """The one document of a file under deploy."""
    tool = os.path.join(BUILD, "deploy", "yaml2json")
    said = subprocess.run([tool, os.path.join(ROOT, "deploy", *path)], check=True,
                          capture_output=True).stdout
    (document,) = json.loads(said)
    return document


def walk(value, key):
    """Every value of that key, anywhere below."""
    if isinstance(value, dict):
        for k, v in value.items():
            if k == key:
                yield v
            yield from walk(v, key)
    elif isinstance(value, list):
        for v in value:
            yield from walk(v, key)


class Traefik(unittest.TestCase):
    """deploy/traefik/segq_gate.yaml"""

    def setUp(self):
        self.http = yaml_of("traefik", "segq_gate.yaml")["http"]
        self.routers = self.http["routers"]

    def test_names_refer_to_something(self):
        for router in self.routers.values():
            self.assertIn(router["service"], self.http["services"])
            for name in router.get("middlewares", []):
                self.assertIn(name, self.http["middlewares"])

    def test_the_site_is_behind_the_gate_and_stripped_before(self):
        self.assertEqual(self.routers["site"]["middlewares"], ["segq-strip", "segq-gate"])
        strip = self.http["middlewares"]["segq-strip"]["headers"]
        for name in TOLD + ["Command", "Gate-Secret", "Pass"]:
            self.assertEqual(strip["customRequestHeaders"]["X-Segq-" + name], "")
        self.assertEqual(strip["customResponseHeaders"], {"X-Segq-Command": ""})

    def test_only_traefik_says_what_is_asked(self):
        auth = self.http["middlewares"]["segq-gate"]["forwardAuth"]
        self.assertFalse(auth["trustForwardHeader"])
        self.assertEqual(auth["authRequestHeaders"],
                         ["Cookie", "Authorization", "Accept", "Sec-Fetch-Mode", "Referer", "User-Agent"])
        self.assertEqual(auth["authResponseHeaders"], ["X-Segq-" + n for n in TOLD])
        self.assertEqual(auth["addAuthCookiesToResponse"], ["segq_pass"], "renewed passes")
        self.assertTrue(auth["address"].endswith("/v1/verify?queue=login&redirect=1"))

    def test_verdicts_and_commands_are_closed_to_visitors(self):
        order = sorted(self.routers, key=lambda n: -self.routers[n]["priority"])
        self.assertEqual(order, ["room", "closed", "site"])
        self.assertNotIn("/v1/verify", self.routers["room"]["rule"])
        self.assertIn("PathPrefix(`/v1/`)", self.routers["closed"]["rule"])
        self.assertEqual(self.routers["closed"]["middlewares"], ["nobody"])


class Envoy(unittest.TestCase):
    """deploy/envoy/segq_gate.yaml"""

    def setUp(self):
        self.all = yaml_of("envoy", "segq_gate.yaml")["static_resources"]
        self.site, self.ask = self.all["listeners"]

    def test_names_refer_to_something(self):
        clusters = {c["name"] for c in self.all["clusters"]}
        for name in walk(self.all["listeners"], "cluster"):
            self.assertIn(name, clusters)

    def filters(self, listener):
        """Name -> configuration, in order."""
        (found,) = walk(listener, "http_filters")
        return {f["name"]: f["typed_config"] for f in found}

    def test_stripped_then_asked(self):
        found = self.filters(self.site)
        self.assertEqual(list(found), ["segq", "envoy.filters.http.ext_authz",
                                       "envoy.filters.http.router"])
        code = found["segq"]["default_source_code"]["inline_string"]
        for name in ("^x%-segq%-", "^x%-original%-", "x-segq-command", "/v1/session"):
            self.assertIn(name, code)

    def test_closed_when_there_is_no_verdict(self):
        authz = self.filters(self.site)["envoy.filters.http.ext_authz"]
        self.assertIs(authz["failure_mode_allow"], False)
        told = authz["http_service"]["authorization_response"]
        self.assertEqual(told["allowed_upstream_headers"]["patterns"][0]["prefix"], "x-segq-")

    def test_renewed_passes_go_to_the_visitor(self):
        authz = self.filters(self.site)["envoy.filters.http.ext_authz"]
        told = authz["http_service"]["authorization_response"]
        self.assertEqual([p["exact"] for p in told["allowed_client_headers_on_success"]["patterns"]],
                         ["set-cookie", "x-segq-pass"])

    def test_only_the_room_is_open(self):
        (hosts,) = walk(self.site, "virtual_hosts")
        events = "/v1/tickets/[^/]+/events"
        routes = {r["match"].get("prefix") or r["match"]["safe_regex"]["regex"]: r
                  for r in hosts[0]["routes"]}
        self.assertEqual(list(routes),
                         ["/q/", "/v1/queues/", "/v1/tasks/", events, "/v1/tickets/", "/v1/", "/"])
        self.assertEqual(routes[events]["route"]["timeout"], "0s")
        self.assertEqual(routes["/v1/"]["direct_response"]["status"], 404)
        self.assertNotIn("typed_per_filter_config", routes["/"])
        self.assertEqual(routes["/"]["route"]["cluster"], "shop")

    def test_the_question(self):
        self.assertEqual(self.ask["address"]["socket_address"]["address"], "127.0.0.1")
        code = self.filters(self.ask)["segq_question"]["default_source_code"]["inline_string"]
        self.assertIn("/v1/verify?queue=login&redirect=1", code)
        self.assertIn("x-original-uri", code)
        self.assertIn("x-original-method", code)

    def test_programs_are_told_in_a_way_that_they_can_read(self):
        http = self.filters(self.site)["envoy.filters.http.ext_authz"]["http_service"]
        asks = {p["exact"] for p in http["authorization_request"]["allowed_headers"]["patterns"]}
        self.assertLessEqual({"accept", "sec-fetch-mode", "referer"}, asks)
        told = http["authorization_response"]["allowed_client_headers"]["patterns"]
        self.assertLessEqual({"location", "retry-after", "content-type", "x-segq-location"},
                             {p["exact"] for p in told})


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False, verbosity=1).result
    failed = len(result.failures) + len(result.errors)
    print(f"test_gates: {result.testsRun - failed} passed, {failed} failed")
    sys.exit(failed > 0)
