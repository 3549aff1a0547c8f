#!/usr/bin/env python3
"""test_run.py: what tests/run.py counts as failed, and what its tiers run.

The last line is "test_run: N passed, M failed".
"""
import contextlib
import glob
import importlib.util
import io
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
for name in ("SYS", "E2E", "LIMIT", "SIM_SEEDS", "VERBOSE"):
    os.environ.pop(name, None)
SPEC = importlib.util.spec_from_file_location("run", os.path.join(HERE, "run.py"))
run = sys.modules["run"] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(run)


def of(*jobs):
    """(passed, failed, what it says at the end, does it fail)"""
    r, said = run.Run(list(jobs)), io.StringIO()
    with contextlib.redirect_stdout(said):
        r.all()
        bad = r.summary()
    return r.passed, r.failed, said.getvalue(), bad


def job(script, **kw):
    """A shell with this script."""
    name = kw.pop("name", "sys_try")
    return run.Job(name, ["bash", "-c", script], real=True, where="test_run/", **kw)


class Counts(unittest.TestCase):
    """Of one program."""

    def counts(self, passed, failed, script, **kw):
        """What it says at the end."""
        p, n, said, bad = of(job(script, **kw))
        self.assertEqual((p, n, bad), (passed, failed, failed > 0), said)
        return said

    def test_its_last_line(self):
        self.counts(3, 0, "echo sys_try: 3 passed, 0 failed")
        self.counts(3, 2, "echo sys_try: 3 passed, 2 failed")

    def test_its_status(self):
        self.assertIn("it ended with 4", self.counts(3, 1, "echo sys_try: 3 passed, 0 failed; exit 4"))

    def test_a_crash(self):
        self.counts(0, 1, "echo ok; kill -SEGV $$")

    def test_no_summary(self):
        self.counts(0, 1, "echo sys_try: 3 passed, 0 failed; echo more")
        self.counts(0, 1, "true")

    def test_no_claim(self):
        self.counts(0, 1, "echo sys_try: 0 passed, 0 failed")

    def test_a_failure_in_a_shell_of_its_own(self):
        said = self.counts(3, 1, "echo FAIL sys_try: this; echo sys_try: 3 passed, 0 failed")
        self.assertIn("FAILED test_run/sys_try: FAIL sys_try: this", said)

    def test_a_claim_that_is_not_judged(self):
        said = self.counts(3, 0, "echo skip sys_try: this: a busy machine; echo skip sys_other: elsewhere; echo sys_try: 3 passed, 0 failed")
        self.assertIn("SKIPPED test_run/sys_try: this: a busy machine\n", said)
        self.assertNotIn("elsewhere", said)

    def test_a_hang(self):
        """It is told once to end, so that it can tidy up, and fails, whatever it says then."""
        said = self.counts(3, 1, "trap 'sleep 0.3; echo sys_try: 3 passed, 0 failed; exit' TERM; "
                           "for ((;;)); do sleep 0.1; done", limit=1)
        self.assertRegex(said, "it hangs: ended after [0-9]+ s")
        self.assertNotIn("SKIPPED", said)

    def test_a_second_time(self):
        """In a tier: at the end, alone; once; only of what looks at the clock; its first log stays."""
        with tempfile.TemporaryDirectory() as d:
            slow = f"if mkdir {d}/x; then echo FAIL sys_try: slow; exit 1; fi; ls {d} >&2; echo sys_try: 2 passed, 0 failed"
            for script, passed, failed in ((slow, 2, 0), ("echo FAIL sys_try: no; exit 1", 0, 1)):
                r = run.Run([job(script), job(f"sleep 0.3; touch {d}/y; echo 1 passed, 0 failed", name="sys_y")], True)
                said = io.StringIO()
                with contextlib.redirect_stdout(said):
                    r.all()
                    bad = r.summary()
                self.assertEqual((r.passed, r.failed, bad), (passed + 1, failed, failed > 0), said.getvalue())
                self.assertRegex(said.getvalue(), r"UNSTABLE test_run/sys_try: FAIL sys_try: (slow|no); "
                                 + ("passed", "failed")[failed] + " when run again")
                with open(r.jobs[0].beside(), encoding="utf-8") as f:
                    self.assertIn("FAIL sys_try", f.read())
            with open(f"{run.Job('sys_try', [], where='test_run/').log}", encoding="utf-8") as f:
                self.assertIn("no", f.read())
        computes = run.Job("sim_try", ["sh", "-c", "echo no"], where="test_run/")
        many = [job("exit 1", name=f"sys_{k}") for k in range(run.MENDABLE + 2)]
        for jobs, again in (([computes], 0), (many, run.MENDABLE)):
            r = run.Run(jobs, True)
            with contextlib.redirect_stdout(io.StringIO()):
                r.all()
            self.assertEqual((sum(j.again for j in jobs), r.failed), (again, len(jobs)))

    def test_a_crash_has_no_second_time(self):
        """By a signal, of itself or of what it ran, or told in its log; what hangs is ended by our signal, and may."""
        report = "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x60"
        once = "sys_try: 2 passed, 1 failed"
        for script in ("kill -SEGV $$", "kill -KILL $$", "bash -c 'kill -ABRT $$'; exit $?", "exit 99", f"bash -c 'kill -SEGV $$'; echo {once}",
                       f"echo '{report}'; echo {once}", "echo 'a.c:3:5: runtime error: signed integer overflow' >&2; exit 1",
                       f"echo 'task: a.c:9: f: Assertion `n > 0\\'' failed.'; echo {once}",
                       f"echo 'FAIL sys_try: a crash: c/logs/task.0.log'; echo {once}",
                       f"echo 'event=child_exited child=task.0 pid=9 how=\"signal 11\"'; echo {once}",
                       "echo 'double free or corruption (fasttop)'; exit 1", "echo '*** stack smashing detected ***: terminated'; exit 1",
                       "echo '[====] Synthesis: Tested: 5 | Passing: 4 | Failing: 1 | Crashing: 1'; exit 1"):
            with self.subTest(script), tempfile.TemporaryDirectory() as d:
                r = run.Run([job(f"if mkdir {d}/x; then {script}; else echo sys_try: 3 passed, 0 failed; fi")], True)
                with contextlib.redirect_stdout(io.StringIO()):
                    r.all()
                self.assertEqual((r.jobs[0].again, r.failed), (False, 1))
        for script in ("exit 1", "sleep 60", "echo 'event=child_exited child=task.0 pid=9 how=\"signal 9\"'; exit 1"):
            with self.subTest(script), tempfile.TemporaryDirectory() as d:
                r = run.Run([job(f"if mkdir {d}/x; then {script}; else echo sys_try: 3 passed, 0 failed; fi", limit=1)], True)
                with contextlib.redirect_stdout(io.StringIO()):
                    r.all()
                self.assertEqual((r.jobs[0].again, r.failed), (True, 0))

    def test_criterion(self):
        line = "[====] Synthesis: Tested: %d | Passing: %d | Failing: 0 | Crashing: %d"
        self.counts(5, 0, f"echo '{line % (5, 5, 0)}'", reads="criterion")
        self.counts(4, 1, f"echo '{line % (5, 4, 1)}'; exit 1", reads="criterion")
        self.counts(0, 1, f"echo '{line % (0, 0, 0)}'", reads="criterion")
        self.counts(0, 1, "kill -SEGV $$", reads="criterion")

    def test_what_it_needs_is_not_there(self):
        p, n, said, bad = of(job("exit 77"))
        self.assertEqual((p, n), (0, 0), said)
        self.assertTrue(bad)  # nothing has been tested
        self.assertIn("SKIPPED", said)

    def test_a_build_that_fails(self):
        b = job("exit 2", name="build x", reads="build")
        p, n, said, bad = of(b, job("echo sys_try: 3 passed, 0 failed", needs=[b]))
        self.assertEqual((p, n, bad), (0, 1, True), said)
        self.assertIn("FAILED 1 programs did not run: test_run/sys_try", said)

    def test_a_build_that_was_killed(self):
        """It goes on where it stopped, once, and what needs it runs."""
        with tempfile.TemporaryDirectory() as d:
            b = job(f"mkdir {d}/x && echo 'x.c:1:2: error: killed' && exit 2; true", name="build x", reads="build")
            p, n, said, bad = of(b, job("echo sys_try: 3 passed, 0 failed", needs=[b]))
        self.assertEqual((p, n, bad), (3, 0, False), said)
        self.assertRegex(said, r"UNSTABLE test_run/build x: x.c:1:2: error: killed; passed when run again")


class Tiers(unittest.TestCase):
    """What runs where."""

    def stories(self, tier):
        """(flavour, name) of each job."""
        s = run.Suite()
        run.TIERS[tier][0](s)
        return [(j.flavour, j.name) for j in s.jobs]

    def test_ci_has_each_story_once(self):
        ran = [n for _, n in self.stories("ci") if n in run.TIMES and run.TIMES[n][1]]
        self.assertEqual(sorted(ran), sorted(n for n, (_, place) in run.TIMES.items() if place and place != "night"))
        self.assertLess({"e2e_page", "e2e_dashboard"}, set(ran))

    def test_ci_has_units_in_both_builds(self):
        units = {os.path.basename(f)[:-2] for f in glob.glob("tests/unit/*/test_*.c")}
        for fl in ("rel", "asan"):
            self.assertEqual(units - {n for f, n in self.stories("ci") if f == fl}, set())

    def test_night_has_all_in_both_builds(self):
        ran = set(self.stories("night"))
        for f in glob.glob("tests/sys/sys_*.sh"):
            name = os.path.basename(f)[:-3]
            self.assertIn(("rel", name), ran)
            self.assertTrue(name == "sys_bench" or ("asan", name) in ran, name)
        for f in glob.glob("tests/e2e/e2e_*.sh") + glob.glob("tests/chaos/F*.sh"):
            self.assertIn(("rel", os.path.basename(f)[:-3]), ran)

    def test_a_story_without_its_line(self):
        without = {n: t for n, t in run.TIMES.items() if n != "sys_drain"}
        for times in (without, run.TIMES | {"sys_drain": (2, "")}, run.TIMES | {"sys_drain": (2, "tset")}):
            with self.subTest(times.get("sys_drain")), self.assertRaisesRegex(SystemExit, "does not say where sys_drain runs"):
                self.with_times(times)

    def test_a_line_without_its_story(self):
        with self.assertRaisesRegex(SystemExit, "no tests/sys/sys_gone.sh"):
            self.with_times(run.TIMES | {"sys_gone": (2, "asan")})

    def with_times(self, times):
        """Stories as such a file of times has them."""
        was, run.TIMES = run.TIMES, times
        try:
            run.Suite().sys()
        finally:
            run.TIMES = was

    def test_a_name_that_is_no_story(self):
        os.environ["SYS"] = "drain dran"
        try:
            with self.assertRaisesRegex(SystemExit, "no tests/sys/sys_dran.sh"):
                run.Suite().sys()
        finally:
            del os.environ["SYS"]


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    got = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    bad = len(got.failures) + len(got.errors)
    print(f"test_run: {got.testsRun - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
