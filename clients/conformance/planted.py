#!/usr/bin/env python3
"""planted.py --check | --cluster DIR --bin BIN [--rows "a b"]: puts each defect of planted.txt into a copy of the
Python client, and plays its row: it must fail. --check: they can still be put there. The last line is "planted: N passed, M failed"."""

import argparse
import concurrent.futures
import os
import shutil
import sys
import tempfile

import run
from languages import ALL


def read_planted():
    with open(os.path.join(run.HERE, "planted.txt"), encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                row, path, rest = (x.strip() for x in line.split("|", 2))
                old, new = (x.strip().replace("\\n", "\n") for x in rest.split("|||"))
                yield row, path, old, new


def plant(folder, path, old, new):
    """The command of a copy that has the defect."""
    shutil.copytree(os.path.join(run.ROOT, "clients/python"), folder, ignore=shutil.ignore_patterns("__pycache__"))
    path = os.path.join(folder, path)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if old not in text:
        sys.exit(f"{path} has no longer: {old}")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text.replace(old, new))
    return [run.PYTHON, os.path.join(folder, "conformance.py")]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--check", action="store_true")
    p.add_argument("--cluster")
    p.add_argument("--bin")
    p.add_argument("--rows", default="")
    o = p.parse_args()
    table = {r[0]: r for r in run.read_table()}
    todo = [x for x in read_planted() if not o.rows or x[0] in o.rows.split()]
    if o.check:
        with tempfile.TemporaryDirectory() as folder:
            for i, x in enumerate(todo):
                plant(os.path.join(folder, str(i)), *x[1:])
        bad = [x[0] for x in todo if x[0] not in table]
        print("".join(f"FAIL {x}: no such row\n" for x in bad) + f"planted: {len(todo) - len(bad)} passed, {len(bad)} failed")
        sys.exit(len(bad) > 0)
    cluster = run.Cluster(o.cluster, o.bin)
    run.prepare(cluster, [("planted", *table[x[0]][:2]) for x in todo])
    failed = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(6) as pool:
        argv = {x[0]: plant(os.path.join(folder, x[0]), *x[1:]) for x in todo}
        wall = os.path.join(o.bin, "../dates/wall.so")
        alone = [x[0] for x in todo if table[x[0]][1] == "alone"]
        futures = {pool.submit(run.play, cluster, "planted", n, a, wall, ALL): n for n, a in argv.items() if n not in alone}
        for f in concurrent.futures.as_completed(futures):
            failed += told(futures[f], f.result())
        for n in alone:
            failed += told(n, run.play(cluster, "planted", n, argv[n], wall, ALL))
    print(f"planted: {len(todo) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


def told(name, got):
    bad, took, _ = got
    said = bad[0].strip().split("\n")[-1].strip()[:100] if bad else ""
    print(f"ok   {name}: noticed: {said} ({took:.1f} s)" if bad else f"FAIL {name}: the defect is not noticed", flush=True)
    return not bad


if __name__ == "__main__":
    main()
