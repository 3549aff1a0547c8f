#!/usr/bin/env python3
"""test_dist.py BUILD: `make dist`: the same tree makes the same bytes; what the programs are linked
with is in the bill of materials; their compiler's defences are there (hardening-check of devscripts,
where it is installed). That the tarball builds itself: test_deb.sh.

BUILD is the folder with bin/. The last line is "test_dist: N passed, M failed".
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(ROOT, "build", "rel")
PROGRAMS = ("router", "segment", "task", "queuemng", "rt_cluster", "seg_cluster", "task_cluster", "mng_cluster",
            "segqctl")
WANTED = ("Position Independent Executable", "Stack protected", "Fortify Source functions", "Read-only relocations",
          "Immediate binding")


def version():
    with open(os.path.join(ROOT, "VERSION"), encoding="utf-8") as f:
        return f.read().strip()


def tarball(tree, out, umask=0o022, **env):
    """The bytes of one."""
    before = os.umask(umask)
    subprocess.run([os.path.join(tree, "deploy", "dist.sh"), out], check=True, env={**os.environ, **env})
    os.umask(before)
    with open(os.path.join(out, f"segq-{version()}.tar.gz"), "rb") as f:
        return f.read()


class Tarball(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.at = cls.folder.name
        cls.bytes = tarball(ROOT, cls.at + "/one")
        with tarfile.open(f"{cls.at}/one/segq-{version()}.tar.gz") as t:
            t.extractall(cls.at + "/tree")
            cls.members = t.getmembers()
        cls.tree = f"{cls.at}/tree/segq-{version()}"

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_equal_bytes_at_another_time_for_somebody_else(self):
        self.assertEqual(self.bytes, tarball(ROOT, self.at + "/two", 0o077, TZ="Asia/Tokyo", LC_ALL="C.UTF-8"))

    def test_what_it_makes_is_itself(self):
        os.makedirs(self.tree + "/build/rel")  # as after a build
        with open(self.tree + "/build/rel/left", "w", encoding="utf-8"):
            pass
        env = {"GIT_DIR": "/nonexistent"}
        self.assertEqual(self.bytes, tarball(self.tree, self.at + "/three", 0o002, **env))

    def test_it_has_what_is_needed_and_nothing_that_was_made(self):
        names = {m.name.removeprefix(f"segq-{version()}/") for m in self.members}
        self.assertGreaterEqual(names, {"Makefile", "VERSION", "README.md", "SECURITY.md", "CHANGELOG.md",
                                        "deploy/debian/control", "tests/run.py"})
        self.assertEqual([n for n in names if re.match(r"(build|run|\.git)/", n)], [])
        self.assertEqual({(m.uid, m.gid, m.uname) for m in self.members}, {(0, 0, "")})
        self.assertEqual({m.mode for m in self.members if m.isfile()}, {0o644, 0o755})


class Packages(unittest.TestCase):
    def test_they_are_built_with_what_deps_installs(self):
        with open(os.path.join(ROOT, "deploy", "deps.sh"), encoding="utf-8") as f:
            wanted = set(re.search(r'^build="([^"]*)"', f.read(), re.M)[1].split())
        with open(os.path.join(ROOT, "deploy", "debian", "control"), encoding="utf-8") as f:
            have = set(re.findall(r"[\w.+-]+", re.search(r"^Build-Depends:((?:.*,\n)*.*)", f.read(), re.M)[1]))
        self.assertEqual(wanted - have, set())


class Materials(unittest.TestCase):
    """deploy/sbom.py"""

    @classmethod
    def setUpClass(cls):
        if b"__asan_init" in open(os.path.join(BUILD, "bin", "router"), "rb").read():
            raise unittest.SkipTest("a sanitized build is linked with other things")
        cls.text = cls.made()
        cls.doc = json.loads(cls.text)

    @staticmethod
    def made():
        return subprocess.run([os.path.join(ROOT, "deploy", "sbom.py"), os.path.join(BUILD, "bin")], check=True,
                              capture_output=True, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}).stdout

    def test_equal_bytes(self):
        self.assertEqual(self.text, self.made())

    def test_it_is_an_spdx_document(self):
        d = self.doc
        self.assertEqual((d["spdxVersion"], d["dataLicense"], d["SPDXID"]), ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"))
        self.assertEqual(d["creationInfo"]["created"], "2023-11-14T22:13:20Z")
        self.assertTrue(d["documentNamespace"] and d["creationInfo"]["creators"])
        ids = [p["SPDXID"] for p in d["packages"]]
        self.assertEqual(len(ids), len(set(ids)))
        for p in d["packages"]:
            self.assertRegex(p["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")
            self.assertGreaterEqual(set(p), {"name", "versionInfo", "downloadLocation", "licenseConcluded",
                                             "licenseDeclared", "copyrightText"})
        for r in d["relationships"]:
            self.assertIn(r["relatedSpdxElement"], ids)
        explained = {i["licenseId"] for i in d["hasExtractedLicensingInfos"]}
        said = {p["licenseDeclared"] for p in d["packages"] if p["licenseDeclared"].startswith("LicenseRef-")}
        self.assertEqual(said, explained)

    def test_every_library_is_in_it_with_version_and_licence(self):
        have = {p["name"]: p for p in self.doc["packages"]}
        for p in PROGRAMS:
            path = os.path.join(BUILD, "bin", p)
            said = subprocess.run(["readelf", "-dW", path], check=True, capture_output=True, text=True).stdout
            for so in re.findall(r"\(NEEDED\).*\[(.*)\]", said):
                of = {r["relatedSpdxElement"].removeprefix("SPDXRef-") for r in self.doc["relationships"]
                      if p in r.get("comment", "").split()}
                stem = re.sub(r"\.so.*|-[\d.]+\.so.*", "", so).replace("libz", "zlib").replace("libm", "libc")
                stem = {"libcrypto": "libssl", "libevent_core": "libevent"}.get(stem, stem)
                self.assertTrue([n for n in of if n.startswith(stem)], f"{p}: {so}")
        for name, p in have.items():
            self.assertNotEqual(p["licenseDeclared"], "NOASSERTION", name)
            installed = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True).stdout
            self.assertEqual(p["versionInfo"], version() if name == "segq" else installed)


def missing(program):
    """What hardening-check does not find, of WANTED."""
    said = subprocess.run(["hardening-check", program], capture_output=True, text=True).stdout
    have = dict(re.findall(r"^ ([^:]+): (\w+)", said, re.M))
    return [w for w in WANTED if have.get(w) != "yes"]


@unittest.skipUnless(shutil.which("hardening-check"), "hardening-check is not installed (devscripts)")
class Hardening(unittest.TestCase):
    def test_every_program(self):
        if b"__asan_init" in open(os.path.join(BUILD, "bin", "router"), "rb").read():
            self.skipTest("a sanitized build has defences of its own")
        self.assertEqual({p: m for p in PROGRAMS if (m := missing(os.path.join(BUILD, "bin", p)))}, {})

    def test_what_is_missing_is_named(self):
        with tempfile.TemporaryDirectory() as at:
            with open(at + "/bare.c", "w", encoding="utf-8") as f:
                f.write("#include <stdio.h>\n#include <string.h>\n"
                        "int main(int n, char **v) { char b[64]; strcpy(b, v[n - 1]); return printf(\"%s\", b); }\n")
            subprocess.run(["cc", "-o", at + "/bare", at + "/bare.c", "-O1", "-no-pie", "-fno-stack-protector",
                            "-U_FORTIFY_SOURCE", "-Wl,-z,norelro,-z,lazy"], check=True)
            self.assertEqual(missing(at + "/bare"), list(WANTED))


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    got = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    bad = len(got.failures) + len(got.errors)
    print(f"test_dist: {got.testsRun - bad - len(got.skipped)} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
