#!/usr/bin/env python3
"""reference.py --write|--check BIN: the tables of docs/segqctl.md and docs/api.md, in both languages, and
proto/REFERENCE.md.

What stands between "<!-- NAME -->" and "<!-- end -->" is made of `segqctl -h` and of
proto/openapi.yaml, so it says what the programs do. --check: is it?
"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import calls  # noqa: E402
from pages import ROOT, text_of  # noqa: E402


def told(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def operations(api, tags):
    """(methods, path, summary); methods of a path that do "likewise" share a row."""
    for path, item in api["paths"].items():
        rows = []
        for method in calls.METHODS:
            op = item.get(method)
            if not op or op["tags"][0] not in tags:
                continue
            if op["summary"].startswith("Likewise") and rows:
                rows[-1][0].append(method.upper())
            else:
                rows.append(([method.upper()], op["summary"]))
        for methods, summary in rows:
            yield ", ".join(methods), path, summary


def table(api, *tags):
    rows = [f"| {m} | `{p}` | {s} |" for m, p, s in operations(api, tags)]
    return "\n".join(["| method | address | what it does |", "|---|---|---|"] + rows)


def api_of(bins):
    return json.loads(told(os.path.join(bins, "..", "deploy", "yaml2json"),
                           os.path.join(ROOT, "proto", "openapi.yaml")))[0]


def parts(bins, api):
    usage = told(os.path.join(bins, "segqctl"), "-h").rstrip("\n")
    return {"segqctl.md": {"segqctl": f"```\n{usage}\n```"},
            "api.md": {"people": table(api, "public", "aws"), "tasks": table(api, "tasks", "compat"),
                       "processes": table(api, "system"), "operators": table(api, "admin")}}


def write(name, text):
    if sys.argv[1] == "--write":
        with open(os.path.join(ROOT, name), "w", encoding="utf-8") as f:
            f.write(text)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("--write", "--check"):
        sys.exit(__doc__.split("\n", maxsplit=1)[0])
    api, stale = api_of(sys.argv[2]), []
    if text_of("proto", "REFERENCE.md") != calls.reference(api):
        stale.append("proto/REFERENCE.md")
        write("proto/REFERENCE.md", calls.reference(api))
    for page, made in parts(sys.argv[2], api).items():
        for name in (os.path.join("docs", page), os.path.join("docs", "zh", page)):
            old = new = text_of(name)
            for mark, text in made.items():
                new, n = re.subn(f"<!-- {mark} -->.*?<!-- end -->",
                                 lambda _, m=mark, t=text: f"<!-- {m} -->\n{t}\n<!-- end -->", new, flags=re.S)
                if n != 1:
                    sys.exit(f"reference.py: {name} needs one <!-- {mark} --> ... <!-- end -->")
            if new == old:
                continue
            stale.append(name)
            write(name, new)
    if sys.argv[1] == "--check" and stale:
        sys.exit(f"{', '.join(stale)}: not what segqctl -h and openapi.yaml say: make reference")


if __name__ == "__main__":
    main()
