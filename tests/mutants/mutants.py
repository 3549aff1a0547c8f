#!/usr/bin/env python3
"""mutants.py: plants each bug of list.txt into a copy of the tree, one at a time, and sees
whether a test notices.

  mutants.py --check            only: do all of them still apply?
  mutants.py [NAME ...]         plants these (all), ends with "mutants: N passed, M failed"
  mutants.py --wide NAME ...    what its own tests do not notice meets all others: which one does?

Every worker has a copy of the sources under BUILD/N with objects of its own, so a mutant
costs one compilation and the linking of what it runs: behind it the object of before comes back
(of a header's mutant all that read it is compiled twice). The tests that its line names must notice:
one of them fails, or does not end. (--wide: then all unit tests, then the simulation.)
Without a bug all of them must pass first: else "caught" would mean nothing.
"""

import argparse
import concurrent.futures
import glob
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIST = os.path.join(HERE, "list.txt")
SOURCES = ["Makefile", "VERSION", "common", "router", "segment", "task", "queuemng", "rehearse", "proto", "tests",
           "conf", "deploy", "clients"]
OBJECTS = "build/mutant"
SEEDS = 1000  # of the simulation, for those that nothing else notices
CHUNK = 50    # seeds at a time
LIMIT_S = 120
STORY_S = 600
ENV = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
SLOW = ["test_mng_segtab", "test_redis_store", "test_rpc", "test_monitor"]


class Mutant:
    """One planted bug: where, what, and which tests should know."""

    def __init__(self, name, path, tests):
        self.name, self.path, self.tests = name, path, tests
        self.old, self.new = [], []

    def planted(self, text):
        """The file's text with the bug in it; ValueError if it does not apply."""
        lines = text.split("\n")
        full = [i for i, line in enumerate(lines) if line.strip()]
        want = [line.strip() for line in self.old]
        found = [k for k in range(len(full) - len(want) + 1)
                 if all(lines[full[k + j]].strip() == w for j, w in enumerate(want))]
        if len(found) != 1:
            raise ValueError(f"found {len(found)} times in {self.path}, not once")
        first, last = full[found[0]], full[found[0] + len(want) - 1]
        return "\n".join(lines[:first] + self.new + lines[last + 1:])


def read_list(path):
    """All mutants of the list, in its order."""
    out = []
    with open(path, encoding="utf-8") as f:
        for no, line in enumerate(f, 1):
            line = line.rstrip("\n")
            head = re.fullmatch(r"(\w+) ([\w/.]+): ([\w: ]+)", line)
            if line.startswith("- ") and out:
                out[-1].old.append(line[2:])
            elif line.startswith("+ ") and out:
                out[-1].new.append(line[2:])
            elif head:
                out.append(Mutant(head[1], head[2], head[3].split()))
            elif line and not line.startswith("#"):
                sys.exit(f"{path}:{no}: not understood: {line}")
    names = [m.name for m in out]
    twice = {n for n in names if names.count(n) > 1}
    if twice:
        sys.exit(f"{path}: twice: {' '.join(sorted(twice))}")
    return out


def check(mutants):
    """Do they apply, and do their tests exist? Prints those that do not; how many."""
    bad = 0
    for m in mutants:
        try:
            with open(os.path.join(ROOT, m.path), encoding="utf-8") as f:
                m.planted(f.read())
            for t in m.tests:
                if not glob.glob(os.path.join(ROOT, source_of(t))):
                    raise ValueError(f"no test {t}")
        except (OSError, ValueError) as e:
            print(f"FAIL {m.name}: {e}")
            bad += 1
    return bad


def source_of(test):
    """The C file of a test program, or a story."""
    name = test.split(":")[0]
    if name.startswith("sys_"):
        return f"tests/sys/{name}.sh"
    return f"tests/sim/{name}.c" if name.startswith("sim_") else f"tests/unit/*/{name}.c"


def unit_tests(root):
    """All unit tests of a tree, the slow ones last."""
    found = glob.glob(os.path.join(root, "tests/unit/*/test_*.c"))
    names = sorted(os.path.basename(f)[:-2] for f in found)
    return [n for n in names if n not in SLOW] + [n for n in names if n in SLOW]


def program(test):
    """What make calls the test."""
    name = test.split(":")[0]
    if name.startswith("sys_"):
        return "bins"
    return f"{OBJECTS}/{'sim' if name.startswith('sim_') else 'unit'}/{name}"


class Worker:
    """A copy of the tree in which mutants are built and run."""

    def __init__(self, where):
        self.where = where

    def make(self, targets, log):
        """Builds; warnings are not errors in a mutant. True if it worked."""
        with open(log, "a", encoding="utf-8") as out:
            return subprocess.run(["make", "-s", f"B={OBJECTS}", "WARN=-w", "CFLAGS.rel=-O1", *targets],
                                  cwd=self.where, stdout=out, stderr=out, env=ENV,
                                  check=False).returncode == 0

    def run(self, argv, log, env=None, limit=LIMIT_S):
        """0, or what it ended with; "time" if it had to be ended."""
        with open(log, "a", encoding="utf-8") as out:
            p = subprocess.Popen(argv, cwd=self.where, stdout=out, stderr=out,
                                 env={**ENV, **(env or {})}, start_new_session=True)
            try:
                return p.wait(limit)
            except subprocess.TimeoutExpired:
                return "time"
            finally:
                end_group(p)

    def test(self, test, log):
        """Runs one test program; None, or the word for how it failed."""
        name, _, seeds = test.partition(":")
        if name.startswith("sys_"):
            rc = self.run([source_of(name), f"{OBJECTS}/bin"], log, {"PATIENCE": "2"}, STORY_S)
            return None if rc == 0 else name
        if name != "sim_mixed":
            rc = self.run([program(test)], log, limit=STORY_S if name.startswith("sim_") else LIMIT_S)
            return None if rc == 0 else f"{name} ({rc})" if rc == "time" else name
        for first in range(1, int(seeds or SEEDS) + 1, CHUNK):
            n = min(CHUNK, int(seeds or SEEDS) + 1 - first)
            rc = self.run([program(test)], log,
                          {"FIRST": str(first), "SEEDS": str(n),
                           "SEEDS_FILE": "tests/sim/seeds.txt" if first == 1 else "/dev/null"})
            if rc != 0:
                return f"sim_mixed, seeds to {first + n - 1}"
        return None

    def caught_by(self, tests, log):
        """The first of these tests that fails, or None."""
        for t in tests:
            if not self.make([program(t)], log):
                return "BUILD"
            by = self.test(t, log)
            if by is not None:
                return by
        return None


def end_group(p):
    """Whatever the test has started ends with it."""
    try:
        os.killpg(p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    p.wait()


def new_worker(build, no, base):
    """Copies the tree (and what was built for the first worker, to save its time)."""
    where = os.path.join(build, str(no))
    shutil.rmtree(where, ignore_errors=True)
    if base is not None:
        shutil.copytree(base.where, where, symlinks=True)
    else:
        os.makedirs(where)
        for name in SOURCES:
            full = os.path.join(ROOT, name)
            if os.path.isdir(full):
                shutil.copytree(full, os.path.join(where, name), symlinks=True)
            else:
                shutil.copy2(full, where)
    return Worker(where)


def prove_sane(w, mutants, log, jobs, wide):
    """Nothing is planted: every test that is used must pass. Those that do not."""
    used = sorted({t.split(":")[0] for m in mutants for t in m.tests})
    every = sorted({*used, *unit_tests(w.where), "sim_mixed"} if wide else used)
    if not w.make([f"-j{jobs}", *[program(t) for t in every]], log):
        return ["the build"]
    return [t for t in used if w.test("sim_mixed:100" if t == "sim_mixed" else t, log)]


class Kept:
    """A source and its object, as they are before a bug is planted. A header has none: what reads it is
    compiled anew, also the source of its name."""

    def __init__(self, path, obj):
        self.path, self.obj = path, obj
        self.times = os.stat(path).st_atime_ns, os.stat(path).st_mtime_ns
        with open(path, encoding="utf-8") as f:
            self.text = f.read()
        self.has_obj = path.endswith(".c") and os.path.exists(obj)
        if self.has_obj:
            shutil.copy2(obj, obj + ".kept")

    def back(self):
        """For make the source is old, and the object is new: it is put into the library, no more."""
        with open(self.path, "w", encoding="utf-8") as f:
            f.write(self.text)
        if self.has_obj:
            os.replace(self.obj + ".kept", self.obj)
            os.utime(self.obj)
            os.utime(self.path, ns=self.times)


def try_mutant(w, m, build, wide):
    """Plants it, runs the tests, takes it out again. (name of the test or None, seconds)"""
    log = os.path.join(build, f"{m.name}.log")
    path = os.path.join(w.where, m.path)
    kept = Kept(path, os.path.join(w.where, OBJECTS, "obj", os.path.splitext(m.path)[0] + ".o"))
    t0 = time.monotonic()
    try:
        with open(log, "w", encoding="utf-8"):
            pass
        with open(path, "w", encoding="utf-8") as f:
            f.write(m.planted(kept.text))
        by = w.caught_by(m.tests, log)
        if by is None and wide:
            rest = [t for t in unit_tests(w.where) if t not in m.tests]
            by = w.caught_by([*rest, f"sim_mixed:{SEEDS}"], log)
    finally:
        kept.back()
    return by, time.monotonic() - t0


def try_all(mutants, workers, build, wide):
    """(mutant, caught by, seconds) as they end."""
    free = queue.Queue()
    for w in workers:
        free.put(w)

    def one(m):
        w = free.get()
        try:
            return m, *try_mutant(w, m, build, wide)
        finally:
            free.put(w)

    with concurrent.futures.ThreadPoolExecutor(len(workers)) as pool:
        yield from (f.result() for f in
                    concurrent.futures.as_completed([pool.submit(one, m) for m in mutants]))


def main():
    """See the top of the file."""
    ap = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    ap.add_argument("names", nargs="*")
    ap.add_argument("--check", action="store_true")
    ap.add_argument("--wide", action="store_true")
    ap.add_argument("--build", default=os.path.join(ROOT, "build/mutants"))
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    a = ap.parse_args()
    mutants = [m for m in read_list(LIST) if not a.names or m.name in a.names]
    mutants.sort(key=lambda m: m.path.endswith(".h"))  # last: what they leave behind is no object to keep
    bad = check(mutants)
    if a.check or bad:
        print(f"mutants: {len(mutants) - bad} passed, {bad} failed")
        return bad > 0
    os.makedirs(a.build, exist_ok=True)
    log = os.path.join(a.build, "sane.log")
    first = new_worker(a.build, 0, None)
    insane = prove_sane(first, mutants, log, a.jobs, a.wide)
    if insane:
        print(f"FAIL without any mutant: {' '.join(insane)}; see {log}")
        print(f"mutants: 0 passed, {len(mutants)} failed")
        return 1
    workers = [first] + [new_worker(a.build, i, first) for i in range(1, a.jobs)]
    passed = 0
    for m, by, seconds in try_all(mutants, workers, a.build, a.wide):
        good = by not in (None, "BUILD")
        passed += good
        word = {None: "FAIL not noticed", "BUILD": "FAIL does not build"}.get(by, by)
        print(f"{m.name:36} {seconds:6.1f} s  {word}", flush=True)
    print(f"mutants: {passed} passed, {len(mutants) - passed} failed")
    return passed != len(mutants)


if __name__ == "__main__":
    sys.exit(main())
