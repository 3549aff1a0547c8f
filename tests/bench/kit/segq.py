"""segq.py: a segq cluster for a measurement, and the `load` and `fill` programs."""
import json
import os
import subprocess
import urllib.error
import urllib.request

from kit.procs import Failed, Proc


class Cluster:
    """deploy/local.sh up in a folder of the run. Routers go to core 0, the rest to core 1
    (where there are two): the server under test alone, everything else beside the load.
    Queue `login`; releases nothing unless told."""

    def __init__(self, ctx, routers=1, seg_nodes=1, capacity=None, release_per_s=0, sets=(),
                 pin=True, task_nodes=0, task_store="journal"):
        self.ctx = ctx
        self.port = ctx.ports(100)
        self.dir = os.path.join(ctx.tmp, f"segq{self.port}")
        argv = [os.path.join(ctx.root, "deploy/local.sh"), "up", "--dir", self.dir,
                "--base-port", str(self.port), "--bin", os.path.join(ctx.build, "bin"),
                "--routers", str(routers), "--seg-nodes", str(seg_nodes),
                "--release-per-s", str(release_per_s)]
        if task_nodes:
            argv += ["--task-nodes", str(task_nodes), "--task-store", task_store]
        if capacity:
            argv += ["--capacity", str(capacity)]
        if not release_per_s:
            argv += ["--set", "fallback_per_s=0"]
        for s in sets:
            argv += ["--set", s]
        ctx.at_end(self.down)
        p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if p.returncode != 0:
            raise Failed("the cluster does not start: " + p.stdout[-2000:])
        with open(os.path.join(self.dir, "cluster.json")) as f:
            self.info = json.load(f)
        self.procs = {name: Proc(name, pid) for name, pid in self.info["pids"].items()}
        if pin and ctx.cores > 1:
            for name, proc in self.procs.items():
                proc.pin(0 if name.startswith("router.") else 1)

    def router_port(self, i=0):
        return self.port + 10 + i

    def proc(self, name):
        """'router.0', 'segment.0', 'queuemng', 'rt_cluster' ..."""
        return self.procs[name]

    def all(self):
        return list(self.procs.values())

    def get(self, path, i=0):
        """A request to router i; (status, decoded body)."""
        req = urllib.request.Request(f"http://127.0.0.1:{self.router_port(i)}{path}")
        try:
            with urllib.request.urlopen(req, timeout=10) as r:
                return r.status, json.load(r)
        except urllib.error.HTTPError as e:
            return e.code, json.load(e)

    def admin(self, path, method="GET", body=None):
        """The admin API of queuemng; decoded body."""
        req = urllib.request.Request(
            f"http://127.0.0.1:{self.port + 1}{path}", method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={"Authorization": f"Bearer {self.info['admin_token']}", "Content-Type": "application/json"})
        with urllib.request.urlopen(req, timeout=20) as r:
            return json.load(r)

    def fill(self, count, sample, queue="login"):
        """Joins `count` tickets; the file with every (count/sample)-th token."""
        path = os.path.join(self.ctx.tmp, f"tokens{self.port}.{queue}")
        with open(path, "wb") as f:
            p = subprocess.run(self.ctx.on_core(1) + [
                os.path.join(self.ctx.build, "bench/fill"), "127.0.0.1",
                str(self.router_port()), queue, str(count), str(sample)],
                stdout=f, stderr=subprocess.PIPE, text=True)
        if p.returncode != 0:
            raise Failed(f"the queue could not be filled: {p.stderr}")
        return path

    def down(self):
        if os.path.isdir(self.dir):
            subprocess.run([os.path.join(self.ctx.root, "deploy/local.sh"), "down", "--dir",
                            self.dir], stdout=subprocess.DEVNULL)


def load_argv(ctx, port, conns, seconds, rate=None, **opts):
    """opts become options of the program: tokens=FILE, path="/", join="login", close=True,
    browser=True, seed=N ... (tests/bench/load --help)."""
    argv = ctx.on_core(1) + [os.path.join(ctx.build, "bench/load"), "--port", str(port),
                             "--conns", str(conns), "--seconds", str(seconds)]
    if rate:
        argv += ["--rate", str(rate)]
    for key, value in opts.items():
        option = "--" + key.replace("_", "-")
        if value is True:
            argv += [option]
        elif value not in (None, False):
            argv += [option, str(value)]
    return argv


def load(ctx, port, conns, seconds, servers=(), **opts):
    """Runs the load; its report plus "cpu_us": {process name: us of CPU per request}."""
    before = [p.cpu_s() for p in servers]
    p = subprocess.run(load_argv(ctx, port, conns, seconds, **opts), stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True)
    after = [p.cpu_s() for p in servers]
    if p.returncode != 0:
        raise Failed(f"load: {p.stderr.strip()}")
    r = json.loads(p.stdout)
    if r["errors"]:
        raise Failed(f"load: wrong answers: {r['errors']}")
    if not r["ok"] and seconds < 10:  # a busy machine: nobody was answered in so short a time
        return load(ctx, port, conns, 5 * seconds, servers, **opts)
    if not r["ok"]:
        raise Failed(f"load: no answers in {seconds} s")
    r["cpu_us"] = {s.name: (a - b) * 1e6 / r["answers"]  # the warm-up costs CPU too
                   for s, a, b in zip(servers, after, before)}
    return r
