#!/usr/bin/env python3
"""test_readme.py BIN: README.md, docs/ and their Chinese pages say the same commands, name only what
exists, and their links lead somewhere.

The last line is "test_readme: N passed, M failed".
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "docs", "site"))

import make_site  # noqa: E402
from pages import ROOT, anchors, blocks, documents, links, pairs, prose, text_of  # noqa: E402

BIN = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build", "rel", "bin")


def typed(text):
    """What the text between tells people to type."""
    words = r"(?:segqctl|make|kill|cp|umask|nginx|apt-get|curl|[A-Z]+=|tests/run|deploy/)"
    return set(re.findall(r"`(%s[^`\n]* [^`\n]*)`" % words, prose(text)))


class BothLanguages(unittest.TestCase):
    """Each page beside its Chinese one."""

    def test_each_has_its_other_one(self):
        self.assertGreater(len(pairs()), 10)
        for pair in pairs():
            for p in pair:
                self.assertTrue(os.path.exists(os.path.join(ROOT, p)), p)

    def test_commands_are_the_same(self):
        n = 0
        for en, zh in pairs():
            with self.subTest(en):
                self.assertEqual(blocks(text_of(en)), blocks(text_of(zh)))
                n += len(blocks(text_of(en)))
        self.assertGreater(n, 20)

    def test_so_are_those_within_the_text(self):
        n = 0
        for en, zh in pairs():
            with self.subTest(en):
                self.assertEqual(typed(text_of(en)) ^ typed(text_of(zh)), set())
                n += len(typed(text_of(en)))
        self.assertGreater(n, 15)


class Links(unittest.TestCase):
    """Every relative link leads to a file, and to a heading of it."""

    def test_links(self):
        n = 0
        for page in documents():
            for target, name in links(text_of(page)):
                n += 1
                with self.subTest(page=page, link=f"{target}#{name}"):
                    path = os.path.normpath(os.path.join(os.path.dirname(page), target)) if target else page
                    self.assertTrue(os.path.exists(os.path.join(ROOT, path)))
                    if name:
                        self.assertIn(name, anchors(text_of(path)))
        self.assertGreater(n, 50)

    def test_every_page_is_reached_from_the_readme(self):
        for start, folder in (("README.md", "docs"), ("README.zh-CN.md", "docs/zh")):
            seen, todo = set(), [start]
            while todo:
                page = todo.pop()
                if page in seen or not page.endswith(".md"):
                    continue
                seen.add(page)
                todo += [os.path.normpath(os.path.join(os.path.dirname(page), t)) for t, _ in
                         links(text_of(page)) if t]
            there = {p for pair in pairs() for p in pair if os.path.dirname(p) == folder}
            self.assertEqual(there - seen, set())


class Site(unittest.TestCase):
    """`make docs`: without scripts, nothing from elsewhere, and no link that leads nowhere."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        api = subprocess.run([os.path.join(BIN, "..", "deploy", "yaml2json"), os.path.join(ROOT, "proto/openapi.yaml")],
                             capture_output=True, check=True).stdout
        cls.made = make_site.build(cls.folder.name, json.loads(api)[0])

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_every_page_is_there(self):
        self.assertGreater(len(self.made), 40)
        self.assertIn("index.html", self.made)

    def test_links(self):
        self.assertEqual(list(make_site.dead_links(self.folder.name, self.made)), [])

    def test_a_dead_link_is_found(self):
        with open(os.path.join(self.folder.name, "dead.html"), "w") as f:
            f.write('<a href="index.html#nowhere"></a><a href="index.html#pages"></a><a href="none.html"></a>')
        found = [link for page, link in make_site.dead_links(self.folder.name, self.made + ["dead.html"])
                 if page == "dead.html"]
        self.assertEqual(found, ["index.html#nowhere", "none.html"])

    def test_nothing_runs_and_nothing_comes_from_elsewhere(self):
        for page in self.made:
            with open(os.path.join(self.folder.name, page), encoding="utf-8") as f:
                text = f.read()
            nothing = r"<iframe|javascript:|<[^>]*\son\w+=|src=\"\w+:"
            if page == make_site.EXPLORER:  # its own script alone
                self.assertNotRegex(text, nothing + r"|<script[^>]*src|@import|url\(", page)
            else:
                self.assertNotRegex(text, nothing + "|<script", page)

    def test_a_page_knows_its_place(self):
        with open(os.path.join(self.folder.name, "docs/zh/game.html"), encoding="utf-8") as f:
            text = f.read()
        self.assertIn('<html lang="zh-CN">', text)
        self.assertIn('<a href="game.html" aria-current="page">', text)
        self.assertIn('<a href="../game.html">English</a>', text)
        self.assertIn('href="../site/site.css"', text)

    def test_chinese_has_no_blanks_where_lines_end(self):
        with open(os.path.join(self.folder.name, "docs/zh/game.html"), encoding="utf-8") as f:
            text = re.sub(r"<pre.*?</pre>", "", f.read(), flags=re.S)
        self.assertEqual(re.findall(r".[，。；：、]\n[^<\s].|[\u4e00-\u9fff]\n[\u4e00-\u9fff]", text), [])


class Size(unittest.TestCase):
    def test_the_readme_is_short(self):
        for p in pairs()[0]:
            self.assertLessEqual(len(text_of(p).split("\n")), 201, p)


class Exists(unittest.TestCase):
    """What README.md and docs/ name."""

    @classmethod
    def setUpClass(cls):
        cls.text = "\n".join(text_of(p) for pair in pairs() for p in pair)

    def test_files(self):
        names = set(re.findall(r"\b((?:clients|deploy|conf|proto|tests|queuemng|router|segment|task|common)"
                               r"/[\w./-]*\w)", self.text))
        self.assertGreater(len(names), 30)
        self.assertEqual([n for n in sorted(names)
                          if "LANG" not in n and not os.path.exists(os.path.join(ROOT, n))], [])

    def test_blocks_that_the_story_types(self):
        """tests/sys/sys_readme.sh finds each block by the line before it."""
        page, n = "", 0
        for line in text_of("tests/sys/sys_readme.sh").splitlines():
            m = re.match(r"page=(\S+)", line)
            page = m[1] if m else page
            m = re.match(r"""(?:type_in "[^"]*"| *block) (?:"([^"$]+)"|'([^']+)')""", line)
            if m:
                n += 1
                found = re.search(r"(?ms)^%s.*?^```sh$" % re.escape(m[1] or m[2]), text_of(page))
                self.assertTrue(found, f"{page} has no commands after: {m[1] or m[2]}")
        self.assertGreater(n, 15)

    def test_tree(self):
        """A line for each room, and for none that is not there."""
        tree = next(b for b in blocks(text_of("docs", "internals.md"))
                    if b.startswith("```\ncommon/"))
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
        self.assertEqual(named - known - {"finds", "help", "completion", "man"}, set())

    def test_alerts(self):
        known = set(re.findall(r"- alert: (\w+)", text_of("deploy", "prometheus",
                                                          "segq_alerts.yml")))
        named = set(re.findall(r"\bSegq[A-Z]\w+", self.text))
        self.assertGreater(len(named), 5)
        self.assertEqual(named - known, set())

    def test_keys_of_a_queue(self):
        """The table of what a queue can do names keys that conf/ has."""
        page = text_of("docs", "configuration.md")
        table = page[page.index("What else a queue can do"):]
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
