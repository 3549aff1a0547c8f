#!/usr/bin/env python3
"""test_demo.py: what `make demo-gpu` and `make demo-calls` leave of a user's cluster, and whether each promise
that demo-gpu judges can be broken. (tests/e2e/e2e_demo_gpu.sh runs the whole.) The last line is "test_demo: N
passed, M failed".
"""
import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error

DEPLOY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../deploy")
sys.path.insert(0, DEPLOY)
for name in ("TENANTS", "CALLS", "TOKENS", "FLOOD", "FLOOD_TOKENS", "SLOTS", "PER_S", "PAGE_PORT"):
    os.environ.pop(name, None)
import demo_calls    # noqa: E402
import demo_cluster  # noqa: E402
import demo_gpu      # noqa: E402


def cluster(folder):
    """One that nobody answers for; its routers are not told."""
    os.makedirs(os.path.join(folder, "secrets"), exist_ok=True)
    file = os.path.join(folder, "cluster.json")
    with open(file, "w", encoding="utf-8") as f:
        json.dump({"admin": "http://127.0.0.1:1", "admin_token": "x", "router": ["http://127.0.0.1:1"]}, f)
    c = demo_gpu.Cluster(file, folder)
    c.reread = lambda: None
    return c


class Tokens(unittest.TestCase):
    """The file of a user's tenants."""

    USERS = (b"# ours: submit demo-gpu in words\n\n" + b"a" * 64 + b" submit,take,read *\r\n" +
             b"b" * 64 + b" submit demo-gpu key=mine cost=4 paths=/v1/*\n# caf\xe9 \xe2\x80\xa8 \x0b\n")

    def test_it_is_as_it_was(self):
        with tempfile.TemporaryDirectory() as d:
            c = cluster(d)
            real = os.path.join(d, "elsewhere")
            with open(real, "wb") as f:
                f.write(self.USERS)
            os.chmod(real, 0o640)
            os.symlink(real, os.path.join(d, "secrets/task_tokens"))
            c = cluster(d)
            lines = [demo_gpu.Tenant(n, "http://a:1").line() for n in range(3)]
            with open(real + ".new", "w", encoding="utf-8") as f:
                f.write("of a demo that was killed")
            for put, has in ((lines, self.USERS + ("\n".join(lines) + "\n").encode()), (lines[:1], self.USERS + (lines[0] + "\n").encode()), ([], self.USERS)):
                c.tokens(put)
                with open(os.path.join(d, "secrets/task_tokens"), "rb") as f:
                    self.assertEqual(f.read(), has)
                self.assertEqual(os.stat(real).st_mode & 0o7777, 0o640)
                self.assertTrue(os.path.islink(os.path.join(d, "secrets/task_tokens")))
            self.assertEqual(sorted(os.listdir(d)), ["cluster.json", "elsewhere", "secrets"])

    def test_a_last_line_without_its_end(self):
        with tempfile.TemporaryDirectory() as d:
            c = cluster(d)
            with open(c.file, "w", encoding="utf-8") as f:
                f.write("# mine")
            line = demo_gpu.Tenant(1, "http://a:1").line()
            c.tokens([line])
            with open(c.file, encoding="utf-8") as f:
                self.assertEqual(f.read(), f"# mine\n{line}\n")


class Ends(unittest.TestCase):
    """Nothing is put there behind the end."""

    def test_amid_what_is_put_there(self):
        with tempfile.TemporaryDirectory() as d:
            c, did, at_it, go_on = cluster(d), [], threading.Event(), threading.Event()

            def define():
                at_it.set()
                go_on.wait(60)
                did.append("put")

            def broken():
                raise ValueError("broken")
            begins = threading.Thread(target=c.begin, args=(define,))
            begins.start()
            at_it.wait(60)
            wrong = []
            ends = threading.Thread(target=lambda: wrong.extend(c.end(broken, lambda: did.append("away"))))
            ends.start()
            go_on.set()
            begins.join()
            ends.join()
            self.assertEqual(did, ["put", "away"])
            self.assertEqual([str(e) for e in wrong], ["broken"])
            c.begin(lambda: did.append("too late"))
            self.assertEqual(did, ["put", "away"])

    def test_servers_die_with_the_demo(self):
        """Also if it is killed."""
        with tempfile.TemporaryDirectory() as d:
            script = f"import sys, time; sys.path.insert(0, {DEPLOY!r}); import demo_gpu; s = demo_gpu.Server({d!r}, 1); print(s.process.pid, flush=True); time.sleep(600)"
            with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as p:
                pid = int(p.stdout.readline())
                os.kill(pid, 0)
                p.send_signal(signal.SIGKILL)
            end = time.monotonic() + 60
            while time.monotonic() < end and self.runs(pid):
                time.sleep(0.05)
            self.assertFalse(self.runs(pid))

    @staticmethod
    def runs(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
                return f.read().rpartition(")")[2].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):
            return False

    def test_two_of_a_name(self):
        """The second one says so, and touches nothing."""
        with tempfile.TemporaryDirectory() as d:
            for demo in ("demo-gpu", "demo-calls"):
                with open(os.path.join(d, f"{demo}.lock"), "w", encoding="ascii") as f:
                    subprocess.run(["flock", "-n", str(f.fileno())], pass_fds=[f.fileno()], check=True)
                    said = subprocess.run(["bash", os.path.join(DEPLOY, f"{demo}.sh")], env={**os.environ, "RUN_DIR": d}, check=False,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
                self.assertNotEqual(said.returncode, 0)
                self.assertIn(f"{demo}: another one runs here", said.stdout)
            self.assertEqual(sorted(os.listdir(d)), ["demo-calls.lock", "demo-gpu.lock"])

    def test_numbers(self):
        for name, bad in (("TENANTS", "1"), ("FLOOD", "many"), ("SLOTS", "0"), ("PAGE_PORT", "70000"), ("CALLS", "-1")):
            said = subprocess.run([sys.executable, os.path.join(DEPLOY, "demo_gpu.py")], env={**os.environ, name: bad}, check=False,
                                  stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertRegex(said.stderr, f"^demo-gpu: {name}={bad}: it must be a number from ")
            self.assertEqual(said.returncode, 1)


class Answers(unittest.TestCase):
    """Errors of the cluster are told as it told them."""

    def test_refused(self):
        for body, told in ((b'{"title":"Bad","detail":"targets.0.url is missing"}', "400, targets.0.url is missing"), (b"<p>", "400, Bad Request"), (b"[]", "400, Bad Request")):
            e = demo_cluster.Refused(urllib.error.HTTPError("http://a/v1", 400, "Bad Request", {}, io.BytesIO(body)))
            self.assertEqual((str(e), e.code), (f"http://a/v1: {told}", 400))


class FakeServer:
    """What the judge knows of one."""

    def __init__(self, rows):
        self.rows, self.done, self.refused, self.most, self.alive = rows, len(rows), 0, demo_gpu.SLOTS, True


def night():
    """A demo in which all went well: each tenant's calls begin in their order, one of the flood amid them."""
    demo = object.__new__(demo_gpu.Demo)
    demo.tenants, demo.died, demo.began = [demo_gpu.Tenant(n, "http://a:1") for n in range(demo_gpu.TENANTS)], None, 0.0
    rows, turn = [], 0
    for t in [*demo.tenants[1:100], demo.tenants[0], *demo.tenants[100:]] + demo.tenants[1:]:
        turn += 1
        rows.append({"began": float(turn), "task": f"{int(t.name[6:]) % 4}-{turn << 24}", "tenant": t.name})
    for t in demo.tenants:
        t.done, t.ended, t.first = t.calls, 900.0 + (t is demo.tenants[0]), [1.0]
    demo.servers = [FakeServer(rows[n::4]) for n in range(4)]
    return demo


def swapped(demo):
    """A tenant's second call before its first one."""
    a, b = [r for s in demo.servers for r in s.rows if r["tenant"] == "tenant7"]
    a["task"], b["task"] = b["task"], a["task"]


def flood_first(demo):
    """All of the flood before the last of the many, as in a line without keys."""
    demo.servers[0].rows += [{"began": 101.0 + n / 1000, "task": f"0-{n << 24}", "tenant": "tenant0"} for n in range(100, 100 + demo_gpu.FLOOD)]


class Judge(unittest.TestCase):
    """Each promise can be broken, and is then the only one."""

    def broken(self, harm):
        demo = night()
        harm(demo)
        return [n for n, (ok, _) in enumerate(demo.claims()) if not ok]

    def test_all_are_kept(self):
        self.assertEqual(self.broken(lambda demo: None), [])

    def test_each_is_broken(self):
        for n, harm in (
                (0, lambda d: setattr(d.tenants[5], "done", 1)), (1, lambda d: setattr(d.tenants[5], "false", 1)),
                (2, lambda d: setattr(d.servers[3], "refused", 1)), (2, lambda d: setattr(d.servers[0], "most", demo_gpu.SLOTS + 1)),
                (3, lambda d: setattr(d.servers[1], "done", 0)), (4, swapped), (5, flood_first),
                (6, lambda d: setattr(d.tenants[0], "ended", 800.0))):
            with self.subTest(n):
                self.assertEqual(self.broken(harm), [n])

    def test_none_came(self):
        self.assertEqual(self.broken(lambda d: d.servers.pop()), [3])

    def test_calls_without_their_task(self):
        """Of which the judge cannot tell the order: not kept in silence."""
        def harm(demo):
            for s in demo.servers:
                for r in s.rows:
                    r["task"] = None
        self.assertIn(5, self.broken(harm))

    def test_the_flood_comes_amid_the_many(self):
        demo, came = night(), []
        for t in demo.tenants:
            async def run(t=t):
                came.append(t.name)
            t.run = run
        asyncio.run(demo.calls())
        self.assertEqual((came.index("tenant0"), len(came)), (demo_gpu.TENANTS // 2, demo_gpu.TENANTS))


class Calls(unittest.TestCase):
    """Of demo-calls."""

    def test_an_end_before_its_beginning(self):
        with tempfile.TemporaryDirectory() as d:
            cluster(d)
            token = os.path.join(d, "token")
            with open(token, "w", encoding="ascii") as f:
                f.write("x\n")
            c, did = demo_calls.Cluster(os.path.join(d, "cluster.json"), token), []
            c.order = lambda *order: did.append(order[0])
            self.assertEqual(c.end(c.forget), [])
            c.begin(demo_calls.Demo(c, demo_calls.Target(), 1, 10).define)
            self.assertEqual(did, ["DELETE"])


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    got = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    bad = len(got.failures) + len(got.errors)
    print(f"test_demo: {got.testsRun - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
