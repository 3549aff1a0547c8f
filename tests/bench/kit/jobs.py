"""jobs.py: what the rows of tasks share: a cluster with a task node, and turns of bench_jobs on
it and on its peers.
"""
import json
import os
import subprocess
import time

from kit import stats
from kit.procs import Failed, wait_for
from kit.scene import metrics
from kit.segq import Cluster


class Tasks:
    """A segq cluster with one task node, on core 0 with the router (and its Redis): every process
    that a job costs time is where a peer's only one is."""

    proto = "segq"

    def __init__(self, ctx, journal="os", pools=(), sets=(), store="journal"):
        self.ctx, self.name = ctx, "segq"
        self.cluster = Cluster(ctx, task_nodes=1, sets=[f"task.journal={journal}", *sets],
                               task_store=store)
        for name, keys in dict(pools).items():
            self.ctl("pool", "add", name, *keys)
        self.port = self.cluster.router_port()
        with open(os.path.join(self.cluster.dir, "secrets/task.token")) as f:
            self.token = f.read().strip()
        if ctx.cores > 1:
            self.node().pin(0)
            if store == "redis":
                self.cluster.proc("redis").pin(0)

    def ctl(self, *words):
        p = subprocess.run([os.path.join(self.ctx.build, "bin/segqctl"), "--dir", self.cluster.dir,
                            "--yes", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if p.returncode != 0:
            raise Failed(f"segqctl {' '.join(words)}: {p.stdout}")

    def node(self):
        return self.cluster.proc("task.0")

    def procs(self):
        return self.cluster.all()

    def waiting(self):
        """Jobs in line."""
        return int(metrics(self.cluster.port + 47)["segq_task_waiting"])

    def parts(self):
        """Whose CPU is told apart."""
        return {"router_us": self.cluster.proc("router.0"), "node_us": self.node()}


def argv_of(ctx, side, what, **opts):
    """opts are those of bench_jobs: conns=1, batch=16, due_in=5, wait=True ..."""
    argv = ctx.on_core(1) + [os.path.join(ctx.build, "bench/bench_jobs"), side.proto, what, "--port",
                             str(side.port)]
    if side.proto == "segq":
        argv += ["--token", side.token]
    for key, value in opts.items():
        argv.append("--" + key.replace("_", "-"))
        if value is not True:
            argv.append(str(value))
    return argv


def read(p, out, err):
    """The report of a bench_jobs that has ended."""
    if p.returncode != 0:
        raise Failed(err.strip() or f"bench_jobs ended with {p.returncode}")
    return json.loads(out)


def run(ctx, side, what, **opts):
    """One turn: the report, and "cpu_us", the CPU of all the side's processes per job; of segq
    also that of its router and of its task node."""
    parts = side.parts() if hasattr(side, "parts") else {}
    before = sum(p.cpu_s() for p in side.procs())
    of_part = {name: p.cpu_s() for name, p in parts.items()}
    if hasattr(side, "jobs"):
        r = side.jobs(what, opts.get("batch", 1), opts.get("conns", 64), opts["seconds"])
    else:
        p = subprocess.run(argv_of(ctx, side, what, **opts), stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
        r = read(p, p.stdout, p.stderr)
    if not r["jobs"]:
        raise Failed(f"{side.name}: no job was done")
    r["cpu_us"] = (sum(p.cpu_s() for p in side.procs()) - before) * 1e6 / r["jobs"]
    for name, p in parts.items():
        r[name] = (p.cpu_s() - of_part[name]) * 1e6 / r["jobs"]
    return r


def killed(ctx, side, kill):
    """Seconds until it takes a job in again."""
    began = time.monotonic()
    kill()
    wait_for(f"{side.name} is back", lambda: subprocess.run(
        argv_of(ctx, side, "put", jobs=1, conns=1), stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL).returncode == 0, 120)
    return stats.summary([time.monotonic() - began])


def column(rounds, name):
    return [r[name] for r in rounds]


def compare(a, b, b_name, name):
    """{'segq','peer','ratio'} of one figure, for kit.row.case()."""
    x, y = column(a, name), column(b, name)
    return {"segq": stats.summary(x), "peer": stats.summary(y), "ratio": stats.ratios(x, y),
            "peer_name": b_name}
