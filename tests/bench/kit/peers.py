"""peers.py: the servers that segq is measured beside.

Nginx: `return 200`, one worker. Room: a waiting room of nginx + Lua (peer/room.lua) and
Redis, "the Redis room". The server under test runs on core 0, Redis beside the load on core 1,
as segq's router and segments do. Each runs in a folder of the run, without privileges, and is
asked whether it answers correctly before anything is measured.
"""
import hashlib
import http.client
import json
import os
import random
import re
import resource
import socket
import tempfile

from kit.procs import Failed, spawn, tool, wait_for

PEER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "peer")
# What nginx always sends; segq's other headers are added until there are as many.
NGINX_OWN = 3  # Server, Date, Connection
NGINX_BODY = 2  # Content-Type, Content-Length
MODULES = ("/usr/lib/nginx/modules", "/usr/lib64/nginx/modules", "/usr/share/nginx/modules")


def ask(port, path, method="GET", headers=(), body=None, tls=None):
    """One request; (status, [(header, value)], body). tls: an SSLContext."""
    c = (http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=tls) if tls
         else http.client.HTTPConnection("127.0.0.1", port, timeout=10))
    try:
        c.request(method, path, body, headers=dict(headers))
        r = c.getresponse()
        return r.status, r.getheaders(), r.read().decode()
    finally:
        c.close()


def answer_size(headers, body):
    """Bytes of a whole answer with status 200."""
    return (len("HTTP/1.1 200 OK\r\n\r\n") + len(body)
            + sum(len(k) + len(v) + len(": \r\n") for k, v in headers))


def all_files():
    """In the child: as many open files as are allowed (a thousand connections)."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def write_conf(name, folder, **values):
    """peer/<name> with its @KEYS@ filled in; the path of the copy."""
    with open(os.path.join(PEER, name)) as f:
        text = f.read()
    for key, value in {"DIR": folder, **values}.items():
        text = text.replace(f"@{key}@", str(value))
    left = re.search(r"@[A-Z]+@", text)
    if left:
        raise Failed(f"{name}: nobody said what {left[0]} is")
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def start_nginx(ctx, name, folder, conf, core):
    argv = [tool("nginx"), "-e", os.path.join(folder, "error.log"), "-p", folder, "-c", conf]
    return spawn(ctx, name, argv, core=core, preexec_fn=all_files)


def wait_port(ctx, proc, port):
    def there():
        if not proc.alive():
            with open(os.path.join(ctx.tmp, f"{proc.name}.log")) as f:
                raise Failed(f"{proc.name} does not start: {f.read()[-1000:]}")
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True

    wait_for(f"{proc.name} on port {port}", there)


def under_test(ctx):
    return 0 if ctx.cores > 1 else None


def beside_load(ctx):
    return 1 if ctx.cores > 1 else None


class Nginx:
    """nginx `return` with the status, the body, and as many headers, as segq's answer has.
    tls: (certificate, key, SSLContext of a client)."""

    def __init__(self, ctx, body, headers, keepalive=True, status=200, tls=None):
        self.port = ctx.ports(1)
        folder = os.path.join(ctx.tmp, f"nginx{self.port}")
        os.mkdir(folder)
        own = NGINX_OWN + (NGINX_BODY if body else 0)
        more = [(k, v) for k, v in headers
                if k.lower() not in ("server", "date", "content-type", "content-length",
                                     "connection")][:max(len(headers) - own, 0)]
        conf = write_conf(
            "nginx.conf", folder, PORT=self.port, KEEPALIVE="75s" if keepalive else "0",
            HEADERS=" ".join(f"add_header {k} '{v}';" for k, v in more),
            SSL="ssl" if tls else "",
            CERT=f"ssl_certificate {tls[0]}; ssl_certificate_key {tls[1]}; "
                 "ssl_protocols TLSv1.2 TLSv1.3;" if tls else "",
            STATUS=status, BODY=body.replace("\\", "\\\\").replace("'", "\\'"))
        self.proc = start_nginx(ctx, f"nginx.{self.port}", folder, conf, under_test(ctx))
        wait_port(ctx, self.proc, self.port)
        self.check(status, body, headers, tls[2] if tls else None)

    def check(self, status, body, headers, tls):
        code, got, text = ask(self.port, "/v1/tickets/any", tls=tls)
        if code != status or text != body or len(got) < len(headers):
            raise Failed(f"nginx answers {code} {got} {text}")

        self.size = answer_size(got, text)

    def procs(self):
        return [self.proc]


def write_gate(ctx, folder, site, gate, router_port, keep):
    """deploy/nginx as it stands, but for TLS, logs, names and ports. keep: with segq_keep.lua."""
    changes = [(r"listen 80;", f"listen 127.0.0.1:{gate + 2};"),
               (r"listen 443 ssl http2 backlog=\d+;", f"listen 127.0.0.1:{gate} backlog=4096;"),
               (r"(?m)^ *ssl_.*$", ""), (r"access_log .*;", "access_log off;"),
               (r"127\.0\.0\.1:8080", f"127.0.0.1:{router_port}"),
               (r"(?m)^ *server 127\.0\.0\.1:8081.*$", ""),
               (r"127\.0\.0\.1:9000", f"127.0.0.1:{site}"), ("/etc/nginx", folder)]
    if keep:
        changes.append((r"#(\w+_by_lua_file)", r"\1"))
    source = os.path.join(ctx.root, "deploy/nginx")
    for name in ("segq_gate.conf", "segq_verify.conf", "segq_site.conf", "segq_proxy.conf",
                 "segq_keep.lua", "segq_busy.html"):
        with open(os.path.join(source, name)) as f:
            text = f.read()
        for what, by in changes if name.endswith(".conf") else ():
            text = re.sub(what, by, text)
        with open(os.path.join(folder, name), "w") as f:
            f.write(text)
    with open(os.path.join(folder, "segq_gate_secret"), "w") as f:
        f.write('default "";\n')


class Gate:
    """nginx in front of a site, itself too: on `gate` it asks a router first (auth_request), on
    `port` nobody. keep: it gives good verdicts by itself for a quarter of a second."""

    def __init__(self, ctx, router_port, keep=False):
        self.port = ctx.ports(4)
        self.gate = self.port + 1
        folder = tempfile.mkdtemp(prefix="gate", dir=ctx.tmp)
        os.chmod(folder, 0o755)
        modules = [f"load_module {nginx_modules()}/{name}_module.so;"
                   for name in ("ndk_http", "ngx_http_lua")] if keep else []
        write_gate(ctx, folder, self.port + 2, self.gate, router_port, keep)
        conf = write_conf("gate.conf", folder, PORT=self.port, SITE=self.port + 2,
                          MODULES="\n".join(modules))
        self.proc = start_nginx(ctx, f"gate.{self.port}", folder, conf, under_test(ctx))
        wait_port(ctx, self.proc, self.gate)

    def check(self, header):
        """With the pass the site, without it 401; without the gate the site always."""
        name, value = header.split(": ")
        got = [ask(self.gate, "/", headers={name: value})[0],
               ask(self.gate, "/", headers={"Accept": "application/json"})[0],
               ask(self.port, "/")[0]]
        if got != [200, 401, 200]:
            raise Failed(f"a site behind the gate answers {got}")

    def procs(self):
        return [self.proc]


class Target:
    """nginx that says the same to each request, in a process of its own beside the load."""

    def __init__(self, ctx, body, status=200):
        self.port = ctx.ports(1)
        folder = tempfile.mkdtemp(prefix="target", dir=ctx.tmp)
        conf = write_conf("nginx.conf", folder, PORT=self.port, KEEPALIVE="75s", HEADERS="",
                          SSL="", CERT="", STATUS=status, BODY=body)
        proc = start_nginx(ctx, f"target.{self.port}", folder, conf, beside_load(ctx))
        wait_port(ctx, proc, self.port)


class Proxy:
    """nginx with proxy_pass to a Target, at the port `target`; or to another one there, whose answers it
    passes on as they come (proxy_buffering off)."""

    def __init__(self, ctx, body, streams=None):
        self.target = streams or Target(ctx, body).port
        self.port = ctx.ports(1)
        folder = tempfile.mkdtemp(prefix="proxy", dir=ctx.tmp)
        conf = write_conf("proxy.conf", folder, PORT=self.port, TARGET=self.target,
                          MORE="proxy_buffering off; proxy_read_timeout 1h;" if streams else "")
        self.proc = start_nginx(ctx, f"proxy.{self.port}", folder, conf, under_test(ctx))
        wait_port(ctx, self.proc, self.port)
        status, _, text = ask(self.port, "/pieces/1" if streams else "/x")
        if status != 200 or (text != body and not streams):
            raise Failed("a target behind nginx does not answer")

    def procs(self):
        return [self.proc]


def nginx_modules():
    for folder in MODULES:
        if os.path.exists(os.path.join(folder, "ngx_http_lua_module.so")):
            return folder
    raise Failed("nginx's Lua module is missing: deploy/deps.sh bench installs it")


class Redis:
    """redis-server on a unix socket, keeping nothing on disk; speaks RESP, one command each."""

    def __init__(self, ctx, folder):
        self.path = os.path.join(folder, "redis.sock")
        self.proc = spawn(ctx, "redis", [
            tool("redis-server"), "--port", 0, "--unixsocket", self.path, "--save", "",
            "--appendonly", "no", "--dir", folder, "--maxclients", 10000,
            "--daemonize", "no"], core=beside_load(ctx), preexec_fn=all_files)
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        wait_for("redis", lambda: self.sock.connect(self.path) is None)
        ctx.at_end(self.sock.close)
        self.answers = self.sock.makefile("rb")

    def call(self, *args):
        """The answer: an int, a str or None; Failed when Redis says it is wrong."""
        words = [str(a).encode() for a in args]
        self.sock.sendall(b"*%d\r\n" % len(words)
                          + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        line = self.answers.readline().decode().rstrip()
        kind, rest = line[:1], line[1:]
        if kind == ":":
            return int(rest)
        if kind == "+":
            return rest
        if kind == "$":
            if rest == "-1":
                return None
            return self.answers.read(int(rest) + 2)[:-2].decode()
        raise Failed(f"redis: {args[0]}: {line}")


def member(number):
    """The id of the number-th in the line (FILL makes the same)."""
    return hashlib.sha1(b"member %d" % number).hexdigest()[:32]


# Adds the members ARGV[1]..ARGV[2] to the line KEYS[1], 1000 to a command.
FILL = """
local from, to = tonumber(ARGV[1]), tonumber(ARGV[2])
for start = from, to, 1000 do
    local line = {}
    for i = start, math.min(start + 999, to) do
        line[#line + 1] = i
        line[#line + 1] = string.sub(redis.sha1hex('member ' .. i), 1, 32)
    end
    redis.call('ZADD', KEYS[1], unpack(line))
end
return to"""


class Room:
    """The Redis room. `port`: all commands of a request in one round trip; `port1`: one by
    one."""

    def __init__(self, ctx):
        self.ctx, self.count = ctx, 0
        self.port = ctx.ports(2)
        self.port1 = self.port + 1
        folder = os.path.join(ctx.tmp, f"room{self.port}")
        os.mkdir(folder)
        self.redis = Redis(ctx, folder)
        self.redis.call("SET", "room:open", 1)
        self.redis.call("SET", "room:rate", 100)
        conf = write_conf("room.conf", folder, PORT=self.port, PORT1=self.port1, PEER=PEER,
                          MODULES=nginx_modules(), REDIS=self.redis.path)
        self.nginx = start_nginx(ctx, f"room.{self.port}", folder, conf, under_test(ctx))
        wait_port(ctx, self.nginx, self.port1)

    def procs(self):
        return [self.nginx, self.redis.proc]

    def fill(self, count, sample):
        """`count` members; the file with `sample` of their ids, evenly out of the line."""
        for start in range(1, count + 1, 20000):
            self.redis.call("EVAL", FILL, 1, "room:line", start, min(start + 19999, count))
        self.redis.call("COPY", "room:line", "room:seen")  # each was seen when it came
        self.redis.call("SET", "room:number", count)
        self.count = count
        path = os.path.join(self.ctx.tmp, f"ids{self.port}")
        with open(path, "w") as f:
            for i in range(1, count + 1, max(count // sample, 1)):
                f.write(member(i) + "\n")
        return path

    def check_polls(self):
        """Position is rank, total is count, unknown is unknown, a poll is seen; both forms."""
        rnd = random.Random(1)
        for port in (self.port, self.port1):
            for number in [1, self.count] + [rnd.randint(1, self.count) for _ in range(20)]:
                self._check_poll(port, number)
            status, _, _ = ask(port, "/v1/tickets/nobody")
            if status != 404:
                raise Failed(f"the Redis room knows nobody: {status}")

    def _check_poll(self, port, number):
        self.redis.call("ZADD", "room:seen", "XX", 1, member(number))
        status, _, text = ask(port, f"/v1/tickets/{member(number)}")
        got = json.loads(text)
        if (status, got.get("position"), got.get("total")) != (200, number, self.count):
            raise Failed(f"the Redis room: number {number} of {self.count} is told {text}")
        if not float(self.redis.call("ZSCORE", "room:seen", member(number))) > 1e12:
            raise Failed("the Redis room does not keep heartbeats")

    def check_joins(self):
        """One after the other: the next number, and a poll that says so."""
        for i in range(10):
            number = self.redis.call("ZCARD", "room:line") + 1
            status, _, text = ask((self.port, self.port1)[i % 2], "/v1/queues/login/tickets",
                                  "POST")
            got = json.loads(text)
            if status != 201 or got.get("position") != number:
                raise Failed(f"the Redis room: join number {number} is told {status} {text}")
            rank = self.redis.call("ZRANK", "room:line", got["token"])
            if rank != number - 1:
                raise Failed(f"the Redis room: {got['token']} has rank {rank}, not {number - 1}")
