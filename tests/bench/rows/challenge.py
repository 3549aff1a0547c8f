"""Challenges of joins: what one costs a router, beside what it costs whoever solves it; and joins of
people in one queue while another one is flooded with asks.

Then, at real processes, one core that takes places of one prefix as fast as it can for more than a
minute, while a phone of another prefix after the other joins beside it.

bench_challenge calls the functions in a loop, in one process on one core. The solver is the faster
one of our own code and OpenSSL's; it tries half of the keys on average. What a request costs as
such (HTTP, some 5 us) is in neither.
"""
import base64
import json
import os
import subprocess
import threading
import time

from kit import stats
from kit.peers import ask
from kit.procs import Failed, wait_for
from kit.row import case, row
from kit.scene import metrics
from kit.segq import Cluster, load_argv

ID = "challenge"
ORDER = 155
SHARE = 1

CONNS = 32
JOINS = 50  # a second, of people
FLOOD_PER_S = 50000  # beside them; a slower machine gets fewer
FLOOD = "/v1/queues/flooded/tickets"
JOIN = "/v1/queues/login/tickets"
ATTACK_S = 100  # the first minute has the cheap ones of a prefix that was quiet
PHONE = 3500  # tries a second of a slow phone
PHONES = 2  # at a time


def costs(ctx):
    """Figures of one round, in ns."""
    argv = ctx.on_core(0) + [os.path.join(ctx.build, "bench/bench_challenge")] + (["--quick"] if ctx.quick else [])
    p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if p.returncode != 0:
        raise Failed(f"bench_challenge: {p.stderr.strip()}")
    out = json.loads(p.stdout)
    out["solve"] = out["keys"] / 2 * min(out["try_segq"], out["try_openssl"])
    return out


def beside(rounds, ours, level=1):
    """A figure of ours beside the solver's work at that level."""
    mine, theirs = [ours(r) for r in rounds], [r["solve"] * 2 ** (level - 1) for r in rounds]
    return {"segq": stats.summary(mine), "peer": stats.summary(theirs), "peer_name": "the solver",
            "ratio": stats.ratios(mine, theirs), "aim": 1e-4, "aim_op": "<="}


def core_cases(rounds):
    yield case("a forged answer, beside the work of one", "ns", **beside(rounds, lambda r: r["forged"]))
    yield case("a stale answer", "ns", **beside(rounds, lambda r: r["stale"]))
    yield case("a whole attempt: asked, and a right answer", "ns",
               **beside(rounds, lambda r: r["ask"] + r["good"]))
    for level in (1, 2):
        yield case(f"places of one core in a second, each of another prefix, level {level}", "places/s",
                   stats.summary([1e9 / (r["solve"] * 2 ** (level - 1)) for r in rounds]), aim=1, aim_op="<=",
                   aim_on="segq")


def joins(cluster, seconds):
    """p99 of joins at a steady pace, in us."""
    took = []
    began = time.monotonic()
    for i in range(max(10, int(JOINS * seconds))):
        time.sleep(max(0, began + i / JOINS - time.monotonic()))
        at = time.monotonic()
        status, _, text = ask(cluster.router_port(), "/v1/queues/login/tickets", "POST")
        took.append((time.monotonic() - at) * 1e6)
        if status != 201:
            raise Failed(f"a join is answered {status} {text}")
    return sorted(took)[int(len(took) * 0.99)]


def asks(cluster):
    return metrics(cluster.port + 30)["segq_challenges_total"]


def flooded(ctx, cluster, seconds):
    """The same while connections ask for places in another queue; asks a second. The load takes no 428 for an answer: its words about that are not looked at."""
    p = subprocess.Popen(load_argv(ctx, cluster.router_port(), CONNS, seconds + 0.5, FLOOD_PER_S, join="flooded"),
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    began = time.monotonic()
    before = asks(cluster)
    try:
        got = joins(cluster, seconds)
        return got, (asks(cluster) - before) / (time.monotonic() - began)
    finally:
        p.communicate(timeout=60)


def two_queues(ctx):
    cluster = Cluster(ctx, capacity=1000000, sets=["idle.game=1h"])
    cluster.admin("/v1/admin/queues/flooded", "PUT", {"state": "paused", "challenge": {"mode": "on"}})
    wait_for("a queue that asks for work", lambda: ask(cluster.router_port(), FLOOD, "POST")[0] == 428)
    return cluster


def people(ctx):
    """[(p99 alone, p99 beside the flood, asks a second)], a row of each round."""
    cluster, out = two_queues(ctx), []
    for _ in ctx.each("joins beside a flood", None, 1, 2):
        alone = joins(cluster, ctx.seconds)
        out.append((alone, *flooded(ctx, cluster, ctx.seconds)))
    return out


class Solver:
    """The faster library in a process of its own; argv: where it runs."""

    def __init__(self, ctx, argv):
        self.p = subprocess.Popen(argv + [os.path.join(ctx.build, "bench/bench_challenge"), "--solve"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ctx.at_end(self.end)

    def end(self):
        self.p.stdin.close()
        self.p.wait(timeout=60)

    def solve(self, challenge):
        """(tries, the header's value)."""
        p = challenge["parameters"]
        self.p.stdin.write(f"{p['nonce']} {p['salt']} {p['keyPrefix']}\n")
        self.p.stdin.flush()
        counter, key = self.p.stdout.readline().split()
        said = {"challenge": challenge, "solution": {"counter": int(counter), "derivedKey": key}}
        return int(counter) + 1, base64.b64encode(json.dumps(said).encode()).decode()


def take(cluster, address, solver, tries_per_s=None):
    """A place, worked for; tries_per_s: of a client that is slower than the solver."""
    headers = {"X-Forwarded-For": address}
    status, _, text = ask(cluster.router_port(), JOIN, "POST", headers)
    if status != 428:
        raise Failed(f"a join is answered {status} {text}")
    began = time.monotonic()
    tries, said = solver.solve(json.loads(text)["challenge"])
    if tries_per_s:
        time.sleep(max(0, began + tries / tries_per_s - time.monotonic()))
    status, _, text = ask(cluster.router_port(), JOIN, "POST", {**headers, "segq-challenge": said})
    if status != 201:
        raise Failed(f"an answer is answered {status} {text}")


def beside_each_other(ctx, cluster, seconds):
    """(places of the attacker in a second, seconds of each phone)."""
    end = time.monotonic() + seconds
    took, wrong = [], []

    def phones(i):
        solver, n = Solver(ctx, []), 0
        try:
            while time.monotonic() < end:
                n += 1
                began = time.monotonic()
                take(cluster, f"10.{i}.{n % 256}.1", solver, PHONE)
                took.append(time.monotonic() - began)
        except (Failed, OSError) as e:
            wrong.append(e)

    all_phones = [threading.Thread(target=phones, args=(i,)) for i in range(PHONES)]
    solver, places, began = Solver(ctx, ctx.on_core(1)), 0, time.monotonic()
    for t in all_phones:
        t.start()
    try:
        while time.monotonic() < end:
            take(cluster, "192.0.2.7", solver)
            places += 1
    finally:
        took_s = time.monotonic() - began
        for t in all_phones:
            t.join()
    if wrong:
        raise wrong[0]
    return places / took_s, sorted(took)


def attack_cases(ctx):
    cluster = Cluster(ctx, capacity=1000000, sets=["idle.game=1h", "state=paused", "router.trusted_proxies=127.0.0.1/32",
                                                   "challenge.mode=on"])
    wait_for("a queue that asks for work", lambda: ask(cluster.router_port(), JOIN, "POST")[0] == 428)
    rate, took = beside_each_other(ctx, cluster, 10 if ctx.quick else ATTACK_S)
    yield case("places of one core in a second, all of one prefix, at real processes", "places/s",
               stats.summary([rate]), aim=None if ctx.quick else 1, aim_op="<=", aim_on="segq")
    yield case(f"a phone of another prefix beside it ({PHONE} tries a second), p95", "s",
               stats.summary([took[int(len(took) * 0.95)]]), aim=4, aim_op="<=", aim_on="segq", phones=len(took))


def run(ctx):
    rounds = [costs(ctx) for _ in ctx.each("challenge", None, 0, 2)]
    seen = people(ctx)
    free, beside_flood = [r[0] for r in seen], [r[1] for r in seen]
    cases = list(core_cases(rounds)) + list(attack_cases(ctx)) + [
        case("joins of people beside a flood of asks, p99", "us", stats.summary(beside_flood), stats.summary(free),
             "the same without the flood", stats.ratios(beside_flood, free), aim=2, aim_op="<=",
             flood_per_s=stats.summary([r[2] for r in seen]))]
    return [row(ID, "Challenges of joins", "Functions in a loop on one core; the solver's work is the faster one of "
                "two libraries' PBKDF2, times half of the keys of `cost: auto`. Then 50 joins a second of one queue, "
                f"while {CONNS} connections ask {FLOOD_PER_S} times a second for places in another one.", cases, [
                    "What a request costs as such is not in the first figures, neither ours nor theirs.",
                    "An attacker with several cores gets more places, up to half a place a second for each core and "
                    "prefix; with many prefixes each place has the lowest price.", "Where there are two cores only, the flood's own program takes part of "
                    "what the joins need."])]
