"""Calls: a request in line through /v1/call, beside nginx's proxy_pass to the same target; how soon
it is answered at 1 000 a second; and what a dead endpoint costs the others.

A call of segq is kept (journal), waits for its turn, is sent, and its answer is kept, before it is
answered; nginx passes a request on and forgets it. So the ratio is the price of all that.
"""
import json

from kit import jobs, polls, stats
from kit.peers import Proxy, ask
from kit.polls import Side
from kit.procs import Failed, wait_for
from kit.row import case, row

ID = "calls"
ORDER = 430
CONNS = 64
BODY = json.dumps({"answer": "x" * 180})
RATE, CALM = 10000, 1000  # a second: of the comparison; of the latency
DEAD = 2000              # tasks that wait for an endpoint that nobody answers at


def calls_of(segq, name, url, **more):
    """The endpoint, with a pool that forgets what is done soon."""
    segq.cluster.admin(f"/v1/admin/endpoints/{name}", "PUT",
                       {"url": url, "allow": ["127.0.0.0/8"], **more})
    segq.ctl("pool", "set", name, "result_ttl=1s", "max_tasks=1000000")


def is_answered(segq):
    status, _, body = ask(segq.port, "/v1/call/gen/x", headers={"segq-token": segq.token})
    return status == 200 and body == BODY


def submit_dead(segq, n):
    """They are tried, the breaker opens, they wait."""
    auth = {"Authorization": f"Bearer {segq.token}"}
    for _ in range(n):
        status, _, text = ask(segq.port, "/v1/queues/dead/tasks", "POST", auth, '{"path":"/x"}')
        if status != 201:
            raise Failed(f"a task of the dead endpoint: {status} {text}")


def succeeded(tasks):
    """Calls to which the target has said 2xx."""
    figures = tasks.cluster.admin("/v1/admin/task-queues")["endpoints"]
    return next(e["succeeded"] for e in figures if e["name"] == "gen")


def measure(ctx, tasks, sides, key, **opts):
    """An answer counts if the target gave it: a 202 is none."""
    before = succeeded(tasks)
    for i in range(ctx.rounds):
        ctx.say(f"calls, {key}: round {i + 1} of {ctx.rounds}")
        for side in sides:
            polls.turn(ctx, side, key, CONNS, ctx.seconds / 2, **opts)
    least = before + sum(r["answers"] for r in sides[0].turns[key])
    wait_for(f"{least} calls at the target", lambda: succeeded(tasks) >= least)


def parts(segq, key):
    """Router and task node apart from the sum."""
    return {name: stats.summary(segq.column(key, polls.cpu_of(proc)))
            for name, proc in (("router_us", "router.0"), ("node_us", "task.0"))}


def run(ctx):
    proxy = Proxy(ctx, BODY)
    tasks = jobs.Tasks(ctx)
    calls_of(tasks, "gen", f"http://127.0.0.1:{proxy.target}")
    calls_of(tasks, "dead", "http://127.0.0.1:1", max_concurrent=64)
    wait_for("a call is answered", lambda: is_answered(tasks))
    segq = Side("segq", tasks.port, tasks.procs(), path="/v1/call/gen/x",
                header=f"segq-token: {tasks.token}")
    nginx = Side("nginx proxy_pass", proxy.port, proxy.procs(), path="/x")
    rate = RATE / 20 if ctx.quick else RATE
    measure(ctx, tasks, (segq, nginx), "alone", rate=rate)
    measure(ctx, tasks, (segq, nginx), "calm", rate=CALM)
    submit_dead(tasks, 50 if ctx.quick else DEAD)
    measure(ctx, tasks, (segq,), "storm", rate=rate)
    return [row(ID, "Calls in line, beside a proxy",
                f"GET of {len(BODY)} bytes over {CONNS} connections, open loop.",
                list(cases(segq, nginx)),
                ["Router and task node, or nginx, share core 0; target and load share core 1.",
                 "segq keeps each call and its answer in a journal (`os`); nginx keeps nothing.",
                 "Times are those of the whole answer, from the moment at which it was due."])]


def cases(segq, nginx):
    yield case("/v1/call, CPU", "us/call", **polls.compare("alone", segq, nginx, polls.cpu_all),
               aim=4.0, aim_op="<=", **parts(segq, "alone"))
    for which in ("p50", "p99"):
        yield case(f"/v1/call, {which}", "us",
                   **polls.compare("alone", segq, nginx, polls.latency(which)))
    for which, aim in (("p50", 1000), ("p99", 5000)):
        figures = polls.compare("calm", segq, nginx, polls.latency(which))
        yield case(f"/v1/call at {CALM}/s, {which}", "us", **figures, aim=aim, aim_op="<=",
                   aim_on="segq")
    x, y = segq.column("storm", polls.cpu_all), segq.column("alone", polls.cpu_all)
    yield case("/v1/call while another endpoint is dead, CPU", "us/call", stats.summary(x),
               stats.summary(y), "the same without it", stats.ratios(x, y), 1.1, "<=")
