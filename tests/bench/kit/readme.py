#!/usr/bin/env python3
"""readme.py: the table of measured figures in docs/speed.md, out of a bench.json.

  readme.py --write docs/speed.md --bench FILE

Replaces what stands between "<!-- bench -->" and "<!-- end -->": the machine and how noisy it
was, then the cases of every row that has an aim, figures as "median (min .. max)". Refuses the
figures of a quick run, which mean nothing, of a machine that was not quiet: neighbours slow a
peer more than segq, and such a table flatters; and of a run of some rows, since the others' lines
would be gone.
"""
import argparse
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import bench  # noqa: E402
from kit import machine  # noqa: E402
from kit.report import aim, figure, verdict  # noqa: E402

BEGIN, END = "<!-- bench -->", "<!-- end -->"
REPORTED = {"redis_room", "short_conns", "joins", "direct", "kill", "verify", "crowd",
            "open_loop_cpu"}  # all their cases, aim or not
HIDDEN = ("p999",)


def wanted(row, case):
    if any(h in case["case"] for h in HIDDEN):
        return False
    return case["aim"] is not None or row["id"] in REPORTED


def lines_of(row):
    for c in row["cases"]:
        if not wanted(row, c):
            continue
        peer = f"{figure(c['peer'])} {c['peer_name'] or ''}" if c["peer"] is not None else ""
        yield (f"| {row['title']}: {c['case']}, {c['unit']} | {figure(c['segq'])} | {peer} "
               f"| {figure(c['ratio']) if c['ratio'] is not None else ''} "
               f"| {aim(c)} {verdict(c)} |")


def block(result):
    m = result["machine"]
    noise = m["noise"]
    out = [f"{m['cores']} cores of {m['cpu']}, Linux {m['kernel']}, tree `{m['tree']}`, "
           f"{result['rounds']} rounds, {result['took_s'] / 60:.0f} minutes; the machine was "
           f"{noise['verdict']} (a fixed loop between the rows varied by "
           f"{noise['probe_spread'] * 100:.0f} %).", "",
           "| what | segq | beside it | ratio | aim |", "|---|---|---|---|---|"]
    for row in result["rows"]:
        out += lines_of(row)
    for row, why in result["failed"].items():
        out.append(f"| {row} | could not be measured: {why} | | | |")
    return "\n".join(out)


def refusal(result, ids):
    """Why the table may not be written, None: it may. ids: of all rows that there are."""
    there = {r["from"] for r in result["rows"]} | set(result["failed"])
    missing = [i for i in ids if i not in there]
    return machine.refusal(result) or (
        f"no rows {', '.join(missing)}: run all of them" if missing else None)


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    a.add_argument("--write", required=True, metavar="PAGE")
    a.add_argument("--bench", required=True)
    args = a.parse_args()
    with open(args.bench) as f:
        result = json.load(f)
    why = refusal(result, [m.ID for m in bench.find_rows(None)])
    if why:
        sys.exit(f"readme.py: {args.bench}: {why}")
    with open(args.write) as f:
        text = f.read()
    new, n = re.subn(f"{BEGIN}.*?{END}", lambda _: f"{BEGIN}\n{block(result)}\n{END}", text,
                     flags=re.S)
    if n != 1:
        sys.exit(f"readme.py: {args.write} needs one {BEGIN} ... {END}")
    with open(args.write, "w") as f:
        f.write(new)


if __name__ == "__main__":
    main()
