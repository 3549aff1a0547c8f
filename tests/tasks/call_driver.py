#!/usr/bin/python3
"""call_driver.py [options of driver.py] HISTORY-FOLDER: as driver.py, but its tasks are calls to a
hostile target (hostile_target.py), and nobody takes them. Each task's path is its plan: what the
target does with its first attempt, its second, and so on. Submitter N has a queue of its own,
--queue and N."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import driver  # noqa: E402

# What most targets do, and what few do, of a thousand; behind it the task is done.
PLANS = {"slow": 150, "500": 25, "503": 3, "429": 5, "reset": 12, "half": 12, "retry": 12,
         "500-reset-503": 2, "hang": 8, "drip": 8, "endless": 2, "long": 10}
LAST = {"404": 10, "302": 10, "abort": 10}


class Caller(driver.Submitter):
    """A queue of its own, and a plan for each task."""

    def __init__(self, opts, no, enough):
        super().__init__(opts, no, enough)
        self.queue = "/v1/queues/%s%d/tasks" % (opts.queue, no)
        self.plans = {}

    def plan(self):
        x = self.random.randrange(1000)
        for plans, behind in ((PLANS, "-ok"), (LAST, "")):
            for plan, share in plans.items():
                x -= share
                if x < 0:
                    return plan + behind
        return "ok"

    def row(self, n):
        row = super().row(n)
        row[3] = "%d-%s" % (self.no, row[3])  # keys of two queues are two lines
        self.plans[n] = self.plan()
        return row

    def work(self, m, payload):
        return ['"path":"/%d/%d/%s"' % (m["by"], m["n"], self.plans[m["n"]]), '"body_json":' + payload]


def options(argv):
    """Those of driver.py; each has an Idempotency-Key: one submission is one task, whatever breaks."""
    return driver.options(argv + ["--workers", "0", "--idem", "1"])


if __name__ == "__main__":
    sys.exit(not driver.drive(options(sys.argv[1:]), Caller))
