"""What an idle keep-alive connection costs: private bytes in the server's process

10 000 connections are opened one after the other, asked once, and held open. The growth of the
process' private memory meanwhile, per connection: of the router, and of nginx. Each round has
fresh processes, since memory that was once taken is taken again; before it, a second of load
over a few connections, so that what everybody shares is there already.
"""
import json
import subprocess

from kit import stats
from kit.peers import Nginx
from kit.polls import NGINX, join, poll
from kit.procs import Failed
from kit.row import case, row
from kit.segq import Cluster, load, load_argv

ID = "idle"
ORDER = 320

CONNS = 10000
ROUNDS = 3


class Idle:
    """The connections; they are there while the block lasts, and still at its end."""

    def __init__(self, ctx, port, tokens, n):
        argv = load_argv(ctx, port, 1, 1, tokens=tokens, idle=n)
        self.n = n
        self.p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        ctx.at_end(self.end)

    def end(self):
        """Standard input's end is the word for it; what is left to read goes nowhere."""
        if self.p.poll() is None:
            self.p.communicate(timeout=30)

    def __enter__(self):
        line = self.p.stdout.readline()
        if not line or json.loads(line) != {"idle": self.n}:
            raise Failed(f"idle connections: {self.p.communicate()[1].strip()}")
        return self

    def __exit__(self, kind, *rest):
        out, _ = self.p.communicate(timeout=30)
        if kind is None and json.loads(out or "{}").get("open") != self.n:
            raise Failed(f"of {self.n} idle connections some were closed: {out}")


def growth(ctx, proc, port, tokens, n):
    """Bytes per connection, of a fresh process."""
    load(ctx, port, 16, 0.2 if ctx.quick else 1, tokens=tokens)
    before = proc.private()
    with Idle(ctx, port, tokens, n):
        return (proc.private() - before) / n


def one_round(ctx, n):
    cluster = Cluster(ctx)
    token = join(cluster)["token"]
    tokens = f"{cluster.dir}/idle.tokens"
    with open(tokens, "w") as f:
        f.write(token + "\n")
    ours = growth(ctx, cluster.proc("router.0"), cluster.router_port(), tokens, n)
    headers, text, _ = poll(cluster, token)
    cluster.down()
    nginx = Nginx(ctx, text, headers)
    theirs = growth(ctx, nginx.proc, nginx.port, tokens, n)
    nginx.proc.end()
    return ours, theirs


def run(ctx):
    n = 2000 if ctx.quick else CONNS
    pairs = []
    for _ in ctx.each("idle", ROUNDS):
        pairs.append(one_round(ctx, n))
        ctx.say(f"idle: {pairs[-1][0]:.0f} bytes a connection, nginx {pairs[-1][1]:.0f}")
    ours, theirs = zip(*pairs)
    return [row(ID, "Idle connections", f"{n} keep-alive connections that were used once: growth "
                "of the process' private memory", [
                    case("memory per idle connection", "bytes", stats.summary(ours),
                         aim=256, aim_op="<=", aim_on="segq"),
                    case("beside nginx", "bytes", stats.summary(ours), stats.summary(theirs),
                         NGINX, stats.ratios(ours, theirs), aim=0.5, aim_op="<=")],
                notes=["nginx takes its table of connections when it starts (16 000 in this "
                       "measurement): what that costs is not in its growth.",
                       "The kernel's side of a connection, some kilobytes, is the same for both."])]
