"""procs.py: processes of a measurement: started on a core, measured, and always ended.

Figures of a process come from /proc: CPU seconds (user + system, all threads), resident
and private bytes.
"""
import os
import shutil
import signal
import subprocess
import time


class Failed(Exception):
    """The row could not be measured; the text says why."""


class Proc:
    """A running process, ours (popen) or only watched (pid)."""

    def __init__(self, name, pid, popen=None):
        self.name, self.pid, self.popen = name, pid, popen

    def cpu_s(self):
        total = 0
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{task}/schedstat") as f:
                total += int(f.read().split()[0])
        return total / 1e9

    def _rollup(self, keys):
        total = 0
        with open(f"/proc/{self.pid}/smaps_rollup") as f:
            for line in f:
                if line.split(":")[0] in keys:
                    total += int(line.split()[1]) * 1024
        return total

    def rss(self):
        return self._rollup({"Rss"})

    def private(self):
        """Bytes that only this process holds."""
        return self._rollup({"Private_Clean", "Private_Dirty"})

    def pin(self, core):
        if core is not None:
            subprocess.run(["taskset", "-a", "-p", "-c", str(core), str(self.pid)],
                           check=True, stdout=subprocess.DEVNULL)

    def alive(self):
        try:
            os.kill(self.pid, 0)
            return self.popen is None or self.popen.poll() is None
        except OSError:
            return False

    def end(self, sig=signal.SIGTERM, timeout=20):
        if self.popen is None or self.popen.poll() is not None:
            return
        self.popen.send_signal(sig)
        try:
            self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()


def spawn(ctx, name, argv, core=None, **popen):
    """Starts argv on `core`; its output goes to a log of the run unless redirected."""
    log = os.path.join(ctx.tmp, f"{name}.log")
    popen.setdefault("stdout", open(log, "ab"))
    popen.setdefault("stderr", subprocess.STDOUT)
    pin = ["taskset", "-c", str(core)] if core is not None else []
    p = subprocess.Popen(pin + [str(a) for a in argv], **popen)
    proc = Proc(name, p.pid, p)
    ctx.at_end(proc.end)
    return proc


def tool(name):
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not path:
        raise Failed(f"{name} is missing: deploy/deps.sh bench installs it")
    return path


def wait_for(what, fn, timeout=20.0):
    """Asks fn() every 20 ms until it is true; returns what it said."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        try:
            got = fn()
        except OSError:
            got = None
        if got:
            return got
        time.sleep(0.02)
    raise Failed(f"{what}: not within {timeout:.0f} s")
