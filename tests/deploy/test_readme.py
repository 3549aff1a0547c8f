#!/usr/bin/env python3
"""test_readme.py BIN: README.md and README.zh-CN.md say the same commands, and only of what exists.

The last line is "test_readme: N passed, M failed".
"""
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BIN = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build", "rel", "bin")


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
        return f.read()


def without_bench(text):
    """The table of `make bench` stands in one of them only."""
    return re.sub(r"<!-- bench -->.*?<!-- end -->", "", text, flags=re.S)


def blocks(text):
    """What stands between fences: commands, code, configuration, pictures."""
    return re.findall(r"^```.*?^```$", text, re.S | re.M)


def prose(text):
    return re.sub(r"^```.*?^```$", "", without_bench(text), flags=re.S | re.M)


def typed(text):
    """What the text between tells people to type."""
    words = r"(?:segqctl|make|kill|cp|umask|nginx|apt-get|curl|[A-Z]+=|tests/run|deploy/)"
    return set(re.findall(r"`(%s[^`\n]* [^`\n]*)`" % words, prose(text)))


class BothLanguages(unittest.TestCase):
    """README.zh-CN.md beside README.md."""

    @classmethod
    def setUpClass(cls):
        cls.en, cls.zh = text_of("README.md"), text_of("README.zh-CN.md")

    def test_commands_are_the_same(self):
        self.assertGreater(len(blocks(self.en)), 10)
        for a, b in zip(blocks(self.en), blocks(self.zh)):
            self.assertEqual(a, b)
        self.assertEqual(len(blocks(self.en)), len(blocks(self.zh)))

    def test_so_are_those_within_the_text(self):
        self.assertGreater(len(typed(self.en)), 15)
        self.assertEqual(typed(self.en) ^ typed(self.zh), set())


class Exists(unittest.TestCase):
    """What README.md names."""

    @classmethod
    def setUpClass(cls):
        cls.text = text_of("README.md")

    def test_files(self):
        names = set(re.findall(r"\b((?:deploy|conf|proto|tests|queuemng|router|segment|task|common)"
                               r"/[\w./-]*\w)", self.text))
        self.assertGreater(len(names), 30)
        self.assertEqual([n for n in sorted(names)
                          if "LANG" not in n and not os.path.exists(os.path.join(ROOT, n))], [])

    def test_tree(self):
        """A line for each room, and for none that is not there."""
        tree = next(b for b in blocks(self.text) if b.startswith("```\ncommon/"))
        parts, named = [p + "/" for p in ("common", "router", "segment", "task", "queuemng")], set()
        for line in tree.split("\n"):
            m = re.match(r"( *)(\w+/) ", line)
            if m and not m.group(1):
                part = m.group(2)
            elif m:
                named.add(part + m.group(2))
        rooms = {p + d + "/" for p in parts for d in os.listdir(os.path.join(ROOT, p))
                 if os.path.isdir(os.path.join(ROOT, p, d))}
        self.assertEqual(named ^ {r for r in rooms if os.listdir(os.path.join(ROOT, r))}, set())

    def test_targets_of_make(self):
        makefile = text_of("Makefile")
        for target in set(re.findall(r"(?:`|^)make ([a-z][\w-]*)", self.text, re.M)):
            self.assertRegex(makefile, r"(?m)^%s:" % re.escape(target))

    def test_commands_of_segqctl(self):
        got = subprocess.run([os.path.join(BIN, "segqctl"), "-h"], capture_output=True, text=True)
        known = set(re.findall(r"^  ([a-z]+) ?", got.stdout, re.M))
        named = set(re.findall(r"\bsegqctl (?:--dir run )?([a-z]+)\b", self.text))
        self.assertGreater(len(named), 8)
        self.assertEqual(named - known - {"finds"}, set())

    def test_alerts(self):
        known = set(re.findall(r"- alert: (\w+)", text_of("deploy", "prometheus",
                                                          "segq_alerts.yml")))
        named = set(re.findall(r"\bSegq[A-Z]\w+", self.text))
        self.assertGreater(len(named), 5)
        self.assertEqual(named - known, set())

    def test_keys_of_a_queue(self):
        """The table of what a queue can do names keys that conf/ has."""
        table = self.text[self.text.index("What else a queue can do"):]
        rows = table[:table.index("\n## ")].split("\n|")[3:]
        conf = "".join(text_of("conf", f) for f in ("queuemng.yaml", "router.yaml", "segment.yaml"))
        keys = [re.split(r"[:.]", k)[0] for r in rows for k in re.findall(r"`([^`]+)`", r.split("|")[1])
                if k not in ("both", "subject")]
        self.assertGreater(len(keys), 10)
        for key in keys:
            self.assertRegex(conf, r"\b%s:" % re.escape(key))


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    got = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    bad = len(got.failures) + len(got.errors)
    print(f"test_readme: {got.testsRun - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
