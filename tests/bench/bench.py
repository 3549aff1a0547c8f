#!/usr/bin/env python3
"""bench.py: segq beside its peers, in one run. `make bench` builds and calls it.

  bench.py [--only ROW,ROW] [--rounds N] [--seconds S] [--quick] [--out DIR] [--build DIR]

Rows run one after the other, each measuring segq and its peers in turns. Writes bench.json,
bench.md and charts/*.svg into DIR (build/bench). --quick: small counts, one short round: it
shows that every row can be measured, its figures mean nothing. Exit 0 whatever the figures
are; 1: a row could not be measured; 2: wrong arguments.
"""
import argparse
import importlib
import json
import os
import pkgutil
import random
import shutil
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


class Ctx:
    """What a row needs to know of the run."""

    def __init__(self, args, tmp):
        self.root = os.path.dirname(os.path.dirname(HERE))
        self.build = os.path.abspath(args.build)
        self.tmp, self.quick = tmp, args.quick
        self.rounds = 1 if args.quick else args.rounds
        self.seconds = 0.3 if args.quick else args.seconds  # of one turn of load
        self.cores = len(os.sched_getaffinity(0))
        self._ends = []

    def waiting(self, n):
        """A count of tickets; a hundredth of it in a quick run."""
        return max(n // 100, 1000) if self.quick else n

    def say(self, text):
        print(f"  {time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)

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
        while self._ends:
            self._ends.pop()()


def parse(argv):
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    a.add_argument("--only", help="rows by id, with commas")
    a.add_argument("--rounds", type=int, default=5)
    a.add_argument("--seconds", type=float, default=2.0, help="of one turn of load")
    a.add_argument("--quick", action="store_true")
    a.add_argument("--out", default="build/bench")
    a.add_argument("--build", default="build/rel")
    a.add_argument("--list", action="store_true", help="the ids of the rows")
    return a.parse_args(argv)


def find_rows(only):
    """rows/*.py in the order of ORDER; each has ID, ORDER and run(ctx) -> list of rows."""
    mods = [importlib.import_module(f"rows.{m.name}") for m in pkgutil.iter_modules(rows.__path__)]
    mods.sort(key=lambda m: m.ORDER)
    if not only:
        return mods
    wanted = only.split(",")
    unknown = set(wanted) - {m.ID for m in mods}
    if unknown:
        sys.exit(f"bench.py: no such row: {', '.join(sorted(unknown))}; there are "
                 + ", ".join(m.ID for m in mods))
    return [m for m in mods if m.ID in wanted]


def main(argv):
    args = parse(argv)
    mods = find_rows(args.only)
    if args.list:
        print("\n".join(m.ID for m in mods))
        return 0
    result = {"machine": machine.describe(), "quick": args.quick, "rounds": args.rounds,
              "started": time.strftime("%Y-%m-%dT%H:%M:%S"), "rows": [], "failed": {}}
    began = time.monotonic()
    for i, mod in enumerate(mods):
        tmp = tempfile.mkdtemp(prefix="segq-bench.")
        ctx = Ctx(args, tmp)
        ctx.say(f"[{i + 1}/{len(mods)}] {mod.ID}: {mod.__doc__.splitlines()[0]}")
        t0 = time.monotonic()
        try:
            for r in mod.run(ctx):
                r["took_s"] = round(time.monotonic() - t0, 1)
                result["rows"].append(r)
                report.say_row(r)
        except Exception as e:  # a row that cannot be measured does not cost the others
            result["failed"][mod.ID] = str(e) or repr(e)
            print(f"  could not be measured: {e}", file=sys.stderr)
            if not isinstance(e, Failed):
                traceback.print_exc()
        finally:
            ctx.end()
            shutil.rmtree(tmp, ignore_errors=True)
    result["took_s"] = round(time.monotonic() - began, 1)
    result["machine"]["noise"] = machine.noise()
    os.makedirs(args.out, exist_ok=True)
    with open(os.path.join(args.out, "bench.json"), "w") as f:
        json.dump(result, f, indent=1)
    report.write(result, args.out)
    return 1 if result["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
