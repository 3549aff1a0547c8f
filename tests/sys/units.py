"""units.py UNIT STRACE-SUMMARY...: which system calls of `strace -c` summaries the filter of
a systemd unit would refuse. Prints one name per line; of none: nothing. `units.py UNIT NAME`
with a name that is no file: "allowed" or "refused"."""
import functools
import os
import re
import subprocess
import sys


@functools.lru_cache(maxsize=None)
def group(name):
    """The names in a group of systemd's, with those of the groups in it."""
    out = subprocess.run(["systemd-analyze", "syscall-filter", name], check=True,
                         capture_output=True, text=True).stdout
    names = set()
    for line in out.splitlines()[1:]:
        word = line.strip()
        if word.startswith("@"):
            names |= group(word)
        elif word and not word.startswith("#"):
            names.add(word)
    return frozenset(names)


def allowed(unit):
    """What the SystemCallFilter= lines of the unit leave, in their order."""
    names = set()
    with open(unit, encoding="utf-8") as f:
        lines = re.findall(r"^SystemCallFilter=(~?)(.*)$", f.read(), re.M)
    for minus, words in lines:
        for word in words.split():
            part = group(word) if word.startswith("@") else {word}
            names = names - part if minus else names | part
    return names


def called(path):
    """The names in a summary: the last word of a row that begins with a figure."""
    with open(path, encoding="utf-8") as f:
        rows = [line.split() for line in f if re.match(r" *[0-9]+\.[0-9]+ ", line)]
    return {row[-1] for row in rows if row[-1] != "total"}


def main():
    names = allowed(sys.argv[1])
    if len(sys.argv) == 3 and not os.path.exists(sys.argv[2]):
        print("allowed" if sys.argv[2] in names else "refused")
        return
    seen = set().union(*(called(path) for path in sys.argv[2:]))
    if len(seen) < 20:
        sys.exit(f"units.py: only {len(seen)} system calls in the summaries")
    print("\n".join(sorted(seen - names)), end="\n" if seen - names else "")


main()
