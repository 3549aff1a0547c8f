#!/usr/bin/env python3
"""sizing.py: the tables of deploy/SIZING.md, computed from the constants that stand in it.

  sizing.py --check PAGE                  exit 1 if a table is not what its constants give
  sizing.py --write PAGE [--bench FILE]   computes them anew; constants from a bench.json

The page holds its constants in one table (symbol, meaning, value, unit, from); everything
between "<!-- computed: NAME -->" and "<!-- end -->" is written here.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from kit import machine  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))

SIZES = (10**5, 10**6, 10**7, 10**8)
ARRIVE_S = 60          # in which everybody comes
DEFAULT_BUDGET = 20000  # poll_budget_per_s
MINUTE = 60            # the second policy: a mean interval of so many seconds
IDLE_LONG_S, IDLE_SHORT_S = 100, 5
SPEEDS = (500, 2000)   # of the line, released per second
TASK_RATES = (1000, 10000, 100000)  # submitted, taken and acknowledged each second
TASK_BODY = 1000       # bytes
WAIT_S = 600           # of tasks that wait

# Where a constant is in bench.json: row, how its case begins, and the figure in it. The last
# one that is there holds.
SOURCES = (
    ("c_r", "polls_cpu", "256 connections, browser-like requests", "extra.router_us"),
    ("s_p", "polls_cpu", "256 connections, browser-like requests", "extra.segment_us"),
    ("c_n", "short_conns", "CPU", "extra.router_us"),
    ("c_j", "joins", "journal off, beside both in one script, CPU", "extra.router_us"),
    ("s_j", "joins", "journal off, beside both in one script, CPU", "extra.segment_us"),
    ("c_j", "joins", "journal os, beside both in one script, CPU", "extra.router_us"),
    ("s_j", "joins", "journal os, beside both in one script, CPU", "extra.segment_us"),
    ("m", "memory", "segment process, 10^7 waiting", "segq"),
    ("s_d", "direct", "CPU of a join", "extra.entry_us"),
    ("m_r", "memory", "router's replica, 10^7 waiting", "segq"),
    ("k_r", "idle", "memory per idle connection", "segq"),
    ("k_l", "listeners", "memory per listener", "segq"),
    ("r_s", "tasks", "submit, written, CPU", "extra.router_us"),
    ("n_s", "tasks", "submit, written, CPU", "extra.node_us"),
    ("r_b", "tasks", "submit, batches of 100, written, CPU", "extra.router_us"),
    ("n_b", "tasks", "submit, batches of 100, written, CPU", "extra.node_us"),
    ("r_t", "tasks", "take and acknowledge, written, CPU", "extra.router_us"),
    ("n_t", "tasks", "take and acknowledge, written, CPU", "extra.node_us"),
    ("r_u", "tasks", "take and acknowledge, batches of 16, written, CPU", "extra.router_us"),
    ("n_u", "tasks", "take and acknowledge, batches of 16, written, CPU", "extra.node_us"),
    ("m_t", "task_crowds", "1000000 pending: memory beside bodies", "segq"),
)

SEGQCTL = ""  # the program; "": nights are not played

CONSTANT = re.compile(r"^\| `(\w+)` \| ([^|]*) \| ([0-9.]+) \| ([^|]*) \| ([^|]*) \|$", re.M)
BLOCK = re.compile(r"(<!-- computed: (\w+) -->\n).*?(<!-- end -->)", re.S)


# ---- the page's constants --------------------------------------------------------------


def constants(page):
    """{symbol: value} as written in the page."""
    return {m.group(1): float(m.group(3)) for m in CONSTANT.finditer(page)}


def with_constants(page, values, source):
    """The page with these values (three digits) and where they come from."""
    def line(m):
        sym, what, old, unit, origin = m.groups()
        if sym in values:
            old, origin = f"{float(f'{values[sym]:.3g}'):g}", source
        return f"| `{sym}` | {what} | {old} | {unit} | {origin} |"
    return CONSTANT.sub(line, page)


def from_bench(result):
    """{symbol: value} of those that a bench.json has."""
    cases = [(r["id"], c) for r in result["rows"] for c in r["cases"]]
    got = {}
    for sym, row_id, begins, place in SOURCES:
        c = next((c for i, c in cases if i == row_id and c["case"].startswith(begins)), None)
        figure = c and (c["extra"].get(place[6:]) if place.startswith("extra.") else c[place])
        if figure and figure.get("median"):
            got[sym] = figure["median"]
    return got


# ---- intervals: common/ticket/pace.c itself is asked ---------------------------------------------


def told(lines):
    """For each (waiting, released per s, budget, min_ms, max_ms) what kit/pace_table.c says:
    (told to place 1000, to place 100 000, to the last, latest), in seconds."""
    with tempfile.TemporaryDirectory(prefix="segq-sizing.") as tmp:
        tool = os.path.join(tmp, "pace_table")
        subprocess.run(["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-I", ROOT,
                        "-o", tool, os.path.join(HERE, "pace_table.c"),
                        os.path.join(ROOT, "common/ticket/pace.c"), "-lm"], check=True)
        asked = "\n".join(" ".join(str(x) for x in line) for line in lines)
        p = subprocess.run([tool], input=asked, stdout=subprocess.PIPE, text=True, check=True)
    return [tuple(float(x) / 1000 for x in line.split()) for line in p.stdout.splitlines()]


# ---- the arithmetic --------------------------------------------------------------------


def size(k, players, arrive_s, budget):
    """What a crowd needs: see the formulas in the page, which use the same names."""
    joins = players / arrive_s
    polls = min(budget, players)  # nobody is told less than poll_min, 1 s
    mean_s = players / polls
    idle_s = IDLE_LONG_S if mean_s < 60 else IDLE_SHORT_S
    again = k["c_n"] - k["c_r"] if mean_s > idle_s else 0
    router_us = joins * (k["c_j"] + k["c_n"] - k["c_r"]) + polls * (k["c_r"] + again)
    segment_us = joins * k["s_j"] + polls * k["s_p"]
    conns = min(players, (joins + polls) * idle_s)
    routers = max(2, math.ceil(router_us / (k["u"] * 1e6)), math.ceil(conns / k["Q"]))
    segments = max(2, math.ceil(segment_us / (k["u"] * 1e6)))
    return {"players": players, "arrive_s": arrive_s, "joins": joins, "polls": polls,
            "mean_s": mean_s, "idle_s": idle_s, "router_us": router_us,
            "segment_us": segment_us, "connections": conns, "routers": routers,
            "segments": segments, "tails": math.ceil(joins * k["s_j"] / (k["u"] * 1e6)),
            "max_tickets": players / (segments - 1), "memory_bytes": players * k["m"],
            "socket_bytes": conns * (k["k_k"] + k["k_r"]),
            "replica_bytes": players * k["m_r"],
            "net_bits": (joins + polls) * k["b"] * 8}


# ---- tables ----------------------------------------------------------------------------


def count(n):
    """12 345 678, three digits that count."""
    if n >= 1000:
        n = float(f"{n:.3g}")
    return f"{n:,.0f}".replace(",", " ")


def power(n):
    return f"10^{round(math.log10(n))}"


def seconds(s):
    return f"{s:.0f} s" if s >= 9.95 else f"{s:.1f} s"


def amount(n, unit):
    """Bytes or bits with a prefix."""
    for step, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if n >= step:
            return f"{n / step:.3g} {prefix}{unit}"
    return f"{n:.3g} {unit}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(r) + " |" for r in rows]) + "\n"


def crowd(k, budget_of):
    head = ["players `N`", "joins/s `J`", "budget `B`, polls/s", "mean interval", "`idle_timeout`",
            "open connections `C`", "routers `R`", "segment nodes `S`", "tails", "tickets",
            "replica, each router", "sockets", "network"]
    rows = []
    for n in SIZES:
        s = size(k, n, ARRIVE_S, budget_of(n))
        rows.append([power(n), count(s["joins"]), count(s["polls"]), seconds(s["mean_s"]),
                     f"{s['idle_s']} s", count(s["connections"]), str(s["routers"]),
                     str(s["segments"]), str(s["tails"]), amount(s["memory_bytes"], "B"),
                     amount(s["replica_bytes"], "B"), amount(s["socket_bytes"], "B"), amount(s["net_bits"], "bit/s")])
    return table(head, rows)


def minute_budget(n):
    return max(DEFAULT_BUDGET, n // MINUTE)


def pace(_k):
    head = ["players", "budget", "released/s", "told at place 1 000", "at 100 000", "at the end",
            "latest"]
    lines = [(n, per_s, budget, 1000, 30000) for n in SIZES
             for budget in dict.fromkeys((DEFAULT_BUDGET, minute_budget(n))) for per_s in SPEEDS]
    return table(head, [[power(line[0]), count(line[2]), count(line[1]),
                         *(seconds(s) for s in answer)]
                        for line, answer in zip(lines, told(lines))])


def example(k):
    n = 10**6
    s = size(k, n, ARRIVE_S, DEFAULT_BUDGET)
    joins, polls, conn = count(s["joins"]), count(s["polls"]), k["c_n"] - k["c_r"]
    router, segment = s["router_us"] / 1e6, s["segment_us"] / 1e6
    return (
        f"    J = {count(n)} / {ARRIVE_S} = {joins} joins/s,  B = {polls} polls/s,  "
        f"mean interval {seconds(s['mean_s'])}\n"
        f"    router CPU  = {joins} x ({k['c_j']:g} + {conn:.3g}) + {polls} x {k['c_r']:g} "
        f"= {router:.2f} s per second;  / {k['u']:g} = {router / k['u']:.2f}\n"
        f"    segment CPU = {joins} x {k['s_j']:g} + {polls} x {k['s_p']:g} "
        f"= {segment:.3f} s per second;  / {k['u']:g} = {segment / k['u']:.3f}\n"
        f"    C = min({count(n)}, ({joins} + {polls}) x {s['idle_s']}) = {count(s['connections'])};"
        f"  / {count(k['Q'])} = {s['connections'] / k['Q']:.2f}\n"
        f"    R = {s['routers']},  S = {s['segments']},  "
        f"tickets {amount(s['memory_bytes'], 'B')},  "
        f"replica {amount(s['replica_bytes'], 'B')},  "
        f"sockets {amount(s['socket_bytes'], 'B')},  network {amount(s['net_bits'], 'bit/s')}\n"
        f"    direct entries of a lane, at most = {k['u']:g} / {k['s_d']:g} us "
        f"= {count(k['u'] * 1e6 / k['s_d'])} a second\n")


def tasks(k):
    """Rates of tasks: one by one, and in batches."""
    head = ["tasks/s", "how", "router CPU", "routers", "node CPU", "task nodes",
            "memory, ten minutes of them", "disk, at most", "network"]
    rows = []
    for per_s in TASK_RATES:
        for how, router, node in (("one by one", "r_s r_t", "n_s n_t"),
                                  ("batches", "r_b r_u", "n_b n_u")):
            cores = [sum(k[c] for c in cs.split()) * per_s / 1e6 for cs in (router, node)]
            waiting = per_s * WAIT_S
            rows.append([count(per_s), how, f"{cores[0]:.2g}", str(max(2, math.ceil(cores[0] / k["u"]))),
                         f"{cores[1]:.2g}", str(max(1, math.ceil(cores[1] / k["u"]))),
                         amount(waiting * k["m_t"], "B"), amount(4 * waiting * TASK_BODY, "B"),
                         amount(per_s * (2 * TASK_BODY + k["b"]) * 8, "bit/s")])
    return table(head, rows)


# ---- rehearsals: what breaks first, and which step helps ---------------------------------


NIGHTS = tuple((n, ARRIVE_S, power(n)) for n in SIZES) + (
    (2 * 10**8, 3600, "2 x 10^8 in an hour: a region of five that share 10^9"),)
ROWS = 50000  # of people, in a night: each is some of them


def rehearsed(k, players, arrive_s, cluster):
    """limits of `segqctl rehearse`: the part that breaks first, or the fullest, is the first."""
    lanes = cluster["lanes"]
    names = ", ".join(f"{{name: l{i}}}" for i in range(lanes))
    others = ", ".join(f"{{lane: l{i}, percent: {100 / lanes:g}}}" for i in range(1, lanes))
    night = (
        f"for: {arrive_s + 60}s\npeople_per_row: {players // ROWS}\n"
        f"queues: [{{name: q, release_per_s: 500, poll_budget_per_s: {DEFAULT_BUDGET}, lanes: [{names}]}}]\n"
        f"cluster: {{routers: {cluster['routers']}, segment_nodes: {cluster['nodes']}, keepalive: {cluster['idle_s']}s, "
        f"max_conns: {k['Q']:.0f}, max_tickets: {10**12}, poll_us: {k['c_r']}, connect_us: {k['c_n'] - k['c_r']:.4g}, "
        f"join_us: {k['c_j']}, node_poll_us: {k['s_p']}, node_join_us: {k['s_j']}, pass_us: {k['s_d']}}}\n"
        f"crowd: {{lanes: [{others}], patience: {{kind: none}}, "
        f"arrivals: [{{at: 0s, per_s: {players / arrive_s:.10g}}}, {{at: {arrive_s}s, per_s: {players / arrive_s:.10g}}}]}}\n"
        "backend: {crash_above: 0}\n")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", prefix="segq-sizing.") as f:
        f.write(night)
        f.flush()
        p = subprocess.run([SEGQCTL, "rehearse", f.name, "--json"], stdout=subprocess.PIPE, check=False)
    if not p.stdout:
        raise SystemExit(f"sizing.py: {SEGQCTL} rehearses nothing of\n{night}")
    return json.loads(p.stdout)["rehearsals"][0]["limits"]


def step(what, cluster, mean_s):
    """The next cluster, and how the step is called."""
    more = math.ceil(cluster["routers"] * 1.5)
    if what == "a router's connections" and mean_s >= 60 and cluster["idle_s"] > IDLE_SHORT_S:
        return cluster | {"idle_s": IDLE_SHORT_S}, f"`idle_timeout` {IDLE_SHORT_S} s"
    if what.startswith("a router's"):
        return cluster | {"routers": more}, "more routers"
    if what == "a lane's tail":
        return cluster | {"lanes": cluster["lanes"] + 1}, "one lane or queue more"
    return cluster | {"nodes": cluster["nodes"] + 1}, "one segment node more"


def breaks(k):
    head = ["players", "breaks first, of 2 routers and 2 segment nodes", "after", "next steps", "it holds with",
            "fullest then"]
    rows = []
    for players, arrive_s, name in NIGHTS:
        cluster = {"routers": 2, "nodes": 2, "lanes": 1, "idle_s": IDLE_LONG_S}
        first = limits = rehearsed(k, players, arrive_s, cluster)
        steps = []
        while limits[0]["share"] >= 1:
            cluster, called = step(limits[0]["what"], cluster, players / DEFAULT_BUDGET)
            steps += [called] if called not in steps else []
            limits = rehearsed(k, players, arrive_s, cluster)
        broke = first[0]["share"] >= 1
        lanes = f", {cluster['lanes']} lanes" if cluster["lanes"] > 1 else ""
        rows.append([name, first[0]["what"] if broke else "nothing", f"{first[0]['at_s']} s" if broke else "-",
                     ", ".join(steps) or "-",
                     f"{cluster['routers']} routers, {cluster['nodes']} segment nodes{lanes}, `idle_timeout` {cluster['idle_s']} s",
                     f"{limits[0]['what']}: {100 * limits[0]['share']:.0f} %"])
    return table(head, rows)


BLOCKS = {"breaks": breaks, "crowd_default": lambda k: crowd(k, lambda n: DEFAULT_BUDGET),
          "crowd_minute": lambda k: crowd(k, minute_budget), "pace": pace, "example": example, "tasks": tasks}


def rewritten(page):
    """The page with every computed block written anew; without the program those stay that it plays."""
    k = constants(page)
    names = {m.group(2) for m in BLOCK.finditer(page)}
    if names != set(BLOCKS):
        raise SystemExit(f"sizing.py: the page has {sorted(names)}, not {sorted(BLOCKS)}")
    return BLOCK.sub(lambda m: m.group(0) if m.group(2) == "breaks" and not SEGQCTL
                     else f"{m.group(1)}\n{BLOCKS[m.group(2)](k)}\n{m.group(3)}", page)


NUMBER = re.compile(r"(\d+(?: \d{3})*(?:\.\d+)?)( %| s\b)?")


def is_as(old, new):
    """The same text; its numbers within 1 %, times and shares also within one of the last digit:
    machines round in several ways."""
    if NUMBER.sub(r"N\2", old) != NUMBER.sub(r"N\2", new):
        return False
    for a, b in zip(NUMBER.finditer(old), NUMBER.finditer(new)):
        x, y = (float(m.group(1).replace(" ", "")) for m in (a, b))
        last = 10.0 ** -len(a.group(1).partition(".")[2]) if a.group(2) else 0
        if abs(x - y) > max(0.01 * max(x, y), 1.001 * last):
            return False
    return True


def main(argv):
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    how = a.add_mutually_exclusive_group(required=True)
    how.add_argument("--check", metavar="PAGE")
    how.add_argument("--write", metavar="PAGE")
    a.add_argument("--segqctl", metavar="FILE", default=os.path.join(ROOT, "build/rel/bin/segqctl"), help="plays the nights")
    a.add_argument("--bench", metavar="FILE", help="bench.json of a run")
    args = a.parse_args(argv)
    path = args.check or args.write
    global SEGQCTL  # pylint: disable=global-statement
    SEGQCTL = args.segqctl
    with open(path, encoding="utf-8") as f:
        page = f.read()
    if args.check:
        if is_as(page, rewritten(page)):
            return 0
        print(f"{path}: its tables are not what its constants give: sizing.py --write {path}")
        return 1
    new = page
    if args.bench:
        with open(args.bench, encoding="utf-8") as f:
            result = json.load(f)
        why = machine.refusal(result)
        if why:
            print(f"{args.bench}: {why}")
            return 1
        got = from_bench(result)
        new = with_constants(page, got, f"`make bench`, {result['started'][:10]}")
        print("from the run: " + (", ".join(f"{s} {v:.3g}" for s, v in got.items()) or "nothing"))
    new = rewritten(new)  # before the file is opened: it stays whole if this fails
    with open(path, "w", encoding="utf-8") as f:
        f.write(new)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
