#!/usr/bin/env python3
"""run.py TIER | PART...: builds and runs tests side by side, says how long it will still take, and
ends with what took longest, what failed by name, and "N passed, N failed".

  run.py test|ci|night|dates   a tier, after what it needs has been installed: `make test`,
                               `.ci/run`, `make test-night`, `make dates` (CONTRIBUTING.md)
  run.py PART...               of one build: unit sim seeds fuzz layers check instructions hot
                               guard (the last two) clients sys e2e chaos; bins, tests are only built
    FLAVOUR=rel|asan   which build
    SIM_SEEDS=N        seeds of the mixed simulation (1000; 100 under asan)
    FUZZ_S=S           each fuzz target looks for so long, not only at its corpus
    SYS="drain late"   only these stories; STORY_JOBS=N: so many at a time, at most (3 a core)
    E2E="page"         only these of tests/e2e
    CHAOS="F11 F12"    only these scenarios of tests/chaos; VERBOSE=1: every claim is shown
    LIMIT=S            seconds after which a program hangs (900, a story 1500)
    TEST_DATE=, TEST_ZONE=   each program begins at another date, in another zone (dates/on.sh)

Two lanes. What looks at the clock, and mostly waits, begins as long as a third of the machine is
free. What only computes (builds, simulations, checks) goes on beside it and steps back (nice), but gets
its share on a machine that is busy with other things, too. tests/times.txt says what each takes, and where a
story runs. The output of each: build/FLAVOUR/log/NAME.log; shown if it fails.

In a tier what looks at the clock and fails beside others is run once more at the end, alone: a machine
that others slow down is no defect of ours. Whether it passes then is what counts; the summary names it
UNSTABLE all the same, and its first log stays (NAME.beside.log). What only computes fails at once, and
so does what crashes (a signal, a sanitizer's report, an assertion of ours), and what fails behind MENDABLE
others: then it is not the machine.
"""

import collections
import dataclasses
import glob
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import time

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, "clients/conformance")
from languages import LANGUAGES  # noqa: E402

CORES = os.cpu_count()
OPEN = os.environ.get
# The sanitizer build is tested amid the night to a leap day, years and hours away: what works
# only on the day on which it was written fails (tests/README.md, "Other dates").
LEAP = ("2028-02-28 23:50", "NST3:30NDT,M3.2.0,M11.1.0")  # without the files of tzdata
TODAY = ("", "")
MENDABLE = 6
# In a log of make: why.
BUILD_FAULT = re.compile(r"error:|\*\*\* |[Kk]illed|undefined reference|No space|cannot allocate")
# In a log: a crash, as sanitizers, assert(), Criterion, bash, Python, a supervisor and tests/sys/lib.sh say it.
CRASH = re.compile(
    r"(?:ERROR|SUMMARY): \w+Sanitizer|runtime error: |Assertion .* failed|Crashing: *[1-9]|: CRASH!"
    r"|line \d+: +\d+ (?:Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception)\b"
    r"|died with <Signals\.SIG(?:SEGV|ABRT|BUS|ILL|FPE)|Fatal Python error: "
    r"|double free or corruption|(?:malloc|realloc|free|munmap_chunk)\(\): |\*\*\* .* detected \*\*\*"
    r"|child_exited .*how=\"signal (?:4|7|8|11)\"|FAIL \w+: a crash: ")
PLACES = ("test", "rel", "asan", "night")  # of a story: tests/times.txt
DATES = {
    "day": ("1 day", "UTC0"), "month": ("1 month", "UTC0"), "years": ("3 years", "UTC0"),
    "leap": ("2028-02-28T23:59:00Z", "UTC0"), "leapday": ("2028-02-29T23:59:00Z", "UTC0"),
    "newyear": ("2027-12-31T23:59:00Z", "UTC0"),
    "spring": ("2027-03-28T00:59:00Z", "CET-1CEST,M3.5.0,M10.5.0/3"),
    "autumn": ("2027-10-31T00:59:00Z", "CET-1CEST,M3.5.0,M10.5.0/3"),
    "half": ("2028-09-30T15:29:00Z", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"),
    "west": ("2026-12-31T11:59:00Z", "<-12>12"), "east": ("2026-12-31T09:59:00Z", "<+14>-14"),
    "y2038": ("2038-01-19T03:13:00Z", "UTC0"),
}
ENV = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
ENV.setdefault("ASAN_OPTIONS", "detect_stack_use_after_return=1:abort_on_error=0:exitcode=99")
ENV.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")


@dataclasses.dataclass(eq=False)
class Job:
    """A program to run, once all that it needs has ended well."""
    name: str
    argv: list
    needs: list = dataclasses.field(default_factory=list)
    flavour: str = "rel"
    real: bool = False       # looks at the clock; False: only computes
    cores: int = 1           # of those that only compute
    busy: float = 1.0        # of a processor, while it runs
    reads: str = "counted"   # how its log says what passed: counted, criterion, status, build
    alone: bool = False      # nothing that looks at the clock beside it
    date: tuple = TODAY
    where: str = ""          # a folder of logs within log/
    env: dict = dataclasses.field(default_factory=dict)
    limit: int = 900
    seconds: float = 0       # what it takes on a free machine: wall, or of processors
    began: float = 0
    took: float = -1         # -1: not ended
    cpu: float = 0           # of all its processes that were waited for
    ok: bool = False
    late: str = ""           # why it was ended
    again: bool = False      # this is its second time
    why: str = ""            # what its first time said
    process: subprocess.Popen = None

    def __post_init__(self):
        self.seconds = self.seconds or TIMES.get(self.name, (1, ""))[0]
        self.log = f"build/{self.flavour}/log/{self.where}{self.name}.log"
        self.label = " ".join([self.where + self.name] + [f"({self.flavour})"] * (self.flavour != "rel"))

    def beside(self):
        """The log of its first time, which failed."""
        return self.log.removesuffix(".log") + ".beside.log"

    def command(self):
        """With the date at which it begins, and the class of its lane."""
        argv = list(self.argv)
        if self.date != TODAY:
            argv = ["env", f"WALL=build/{self.flavour}/dates/wall.so", "tests/dates/on.sh", *self.date, *argv]
        return argv if self.real else ["nice", "-n", "5" if self.reads == "build" else "10", *argv]

    def start(self, argv, out):
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                env={**ENV, **self.env}, start_new_session=True)

    def begin(self):
        """Starts it in a group of its own."""
        os.makedirs(os.path.dirname(self.log), exist_ok=True)
        with open(self.log, "wb") as out:
            try:
                self.process = self.start(self.command(), out)
            except OSError as e:  # a story that is no program fails, and the others go on
                self.process = self.start(["sh", "-c", 'echo "FAIL $1"; exit 126', "sh", str(e)], out)
        self.began = time.monotonic()

    def poll(self):
        """None, or how it ended; what it cost is what all children cost more than before."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        rc = self.process.poll()
        if rc is not None and not self.cpu:
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return rc

    def end(self, sig):
        """Ends the whole group."""
        try:
            os.killpg(self.process.pid, sig)
        except ProcessLookupError:
            pass

    def counts(self, rc):
        """(passed, failed) as its log says; one that dies counts as a failure."""
        with open(self.log, encoding="utf-8", errors="replace") as f:
            text = f.read()
        if self.reads in ("status", "build"):
            return (0, 1) if rc or self.late else (int(self.reads == "status"), 0)
        if rc == 77 and not self.late:  # what it needs is not there
            return 0, 0
        if self.reads == "criterion":
            m = re.findall(r"Tested: *(\d+).*?Passing: *(\d+)", text)
            p, n = (int(m[-1][1]), int(m[-1][0]) - int(m[-1][1])) if m else (0, 1)
        else:
            last = text.rstrip().rpartition("\n")[2]
            m = re.search(r"(?:^|[: ])(\d+) [a-z ]*passed, (\d+) (?:[a-z]+ )*failed", last)
            p, n = (int(m[1]), int(m[2])) if m else (0, 1)
            # A story's sum does not have the failures of its subshells.
            n = max(n, len(re.findall(rf"^FAIL {re.escape(self.name)}: ", text, re.M)))
        return p, n or int(rc != 0 or p == 0 or self.late != "")

    def crashed(self, rc):
        """True: it died by a signal that we did not send, or its log tells of a crash."""
        if not self.late and (rc < 0 or 128 < rc < 192 or rc == 99):  # 99: ASAN_OPTIONS
            return True
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return any(CRASH.search(line) for line in f)

    def not_judged(self):
        """Claims of a story that it says it could not judge here, and why."""
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return [f"{self.label}: {line[5:].partition(': ')[2].rstrip()}" for line in f
                    if line.startswith(f"skip {self.name}: ")]

    def failures(self, rc):
        """What it says of them, in criterion's words, in unittest's, or in ours."""
        with open(self.log, encoding="utf-8", errors="replace") as f:
            fault = BUILD_FAULT.search if self.reads == "build" else re.compile(r"(\[FAIL\]|FAIL|ERROR)[ :]").match
            said = [line.rstrip() for line in f if fault(line)]
        said = [self.late] * (self.late != "") + said[:40] or [f"it ended with {rc}"]
        return [f"{self.label}: {s} (in {self.log})" for s in said]


def read_times():
    """NAME -> (seconds, where), of tests/times.txt."""
    times = {}
    with open("tests/times.txt", encoding="utf-8") as f:
        for line in f:
            words = line.split("#")[0].split()
            if words:
                times[words[1]] = (float(words[0]), (words + [""])[2])
    return times


TIMES = read_times()

# ---- what there is ------------------------------------------------------------------------


class Suite:
    """The jobs that were asked for, each build once."""

    def __init__(self, deps=None):
        self.jobs, self.builds, self.deps = [], {}, deps

    def add(self, *args, **kw):
        """A job, which needs what was installed."""
        j = Job(*args, **kw)
        if self.deps is not None and self.deps not in j.needs and j.name != "build bins":
            j.needs = [self.deps, *j.needs]
        self.jobs.append(j)
        return j

    def build(self, fl, *targets):
        """make, one at a time in a folder: each needs the one before."""
        name = "build " + " ".join(targets)
        if (fl, name) not in self.builds:
            before = [j for (f, _), j in self.builds.items() if f == fl][-1:]
            self.builds[fl, name] = self.add(
                name, ["make", "-s", f"-j{CORES}", f"FLAVOUR={fl}", *targets], before, fl, cores=CORES,
                reads="build", limit=7200, busy=CORES, real=(fl, targets) == ("rel", ("bins",)),
                seconds=TIMES.get(f"{fl}-{'-'.join(targets)}", (10, ""))[0])
        return self.builds[fl, name]

    def bins(self, fl):
        """All that stories run: the programs, and those of the bench for its own story."""
        return self.build(fl, "bins")

    def tests(self, fl):
        """Units, simulations, fuzz targets, benches: linked, so that a changed signature is noticed."""
        self.bins(fl)
        return self.build(fl, "tests", *(["guards", "bench-bins"] if fl == "rel" else []))

    def unit(self, fl="rel", date=TODAY, where=""):
        """The longest first."""
        need = self.tests(fl)
        for f in glob.glob("tests/unit/*/test_*.c"):
            n = os.path.basename(f)[:-2]
            self.add(n, [f"build/{fl}/unit/{n}"], [need], fl, real=True, reads="criterion", date=date, where=where, busy=0.6)
        if fl == "rel":  # has no build
            self.add("test_judge", ["tests/tasks/test_judge.py"], real=True, date=date, where=where)
            self.clients(date, where)

    def clients(self, date=TODAY, where=""):
        """Their own tests, which need no build of ours; SKIPPED: its language is not here."""
        for name in (n for n, lang in LANGUAGES.items() if lang.tests):
            self.add(f"test_client_{name}", ["clients/conformance/languages.py", name], real=True, date=date,
                     where=where, busy=0.2)

    def seeds(self, fl="rel", n=0):
        """The mixed simulation, on all cores."""
        n = n or int(OPEN("SIM_SEEDS") or (100 if fl == "asan" else 1000))
        self.add("sim_mixed", [f"build/{fl}/sim/sim_mixed"], [self.tests(fl)], fl, cores=CORES, busy=CORES,
                 env={"SEEDS": str(n)}, limit=7200 + n, seconds=TIMES["sim_mixed"][0] * n / (200 if fl == "asan" else 1000))
        self.add("sim_ocean", [f"build/{fl}/sim/sim_mixed"], [self.tests(fl)], fl, cores=CORES, busy=CORES,
                 env={"SEEDS": str(n // 10), "WITH": "ocean_ms=150"}, limit=7200 + n,
                 seconds=TIMES["sim_mixed"][0] * n / (2000 if fl == "asan" else 10000))

    def sim(self, fl="rel", n=0, few=False):
        """All simulations; `few`: with the seeds that tests/times.txt has for them."""
        need = self.tests(fl)
        for f in glob.glob("tests/sim/sim_*.c"):
            s = os.path.basename(f)[:-2]
            if s != "sim_mixed":
                seconds, seeds = TIMES.get(s, (2, ""))
                self.add(s, [f"build/{fl}/sim/{s}"], [need], fl, reads="criterion", limit=7200,
                         env={"SEEDS": seeds} if few and seeds else {}, seconds=seconds * (4 if fl == "asan" else 1))
        self.seeds(fl, n)

    def fuzz(self, fl="rel"):
        """The corpora; with FUZZ_S (and at night), in clang's build, which looks for more."""
        need = self.build("fuzz", "fuzz-bins") if fl == "fuzz" else self.tests(fl)
        more = int(OPEN("FUZZ_S", "0"))
        os.makedirs("build/fuzz/found", exist_ok=True)
        for f in glob.glob("tests/fuzz/fuzz_*.c"):
            n = os.path.basename(f)[:-2]
            corpus, found = f"tests/fuzz/corpus/{n[5:]}", f"build/fuzz/found/{n}"
            args = [corpus] if fl != "fuzz" else ["-runs=0", corpus]
            if fl == "fuzz" and more:
                os.makedirs(found, exist_ok=True)
                args = [f"-max_total_time={more}", "-timeout=10", "-rss_limit_mb=2048", f"-artifact_prefix={found}-", found, corpus]
            self.add(n, [f"build/{fl}/fuzz/{n}", *args], [need], fl, limit=more + 300, seconds=more or 1,
                     reads="status" if fl == "fuzz" else "counted")

    def layers(self, fl="rel"):
        """The rooms."""
        self.add("layers", ["tests/layers.py", f"build/{fl}/obj"], [self.bins(fl)], fl)

    def check(self, fl="rel", date=TODAY, where=""):
        """Documents, samples, deploy files, the lists of planted bugs."""
        b, need = f"build/{fl}", [self.bins(fl)]
        for name, argv in {
                "layers": ["tests/layers.py", f"{b}/obj"], "check": ["tests/check.sh", f"{b}/bin"],
                "test_run": ["tests/test_run.py"], "test_prometheus": ["tests/deploy/test_prometheus.py"],
                "test_grafana": ["tests/deploy/test_grafana.py"],
                "test_containers": ["tests/deploy/test_containers.py", b],
                "test_dist": ["tests/deploy/test_dist.py", b],
                "test_install": ["tests/deploy/test_install.py", b],
                "test_readme": ["tests/deploy/test_readme.py", f"{b}/bin"],
                "test_gates": ["tests/deploy/test_gates.py", b],
                "test_demo": ["tests/deploy/test_demo.py"], "test_kit": ["tests/bench/test_kit.py"],
                "test_check_history": ["tests/chaos/test_check_history.py"],
                "client_fields": ["clients/conformance/run.py", "--fields", "--bin", f"{b}/bin"],
                "planted_apply": ["clients/conformance/planted.py", "--check"],
                "mutants_apply": ["tests/mutants/mutants.py", "--check"],
                "next_applies": ["tests/upgrade/next.py", "--check"]}.items():
            self.add(name, argv, need, fl, date=date, where=where)

    def instructions(self, fl="rel"):
        """Counts, of the build that is shipped."""
        self.add("instructions", ["tests/guard/instructions.sh", f"build/{fl}/guard/trace"], [self.tests(fl)], fl)

    def hot(self, fl="rel"):
        """Counts of calls, in a real cluster."""
        self.add("hot", ["tests/guard/hot.sh", f"build/{fl}/bin"], [self.tests(fl)], fl, real=True, busy=0.5)

    def guard(self, fl="rel"):
        """Both."""
        self.instructions(fl)
        self.hot(fl)

    def stories(self, fl, kind, folder, date=TODAY, where="", within=None):
        """Those of a folder that run in one of these places, or are named in KIND=."""
        named = [f"{kind}_" + n.removeprefix(f"{kind}_") for n in OPEN(kind.upper(), "").split()]
        files = {os.path.basename(f)[:-3]: f for f in glob.glob(f"tests/{folder}/{kind}_*.sh")}
        for name in [*named, *(n for n in TIMES if n.startswith(f"{kind}_"))]:
            if name not in files:
                sys.exit(f"no tests/{folder}/{name}.sh")
        for name, f in files.items():
            seconds, place = TIMES.get(name, (0, ""))
            if place not in PLACES:
                sys.exit(f"tests/times.txt does not say where {name} runs: {', '.join(PLACES)}")
            if name not in named if named else within and place not in within:
                continue
            bench = name == "sys_bench"
            measures = bench or name == "sys_rehearse" and within is None
            self.add(name, [f, f"build/{fl}/bin"], [self.tests(fl) if bench else self.bins(fl)], fl, real=True, busy=0.2,
                     alone=measures, date=date, where=where, limit=1500, seconds=seconds)

    def sys(self, fl="rel", date=TODAY, where="", within=None):
        """Stories with real processes. The bench measures: under ASan it says nothing."""
        self.stories(fl, "sys", "sys", date, where, within)
        if fl == "asan" and not OPEN("SYS"):
            self.jobs = [j for j in self.jobs if j.flavour == "rel" or j.name != "sys_bench"]

    def e2e(self, fl="rel", date=TODAY, where="", within=None):
        """In a real browser."""
        self.stories(fl, "e2e", "e2e", date, where, within)

    def chaos(self, fl="rel", which=""):
        """Machines, cables, disks and clocks that break: one after the other."""
        for f in (OPEN("CHAOS") or which or "F*").split():
            for s in sorted(glob.glob(f"tests/chaos/{f}_*.sh")) or glob.glob(f"tests/chaos/{f}.sh") or sys.exit(f"no scenario {f}"):
                self.add(os.path.basename(s)[:-3], ["bash", s, f"build/{fl}/bin"], [self.bins(fl)], fl, real=True,
                         alone=True, busy=0.5, seconds=40)


def tier_test(s):
    """make test"""
    s.sys(within=["test"])
    s.unit()
    s.hot()
    s.sim(few=True)
    s.instructions()
    s.fuzz()
    s.check()


def tier_ci(s):
    """.ci/run"""
    s.sys(within=["test", "rel"])
    s.e2e(within=["test", "rel"])
    s.chaos(which="F64_near")
    s.unit()
    s.hot()
    s.sys("asan", LEAP, within=["asan"])
    s.unit("asan", LEAP)
    s.fuzz("asan")
    s.seeds("asan")
    s.sim(few=True)
    s.instructions()
    s.check()


def tier_night(s):
    """make test-night"""
    s.sys()
    s.e2e()
    s.unit()
    s.hot()
    s.sys("asan", LEAP)
    s.unit("asan", LEAP)
    for fl in ("rel", "asan", "fuzz"):
        s.fuzz(fl)
    s.sim("asan")
    s.sim(n=100000)
    s.instructions()
    s.check()
    s.chaos()
    s.chaos("asan", "F11 F12")
    for name, date in DATES.items():
        s.unit(date=date, where=name + "/")
        s.check(date=date, where=name + "/")
    s.add("test_deb", ["tests/deploy/test_deb.sh"], cores=CORES, busy=CORES, limit=7200)
    s.add("mutants", ["tests/mutants/mutants.py"], [s.tests("rel")], cores=CORES, busy=CORES, limit=12 * 3600)


def tier_dates(s):
    """make dates: DATES="leap west" some of them"""
    for name in OPEN("DATES", "").split() or DATES:
        for part in (s.unit, s.check, s.sys, s.e2e):
            part(date=DATES[name], where=name + "/")


TIERS = {"test": (tier_test, "test"), "ci": (tier_ci, "test e2e clients"),
         "night": (tier_night, "test bench e2e clients night"), "dates": (tier_dates, "test bench e2e")}
PARTS = ["unit", "clients", "sim", "seeds", "fuzz", "layers", "check", "guard", "instructions", "hot", "sys", "e2e", "chaos", "bins", "tests"]


def parts(names):
    """Some parts of one build."""
    fl = OPEN("FLAVOUR", "rel")
    date = (OPEN("TEST_DATE", ""), OPEN("TEST_ZONE", ""))
    s = Suite()
    for n in names:
        if n in ("unit", "check", "sys", "e2e"):
            getattr(s, n)(fl, date)
        elif n == "clients":
            s.clients(date)
        else:
            getattr(s, n)("fuzz" if n == "fuzz" and "FUZZ_S" in ENV else fl)
    return s

# ---- how long it takes --------------------------------------------------------------------


class Clock:
    """The time to go: what is left as tests/times.txt has it, at the pace so far."""

    def __init__(self, jobs):
        self.jobs, self.began = jobs, time.monotonic()
        self.since()

    def since(self):
        """The pace is measured from here on."""
        self.at, self.whole = time.monotonic(), self.left()

    @staticmethod
    def rest(j, now):
        """What is left of one, in its own seconds."""
        if j.took >= 0:
            return 0
        if not j.began:
            return j.seconds
        over = (now - j.began) * (1 if j.real else j.cores)
        return max(j.seconds - over, j.seconds / 10)

    def left(self):
        """On a free machine: the work, what mostly waits so many at a time, the longest chain."""
        now, chain = time.monotonic(), {}
        for j in self.jobs:  # each behind what it needs
            own = self.rest(j, now) / (1 if j.real else j.cores)
            chain[j] = own + max((chain.get(n, 0) for n in j.needs), default=0)
        todo = [j for j in self.jobs if j.took < 0]
        work = sum(self.rest(j, now) * (j.busy if j.real else 1) for j in todo)
        real = sum(self.rest(j, now) for j in todo if j.real and not j.alone)
        alone = sum(self.rest(j, now) for j in todo if j.alone)
        return max(1.15 * work / CORES, real / (2.5 * CORES) + alone, max(chain.values(), default=0))

    def to_go(self):
        """Seconds; in the first minute rather at the pace of a free machine."""
        left, spent = self.left(), time.monotonic() - self.at
        return left * (spent + 60) / (max(self.whole - left, 0) + 60)


def minutes(s):
    """m:ss"""
    return f"{int(s) // 60}:{int(s) % 60:02}"

# ---- running ------------------------------------------------------------------------------


class Machine:
    """Is a third of it free? What only computes counts as free: it steps back for any other."""

    def __init__(self):
        self.seen = sum(line.startswith("cpu") for line in open("/proc/stat", encoding="ascii")) - 1
        self.all, self.free = self.look()

    @staticmethod
    def look():
        """Hundredths of a second of all processors; those that nobody wanted."""
        with open("/proc/stat", encoding="ascii") as f:
            t = [int(x) for x in f.readline().split()[1:9]]
        return sum(t), t[1] + t[3] + t[4]

    def has_time(self):
        """Over the time since the last look; a look back over less than a second says nothing."""
        whole, free = self.look()
        if whole - self.all < 100 * self.seen:
            return False
        share = (free - self.free) / (whole - self.all)
        self.all, self.free = whole, free
        return share >= 0.33


class Run:
    """All jobs, to their end."""

    def __init__(self, jobs, second=False):
        self.jobs, self.running, self.second = jobs, [], second
        self.clock, self.machine = Clock(jobs), Machine()
        self.passed = self.failed = self.spoke = 0
        self.failures, self.skipped = [], []
        self.most = int(OPEN("STORY_JOBS", str(3 * CORES)))

    def say(self, text):
        """A line, at once."""
        print(text, flush=True)
        self.spoke = time.monotonic()

    def ready(self, real):
        """Those that could begin, the longest first; builds before all, in their order."""
        todo = [j for j in self.jobs if j.real == real and not j.began and all(n.ok for n in j.needs)]
        return sorted(todo, key=lambda j: (j.alone, j.reads != "build", 0 if j.reads == "build" else -j.seconds))

    def may_begin(self, j):
        """Has the machine time for it?"""
        beside = [r for r in self.running if r.real == j.real]
        if not j.real:
            return sum(r.cores for r in beside) + j.cores <= CORES
        if any(r.alone for r in beside) or j.alone and beside or j.again and self.running:
            return False
        return len(beside) < self.most and (len(beside) < min(CORES, self.most) or self.machine.has_time())

    def begin_some(self):
        """One of each lane at a time: what it takes shows only then."""
        for real in (True, False):
            for j in self.ready(real)[:1]:
                if self.may_begin(j):
                    j.begin()
                    self.running.append(j)
                    if j.reads == "build":
                        self.say(f"---- {j.name} ({j.flavour}); about {minutes(self.clock.to_go())} to go")

    def give_up(self, j):
        """Whatever needs it does not run."""
        lost = [k for k in self.jobs if k.took < 0 and not k.began and j in k.needs]
        for k in lost:
            k.took = k.began = time.monotonic()
            k.took = 0
            self.give_up(k)

    def over(self, j, rc):
        """It has ended."""
        j.took = time.monotonic() - j.began
        p, n = j.counts(rc)
        if n and self.once_more(j, rc):
            return
        j.ok = n == 0
        self.passed, self.failed = self.passed + p, self.failed + n
        if j.reads == "build" and j.took < j.seconds / CORES / 2:
            self.clock.since()  # of compilers that had less to do: says nothing of the rest
        if rc == 77:
            self.skipped.append(f"{j.label}: what it needs is not here")
        self.skipped += j.not_judged()
        if n:
            self.failures += j.failures(rc)
            self.show(j)
            self.give_up(j)
        if j.reads != "build" or n:
            done = sum(k.took >= 0 for k in self.jobs)
            self.say(f"{j.label:36} {p:5} passed {n:3} failed {j.took:5.0f} s   "
                     f"{done} of {len(self.jobs)}, about {minutes(self.clock.to_go())} to go")
            if OPEN("VERBOSE") and not n:
                self.show(j)

    def may_repeat(self, j, rc):
        """Builds once, at once: make goes on behind a compiler that was killed. Stories, at the end, if they did not crash."""
        if j.reads == "build":
            return not j.again and not j.late
        spent = sum(k.again and k.reads != "build" for k in self.jobs)
        return self.second and j.real and not j.alone and not j.crashed(rc) and spent < MENDABLE

    def once_more(self, j, rc):
        """True: it begins anew."""
        if not self.may_repeat(j, rc):
            return False
        self.show(j)
        j.why = j.failures(rc)[0].rpartition(" (in ")[0]
        story = j.reads != "build"
        self.say(f"{j.label:36} failed{' beside others' * story}: it is run again{' at the end, alone' * story}")
        os.replace(j.log, j.beside())
        j.again, j.alone = True, story
        j.began, j.took, j.late, j.process = 0, -1, "", None
        return True

    @staticmethod
    def show(j):
        """The end of its log."""
        with open(j.log, encoding="utf-8", errors="replace") as f:
            print("".join(collections.deque(f, 400 if OPEN("VERBOSE") else 80)), end="", flush=True)

    def look(self):
        """Who has ended, or hangs?"""
        for j in list(self.running):
            rc = j.poll()
            late = time.monotonic() - j.began - int(OPEN("LIMIT", str(j.limit)))
            if rc is None and late > 0 and not j.late:
                j.late = f"it hangs: ended after {time.monotonic() - j.began:.0f} s"
                j.end(signal.SIGTERM)  # once: a second one would end a story that tidies up
            elif rc is None and late > 60:
                j.end(signal.SIGKILL)
            if rc is not None:
                self.running.remove(j)
                self.over(j, rc)

    def all(self):
        """Returns when nothing is left to do."""
        while self.running or any(j.took < 0 for j in self.jobs):
            self.begin_some()
            time.sleep(0.05)
            self.look()
            if time.monotonic() - self.spoke > 60:
                names = ", ".join(j.label for j in self.running[:4])
                self.say(f"---- {names} ...; about {minutes(self.clock.to_go())} to go")

    def stop(self):
        """Ends all that runs: TERM, then KILL. No signal breaks this off."""
        for sig in (signal.SIGINT, signal.SIGTERM):
            signal.signal(sig, signal.SIG_IGN)
        for sig in (signal.SIGTERM, signal.SIGKILL):
            for j in self.running:
                j.end(sig)
            end = time.monotonic() + 60
            while time.monotonic() < end and any(j.process.poll() is None for j in self.running):
                time.sleep(0.1)

    def summary(self):
        """What took longest, what failed; the last line."""
        ran = sorted((j for j in self.jobs if j.process), key=lambda j: -j.took)
        print(f"\n---- {minutes(time.monotonic() - self.clock.began)} for {len(ran)} programs; the longest:")
        for lane, what in ((True, "those that wait"), (False, "those that compute")):
            longest = [f"{j.label} {j.took:.0f} s" for j in ran if j.real == lane][:8]
            if longest:
                print(f"     {what}: {', '.join(longest)}")
        dear = sorted(ran, key=lambda j: -j.cpu)
        most = [f"{j.label} {j.cpu:.0f} s" for j in dear[:8]]
        print(f"     processor time, {minutes(sum(j.cpu for j in ran))} in all: {', '.join(most)}")
        with open("build/took.txt", "w", encoding="utf-8") as f:
            f.writelines(f"{j.cpu:7.1f} {j.took:7.1f} {j.label}\n" for j in dear)
        for s in self.skipped:
            print(f"SKIPPED {s}")
        for j in self.jobs:
            if j.again:
                print(f"UNSTABLE {j.why}; {'passed' if j.ok else 'failed'} when run again (first: {j.beside()})")
        for f in self.failures:
            print(f"FAILED {f}")
        lost = [j.label for j in self.jobs if not j.process]
        if lost:
            print(f"FAILED {len(lost)} programs did not run: {', '.join(lost[:8])} ...")
        print(f"\n{self.passed} passed, {self.failed} failed")
        return self.failed > 0 or self.passed + (not any(j.reads != "build" for j in ran)) == 0


def install(groups):
    """Packages: those of the build now, the others beside it."""
    if subprocess.run(["deploy/deps.sh", "build"], check=False).returncode:
        sys.exit("0 passed, 1 failed")
    return Job("install", ["deploy/deps.sh", *groups.split()], reads="build", limit=3600, real=True, seconds=1)


def main():
    """See the top of the file."""
    names = sys.argv[1:]
    if not names or any(n not in PARTS for n in names) and (len(names) > 1 or names[0] not in TIERS):
        sys.exit(__doc__)
    if names[0] in TIERS:
        fill, groups = TIERS[names[0]]
        s = Suite(install(groups))
        s.jobs.append(s.deps)
        s.bins("rel")
        fill(s)
    else:
        s = parts(names)
    run = Run(s.jobs, names[0] in TIERS)
    for sig in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sig, lambda *_: sys.exit(130))
    n = len(s.jobs)
    run.say(f"{n} programs, a line for each as it ends; about {minutes(run.clock.whole)} on {CORES} free cores")
    try:
        run.all()
    finally:
        run.stop()
    return run.summary()


if __name__ == "__main__":
    sys.exit(main())
