"""The same polls driven by wrk and by h2load: that the ratio is not our own load's doing."""
import re
import subprocess

from kit import polls, stats
from kit.peers import Nginx
from kit.polls import NGINX
from kit.procs import Failed, tool
from kit.row import case, row

ID = "other_loads"
ORDER = 15
CONNS = 256
RATES = {"wrk": r"Requests/sec:\s+([0-9.]+)", "h2load": r"finished in .*?, ([0-9.]+) req/s"}
FAULTS = {"wrk": r"Non-2xx or 3xx responses|Socket errors",
          "h2load": r"[1-9][0-9]* (failed|errored|timeout|[345]xx)"}


def command(name, url, seconds, conns):
    if name == "wrk":
        return [tool("wrk"), "-t", "1", "-c", conns, "-d", max(1, round(seconds)), url]
    return [tool("h2load"), "--h1", "-t", "1", "-c", conns, "-D", max(1, round(seconds)), url]


def per_s(ctx, name, url, conns=CONNS):
    """Answered requests a second as the tool says it; Failed if any was not answered well."""
    argv = ctx.on_core(1) + [str(a) for a in command(name, url, ctx.seconds, conns)]
    p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    rate = re.search(RATES[name], p.stdout)
    if p.returncode != 0 or rate is None or re.search(FAULTS[name], p.stdout):
        raise Failed(f"{name}: {p.stdout[-600:]}")
    return float(rate.group(1))


def run(ctx):
    count = ctx.waiting(100000)
    cluster, tokens = polls.filled(ctx, count)
    headers, body = polls.typical_answer(cluster, tokens)
    peer = Nginx(ctx, body, headers)
    with open(tokens) as f:
        path = "/v1/tickets/" + f.readlines()[count // 2 % 1000].strip()
    urls = [f"http://127.0.0.1:{port}{path}" for port in (cluster.router_port(), peer.port)]
    cases = []
    for at, name in enumerate(RATES):
        rounds = []
        for i in ctx.each(name, None, at, len(RATES)):
            rounds.append([per_s(ctx, name, url) for url in urls])
        a, b = zip(*rounds)
        cases.append(case(f"by {name}", "polls/s", stats.summary(a), stats.summary(b), NGINX,
                          stats.ratios(a, b)))
    return [row(ID, "Polls by other loads",
                f"{CONNS} keep-alive connections, one token of {count} waiting, short requests.",
                cases, [polls.layout(ctx)])]
