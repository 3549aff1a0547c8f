"""chart.py: SVG charts of the figures: bars, lines, and all ratios beside their aims.

Plain data in, text out; no library, nothing external. Colours follow the reader's light or
dark setting (CSS prefers-color-scheme). A figure that was not measured (None, NaN) is left
out, and said where there is room for words: bars write "not measured" beside the name.
"""
import itertools
from xml.sax.saxutils import escape

from kit.axis import is_number, num, scale, short

# Segq is blue, whatever it is compared with is orange, each in SHADES shades; what belongs to
# neither, or is one too many, takes the colours after these.
SHADES = 4
LIGHT = ["#2563c9", "#6f9fe8", "#12387a", "#0e8a9c", "#c2570c", "#e89a5b", "#7a3405", "#a8820c",
         "#15803d", "#7e3fc4", "#5b6470", "#b01e5a"]
DARK = ["#74a8ff", "#3f6fc4", "#b9d2ff", "#4fc8da", "#ffa35c", "#b8681f", "#ffd2ac", "#dfc04a",
        "#5fd38d", "#c79bff", "#a9b3c1", "#ff85b3"]
DASHES = ["", "7 4", "2 4", "10 3 2 3"]  # of the shades, in lines
W = 820
CHAR = 6.9  # width of a letter of the 13 px text, on average


def _colours(colours, paper, ink, soft, grid, good, bad):
    """One set of colours as CSS rules."""
    css = [f".bg{{fill:{paper};stroke:{grid}}}", f"text{{fill:{ink}}}", f".soft{{fill:{soft}}}",
           f".grid{{stroke:{grid}}}", f".axis{{stroke:{soft}}}", f".halo{{stroke:{paper}}}",
           f".good{{fill:{good};stroke:{good}}}",
           f".bad{{stroke:{bad};fill:{paper}}}", f"text.bad{{fill:{bad};stroke:none}}"]
    for i, c in enumerate(colours):
        css.append(f".f{i}{{fill:{c}}}.l{i}{{stroke:{c}}}text.t{i}{{fill:{c}}}")
    return "".join(css)


STYLE = ("text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
         "text.title{font-size:17px;font-weight:600}text.small{font-size:12px}"
         ".line{fill:none;stroke-width:2.2;stroke-linejoin:round}"
         ".grid,.axis{stroke-width:1}.whisker{stroke-width:1.4;opacity:.65;fill:none}"
         + "".join(f".line.l{i}{{stroke-dasharray:{DASHES[i % SHADES]}}}"
                   for i in range(2 * SHADES) if DASHES[i % SHADES])
         + ".mark{stroke-width:2}.halo{stroke-width:1.5}"
         + _colours(LIGHT, "#ffffff", "#1b1f26", "#5a6472", "#dfe3e8", "#15803d", "#b42318")
         + "@media(prefers-color-scheme:dark){"
         + _colours(DARK, "#14181f", "#e8ebf0", "#9aa5b4", "#323a46", "#5fd38d", "#ff8a7a")
         + "}")


def _text(x, y, s, cls="", anchor="start", extra=""):
    cls = f' class="{cls}"' if cls else ""
    return (f'<text x="{x:.1f}" y="{y:.1f}"{cls} text-anchor="{anchor}"{extra}>'
            f"{escape(str(s))}</text>")


def _seg(x1, y1, x2, y2, cls):
    return f'<line class="{cls}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _page(height, title, body, what=""):
    """A whole file."""
    about = f"<desc>{escape(what)}</desc>" if what else ""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {W} {height:.0f}" width="{W}" '
            f'height="{height:.0f}" role="img"><title>{escape(title)}</title>{about}'
            f"<style>{escape(STYLE)}</style>"
            f'<rect class="bg" x=".5" y=".5" width="{W - 1}" height="{height - 1:.0f}" rx="8"/>'
            + _text(24, 34, title, "title") + "".join(body) + "</svg>\n")


def _cut(s, n):
    """At most n letters; what is at the end often tells two names apart."""
    return s if len(s) <= n else s[:n - n // 3 - 1].rstrip() + "…" + s[-(n // 3):].lstrip()


def colours(names):
    """For each series the number of its colour."""
    ours = {n for n in names if n.startswith("segq")}
    every = [0, 4, 8, 9, 10, 11, 3, 7, 1, 5, 2, 6]
    if not ours or len(ours) == len(names):
        return [every[i % len(every)] for i in range(len(names))]
    blue, orange, rest = [0, 1, 2, 3], [4, 5, 6, 7], itertools.cycle(every[2:6])
    out = []
    for n in names:
        own = blue if n in ours else orange
        out.append(own.pop(0) if own else next(rest))
    return out


def _legend(names, y):
    """Swatches in a row; more rows when one is full. (marks, y below them)"""
    out, x = [], 24.0
    for i, name in zip(colours(names), names):
        width = 30 + len(name) * CHAR
        if x + width > W - 24 and x > 24:
            x, y = 24.0, y + 20
        out.append(f'<rect class="f{i}" x="{x:.1f}" y="{y - 10}" width="12" '
                   'height="12" rx="2"/>')
        out.append(_text(x + 18, y, name))
        x += width + 10
    return out, y + 22


def _x_axis(ax, top, bottom, label, y_label):
    """Vertical grid lines with their numbers below, and what they mean."""
    out = []
    for t in ax.ticks:
        out.append(_seg(ax.at(t), top, ax.at(t), bottom, "grid"))
        out.append(_text(ax.at(t), y_label, short(t), "soft small", "middle"))
    out.append(_text((ax.a + ax.b) / 2, y_label + 22, label, "soft", "middle"))
    return out


def points(spec):
    """{series: [(x, y, lo, hi)]} of a chart; y None where there is no number. A point is
    [x, y] or [x, y, lo, hi]."""
    got = {}
    for name, pts in (spec.get("series") or {}).items():
        rows = []
        for p in pts:
            v = [q if is_number(q) else None for q in [*p[1:], None, None][:3]]
            rows.append((p[0], *v))
        got[name] = rows
    return got


# ---- bars ------------------------------------------------------------------------------


def _bar(ax, i, y, point):
    """One bar, its whisker and its number."""
    _, v, lo, hi = point
    if v is None:
        return [_text(ax.a + 6, y + 11, "not measured", "soft small")]
    width = max(ax.at(v) - ax.a, 1.5)
    out = [f'<rect class="bar f{i}" x="{ax.a:.1f}" y="{y:.1f}" width="{width:.1f}" height="15" '
           'rx="2"/>']
    end = ax.a + width
    if lo is not None and hi is not None and hi > lo:
        out.append(_seg(ax.at(lo), y + 7.5, ax.at(hi), y + 7.5, "whisker axis"))
        end = max(end, ax.at(hi))
    out.append(_text(end + 7, y + 12, num(v), "small"))
    return out


def bars(spec):
    """Horizontal bars, grouped by x (a name or a number), one colour per series."""
    series = points(spec)
    groups = list(dict.fromkeys(p[0] for pts in series.values() for p in pts))
    names = [_cut(g if isinstance(g, str) else num(g), 44) for g in groups]
    left = 40 + max(len(n) * CHAR for n in [*names, spec.get("x", "")])
    body, y = _legend(series, 62) if len(series) > 1 else ([], 58)
    top = y
    values = [v for pts in series.values() for p in pts for v in p[1:]]
    if spec.get("log_y"):  # a bar begins at the axis: the smallest must still be one
        values += [v / 3 for v in values if is_number(v) and v > 0]
    ax = scale(values, left, W - 90, spec.get("log_y"))
    marks = [_text(left - 10, top - 2, spec.get("x", ""), "soft small", "end")]
    for g, name in zip(groups, names):
        marks.append(_text(left - 10, y + 8 + 9.5 * len(series), name, anchor="end"))
        for i, pts in zip(colours(series), series.values()):
            p = next((q for q in pts if q[0] == g), None)
            if p is not None:
                marks += _bar(ax, i, y + 6, p)
            y += 19
        y += 14
    body += _x_axis(ax, top, y, spec.get("y", ""), y + 18)
    return _page(y + 58, spec.get("title", ""), body + marks)


# ---- lines -----------------------------------------------------------------------------


def _apart(ys, gap):
    """Moves labels apart that would stand on each other, keeping their order."""
    order = sorted(range(len(ys)), key=lambda i: ys[i])
    out = list(ys)
    for a, b in zip(order, order[1:]):
        out[b] = max(out[b], out[a] + gap)
    return out


def _curve(ax, ay, i, pts):
    """One series: its spread, its line, its marks."""
    at = [(ax.at(p[0]), ay.at(p[1])) for p in pts]
    out = [_seg(ax.at(p[0]), ay.at(p[2]), ax.at(p[0]), ay.at(p[3]), f"whisker l{i}")
           for p in pts if p[2] is not None and p[3] is not None and p[3] > p[2]]
    if len(at) > 1:
        out.append(f'<polyline class="line l{i}" points="'
                   + " ".join(f"{x:.1f},{y:.1f}" for x, y in at) + '"/>')
    out += [f'<circle class="dot halo f{i}" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>' for x, y in at]
    return out


def lines(spec):
    """Lines over a numeric x; names stand at the ends of the lines, too."""
    drop = (lambda p: p[1] is not None and is_number(p[0])
            and (p[1] > 0 or not spec.get("log_y")) and (p[0] > 0 or not spec.get("log_x")))
    series = {name: sorted(filter(drop, pts)) for name, pts in points(spec).items()}
    body, top = _legend(series, 62) if len(series) > 1 else ([], 58)
    bottom = top + 320
    right = W - 40 - max([min(len(n), 30) * CHAR for n in series], default=0)
    every = [p for pts in series.values() for p in pts]
    ax = scale([p[0] for p in every], 84, right, spec.get("log_x"))
    ay = scale([v for p in every for v in p[1:]], bottom, top + 14, spec.get("log_y"))
    for t in ay.ticks:
        body.append(_seg(ax.a, ay.at(t), right, ay.at(t), "grid"))
        body.append(_text(ax.a - 10, ay.at(t) + 4, short(t), "soft small", "end"))
    body += _x_axis(ax, top + 14, bottom, spec.get("x", ""), bottom + 20)
    mid = (top + bottom) / 2
    body.append(_text(22, mid, spec.get("y", ""), "soft", "middle",
                      f' transform="rotate(-90 22 {mid:.0f})"'))
    for i, pts in zip(colours(series), series.values()):
        body += _curve(ax, ay, i, pts)
    return _page(bottom + 60, spec.get("title", ""), body + _end_names(series, ax, ay))


def _end_names(series, ax, ay):
    """Each line's name at its last point."""
    ends = [(i, name, series[name][-1]) for i, name in zip(colours(series), series)
            if series[name]]
    if not ends:
        return [_text(W / 2, 200, "nothing was measured", "soft", "middle")]
    ys = _apart([ay.at(p[1]) + 4 for _, _, p in ends], 16)
    return [_text(ax.at(p[0]) + 10, y, _cut(name, 30), f"small t{i}")
            for (i, name, p), y in zip(ends, ys)]


def draw(spec):
    """The SVG of a row's chart (kit/row.py says what a spec is)."""
    return lines(spec) if spec.get("kind") == "lines" else bars(spec)


# ---- all ratios beside their aims ------------------------------------------------------


def _score_row(ax, y, r):
    """One case: name, spread, mark (filled: the aim was met), figure and aim in words."""
    cls = "good" if r["met"] else "bad"
    x = min(max(ax.at(r["score"]), ax.a), ax.b)
    out = [_text(ax.a - 12, y + 4, _cut(r["name"], 52), "small", "end")]
    if is_number(r["lo"]) and is_number(r["hi"]) and r["hi"] > r["lo"]:
        out.append(_seg(max(ax.at(r["lo"]), ax.a), y, min(ax.at(r["hi"]), ax.b), y,
                        f"whisker {cls}"))
    if r["met"]:
        out.append(f'<circle class="score mark {cls}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')
    else:
        out.append(f'<path class="score mark {cls}" d="M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z"/>')
    out.append(_text(ax.b + 14, y + 4, r["text"], "small"))
    return out


def scores(title, rows):
    """rows: {"name", "score", "lo", "hi", "met", "text"}; a score of 2 is twice as good as
    its aim, so whatever stands right of the line at 1 is met."""
    rows = [r for r in rows if is_number(r["score"])]
    left = 40 + max([min(len(r["name"]), 52) * 6.3 for r in rows], default=0)
    right = W - 40 - max([len(r["text"]) * 6.3 for r in rows], default=0)
    ax = scale([r["score"] for r in rows if r["score"] > 0] + [0.9, 1.1], left, right, True)
    top, y = 96, 112
    marks = []
    for r in rows:
        marks += _score_row(ax, y, r)
        y += 22
    body = _x_axis(ax, top, y, "times better than the aim (log)", y + 18)
    body.append(_seg(ax.at(1), top - 6, ax.at(1), y, "axis"))
    body.append(_text(ax.at(1), top - 12, "aim", "soft small", "middle"))
    body.append(_text(24, 58, "filled: met; hollow: missed; the line through a mark is the "
                      "range of the rounds", "soft small"))
    if not rows:
        body.append(_text(W / 2, y, "nothing was measured", "soft", "middle"))
    return _page(y + 58, title, body + marks)
