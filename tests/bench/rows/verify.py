"""A gate's question, /v1/verify: how many a router answers, beside nginx's `return 204`; and what
the question costs a site behind nginx (deploy/nginx), beside the same site without it.

Every request carries the same good pass, as a visitor's do.
"""
from kit import polls, stats
from kit.peers import Gate, Nginx, ask
from kit.polls import Side
from kit.procs import Failed, wait_for
from kit.row import case, row
from kit.segq import Cluster

ID = "verify"
ORDER = 45
CONNS = 64
SHORTER = 0.5  # of a turn: there are five in a round
PATH = "/v1/verify?queue=login"


def pass_of(cluster):
    """A visitor is let in; the header with the pass."""
    token = polls.join(cluster)["token"]
    got = wait_for("a pass", lambda: polls.poll(cluster, token)[2].get("pass"))
    return f"Authorization: Bearer {got}"


def verdict(cluster, header):
    """The headers of a good one."""
    name, value = header.split(": ")
    status, headers, _ = ask(cluster.router_port(), PATH, headers={name: value})
    if status != 204:
        raise Failed(f"a good pass is answered {status}")
    return headers


def measure(ctx, sides, part):
    for _ in ctx.each("verify", None, part, 2):
        for side in sides:
            polls.turn(ctx, side, CONNS, CONNS, ctx.seconds * SHORTER)


def run(ctx):
    cluster = Cluster(ctx, release_per_s=100, sets=["pass_ttl=1h", "session_idle=1h"])
    header = pass_of(cluster)
    nginx = Nginx(ctx, "", verdict(cluster, header), status=204)
    gate, keeps = Gate(ctx, cluster.router_port()), Gate(ctx, cluster.router_port(), keep=True)
    asked = polls.segq_side(cluster, path=PATH, header=header)
    answers = Side("nginx return 204", nginx.port, nginx.procs(), path=PATH, header=header)
    free = Side("the site without it", gate.port, gate.procs(), path="/", header=header)
    sides = [free]
    for g in (gate, keeps):
        g.check(header)
        sides.append(Side("segq", g.gate, g.procs() + cluster.all(), path="/", header=header))
    measure(ctx, (asked, answers), 0)
    if ctx.cores > 1:
        cluster.proc("router.0").pin(1)  # nginx alone is measured
    measure(ctx, sides, 1)
    cases = []
    for what, gated, aim in (("a site behind the gate", sides[1], None),
                             ("the same, nginx keeps good verdicts for 250 ms", sides[2], 0.8)):
        cases += [case(what, "requests/s", **polls.compare(CONNS, gated, free, polls.per_s), aim=aim),
                  case(f"{what}, CPU", "us/request",
                       **polls.compare(CONNS, gated, free, polls.cpu_all),
                       router_us=stats.summary(gated.column(CONNS, polls.cpu_of("router.0"))))]
    return [row(ID, "A gate's question", f"{CONNS} connections, each asks again at once, one good "
                "pass.", [
                    case("/v1/verify", "verdicts/s",
                         **polls.compare(CONNS, asked, answers, polls.per_s), aim=0.95),
                    case("/v1/verify, CPU", "us/verdict",
                         **polls.compare(CONNS, asked, answers, polls.cpu_all)),
                ] + cases, [polls.layout(ctx, "nginx") + " Behind the gate: nginx alone on core 0, "
                    "the router beside the load.",
                    "The site is a page of the same nginx, behind proxy_pass: two requests of "
                    "nginx to others for each visitor's, instead of one."])]
