"""machine.py: what the figures were measured on, and how noisy it was."""
import os
import platform


def describe():
    with open("/proc/cpuinfo") as f:
        model = [x.split(":")[1].strip() for x in f if x.startswith("model name")]
    return {"cpu": model[0] if model else platform.machine(), "cores": os.cpu_count(),
            "kernel": platform.release(), "load_before": os.getloadavg()[0]}


def noise():
    return {"load_after": os.getloadavg()[0]}
