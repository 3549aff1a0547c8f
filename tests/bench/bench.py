#!/usr/bin/env python3
"""bench.py: segq beside its peers, in one run. `make bench` builds and calls it.

  bench.py [--only ROW,ROW] [--rounds N] [--seconds S] [--quick] [--out DIR] [--build DIR]

Rows run one after the other, each measuring segq and its peers in turns. Writes bench.json,
bench.md and charts/*.svg into DIR (build/bench). --quick: small counts, one short round: it
shows that every row can be measured, its figures mean nothing. Ctrl-C: what was measured so
far is written. Exit 0 whatever the figures are; 1: a row could not be measured; 2: wrong
arguments; 130: ended by Ctrl-C.
"""
import argparse
import importlib
import json
import math
import os
import pkgutil
import random
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import rows  # noqa: E402
from kit import machine, report  # noqa: E402
from kit.procs import Failed  # noqa: E402

BUDGET_S = 15 * 60
SHARED = 0.68  # of that, among the rows' rounds: what a row takes before and behind them is not bounded
LEAST = 2  # rounds of a loop, however slow the machine is; 1 if the row has had twice its share


class Ctx:
    """What a row needs to know of the run."""

    def __init__(self, args, tmp):
        self.root = os.path.dirname(os.path.dirname(HERE))
        self.build = os.path.abspath(args.build)
        self.tmp, self.quick = tmp, args.quick
        self.rounds = 1 if args.quick else args.rounds
        self.seconds = 0.3 if args.quick else args.seconds  # of one turn of load
        self.cores = len(os.sched_getaffinity(0))
        self.began, self.share_s, self.limit_s = time.monotonic(), math.inf, args.row_limit
        self.cut = []  # loops that ended before all of their rounds
        self._ends = []

    def has_time(self, seconds):
        """Would what takes so long end within twice the row's share, and before it is given up?"""
        most = min(2 * self.share_s, 0.7 * self.limit_s)
        return time.monotonic() - self.began + seconds <= most

    def each(self, what, most=None, part=0, parts=1):
        """The numbers of rounds, said one by one: fewer when the row's share of the run's time is
        used up, so that a slow machine costs rounds and not figures. part, parts: of a row with
        several such loops."""
        n = min(self.rounds, most or self.rounds)
        for i in range(n):
            used = (time.monotonic() - self.began) / self.share_s * parts / (part + 1)
            if used > 1 and i >= (LEAST if used < 2 else 1):
                self.cut.append(f"{what}: {i} of {n} rounds")
                return
            self.say(f"{what}: round {i + 1} of {n}")
            yield i

    def waiting(self, n):
        """A count of tickets; a hundredth of it in a quick run."""
        return max(n // 100, 1000) if self.quick else n

    def say(self, text):
        say(text)

    def on_core(self, core):
        return ["taskset", "-c", str(core)] if self.cores > 1 else []

    def ports(self, n):
        """The first of n free ports in a row."""
        for _ in range(200):
            base = random.randrange(14000, 30000, 100)
            try:
                for port in range(base, base + n):
                    with socket.socket() as s:
                        s.bind(("127.0.0.1", port))
                return base
            except OSError:
                continue
        raise Failed(f"no {n} free ports in a row")

    def at_end(self, fn):
        """fn() is called when the row is over, last first."""
        self._ends.append(fn)

    def end(self):
        """Everything is tried, whatever one of them says."""
        while self._ends:
            try:
                self._ends.pop()()
            except Exception as e:
                print(f"  cleaning up: {e!r}", file=sys.stderr)


def say(text):
    print(f"  {time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)


def parse(argv):
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    a.add_argument("--only", help="rows by id, with commas")
    a.add_argument("--rounds", type=int, default=5)
    a.add_argument("--seconds", type=float, default=2.0, help="of one turn of load")
    a.add_argument("--quick", action="store_true")
    a.add_argument("--out", default="build/bench")
    a.add_argument("--build", default="build/rel")
    a.add_argument("--row-limit", type=float, help="seconds after which a row is given up "
                   "(300; quick: 60)")
    a.add_argument("--list", action="store_true", help="the ids of the rows")
    args = a.parse_args(argv)
    if args.rounds < 1 or not args.seconds > 0:
        a.error("--rounds and --seconds must be above 0")
    args.row_limit = args.row_limit or (60 if args.quick else 300)
    return args


def find_rows(only):
    """rows/*.py in the order of ORDER; each has ID, ORDER and run(ctx) -> list of rows."""
    mods = [importlib.import_module(f"rows.{m.name}") for m in pkgutil.iter_modules(rows.__path__)]
    mods = sorted((m for m in mods if hasattr(m, "ID")), key=lambda m: m.ORDER)
    if not only:
        return mods
    wanted = only.split(",")
    unknown = set(wanted) - {m.ID for m in mods}
    if unknown:
        print(f"bench.py: no such row: {', '.join(sorted(unknown))}; there are "
              + ", ".join(m.ID for m in mods), file=sys.stderr)
        sys.exit(2)
    return [m for m in mods if m.ID in wanted]


# ---- how long it will take -------------------------------------------------------------


def earlier(args):
    """{row id: seconds} of the last run into the same folder with the same settings."""
    try:
        with open(os.path.join(args.out, "bench.json")) as f:
            last = json.load(f)
        return last["took"] if last["settings"] == settings(args) else {}
    except (OSError, ValueError, KeyError):
        return {}


def settings(args):
    return {"quick": args.quick, "rounds": args.rounds, "seconds": args.seconds}


def time_left(ids, took):
    """'about 7 min', of rows that ran before; the others are taken for average ones."""
    if not took:
        return ""
    mean = sum(took.values()) / len(took)
    s = sum(took.get(i, mean) for i in ids)
    return f"about {s:.0f} s left" if s < 90 else f"about {s / 60:.0f} min left"


def say_progress(i, ids, took, began):
    left = time_left(ids[i:], took)
    say(f"row {i + 1} of {len(ids)}, {(time.monotonic() - began) / 60:.1f} min so far"
        + (f", {left}" if left else "") + f" (meant: at most {BUDGET_S // 60})")


# ---- running ---------------------------------------------------------------------------


def plain(x):
    """JSON has no NaN and no infinity: null."""
    if isinstance(x, float) and not math.isfinite(x):
        return None
    if isinstance(x, dict):
        return {str(k): plain(v) for k, v in x.items()}
    return [plain(v) for v in x] if isinstance(x, (list, tuple)) else x


def save(result, out):
    """bench.json, whole or not at all."""
    path = os.path.join(out, "bench.json")
    with open(path + ".new", "w") as f:
        json.dump(result, f, indent=1, allow_nan=False)
    os.replace(path + ".new", path)


def on_alarm(_sig, _frame):
    raise Failed("it took too long (--row-limit)")


def on_term(_sig, _frame):
    raise KeyboardInterrupt


def share_of(mods, i, left_s):
    """Seconds that row i may take of those that are left: by SHARE of its file (1), which tells
    how much longer than others it is."""
    shares = [getattr(m, "SHARE", 1) for m in mods[i:]]
    return max(left_s, 0) * shares[0] / sum(shares)


def run_row(mod, args, result, share_s=math.inf):
    """One row, and what it started ended again, also after Ctrl-C."""
    tmp = tempfile.mkdtemp(prefix="segq-bench.")
    ctx = Ctx(args, tmp)
    ctx.share_s = max(share_s, 1)
    ctx.say(f"{mod.ID}: {mod.__doc__.splitlines()[0]}")
    t0 = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, args.row_limit)
        got = plain(mod.run(ctx))
        signal.setitimer(signal.ITIMER_REAL, 0)
        for r in got:
            r["from"] = mod.ID
            result["rows"].append(r)
            report.say_row(r)
    except Exception as e:  # a row that cannot be measured does not cost the others
        result["failed"][mod.ID] = str(e) or repr(e)
        print(f"  {mod.ID} could not be measured: {e}", file=sys.stderr)
        if not isinstance(e, Failed):
            traceback.print_exc()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        quiet = signal.signal(signal.SIGINT, signal.SIG_IGN)  # an impatient second Ctrl-C
        ctx.end()
        shutil.rmtree(tmp, ignore_errors=True)
        signal.signal(signal.SIGINT, quiet)
    result["took"][mod.ID] = round(time.monotonic() - t0, 1)
    result.setdefault("cut", []).extend(ctx.cut)


def run_all(mods, args, result, meter):
    """All rows, a probe of the machine between them; True if nobody ended it before."""
    began, before, ids = time.monotonic(), earlier(args), [m.ID for m in mods]
    done = 0
    try:
        meter.probe()
        for mod in mods:
            say_progress(done, ids, before, began)
            run_row(mod, args, result, share_of(mods, done, SHARED * BUDGET_S - (time.monotonic() - began)))
            done += 1
            save(result, args.out)
            meter.probe()
    except KeyboardInterrupt:
        result["not_run"] = [i for i in ids[done:] if i not in result["failed"]]
        say(f"ended; not measured: {', '.join(result['not_run'])}")
    result["took_s"] = round(time.monotonic() - began, 1)
    return done == len(mods)


def main(argv):
    args = parse(argv)
    mods = find_rows(args.only)
    if args.list:
        print("\n".join(m.ID for m in mods))
        return 0
    os.makedirs(args.out, exist_ok=True)
    signal.signal(signal.SIGALRM, on_alarm)
    signal.signal(signal.SIGTERM, on_term)
    meter = machine.Meter()
    result = {"machine": machine.describe(HERE), "quick": args.quick,
              "rounds": 1 if args.quick else args.rounds, "settings": settings(args),
              "started": time.strftime("%Y-%m-%dT%H:%M:%S"), "rows": [], "failed": {},
              "not_run": [], "took": {}}
    whole = run_all(mods, args, result, meter)
    result["machine"]["noise"] = meter.summary()
    save(result, args.out)
    report.write(result, args.out)
    for line in report.machine_lines(result["machine"]) + report.missing_lines(result):
        print(line)
    print(f"{os.path.join(args.out, 'bench.md')} in {result['took_s']:.0f} s")
    if not whole:
        return 130
    return 1 if result["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
