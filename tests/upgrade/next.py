#!/usr/bin/env python3
"""next.py: makes the next release of segq out of this tree, for tests/sys/sys_upgrade.sh.

  next.py --check          only: does all of next.txt still apply?
  next.py FLAVOUR FOLDER   copies sources and objects to FOLDER, plants next.txt, builds:
                           FOLDER/build/FLAVOUR/bin has the next release's programs

Only what next.txt touches is compiled: the copies keep their times.
"""

import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIST = os.path.join(HERE, "next.txt")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests/mutants"))
import mutants  # noqa: E402  (the same kind of list)

SOURCES = ["Makefile", "VERSION", "common", "router", "segment", "task", "queuemng", "proto"]
PROGRAMS = ["router", "segment", "task", "queuemng", "rt_cluster", "seg_cluster", "mng_cluster"]
ENV = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}


def changed(changes, root):
    """The text of every file with all of its changes; those that do not apply."""
    texts, bad = {}, []
    for c in changes:
        if c.path not in texts:
            with open(os.path.join(root, c.path), encoding="utf-8") as f:
                texts[c.path] = f.read()
        try:
            texts[c.path] = c.planted(texts[c.path])
        except ValueError as e:
            bad.append(f"{c.name}: {e}")
    return texts, bad


def copy_tree(flavour, folder):
    """Sources, generated files and objects (of programs, not of tests), with their times."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    built = os.path.join("build", flavour)
    for name in SOURCES + [os.path.join(built, "gen"), os.path.join(built, "obj")]:
        full, to = os.path.join(ROOT, name), os.path.join(folder, name)
        if os.path.isdir(full):
            shutil.copytree(full, to, ignore=shutil.ignore_patterns("tests"))
        elif os.path.exists(full):
            shutil.copy2(full, to)


def build(flavour, folder):
    """What make ends with."""
    targets = [f"build/{flavour}/bin/{p}" for p in PROGRAMS]
    return subprocess.run(["make", "-s", "-j2", f"FLAVOUR={flavour}", *targets], cwd=folder,
                          env=ENV, check=False).returncode


def main():
    """See above."""
    changes = mutants.read_list(LIST)
    texts, bad = changed(changes, ROOT)
    for line in bad:
        print(f"FAIL {line}")
    if sys.argv[1:] == ["--check"]:
        print(f"next: {len(changes) - len(bad)} passed, {len(bad)} failed")
        return 1 if bad else 0
    if bad or len(sys.argv) != 3:
        return 1 if bad else 2
    flavour, folder = sys.argv[1:]
    copy_tree(flavour, folder)
    for path, text in texts.items():
        with open(os.path.join(folder, path), "w", encoding="utf-8") as f:
            f.write(text)
    return build(flavour, folder)


sys.exit(main())
