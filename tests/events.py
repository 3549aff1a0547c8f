#!/usr/bin/python3
"""events.py [--list]: proto/EVENTS.md and the log calls of all processes agree.

Checked: each log call's text is a literal that begins with `event=name`, where the name is in
lower case with underscores; each name is a row of the table, with the processes and the worst
level at which the code logs it; each row is logged somewhere; rows are in order. What the dashboard
sifts events by (`/^(ready|metric_)/`, `event === 'ready'`) are events, or how their names begin.
--list: prints what the code logs, as rows without meaning. Ends with "events: N passed, N failed".
"""
import collections
import glob
import os
import re
import sys

from tree import claim, finish, read, sources

TABLE = "proto/EVENTS.md"
LEVELS = ["error", "warn", "info", "debug"]
CALL = re.compile(r"\blog_(error|warn|info|debug|line)\s*\(")
# What a process is made of, beside common/ (which the table calls `all`, or names).
PROCESS = {"router": "router", "segment": "segment", "queuemng": "queuemng", "task": "task"}
SUPERVISORS = "common/supervisor/"
EXCEPT = {"common/base/log.h"}  # macros, not calls
DASHBOARD = "deploy/dashboard/"
SIFT = re.compile(r"(?:LOUD|QUIET|ROUTINE) = /\^\((.*?)\)(\$?)/;"
                  r"|/\^\(([^/]*)\)(\$?)/\.test\((?:readEvent\(e\.text\)|\w+)\.event\)")
SAME = re.compile(r"\.event === '(\w+)'")


def arguments(text, at):
    """The arguments of the call whose bracket opens at `at`."""
    depth, quoted, begin, out = 0, False, at + 1, []
    i = at
    while i < len(text):
        c = text[i]
        if quoted:
            if c == "\\":
                i += 1
            elif c == '"':
                quoted = False
        elif c == '"':
            quoted = True
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                return out + [text[begin:i].strip()]
        elif c == "," and depth == 1:
            out.append(text[begin:i].strip())
            begin = i + 1
        i += 1
    return out


def without_comments(text):
    return re.sub(r"/\*.*?\*/|(\"(?:\\.|[^\"\\])*\")",
                  lambda m: m.group(1) or re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.S)


def calls():
    """(file, line, levels, format) of each log call."""
    for f in (f for f in sources() if f not in EXCEPT):
        text = without_comments(read(f))
        for m in CALL.finditer(text):
            args = arguments(text, m.end() - 1)
            if args[0].startswith("enum "):  # the definition
                continue
            level, fmt = [m.group(1)], args[0]
            if m.group(1) == "line":
                level = [w.lower() for w in re.findall(r"LOG_([A-Z]+)", args[0])
                         if w.lower() in LEVELS] or ["?"]
                fmt = args[2]
            yield f, text.count("\n", 0, m.start()) + 1, level, fmt


def processes(f):
    if f.startswith(SUPERVISORS) and os.path.basename(f).startswith(("cluster", "spawn")):
        return {"supervisors"}
    if f.startswith("common/node/"):
        return {"segment", "task"}
    return {PROCESS.get(f.split("/")[0], "all")}


def logged():
    """name -> (processes, worst level)"""
    seen = collections.defaultdict(lambda: (set(), "debug"))
    for f, line, levels, fmt in calls():
        text = re.match(r'"((?:\\.|[^"\\])*)"', fmt)
        m = re.match(r"event=([a-z]+(?:_[a-z]+)*)(?= |$)", text.group(1)) if text else None
        claim(m is not None, f"{f}:{line}: a log line is a literal that begins with "
                             f'"event=lower_case_name ...", not {fmt[:50]}')
        if m is None:
            continue
        where, worst = seen[m.group(1)]
        worst = min([worst] + [x for x in levels if x in LEVELS], key=LEVELS.index)
        seen[m.group(1)] = (where | processes(f), worst)
    return {n: (" ".join(sorted({"all"} if "all" in w else w)), worst)
            for n, (w, worst) in seen.items()}


def alternatives(pattern):
    """a|b(c|d) -> a, bc, bd; where there are two groups, the others stay whole."""
    for alt in re.findall(r"(?:\([^()]*\)|[^()|])+", pattern):
        groups = list(re.finditer(r"\(([^()]*)\)", alt))
        yield from [alt] if not groups else [
            alt[:g.start()] + a + alt[g.end():] for g in groups for a in g.group(1).split("|")]


def sifted():
    """(file, regular expression) of each event that the dashboard looks for."""
    for f in sorted(glob.glob(DASHBOARD + "*.js")):
        text = read(f)
        for m in SIFT.finditer(text):
            end = m.group(2) or m.group(4) or ""
            for a in alternatives(m.group(1) or m.group(3)):
                yield f, a + end
        for m in SAME.finditer(text):
            yield f, m.group(1) + "$"


def main():
    code = logged()
    if "--list" in sys.argv:
        for name, (where, level) in sorted(code.items()):
            print(f"| `{name}` | {where} | {level} | |")
        return
    rows = re.findall(r"^\| `([a-z_]+)` \| ([a-z ]+) \| ([a-z]+) \| (.*) \|$",
                      read(TABLE), re.M)
    claim([r[0] for r in rows] == sorted({r[0] for r in rows}),
          f"{TABLE}: rows are not sorted, or an event has two")
    for name, where, level, text in rows:
        claim(name in code, f"{TABLE}: nothing logs event={name}")
        claim(len(text) > 10, f"{TABLE}: {name}: what it means, and what to do, is missing")
        if name in code:
            claim((where, level) == code[name],
                  f"{TABLE}: {name} is logged by {code[name][0]}, {code[name][1]}; "
                  f"the table says {where}, {level}")
    for name in sorted(set(code) - {r[0] for r in rows}):
        claim(False, f"{TABLE} has no row for event={name}: "
                     f"| `{name}` | {code[name][0]} | {code[name][1]} | ... |")
    for f, pattern in sifted():
        claim(any(re.match(pattern, n) for n in code), f"{f}: no event is called {pattern}")
    finish("events")


main()
