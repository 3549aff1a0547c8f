"""axis.py: from figures to places on a chart: scales, ticks, and numbers as people read them."""
import math


def is_number(x):
    """True for what can be drawn: not None, not NaN, not infinite."""
    return isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x)


def num(x):
    """Three significant digits, thousands set apart: 55800 -> '55 800', 0.0123 -> '0.0123'."""
    if not is_number(x):
        return "-"
    if x == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(x)))
    x = round(x, digits)
    if abs(x) >= 1e12 or abs(x) < 1e-4:
        return f"{x:.2e}"
    if digits <= 0 or x == int(x):
        return f"{int(x):,}".replace(",", " ")
    return f"{x:.{digits}f}"


def plain(x):
    """A number that somebody chose, as they wrote it: 1.1, 100, and 0.0333 for a 30th."""
    return f"{x:g}" if len(f"{x:g}") <= 5 else num(x)


def short(x):
    """For ticks: 1500 -> '1.5k', 2e6 -> '2M'."""
    for div, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(x) >= div:
            return f"{x / div:g}{letter}"
    return f"{x:g}"


def nice_step(span, n):
    """A step of 1, 2, 2.5 or 5 times a power of ten that cuts span in at most n parts."""
    raw = span / n
    power = 10 ** math.floor(math.log10(raw))
    return next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= raw * 0.999999)


class Linear:
    """Values lo .. hi on pixels a .. b; zero is always on the axis."""

    def __init__(self, values, a, b, ticks=5):
        lo, hi = min([0, *values]), max([0, *values])
        step = nice_step((hi - lo) or 1, ticks)
        self.lo, self.hi = math.floor(lo / step) * step, math.ceil(hi / step) * step
        if self.lo == self.hi:
            self.hi = self.lo + step
        self.a, self.b = a, b
        n = round((self.hi - self.lo) / step)
        self.ticks = [self.lo + i * step for i in range(n + 1)]

    def at(self, v):
        return self.a + (v - self.lo) / (self.hi - self.lo) * (self.b - self.a)


class Log:
    """The same by decades; over less than two decades also at 2 and 5. Values <= 0 stand
    at the axis' beginning: the caller writes the number beside them."""

    def __init__(self, values, a, b, ticks=8):
        v = [x for x in values if x > 0] or [1, 10]
        marks = self._marks(min(v), max(v), (1, 2, 5))
        if len(marks) > ticks:
            marks = self._marks(min(v), max(v), (1,))
        while len(marks) > ticks:
            marks = marks[::2] + ([marks[-1]] if len(marks) % 2 == 0 else [])
        self.ticks = marks
        self.lo, self.hi, self.a, self.b = math.log10(marks[0]), math.log10(marks[-1]), a, b

    @staticmethod
    def _marks(lo, hi, steps):
        """The marks from the last one at or below lo to the first one at or above hi."""
        first, last = math.floor(math.log10(lo)) - 1, math.ceil(math.log10(hi)) + 1
        all_ = [s * 10.0 ** e for e in range(first, last + 1) for s in steps]
        below = max(m for m in all_ if m <= lo * 1.000001)
        above = min(m for m in all_ if m >= hi * 0.999999)
        if below == above:
            above = min(m for m in all_ if m > below * 1.000001)
        return [m for m in all_ if below <= m <= above]

    def at(self, v):
        if v <= 0:
            return self.a
        return self.a + (math.log10(v) - self.lo) / (self.hi - self.lo) * (self.b - self.a)


def scale(values, a, b, log=False):
    """An axis for these values over pixels a .. b; values that are no numbers do not count."""
    v = [x for x in values if is_number(x)]
    return Log(v, a, b) if log else Linear(v, a, b)
