"""scene.py: what the scenes share: players (bin/swarm), /metrics pages, CPU of a whole cluster."""
import json
import os
import subprocess
import urllib.request

from kit.procs import Failed, spawn, wait_for

VIOLATIONS = ("order_violations", "positions_grew", "double_admissions", "lost_tickets")


class Swarm:
    """Simulated players, beside the load; `options` are those of bin/swarm."""

    def __init__(self, ctx, cluster, name, **options):
        self.ctx, self.json = ctx, os.path.join(ctx.tmp, f"{name}.json")
        argv = [os.path.join(ctx.build, "bin/swarm"), "--quiet", "--json", self.json,
                "--router", f"http://127.0.0.1:{cluster.router_port()}"]
        for key, value in options.items():
            argv.append("--" + key.replace("_", "-"))
            if value is not True:
                argv.append(str(value))
        self.proc = spawn(ctx, name, argv, core=1 if ctx.cores > 1 else None)

    def running(self):
        return self.proc.popen.poll() is None

    def stop(self):
        """They end where they are, and report."""
        self.proc.popen.terminate()

    def report(self, timeout):
        """Waits for its end; what it saw. A broken promise of the cluster is no figure."""
        try:
            code = self.proc.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            raise Failed(f"the players have not ended within {timeout:.0f} s") from None
        if not os.path.exists(self.json):
            raise Failed(f"the players ended with {code} and no report")
        with open(self.json) as f:
            r = json.load(f)
        broken = {v: r[v] for v in VIOLATIONS if r[v]}
        if broken or r["odd"]:
            raise Failed(f"the cluster broke a promise: {broken}, odd answers: {r['odd']}")
        return r


def metrics(port):
    """{name: sum over its samples} of a /metrics page."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as r:
        lines = r.read().decode().splitlines()
    out = {}
    for line in lines:
        if line and not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            name = name.split("{")[0]
            out[name] = out.get(name, 0) + float(value)
    return out


def _sum(cluster, kind, port, name):
    """A figure of all processes of a kind, whose metrics are at `port` and those after it."""
    n = sum(1 for p in cluster.procs if p.startswith(kind + "."))
    return sum(metrics(cluster.port + port + i)[f"segq_{kind}_{name}"] for i in range(n))


def segment_sum(cluster, name):
    """A figure of all segment nodes together; `name` without segq_segment_."""
    return _sum(cluster, "segment", 70, name)


def router_sum(cluster, name):
    """A figure of all routers together; `name` without segq_router_."""
    return _sum(cluster, "router", 30, name)


def polls(cluster):
    return router_sum(cluster, "polls_total")


def wait_polls(cluster, n, timeout):
    """Until n more polls were asked."""
    end = polls(cluster) + n
    wait_for(f"{n} polls", lambda: polls(cluster) >= end, timeout)


def wait_waiting(cluster, n, timeout):
    """Until the manager knows of n waiting people."""
    wait_for(f"{n} waiting", lambda: lane(cluster)["waiting"] >= n, timeout)


def view(cluster):
    """The queue as the manager sees it."""
    queues = cluster.admin("/v1/admin/cluster")["queues"]
    return next(q for q in queues if q["queue"] == "login")


def lane(cluster):
    return view(cluster)["lanes"][0]


def cpu_s(cluster):
    """{process: CPU seconds so far} of the whole cluster, supervisors included."""
    return {p.name: p.cpu_s() for p in cluster.all()}
