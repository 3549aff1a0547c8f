"""row.py: what a row of the bench returns: one row, several cases, plain data (bench.json).

A case compares `segq` with `peer`, both summaries of rounds (kit/stats.py), and their
`ratio`, segq over peer, round by round. `aim` is a bound on what `aim_on` names ("ratio" or
"segq"), to be read with `aim_op` (">=" or "<="). No aim: reported only. Nothing here fails:
`met` says True, False, or None.
"""


def case(name, unit, segq, peer=None, peer_name=None, ratio=None, aim=None, aim_op=">=",
         aim_on="ratio", **extra):
    """extra: further figures under their names (numbers or summaries), units in the names."""
    value = {"ratio": ratio, "segq": segq}[aim_on]
    met = None
    if aim is not None and value is not None:
        m = value["median"]
        met = m >= aim if aim_op == ">=" else m <= aim
    return {"case": name, "unit": unit, "segq": segq, "peer": peer, "peer_name": peer_name,
            "ratio": ratio, "aim": aim, "aim_op": aim_op, "aim_on": aim_on, "met": met,
            "extra": extra}


def row(row_id, title, what, cases, notes=(), chart=None):
    """what: one sentence, what was measured and how. notes: what the reader must know.
    chart: None, or {"kind": "bars"|"lines", "title", "x", "y", "series":
    {name: [[x, y] or [x, y, lo, hi], ...]}} for the SVG of this row (log axes: "log_x",
    "log_y": true)."""
    return {"id": row_id, "title": title, "what": what, "cases": cases,
            "notes": list(notes), "chart": chart}
