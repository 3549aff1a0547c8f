"""Calls: a request in line through /v1/call, beside nginx's proxy_pass to the same target; how soon
it is answered at 1 000 a second; and what two endpoints in trouble cost the others: one that nobody
answers at, and one that says 503 to each try.

A call of segq is kept (journal), waits for its turn, is sent, and its answer is kept, before it is
answered; nginx passes a request on and forgets it. So the ratio is the price of all that.
"""
import json

from kit import jobs, polls, stats
from kit.peers import Proxy, Target, ask
from kit.polls import Side
from kit.procs import Failed, wait_for
from kit.row import case, row

ID = "calls"
ORDER = 430
SHARE = 2
CONNS = 64
BODY = json.dumps({"answer": "x" * 180})
RATE, CALM = 10000, 1000  # a second: of the comparison; of the latency
SICK = ("dead", "busy")  # endpoints: nobody answers; 503
WAIT = 2000              # tasks that wait for each of these


def calls_of(segq, name, url, **more):
    """The endpoint, with a pool that forgets what is done soon."""
    segq.cluster.admin(f"/v1/admin/endpoints/{name}", "PUT",
                       {"url": url, "allow": ["127.0.0.0/8"], **more})
    segq.ctl("pool", "set", name, "result_ttl=1s", "max_tasks=1000000")


def is_answered(segq):
    status, _, body = ask(segq.port, "/v1/call/gen/x", headers={"segq-token": segq.token})
    return status == 200 and body == BODY


def submit_sick(segq, n):
    """They are tried, the breakers open, they wait."""
    auth = {"Authorization": f"Bearer {segq.token}"}
    body = '{"path":"/x","max_attempts":60,"retry":{"min":"100ms","max":"1s"}}'
    for name in SICK:
        for _ in range(n):
            status, _, text = ask(segq.port, f"/v1/queues/{name}/tasks", "POST", auth, body)
            if status != 201:
                raise Failed(f"a task of the endpoint {name}: {status} {text}")


def figure(tasks, name, key):
    figures = tasks.cluster.admin("/v1/admin/task-queues")["endpoints"]
    return next(e[key] for e in figures if e["name"] == name)


def succeeded(tasks):
    """Calls to which the target has said 2xx."""
    return figure(tasks, "gen", "succeeded")


def storm(ctx, tasks, segq, rate):
    """In turns with the endpoints in trouble paused: a slow moment of the machine meets both."""
    for _ in ctx.each("calls, storm", None, 2, 3):
        for key, order in (("quiet", "pause"), ("storm", "resume")):
            for name in SICK:
                tasks.ctl("endpoint", order, name)
                tasks.ctl("endpoint", "reset", name)  # else it opens for longer each time
            tried = [figure(tasks, name, "failed") for name in SICK]
            if key == "storm":
                wait_for("both are tried", lambda: all(
                    figure(tasks, name, "failed") > n for name, n in zip(SICK, tried)), 60)
            polls.turn(ctx, segq, key, CONNS, ctx.seconds / 2, rate=rate)


def measure(ctx, tasks, sides, key, **opts):
    """An answer counts if the target gave it: a 202 is none."""
    before = succeeded(tasks)
    for _ in ctx.each(f"calls, {key}", None, ("alone", "calm").index(key), 3):
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
    calls_of(tasks, "busy", f"http://127.0.0.1:{Target(ctx, 'no', 503).port}", max_concurrent=64)
    wait_for("a call is answered", lambda: is_answered(tasks))
    segq = Side("segq", tasks.port, tasks.procs(), path="/v1/call/gen/x",
                header=f"segq-token: {tasks.token}")
    nginx = Side("nginx proxy_pass", proxy.port, proxy.procs(), path="/x")
    rate = RATE / 20 if ctx.quick else RATE
    measure(ctx, tasks, (segq, nginx), "alone", rate=rate)
    measure(ctx, tasks, (segq, nginx), "calm", rate=CALM)
    submit_sick(tasks, 50 if ctx.quick else WAIT)
    storm(ctx, tasks, segq, rate)
    return [row(ID, "Calls in line, beside a proxy",
                f"GET of {len(BODY)} bytes over {CONNS} connections, open loop.",
                list(cases(segq, nginx)),
                ["Router and task node, or nginx, share core 0; target and load share core 1.",
                 "segq keeps each call and its answer in a journal (`os`); nginx keeps nothing.",
                 "Times are those of the whole answer, from the moment at which it was due: the "
                 "target has the request sooner.",
                 f"In trouble: {WAIT} tasks each for one endpoint where nobody answers and one that "
                 "says 503, tried again from 100 ms on; beside the same moments with both paused."])]


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
    for what, fn, aim in (("CPU", polls.cpu_all, 1.1), ("p50", polls.latency("p50"), None),
                          ("p99", polls.latency("p99"), None)):
        x, y = segq.column("storm", fn), segq.column("quiet", fn)
        unit = "us/call" if what == "CPU" else "us"
        yield case(f"/v1/call beside two endpoints in trouble, {what}", unit, stats.summary(x),
                   stats.summary(y), "the same with these paused", stats.ratios(x, y),
                   **({"aim": aim, "aim_op": "<="} if aim else {}))
