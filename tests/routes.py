#!/usr/bin/python3
"""routes.py [--list]: the admin API's table of routes (queuemng/service/routes.c) against proto/openapi.yaml:
each operation under /v1/admin is in both, with the same role (`x-role`), the same keys of operators
(`x-operator-keys`), and a 403. --list: prints the table."""
import re
import sys

TABLE, SPEC = "queuemng/service/routes.c", "proto/openapi.yaml"


def split(text):
    """Arguments of a macro: texts may be made of several, with names before them."""
    return [a.strip() for a in re.findall(r'(?:"[^"]*"|[^,"])+', text)]


def routes():
    """(method, path) -> (role, keys)"""
    text = open(TABLE, encoding="utf-8").read()
    names = dict(re.findall(r'^#define (\w+) +"([^"]*)"$', text, re.M))
    rows = text[text.index("const struct route routes[] = {"):]
    found = {}

    def path_of(a):
        return "".join(names.get(w, w.strip('"')) for w in re.findall(r'"[^"]*"|\w+', a))

    for macro, args in re.findall(r"^    (R|DEFINED)\((.*?)\),?$(?=\n    R|\n    D|\n\})", rows, re.M | re.S):
        a = split(args.replace("\n", " "))
        if macro == "R":
            found[a[0].strip('"'), path_of(a[1])] = (a[2].lower(), None)
            continue
        for method, role in re.findall(r'R\("(\w+)", path, (\w+), about', text):
            keys = a[4].strip('"').split() if method == "PATCH" else None
            found[method, path_of(a[0])] = (role.lower(), keys)
    return found


def described():
    """(method, path) -> (role, keys, whether it has a 403). Read by its lines, which `make check` may do
    without a YAML reader."""
    found, path, method = {}, None, None
    for line in open(SPEC, encoding="utf-8"):
        if m := re.match(r"  (/\S*):$", line):
            path, method = m[1], None
        elif re.match(r"\S", line):
            path = None
        elif m := re.match(r"    (get|put|post|patch|delete):$", line):
            method = m[1].upper()
            if path and path.startswith("/v1/admin/"):
                found[method, path[len("/v1/admin/"):]] = [None, None, False]
        at = found.get((method, (path or "")[len("/v1/admin/"):]))
        if at is None or not path or not path.startswith("/v1/admin/"):
            continue
        if m := re.match(r"      x-role: (\w+)$", line):
            at[0] = m[1]
        elif m := re.match(r"      x-operator-keys: \[(.*)\]$", line):
            at[1] = [k.strip() for k in m[1].split(",")]
        elif line.startswith('        "403":'):
            at[2] = True
    return found


def main():
    table, spec, bad = routes(), described(), []
    if sys.argv[1:] == ["--list"]:
        for (method, path), (role, keys) in table.items():
            print(method, path, role, " ".join(keys or []))
        return 0
    if len(table) < 70:
        bad.append(f"{TABLE}: only {len(table)} rows can be read")
    for at in sorted(set(table) | set(spec)):
        what = f"{at[0]} /v1/admin/{at[1]}"
        if at not in spec:
            bad.append(f"{SPEC} does not describe {what}")
        elif at not in table:
            bad.append(f"{TABLE} has no row for {what}")
        elif tuple(spec[at][:2]) != table[at]:
            bad.append(f"{what}: {TABLE} says {table[at]}, {SPEC} {tuple(spec[at][:2])}")
        elif not spec[at][2] and (table[at][0] != "viewer" or "{" in at[1]):
            bad.append(f"{SPEC}: {what} has no 403")
    print("\n".join(bad) if bad else f"{len(table)} routes, as they are described")
    return 1 if bad else 0


sys.exit(main())
