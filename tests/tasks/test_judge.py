#!/usr/bin/python3
"""test_judge.py: driver and judge of tasks before a fake node, and the judge of calls before a history
that was made up: a good one is found good, and of each that breaks a promise the judge says which.
Ends with "test_judge: N passed, M failed"."""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import call_judge  # noqa: E402
import driver  # noqa: E402
import fake_calls  # noqa: E402
import judge  # noqa: E402
from fake_node import Server  # noqa: E402

# fault of the node: promises that it breaks, at least one of them
PLANTED = {"lost": {"J1"}, "ack_lost": {"J1"}, "done_by_nobody": {"J2"}, "attempt_twice": {"J3"},
           "payload_changed": {"J3"}, "lease_ignored": {"a"}, "stale_ack": {"a"}, "order": {"J6"},
           "early": {"J7"}, "retry_early": {"J7"}, "cancel_forgotten": {"J1", "J12"},
           "key_forgotten": {"J13"}, "payload_not_compared": {"J13"}, "result_changed": {"J14"}}
# What cannot be planted alone.
BESIDE = {"lost": {"J13", "J3"}, "ack_lost": {"J3", "a"},
          "attempt_twice": {"a", "J6"}, "lease_ignored": {"J3", "J1", "J12"}, "stale_ack": {"J1", "J14", "J12"},
          # A submission that made two tasks is judged by one of them: the order, too.
          "early": {"J6"}, "key_forgotten": {"J3", "J14", "J6"}}


def verdict(fault, *more):
    """Promises that were broken, and whether all came to an end."""
    server = Server(fault)
    folder = tempfile.mkdtemp(prefix="segq-judge.")
    try:
        ended = driver.drive(driver.options([
            folder, "--router", server.url, "--run", "r", "--tasks", "300", "--batch", "10", "--keys", "5", "--batched", "0.2",
            "--delayed", "0.3", "--delay-most", "0.3", "--lease", "0.5", "--wait", "0.1", "--lapsed", "0.06",
            "--nacked", "0.1", "--cancelled", "0.5", "--repeated", "0.4", "--named", "0.1", "--patience", "60",
            "--results", "1", "--quiet", *more]))
        _, claims = judge.judge(folder, judge.options([folder, "--tasks", "100", "--done", "100"]))
        return {c.name.split(" ")[0] for c in claims if c.bad}, ended, claims
    finally:
        server.shutdown()
        server.server_close()
        shutil.rmtree(folder)


# The same of calls.
PLANTED_CALLS = {"lost": {"J1"}, "never_sent": {"J2"}, "lost_is_done": {"J2"}, "attempt_twice": {"J3"},
                 "body_changed": {"J3"}, "not_said": {"J3"}, "done_again": {"J3"}, "slots": {"J4"},
                 "key_slots": {"J4"}, "slot_freed": {"J4"}, "rate": {"J5"}, "order": {"J6"}, "early": {"J7"},
                 "retry_after": {"J7"}, "back_off": {"J7"}, "hold": {"J7"}, "cancel_forgotten": {"J12"},
                 "result_changed": {"J14"}, "budget": {"J15"}, "probes": {"J15"}, "burnt": {"J15"}, "trap": {"J16"}}
BESIDE_CALLS = {"early": {"J6", "J15"}, "retry_after": {"J15"}, "cancel_forgotten": {"J1"}, "probes": {"J1"}}


def verdict_of_calls(fault):
    """As verdict()."""
    folder, f = tempfile.mkdtemp(prefix="segq-judge."), fake_calls
    try:
        f.World(fault).run(folder)
        limits = {"--slots": f.SLOTS, "--key-slots": f.KEY_SLOTS, "--rate": f.RATE, "--burst": f.BURST,
                  "--deadline-s": f.DEADLINE, "--attempts": f.ATTEMPTS, "--retry-s": f.RETRY, "--open-s": f.OPEN,
                  "--settle-s": 1, "--late-s": 0.1, "--tasks": 300, "--done": 200}
        _, claims = call_judge.judged(folder, call_judge.options(
            [folder, "--run", "r"] + [str(x) for pair in limits.items() for x in pair]))
        return {c.name.split(" ")[0] for c in claims if c.bad}, True, claims
    finally:
        shutil.rmtree(folder)


def is_found(fault, got, ended, claims, planted, beside):
    """Is that what the fault breaks, and nothing else?"""
    want = planted.get(fault, set())
    if bool(want & got) == bool(want) and got <= want | beside.get(fault, set()) and (fault or ended):
        return True
    print("FAIL %s: broken are %s, not %s" % (fault or "a good node", sorted(got), sorted(want)))
    for c in claims:
        if c.bad:
            print("\n".join(c.lines()))
    return False


def main():
    """A good node, and each fault."""
    found = [is_found(None, *verdict(None, "--settle-rows"), PLANTED, BESIDE)]
    found += [is_found(fault, *verdict(fault), PLANTED, BESIDE) for fault in (None, *PLANTED)]
    found += [is_found(fault, *verdict_of_calls(fault), PLANTED_CALLS, BESIDE_CALLS) for fault in (None, *PLANTED_CALLS)]
    print("test_judge: %d passed, %d failed" % (sum(found), len(found) - sum(found)))
    return not all(found)


if __name__ == "__main__":
    sys.exit(main())
