"""tree.py: what checks of the source tree share: its files, and claims that are counted."""
import glob
import os
import sys

TOPS = ("common", "router", "segment", "task", "queuemng", "rehearse")  # the product
counts = {True: 0, False: 0}
os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))


def claim(good, text):
    """Counts it; one that does not hold is printed."""
    counts[bool(good)] += 1
    if not good:
        print("FAIL", text)


def finish(name):
    """Ends the program with "NAME: N passed, N failed"."""
    print(f"{name}: {counts[True]} passed, {counts[False]} failed")
    sys.exit(counts[False] != 0)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def sources():
    """Every .c and .h of the product, folder by folder."""
    return [f for top in TOPS for f in sorted(glob.glob(top + "/**/*.[ch]", recursive=True))]
