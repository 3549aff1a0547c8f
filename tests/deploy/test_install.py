#!/usr/bin/env python3
"""test_install.py BUILD: what `make install` puts where, and that `make uninstall` takes it away.

BUILD is the folder with bin/ and install/. The last line is "test_install: N passed, M failed".
"""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "docs", "site"))

from pages import ROOT, documents, links, text_of  # noqa: E402

BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(ROOT, "build", "rel")
PROGRAMS = ("router", "segment", "task", "queuemng", "rt_cluster", "seg_cluster", "task_cluster", "mng_cluster")


def tried(what, root, **places):
    """What install.sh says to it."""
    return subprocess.run([os.path.join(ROOT, "deploy", "install.sh"), what, BUILD], capture_output=True,
                          text=True, env={**os.environ, "DESTDIR": root, "PREFIX": "/usr", **places})


def install(what, root, **places):
    got = tried(what, root, **places)
    assert got.returncode == 0, got.stderr
    return got.stdout


def tree(root):
    """Everything that is no folder."""
    return {os.path.join("/", os.path.relpath(os.path.join(at, f), root))
            for at, _, files in os.walk(root) for f in files}


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = cls.folder.name
        install("install", cls.root)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def at(self, path):
        return self.root + path

    def test_every_program_is_there_and_says_its_version(self):
        for path in ["/usr/bin/segqctl"] + ["/usr/lib/segq/" + p for p in PROGRAMS]:
            said = subprocess.run([self.at(path), "--version"], capture_output=True, text=True).stdout
            self.assertIn(text_of("VERSION").strip(), said)

    def test_every_program_has_a_manual_page_of_all_its_options_and_keys(self):
        for p in PROGRAMS:
            page = self.at(f"/usr/share/man/man8/segq-{p}.8")
            got = subprocess.run(["groff", "-man", "-Tascii", "-ww", page], capture_output=True, text=True)
            self.assertEqual(got.stderr, "", p)
            said = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", got.stdout)
            told = subprocess.run([os.path.join(BUILD, "bin", p), "-h"], capture_output=True, text=True).stdout
            keys = set(re.findall(r"^ +(-*[a-z_V]+) ", told, re.M))
            self.assertGreater(len(keys), 10, p)
            shown = set(re.findall(r"^ +(-*[a-z_V]+)(?: |$)", said, re.M))
            self.assertEqual(keys - shown, set(), p)

    def test_units_start_what_is_there_with_files_that_are_there(self):
        units = glob.glob(self.at("/usr/lib/systemd/system/*.service"))
        self.assertEqual(len(units), 4)
        for unit in units:
            with open(unit, encoding="utf-8") as f:
                text = f.read()
            program, settings = re.search(r"^ExecStart=(\S+) -c (\S+)$", text, re.M).groups()
            page = re.search(r"^Documentation=man:(\S+)\(8\) file://(\S+)$", text, re.M)
            for path in (program, settings, f"/usr/share/man/man8/{page[1]}.8", page[2]):
                self.assertTrue(os.path.exists(self.at(path)), path)
            user = re.search(r"^User=(\S+)$", text, re.M)[1]
            with open(self.at("/usr/lib/sysusers.d/segq.conf"), encoding="utf-8") as f:
                self.assertRegex(f.read(), rf"(?m)^u {user} ")

    def test_documents_lead_somewhere(self):
        n = 0
        for page in documents():
            there = os.path.join(self.at("/usr/share/doc/segq"), page)
            self.assertTrue(os.path.exists(there), page)
            for target, _ in links(text_of(page)):
                n += 1
                self.assertTrue(os.path.exists(os.path.join(os.path.dirname(there), target)), f"{page}: {target}")
        self.assertGreater(n, 100)

    def test_a_game_is_built_with_the_library(self):
        with tempfile.TemporaryDirectory() as out:
            flags = subprocess.run(["pkg-config", "--cflags", "--libs", "segq-client"], capture_output=True, text=True,
                                   env={**os.environ, "PKG_CONFIG_PATH": self.at("/usr/lib/pkgconfig"),
                                        "PKG_CONFIG_SYSROOT_DIR": self.root})
            self.assertEqual(flags.returncode, 0, flags.stderr)
            example = out + "/example.c"  # its header is the installed one
            shutil.copy(self.at("/usr/share/doc/segq/clients/c/example.c"), example)
            sanitized = b"__asan_init" in open(self.at("/usr/lib/libsegq-client.a"), "rb").read()
            subprocess.run(["cc", "-o", out + "/wait", example, *flags.stdout.split(),
                            *["-fsanitize=address,undefined"] * sanitized], check=True)

    def test_shells_have_their_words(self):
        for path in ("bash-completion/completions/segqctl", "zsh/site-functions/_segqctl",
                     "fish/vendor_completions.d/segqctl.fish"):
            self.assertGreater(os.path.getsize(self.at("/usr/share/" + path)), 100)

    def test_places_can_be_others(self):
        with tempfile.TemporaryDirectory() as root:
            install("install", root, PREFIX="/opt/segq", UNITDIR="/lib/systemd/system", LIBDIR="/opt/lib")
            self.assertTrue(os.path.exists(root + "/opt/lib/libsegq-client.a"))
            with open(root + "/lib/systemd/system/segq-rt.service", encoding="utf-8") as f:
                self.assertIn("ExecStart=/opt/segq/lib/segq/rt_cluster -c /etc/segq/rt_cluster.yaml\n", f.read())
            with open(root + "/opt/lib/pkgconfig/segq-client.pc", encoding="utf-8") as f:
                self.assertRegex(f.read(), "(?s)prefix=/opt/segq\nlibdir=/opt/lib\n.*Version: %s\n"
                                 % re.escape(text_of("VERSION").strip()))

    def test_a_careful_root_installs_for_everybody(self):
        """Services are of another user: with umask 077 they could not read their programs."""
        with tempfile.TemporaryDirectory() as root:
            before = os.umask(0o077)
            try:
                install("install", root + "/of")
            finally:
                os.umask(before)
            for at, _, files in os.walk(root + "/of"):
                self.assertEqual(os.stat(at).st_mode & 0o777, 0o755, at)
                for f in files:
                    self.assertEqual(os.stat(os.path.join(at, f)).st_mode & 0o444, 0o444, f)

    def test_a_mistyped_place_is_refused_and_nothing_is_put_there(self):
        with tempfile.TemporaryDirectory() as root:
            for places in ({"PREFIX": "usr/local"}, {"PREFIX": "~/segq"}, {"PREFIX": "/opt/my segq"}, {"PREFIX": "/opt/a|b"},
                           {"UNITDIR": "lib/systemd/system"}, {"ZSHDIR": "share/zsh"}):
                for what in ("install", "uninstall"):
                    got = tried(what, root, **places)
                    name, place = next(iter(places.items()))
                    self.assertEqual((got.returncode, got.stderr.split(": give")[0]), (2, f"{what}: {name}={place}"))
            self.assertEqual(tree(root), set())

    def test_uninstall_of_another_place_says_that_nothing_is_there(self):
        with tempfile.TemporaryDirectory() as root:
            install("install", root)
            got = tried("uninstall", root, PREFIX="/usr/locla")
            self.assertEqual(got.returncode, 2)
            self.assertIn("no segq in " + root + "/usr/locla", got.stderr)
            self.assertTrue(os.path.exists(root + "/usr/bin/segqctl"))

    def test_what_the_operator_wrote_stays(self):
        with tempfile.TemporaryDirectory() as root:
            install("install", root)
            first = tree(root)
            mine = root + "/etc/segq/router.yaml"
            with open(mine, "a", encoding="utf-8") as f:
                f.write("join_burst: 7\n")
            self.assertIn("/etc/segq/router.yaml stays as it is", install("install", root))
            with open(mine, encoding="utf-8") as f:
                self.assertIn("join_burst: 7", f.read())
            install("uninstall", root)
            self.assertEqual(tree(root), {p for p in first if p.startswith("/etc/segq/")})
            self.assertFalse(os.path.exists(root + "/usr/share/doc/segq"))

    def test_secrets_are_made_once_and_for_root_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            where = folder + "/secrets"
            make = [self.at("/usr/lib/segq/secrets"), where]
            subprocess.run(make, check=True)
            kept = {f: open(f, "rb").read() for f in glob.glob(where + "/*")}
            self.assertEqual({os.path.basename(f) for f in kept}, {"cluster.secret", "pass.key", "admin.token", "task.token", "task_tokens"})
            digest = hashlib.sha256(kept[where + "/task.token"].strip()).hexdigest()
            self.assertEqual(kept[where + "/task_tokens"].decode(), digest + " submit,take,read *\n")
            for f in kept:
                self.assertEqual(os.stat(f).st_mode & 0o777, 0o600)
            os.unlink(where + "/pass.key")
            subprocess.run(make, check=True)
            for f, was in kept.items():
                self.assertEqual(open(f, "rb").read() == was, not f.endswith("pass.key"))


    def test_secrets_need_what_they_are_made_of(self):
        """The hash of a token that is not there would be that of the empty one."""
        with tempfile.TemporaryDirectory() as folder:
            for name, why in (("task_tokens", "task.token"), ("pass.kye", "no secret pass.kye")):
                got = subprocess.run([self.at("/usr/lib/segq/secrets"), folder + "/a/secrets", name], capture_output=True,
                                     text=True, umask=0o077)
                self.assertEqual(got.returncode, 2)
                self.assertIn(why, got.stderr)
            self.assertEqual(tree(folder), set())
            self.assertEqual([os.stat(folder + d).st_mode & 0o777 for d in ("/a", "/a/secrets")], [0o755, 0o700])


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    got = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    bad = len(got.failures) + len(got.errors)
    print(f"test_install: {got.testsRun - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
