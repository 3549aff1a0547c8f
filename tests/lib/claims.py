"""claims.py: what a judge promises of a history: chaos/check_history.py and tasks/judge.py."""

EXAMPLES = 4


class Claim:
    """One promise, and what broke it."""

    def __init__(self, name):
        self.name, self.bad, self.examples, self.seen = name, 0, [], 0

    def broken(self, text):
        """One more violation."""
        self.bad += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(text)

    def line(self):
        """For the machine."""
        text = "%d looked at" % self.seen
        return "\t".join(["claim", self.name, str(self.bad), "; ".join([text] + self.examples)])

    def lines(self):
        """For people, and for the stories."""
        if not self.bad:
            return ["ok   %s (%d looked at)" % (self.name, self.seen)]
        return ["FAIL %s: %d of %d" % (self.name, self.bad, self.seen)] + ["       " + e for e in self.examples]
