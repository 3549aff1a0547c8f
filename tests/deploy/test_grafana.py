#!/usr/bin/env python3
"""test_grafana.py: the dashboard is one that Grafana takes, and asks only for what there is.

    test_grafana.py                        what can be said of the file alone
    test_grafana.py --live URL PAGE...     beside it: every metric that the dashboard, the rules
        and the alerts name is in one of these /metrics pages (files), and this Prometheus
        answers every question of the dashboard

The last line is "test_grafana: N passed, M failed".
"""
import json
import os
import re
import sys
import unittest
import urllib.error
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
DEPLOY = os.path.join(os.path.dirname(os.path.dirname(HERE)), "deploy")
DASHBOARD = os.path.join(DEPLOY, "grafana", "segq.json")
RULES = [os.path.join(DEPLOY, "prometheus", f) for f in ("segq_rules.yml", "segq_alerts.yml")]
UID = "segq-cluster"  # bookmarks and links have it: it never changes
WIDTH = 24
NAME = re.compile(r"(?<![\w:])(?:segq|process)_\w+\b(?!:)")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def dashboard():
    return json.loads(read(DASHBOARD))


def questions():
    """Every PromQL expression of the dashboard, with the panel's title."""
    board = dashboard()
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]
    for note in board["annotations"]["list"]:
        yield note["name"], note["expr"]


def expressions(path):
    """The expressions of a file of rules: from `expr:` to the next key."""
    return re.findall(r"expr: (.*(?:\n +(?![a-z]+:)\S.*)*)", read(path))


def metrics_named():
    """What is asked of the cluster, by whom. Names with colons are ours: recorded."""
    named = {}
    for where, text in questions():
        for name in NAME.findall(text):
            named.setdefault(name, where)
    for path in RULES:
        for text in expressions(path):
            for name in NAME.findall(text):
                named.setdefault(name, os.path.basename(path))
    return named


def recorded():
    return set(re.findall(r"- record: (\S+)", read(RULES[0])))


def overlap(a, b):
    return (a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"]
            and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"])


class File(unittest.TestCase):
    """The file as it is imported."""

    def test_its_name_is_stable(self):
        board = dashboard()
        self.assertEqual((board["uid"], board["title"], board["id"]), (UID, "segq", None))

    def test_panels_are_numbered_and_do_not_overlap(self):
        panels = dashboard()["panels"]
        self.assertEqual(len({p["id"] for p in panels}), len(panels))
        places = [p["gridPos"] for p in panels]
        self.assertLessEqual(max(p["x"] + p["w"] for p in places), WIDTH)
        clash = [(a, b) for i, a in enumerate(places) for b in places[:i] if overlap(a, b)]
        self.assertEqual(clash, [])

    def test_every_question_goes_to_the_chosen_prometheus(self):
        for panel in dashboard()["panels"]:
            for asker in [panel, *panel.get("targets", [])] if panel["type"] != "row" else []:
                self.assertEqual(asker["datasource"]["uid"], "${datasource}", panel["title"])

    def test_every_panel_says_what_it_shows(self):
        for panel in dashboard()["panels"]:
            self.assertTrue(panel["title"])
            self.assertTrue(panel["type"] == "row" or panel["targets"], panel["title"])

    def test_names_with_colons_are_recorded(self):
        asked = set()
        for _, text in questions():
            asked |= set(re.findall(r"\b\w+:segq\w*(?::\w+)?|\bsegq_\w+:\w+", text))
        self.assertTrue(asked)
        self.assertEqual(asked - recorded(), set())


def sampled(pages):
    """The names of the samples, and of the histograms' families, of these pages."""
    text = "".join(read(p) for p in pages)
    return set(re.findall(r"^(\w+)[{ ]", text, re.M)) | set(re.findall(r"^# TYPE (\w+)", text,
                                                                       re.M))


def ask(url, expr):
    """What Prometheus says: "success" or its complaint."""
    expr = expr.replace("$queue", ".*")
    try:
        with urllib.request.urlopen(
                url + "/api/v1/query?" + urllib.parse.urlencode({"query": expr})) as r:
            return json.load(r)["status"]
    except urllib.error.HTTPError as e:
        return json.load(e)["error"]


class Live(unittest.TestCase):
    """Against a cluster that runs."""

    url, pages = None, []

    def setUp(self):
        if self.url is None:
            self.skipTest("no cluster")

    def test_every_metric_is_there(self):
        named, there = metrics_named(), sampled(self.pages)
        self.assertGreater(len(named), 40)
        self.assertEqual({n: w for n, w in named.items() if n not in there}, {})

    def test_every_question_is_answered(self):
        for title, expr in questions():
            self.assertEqual(ask(self.url, expr), "success", f"{title}: {expr}")


def main():
    if sys.argv[1:2] == ["--live"]:
        Live.url, Live.pages = sys.argv[2], sys.argv[3:]
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    got = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    bad = len(got.failures) + len(got.errors)
    print(f"test_grafana: {got.testsRun - bad - len(got.skipped)} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
