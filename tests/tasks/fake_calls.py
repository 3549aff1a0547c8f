"""fake_calls.py: a history of calls that never happened, kept or with one promise broken: for the test
of call_judge.py. A small table of tasks with a clock of its own makes what the driver would be told
and the target would see; a fault is planted where the promise would be kept."""
import hashlib
import json
import os
import random

from api import payload_of, result_of

DEADLINE, LEASE_MORE, RETRY, HOLD, OPEN = 2.0, 10.0, 0.3, 1.0, 1.0
SLOTS, KEY_SLOTS, RATE, BURST, ATTEMPTS = 8, 2, 50.0, 5, 4
STATUS = {"ok": 200, "reset": 0, "hang": 0, "retry": 500}
FAILS = ("500", "reset", "hang", "429", "503", "retry")


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


class Task:
    """One, with the plan of what its attempts meet."""

    def __init__(self, no, t0, key, delay, plan):
        self.no, self.t0, self.t1, self.key, self.delay, self.plan = no, t0, t0 + 0.002, key, delay, plan
        self.due, self.attempt, self.counted, self.until, self.state = t0 + delay, 0, 0, 0, "waiting"
        self.cancelled = None
        self.token, self.result = "T%06d" % no, None


class World:
    """Runs in steps of 10 ms until each task is final. fault: the promise that is broken."""

    def __init__(self, fault, seed=1):
        self.fault, self.random, self.now, self.lines, self.visits = fault, random.Random(seed), 1000.0, [], 0
        self.tasks, self.going, self.tat, self.held, self.struck = [], [], 0.0, 0.0, 0
        self.credit, self.storm, self.tried, self.open = 3.0, (1005.0, 1009.0), 0.0, OPEN
        self.killed, self.unknown = [1011.0], {}
        for no in range(400):
            key = "k%d" % self.random.randrange(8)
            self.tasks.append(Task(no, 1000.0 + no * 0.04, key, 1.0 if no % 10 == 7 else 0.0, self.plan(no)))

    def plan(self, no):
        """Some fail, and 40 in a row three times each. The first one meets 500, while there is budget
        left: nothing but its back-off makes it wait."""
        if no % 40 == 5:
            return ["404"]
        word = "500" if 330 <= no < 370 else FAILS[no // 16 % len(FAILS)] if no % 16 == 3 else "ok"
        return [word] * {"500": 3, "429": 4}.get(word, 1) + ["ok"]

    def strikes(self, fault, every=1):
        """The planted one, at each `every`th chance."""
        self.struck += fault == self.fault
        return fault == self.fault and self.struck % every == 0

    def line(self, *what):
        self.lines.append(what)

    # ---- the node ----

    def may_go(self, t):
        now = self.now
        if t.due > now and not self.strikes("early", 40):
            return False
        if now < self.held and self.fault != "hold" or now < self.tat and self.fault != "rate":
            return False
        # Calls whose node was killed have their slots until their leases end.
        if len(self.going) + sum(self.unknown.values()) >= SLOTS and self.fault != "slots":
            return False
        of_key = sum(g.key == t.key for g in self.going) + self.unknown.get(t.key, 0)
        return of_key < KEY_SLOTS or self.fault == "key_slots"

    def in_storm(self):
        return self.storm[0] <= self.now < self.storm[1]

    def start(self, t):
        if self.in_storm():
            if self.now < self.tried and self.fault != "probes":
                return
            self.open = OPEN if self.now < self.storm[0] + 0.2 else 2 * self.open  # the breaker
            self.tried = self.now if self.now < self.storm[0] + 0.2 else self.now + self.open
        self.tat = max(self.tat, self.now - BURST / RATE) + 1 / RATE
        t.attempt += 0 if t.attempt and self.strikes("attempt_twice", 5) else 1
        t.counted += 1
        t.state = "running"
        self.going.append(t)
        if self.strikes("never_sent", 50):
            self.said(t, "ok", 200, False)
            return
        self.visits += 1
        t.visit, t.word = self.visits, "500" if self.in_storm() else t.plan[min(t.attempt, len(t.plan)) - 1]
        body = payload_of("r", 0, t.no)
        if self.strikes("body_changed", 50):
            body = body.replace(" ", "")
        self.line("arrive", self.now, t.visit, "1-%d" % t.no, t.attempt,
                  0 if self.fault == "not_said" else int(t.attempt > 1), "q", 0, t.no, t.word, body)
        t.ends = self.now + (DEADLINE if t.word == "hang" else self.random.choice((0.01, 0.1, 0.3)))

    def said(self, t, word, status, leave=True):
        body = result_of(0, t.no, t.attempt) if status == 200 else ""
        hold = HOLD if word in ("429", "503", "retry") else 0
        if leave:
            how = "gone" if word == "hang" else "cut" if word == "reset" else "said"
            self.line("leave", self.now, t.visit, status, how, hold, len(body), sha256(body))
        self.going.remove(t)
        good = status == 200 or word in ("reset", "hang") and self.strikes("lost_is_done", 3)
        if good or word == "404":
            t.state, t.result = "succeeded" if good else "dead", body
            if good and self.strikes("done_again", 40):
                t.state, t.due = "waiting", self.now + RETRY
            return
        costs = word != "429" and not self.in_storm() or self.fault == "burnt"
        t.counted -= not costs
        self.back_off(t, hold if word in ("429", "503", "retry") else 0)
        if word in ("429", "503") and self.fault != "retry_after":
            self.held = self.now + hold

    def back_off(self, t, hold):
        t.state, t.due = "waiting", self.now + max(hold, RETRY)
        if self.fault == "retry_after" and hold:
            t.due = self.now + RETRY
        if self.fault == "back_off" and not hold:
            t.due = self.now + 0.01
        if t.counted >= ATTEMPTS:
            t.state = "dead"
        self.credit -= 1
        if self.credit < 0 and self.fault not in ("budget", "retry_after"):
            t.due = max(t.due, self.now - self.credit / 4)

    def kill(self):
        """Of the calls on their way nobody knows the end."""
        self.line("fault", self.now, self.now + 0.2)
        for t in list(self.going):
            self.line("leave", self.now, t.visit, 0, "gone", 0, 0, "")
            self.going.remove(t)
            t.state, t.until = "unknown", self.now + DEADLINE + LEASE_MORE
            if self.fault == "slot_freed":
                t.until = self.now + 0.2
            self.unknown[t.key] = self.unknown.get(t.key, 0) + (self.fault != "slot_freed")
        if self.fault == "lost":
            self.tasks[100].state = "lost"

    # ---- all of it ----

    def step(self):
        if self.killed and self.now >= self.killed[0]:
            self.killed.pop()
            self.kill()
        for t in list(self.going):
            if self.now >= t.ends:
                self.said(t, t.word, int(t.word) if t.word.isdigit() else STATUS[t.word])
        for t in self.tasks:
            if t.state == "unknown" and self.now >= t.until:
                t.state, t.due = "waiting", self.now
                self.unknown[t.key] -= self.fault != "slot_freed"
        self.credit = min(self.credit + 0.01 * 0.3, 10)
        line = [t for t in self.tasks if t.state == "waiting" and t.t0 <= self.now]
        line.sort(key=lambda t: t.due, reverse=self.fault == "order")
        for t in line:
            if t.cancelled is None and t.no % 25 == 9 and t.attempt == 0 and t.state == "waiting":
                t.cancelled = self.now
                self.line("cancel", self.now, self.now + 0.001, 200, t.token, "cancelled")
                if self.fault != "cancel_forgotten":
                    t.state = "cancelled"
            elif self.may_go(t):
                self.credit += 0.2 * (t.attempt == 0)
                self.start(t)
        self.now += 0.01

    def run(self, folder):
        """Writes the history."""
        while self.now < 1300 and any(t.state in ("waiting", "running", "unknown") for t in self.tasks):
            self.step()
        self.line("storm", *self.storm)
        if self.fault == "trap":
            self.line("trap", self.now, "127.0.0.2")
        for t in self.tasks:
            self.line("put", t.t0, t.t1, 201, "one", [[0, t.no, 0, t.key, 0, t.delay, 0, 1, "", 201, t.token]])
            state = "waiting" if t.state == "unknown" else t.state
            self.line("get", self.now, self.now, 404 if state == "lost" else 200, t.token, state, t.attempt)
            if state == "succeeded":
                for _ in range(2):
                    text = t.result.replace("  ", " ") if self.strikes("result_changed", 9) else t.result
                    self.line("result", self.now, self.now, 200, t.token, text, str(len(t.result)), sha256(t.result))
        with open(os.path.join(folder, "all.jsonl"), "w", encoding="utf-8") as f:
            for what in self.lines:
                f.write(json.dumps(what) + "\n")
