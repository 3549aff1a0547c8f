"""job_peers.py: the queues of jobs that segq's tasks are measured beside, each with what it keeps
on the disk said by `durability`: "os" (written before it is answered, synced once a second) or
"fsync" (synced before it is answered).

Each runs alone on core 0, as router and task node of segq share it, in a folder of the run.
"""
import math
import os
import pwd
import re
import socket
import subprocess
import tempfile

from kit.peers import all_files, under_test, wait_port
from kit.procs import Failed, Proc, spawn, tool, wait_for

PG_BIN = "/usr/lib/postgresql/15/bin"
PEER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "peer")


class Beanstalkd:
    """Debian's beanstalkd with its binlog: -F never syncs, -f 0 syncs each write."""

    proto = "beanstalk"

    def __init__(self, ctx, durability):
        self.name = "beanstalkd -b " + {"os": "-F", "fsync": "-f 0"}[durability]
        self.port = ctx.ports(1)
        self.folder = os.path.join(ctx.tmp, f"beanstalkd{self.port}")
        os.mkdir(self.folder)
        self.ctx, self.sync = ctx, {"os": ["-F"], "fsync": ["-f", "0"]}[durability]
        self.start()

    def start(self):
        self.proc = spawn(self.ctx, f"beanstalkd.{self.port}", [
            tool("beanstalkd"), "-l", "127.0.0.1", "-p", self.port, "-b", self.folder, *self.sync],
            core=under_test(self.ctx), preexec_fn=all_files)
        wait_port(self.ctx, self.proc, self.port)

    def procs(self):
        return [self.proc]

    def ready(self, tube):
        """Jobs of the tube that may be reserved."""
        with socket.create_connection(("127.0.0.1", self.port)) as s:
            s.sendall(f"stats-tube {tube}\r\n".encode())
            found = re.search(r"current-jobs-ready: (\d+)", s.recv(65536).decode())
        return int(found.group(1)) if found else 0


class RedisJobs:
    """redis-server with its append-only file; jobs in a stream with a group, or in a list."""

    def __init__(self, ctx, durability, proto):
        self.proto, self.name = proto, f"Redis {proto}, one command a job"
        self.port = ctx.ports(1)
        folder = os.path.join(ctx.tmp, f"redis{self.port}")
        os.mkdir(folder)
        self.proc = spawn(ctx, f"redis.{self.port}", [
            tool("redis-server"), "--port", self.port, "--bind", "127.0.0.1", "--save", "",
            "--appendonly", "yes", "--appendfsync",
            {"os": "everysec", "fsync": "always"}[durability], "--dir", folder],
            core=under_test(ctx), preexec_fn=all_files)
        wait_port(ctx, self.proc, self.port)
        if proto == "stream":
            subprocess.run([tool("redis-cli"), "-p", str(self.port), "XGROUP", "CREATE", "jobs",
                            "workers", "0", "MKSTREAM"], check=True, stdout=subprocess.DEVNULL)

    def procs(self):
        return [self.proc]

    def say(self, *words):
        return subprocess.run([tool("redis-cli"), "-p", str(self.port), *words], check=True,
                              stdout=subprocess.PIPE, text=True).stdout.strip()

    def waiting(self):
        """Jobs of the stream that were not acknowledged."""
        return int(self.say("XLEN", "jobs"))

    def length(self, name):
        """Of a list."""
        return int(self.say("LLEN", name))

    def get(self, key):
        return self.say("GET", key)


class Backends(Proc):
    """A postmaster, with the CPU of the sessions that it has served (those that have ended)."""

    def cpu_s(self):
        while True:
            try:
                return self._once()
            except FileNotFoundError:  # one has ended meanwhile, and is in the postmaster's sum
                pass

    def _once(self):
        with open(f"/proc/{self.pid}/task/{self.pid}/children") as f:
            total = sum(Proc("", int(p)).cpu_s() for p in f.read().split())
        with open(f"/proc/{self.pid}/stat") as f:
            stat = f.read().rsplit(")", 1)[1].split()
        return total + sum(int(x) for x in stat[11:15]) / os.sysconf("SC_CLK_TCK")


class Postgres:
    """PostgreSQL 15: a table of jobs, taken with FOR UPDATE SKIP LOCKED; pgbench is its client
    (peer/job_*.sql). os: synchronous_commit off."""

    def __init__(self, ctx, durability):
        if not os.path.exists(f"{PG_BIN}/initdb"):
            raise Failed("postgresql-15 is missing: deploy/deps.sh bench installs it")
        self.ctx, self.name = ctx, "Postgres, SKIP LOCKED"
        self.port = ctx.ports(1)
        self.folder = tempfile.mkdtemp(prefix="pg", dir=ctx.tmp) # a port comes again
        self.as_user = []
        if os.getuid() == 0:  # it refuses to be root
            user = pwd.getpwnam("postgres")
            self.as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}",
                            "--clear-groups"]
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            os.chmod(ctx.tmp, 0o711)
        self._run(f"{PG_BIN}/initdb", "-D", self.folder, "-A", "trust", "-U", "bench", "-N")
        p = spawn(ctx, f"postgres.{self.port}", self.as_user + [
            f"{PG_BIN}/postgres", "-D", self.folder, "-p", self.port, "-k", self.folder,
            "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=120",
            "-c", f"synchronous_commit={'on' if durability == 'fsync' else 'off'}",
            "-c", "autovacuum_naptime=1s", "-c", "max_wal_size=4GB"], core=under_test(ctx))
        wait_port(ctx, p, self.port)
        self.proc = Backends(p.name, p.pid, p.popen)
        wait_for("Postgres is ready", lambda: subprocess.run(
            [f"{PG_BIN}/pg_isready", "-q", *self._at()[:4]]).returncode == 0)
        self._run(f"{PG_BIN}/psql", *self._at(), "-c", "CREATE TABLE jobs (id bigserial PRIMARY KEY, "
                  "state int NOT NULL DEFAULT 0, payload text NOT NULL); "
                  "CREATE INDEX ON jobs (id) WHERE state = 0")

    def _at(self):
        return ["-h", "127.0.0.1", "-p", str(self.port), "-U", "bench", "postgres"]

    def _run(self, *argv):
        p = subprocess.run(self.as_user + list(argv), stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, cwd=self.folder)
        if p.returncode != 0:
            raise Failed(f"{argv[0]}: {p.stdout[-500:]}")
        return p.stdout

    def procs(self):
        return [self.proc]

    def jobs(self, what, batch, conns, seconds):
        """Runs peer/job_<what>.sql; {'jobs', 'per_s'}."""
        said = self._run(*self.ctx.on_core(1), f"{PG_BIN}/pgbench", "-n", "-M", "extended", "-c",
                         str(conns), "-T", str(math.ceil(seconds)), "-D", f"batch={batch}", "-f",
                         os.path.join(PEER, f"job_{what}.sql"), *self._at())
        n, per_s = (re.search(p, said) for p in (r"actually processed: (\d+)", r"tps = ([0-9.]+)"))
        if n and not per_s and seconds < 10:  # a busy machine: they have only just connected
            return self.jobs(what, batch, conns, 5 * seconds)
        if not n or not per_s:
            raise Failed(f"pgbench says {said[-500:]}")
        return {"jobs": int(n.group(1)) * batch, "per_s": float(per_s.group(1)) * batch}
