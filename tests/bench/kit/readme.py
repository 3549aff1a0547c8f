#!/usr/bin/env python3
"""readme.py: the table of measured figures in docs/speed.md, out of a bench.json.

  readme.py --write docs/speed.md --picture deploy/bench/summary.svg --bench FILE [FILE...]

Replaces what stands between "<!-- bench -->" and "<!-- end -->": the machine and how noisy it
was, then the cases of every row that has an aim, figures as "median (min .. max)". Of a machine
that was not quiet (kit/machine.py measures that) the table has what neighbours hardly touch, and
says so: ratios by CPU, and bytes. Rates and times are left out: neighbours slow a peer more than
segq, and such a table flatters. Refuses the figures of a quick run, which mean nothing, and of a
run of some rows, since the others' lines would be gone. A row that could not be measured is taken
from the next FILE of the same tree, and marked.
"""
import argparse
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import bench  # noqa: E402
from kit import chart, machine  # noqa: E402
from kit.report import aim, figure, scores, verdict  # noqa: E402

BEGIN, END = "<!-- bench -->", "<!-- end -->"
REPORTED = {"redis_room", "short_conns", "joins", "direct", "kill", "verify", "crowd",
            "open_loop_cpu"}  # all their cases, aim or not
HIDDEN = ("p999",)


def wanted(row, case):
    if any(h in case["case"] for h in HIDDEN):
        return False
    return case["aim"] is not None or row["id"] in REPORTED


def bears_noise(case):
    """Is it counted, and not timed by a clock that goes on while others have the core?"""
    return case["unit"].startswith(("bytes", "us/")) or case["unit"] == "polls per CPU second"


def noisy_lines(row):
    """The cases of a row that bear noise: their ratios; bytes as they are."""
    for c in row["cases"]:
        if not bears_noise(c) or "not reached" in c["case"] or (c["ratio"] is None and not c["unit"].startswith("bytes")):
            continue
        value = c["ratio"] if c["ratio"] is not None else c["segq"]
        unit = "" if c["ratio"] is not None else " bytes"
        on = c["aim_on"] == "ratio" or c["ratio"] is None
        yield (f"| {row['title']}: {c['case']}, {c['unit']} | {c['peer_name'] or ''} | {figure(value)}{unit} "
               f"| {f'{aim(c)} {verdict(c)}' if on else ''} |")


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
           f"{'up to ' if result.get('cut') else ''}{result['rounds']} rounds, {result['took_s'] / 60:.0f} minutes; the machine was "
           f"{noise['verdict']} (a fixed loop between the rows varied by "
           f"{noise['probe_spread'] * 100:.0f} %)."]
    quiet = noise["verdict"] == "quiet"
    if quiet:
        out += ["", "| what | segq | beside it | ratio | aim |", "|---|---|---|---|---|"]
    else:
        out += ["", "**Ratios by CPU only**: rates and times of such a run mean nothing and are left out. CPU "
                "is user and system time of all processes of a side.", "",
                "| what | beside | ratio by CPU, or bytes | aim |", "|---|---|---|---|"]
    for row in result["rows"]:
        out += lines_of(row) if quiet else noisy_lines(row)
    for row, why in result["failed"].items():
        out.append(f"| {row} | could not be measured: {why} | | | |" if quiet else
                   f"| {row} | | could not be measured: {why} | |")
    return "\n".join(out)


def picture(result):
    """The figures of the table beside their aims."""
    quiet = result["machine"]["noise"]["verdict"] == "quiet"
    rows = [{**row, "cases": [c for c in row["cases"] if quiet or bears_noise(c)]} for row in result["rows"]]
    return chart.scores("Figures beside their aims" if quiet else "Ratios by CPU, and bytes, beside their aims",
                        scores(rows))


def refusal(result, ids):
    """Why the table may not be written, None: it may. ids: of all rows that there are."""
    there = {r["from"] for r in result["rows"]} | set(result["failed"])
    missing = [i for i in ids if i not in there]
    if result["quick"]:
        return machine.refusal(result)
    return f"no rows {', '.join(missing)}: run all of them" if missing else None


def with_later(result, later):
    """Rows that failed, from a later run."""
    for row in later["rows"]:
        if result["failed"].pop(row["from"], None):
            result["rows"].append({**row, "title": row["title"] + " (of a run of its own)"})
    return result


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    a.add_argument("--write", required=True, metavar="PAGE")
    a.add_argument("--picture", metavar="SVG", help="the same as a picture")
    a.add_argument("--bench", required=True, nargs="+")
    args = a.parse_args()
    result, *more = (json.load(open(name)) for name in args.bench)
    for later in more:
        result = with_later(result, later)
    why = refusal(result, [m.ID for m in bench.find_rows(None)])
    if why:
        sys.exit(f"readme.py: {args.bench[0]}: {why}")
    with open(args.write) as f:
        text = f.read()
    new, n = re.subn(f"{BEGIN}.*?{END}", lambda _: f"{BEGIN}\n{block(result)}\n{END}", text,
                     flags=re.S)
    if n != 1:
        sys.exit(f"readme.py: {args.write} needs one {BEGIN} ... {END}")
    with open(args.write, "w") as f:
        f.write(new)
    if args.picture:
        with open(args.picture, "w") as f:
            f.write(picture(result))


if __name__ == "__main__":
    main()
