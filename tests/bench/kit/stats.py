"""stats.py: rounds to figures. A figure is the median of its rounds, with min and max."""
from statistics import median


def summary(values):
    """{'median','min','max','rounds'} of a list of numbers; None if there are none."""
    v = [x for x in values if x is not None]
    if not v:
        return None
    return {"median": median(v), "min": min(v), "max": max(v), "rounds": v}


def ratios(a, b):
    """Round by round a/b: what was measured side by side is compared side by side."""
    return summary([x / y for x, y in zip(a, b) if y])


def spread(values):
    """(max - min) / median: how noisy the rounds were; 0.1 means ten per cent."""
    s = summary(values)
    return (s["max"] - s["min"]) / s["median"] if s and s["median"] else 0.0
