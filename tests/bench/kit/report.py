"""report.py: the result for people: a table per row on the terminal, bench.md and charts/*.svg.

A figure is written "median (min .. max)" over the rounds, three digits; the ratio was taken
round by round. Whatever was not measured is "-" here, and said with its reason in bench.md.
"""
import os
import shutil
import sys

from kit import chart
from kit.axis import is_number, num, plain

GREEN, RED, BOLD, OFF = "\033[32m", "\033[31m", "\033[1m", "\033[0m"


def figure(s):
    """A summary (kit/stats.py), a number or nothing, as text."""
    if not isinstance(s, dict):
        return num(s) if s is None or is_number(s) or s != s else str(s)
    if "median" not in s:
        return ", ".join(f"{k} {figure(v)}" for k, v in s.items())
    lo, hi = num(s.get("min")), num(s.get("max"))
    mid = num(s["median"])
    return mid if lo == hi or "-" in (lo, hi) else f"{mid} ({lo} .. {hi})"


def middle(s):
    """The number that stands for a figure, None if there is none."""
    v = s.get("median") if isinstance(s, dict) else s
    return v if is_number(v) else None


def verdict(c):
    return {True: "met", False: "missed"}.get(c["met"], "")


def aim(c):
    """'>= 1.1', or 'segq <= 50' where it is a bound on the figure itself."""
    if c["aim"] is None:
        return ""
    on = "" if c["aim_on"] == "ratio" else f"{c['aim_on']} "
    return f"{on}{c['aim_op']} {plain(c['aim'])}"


def table(row):
    """Lines of cells, the first is the head."""
    names = {c["peer_name"] for c in row["cases"] if c["peer_name"]}
    one = names.pop() if len(names) == 1 else None
    lines = [["case", "unit", "segq", one or "peer", "ratio", "aim", ""]]
    for c in row["cases"]:
        peer = figure(c["peer"]) if c["peer"] is not None else ""
        if peer and not one and c["peer_name"]:
            peer = f"{c['peer_name']}: {peer}"
        ratio = figure(c["ratio"]) if c["ratio"] is not None else ""
        lines.append([c["case"], c["unit"], figure(c["segq"]), peer, ratio, aim(c), verdict(c)])
    return lines


def extras(row):
    """(case, 'cpu_us 7.2 (6.8 .. 7.5), p99_us 410') of the cases that have more figures."""
    return [(c["case"], ", ".join(f"{k} {figure(v)}" for k, v in c["extra"].items()))
            for c in row["cases"] if c["extra"]]


# ---- terminal --------------------------------------------------------------------------


def _paint(text, colour, out):
    return f"{colour}{text}{OFF}" if out.isatty() else text


def aligned(lines):
    """The cells as text columns; empty columns are left out."""
    keep = [i for i in range(len(lines[0])) if any(line[i] for line in lines[1:])]
    wide = {i: max(len(line[i]) for line in lines) for i in keep}
    return ["  ".join(line[i].ljust(wide[i]) for i in keep).rstrip() for line in lines]


def say_row(row, out=None):
    """The row's figures, while the bench goes on."""
    out = out or sys.stdout
    print("\n" + _paint(f"{row['id']}: {row['title']}", BOLD, out), file=out)
    head, *lines = aligned(table(row))
    print("    " + head, file=out)
    for c, line in zip(row["cases"], lines):
        colour = {True: GREEN, False: RED}.get(c["met"])
        print("    " + (_paint(line, colour, out) if colour else line), file=out)
    for case, text in extras(row):
        print(f"      {case}: {text}", file=out)
    for note in row["notes"]:
        print(f"    note: {note}", file=out)
    print("", file=out, flush=True)


# ---- charts ----------------------------------------------------------------------------


def score(c):
    """How many times better than its aim: {"score", "lo", "hi", "met"}; None without aim."""
    s = c[c["aim_on"]]
    if c["met"] is None or not c["aim"] or middle(s) is None:
        return None
    lo, hi = (s.get("min"), s.get("max")) if isinstance(s, dict) else (None, None)
    better = (lambda v: v / c["aim"]) if c["aim_op"] == ">=" else \
        (lambda v: c["aim"] / v if v else None)
    ends = sorted(better(v) for v in (lo, hi) if is_number(v) and v > 0)
    return {"score": better(middle(s)), "lo": ends[0] if ends else None,
            "hi": ends[-1] if ends else None, "met": c["met"]}


def scores(rows):
    """What chart.scores() draws, of all rows."""
    out = []
    for r in rows:
        for c in r["cases"]:
            s = score(c)
            if s is not None:
                s["name"] = f"{r['id']}: {c['case']}"
                s["text"] = f"{num(middle(c[c['aim_on']]))} (aim {c['aim_op']} {plain(c['aim'])})"
                out.append(s)
    return out


def _point(case, s):
    ends = (s.get("min"), s.get("max")) if isinstance(s, dict) else (None, None)
    return [case, middle(s), *ends]


def chart_of(row):
    """The row's own chart; else segq beside its peer, where all cases have one unit."""
    if row["chart"]:
        return row["chart"]
    cases = [c for c in row["cases"] if c["peer"] is not None]
    if not cases or len({c["unit"] for c in cases}) != 1:
        return None
    names = {c["peer_name"] for c in cases}
    peer = names.pop() if len(names) == 1 else "peer"
    values = [v for c in cases for v in (middle(c["segq"]), middle(c["peer"])) if v]
    return {"kind": "bars", "title": row["title"], "y": cases[0]["unit"],
            "log_y": bool(values) and max(values) > 50 * min(values),
            "series": {"segq": [_point(c["case"], c["segq"]) for c in cases],
                       peer or "peer": [_point(c["case"], c["peer"]) for c in cases]}}


def _save(path, text):
    with open(path, "w") as f:
        f.write(text)


def draw_charts(result, out):
    """{row id: name of its chart}; '' is the chart of all ratios. Older charts go."""
    folder = os.path.join(out, "charts")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    names = {}
    for row in result["rows"]:
        spec = chart_of(row)
        if spec:
            names[row["id"]] = f"charts/{row['id']}.svg"
            _save(os.path.join(out, names[row["id"]]), chart.draw(spec))
    if scores(result["rows"]):
        names[""] = "charts/summary.svg"
        _save(os.path.join(out, names[""]),
              chart.scores("All figures beside their aims", scores(result["rows"])))
    return names


# ---- bench.md --------------------------------------------------------------------------


def _md(s):
    return str(s).replace("|", "\\|").replace("\n", " ")


def md_table(lines):
    head, *rest = [[_md(cell) for cell in line] for line in lines]
    return ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)] + \
        ["| " + " | ".join(line) + " |" for line in rest]


def machine_lines(m):
    """What it was measured on, and how noisy that was."""
    versions = ", ".join(f"{k} {v or '(missing)'}" for k, v in m.get("versions", {}).items())
    lines = [f"* {m['cpu']}, {m['cores']} cores, {m.get('memory_gib', '?')} GiB; "
             f"kernel {m['kernel']}; governor {m.get('governor') or 'not readable'}; "
             f"huge pages {m.get('huge_pages') or 'not readable'}",
             f"* {versions}; tree {m.get('tree') or 'without git'}"]
    n = m.get("noise")
    if n and n.get("probe_ms"):
        lines.append(
            f"* noise: **{n['verdict']}**. The same tight loop between the rows took "
            f"{figure(n['probe_ms'])} ms (spread {n['probe_spread'] * 100:.0f} %); something else "
            f"had the core {figure(n['lost_pct'])} % of that time; steal {n['steal_pct']:.2f} %; "
            f"load average {n['load_before']:.2f} before, {n['load_after']:.2f} after")
    return lines


def head_lines(result):
    aims = [c["met"] for r in result["rows"] for c in r["cases"] if c["met"] is not None]
    lines = ["# segq beside its peers", ""]
    if result.get("quick"):
        lines += ["**A quick run: it shows that every row can be measured. Its figures mean "
                  "nothing.**", ""]
    lines += [f"Run of {result['started']}, {result.get('took_s', 0):.0f} s, "
              f"{result['rounds']} rounds; {sum(aims)} of {len(aims)} aims met.", ""]
    lines += machine_lines(result["machine"])
    lines += ["", "Figures are medians (min .. max) of the rounds. segq and its peer were measured "
              "in turns; a ratio is segq over peer, round by round. Only figures of one run can "
              "be compared.", ""]
    return lines


def row_lines(row, picture):
    lines = [f"## {row['title']}", "", row["what"], ""] + md_table(table(row)) + [""]
    more = [f"* {case}: {text}" for case, text in extras(row)]
    more += [f"* {note}" for note in row["notes"]]
    lines += more + [""] if more else []
    return lines + ([f"![{row['title']}]({picture})", ""] if picture else [])


def missing_lines(result):
    """What could not be measured, and why."""
    failed = result.get("failed") or {}
    lines = [f"* {i}: {' '.join(str(why).split())[:600]}" for i, why in failed.items()]
    lines += [f"* {i}: not run, the bench was ended before" for i in result.get("not_run", [])]
    lines = ["## What could not be measured", ""] + lines + [""] if lines else []
    if result.get("cut"):
        lines += ["Fewer rounds than asked for, for want of time: " + "; ".join(result["cut"]) + ".", ""]
    return lines


def write(result, out):
    """bench.md and charts/ in the folder out."""
    names = draw_charts(result, out)
    lines = head_lines(result)
    if "" in names:
        lines += [f"![all figures beside their aims]({names['']})", ""]
    lines += missing_lines(result)
    for row in result["rows"]:
        lines += row_lines(row, names.get(row["id"]))
    _save(os.path.join(out, "bench.md"), "\n".join(lines))
