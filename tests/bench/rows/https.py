"""The public port with TLS, beside nginx with the same certificate and cipher.

Polls over 64 kept connections, driven by wrk; then connections that are opened for one poll each,
with a whole handshake, and with a ticket of the one before. What counts is the server's CPU: the
clients' own is larger.
"""
import os
import signal
import socket
import ssl
import subprocess

from kit import polls, stats
from kit.peers import Nginx, ask
from kit.procs import Failed, tool, wait_for
from kit.row import case, row
from rows.other_loads import per_s

ID = "https"
ORDER = 45
CONNS = 64
HELLOS = 200  # connections of a turn
AIMS = {"kept connections": 1.0, "a whole handshake and a poll": 1 / 0.95,
        "a ticket's handshake and a poll": 1 / 0.95}


def certificate(ctx):
    """(file, file with its key, SSLContext of a client that trusts it)."""
    cert, key = (os.path.join(ctx.tmp, "https." + end) for end in ("crt", "key"))
    subprocess.run([tool("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=bench",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
                   check=True, stderr=subprocess.DEVNULL)
    os.chmod(key, 0o600)
    return cert, key, ssl.create_default_context(cafile=cert)


def seal(cluster, cert, key, client):
    """The router's port speaks TLS from now on."""
    with open(os.path.join(cluster.dir, "config/router.yaml"), "a") as f:
        f.write(f"\nlisten_certs: [{{cert: {cert}, key: {key}}}]\n")
    os.kill(cluster.proc("router.0").pid, signal.SIGHUP)
    wait_for("the router speaks TLS",
             lambda: ask(cluster.router_port(), "/v1/queues/login", tls=client)[0] == 200)


class Server:
    def __init__(self, name, port, procs):
        self.name, self.port, self.procs, self.us = name, port, procs, {}

    def measure(self, what, fn):
        """fn() makes requests and returns how many."""
        before = sum(p.cpu_s() for p in self.procs)
        n = fn()
        spent = sum(p.cpu_s() for p in self.procs) - before
        self.us.setdefault(what, []).append(spent * 1e6 / n)


def kept(ctx, server, path):
    rate = per_s(ctx, "wrk", f"https://127.0.0.1:{server.port}{path}", CONNS)
    return rate * max(1, round(ctx.seconds))


def one_poll(client, port, path, session=None):
    """A connection of its own; (the session for the next one, the cipher)."""
    request = f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", port), 20) as raw:
        with client.wrap_socket(raw, server_hostname="127.0.0.1", session=session) as s:
            if s.session_reused != (session is not None):
                raise Failed("a ticket was not taken, or came from nowhere")
            s.sendall(request)
            answer = b""
            while piece := s.recv(65536):
                answer += piece
            if not answer.startswith(b"HTTP/1.1 200"):
                raise Failed(f"a poll is answered {answer[:200]}")
            return s.session, s.cipher()


def opened(ctx, client, server, path, again):
    n = HELLOS // 20 if ctx.quick else HELLOS
    session = one_poll(client, server.port, path)[0] if again else None
    for _ in range(n):
        newer = one_poll(client, server.port, path, session)[0]
        session = newer if again else None
    return n + again


def same_cipher(client, servers, path):
    ciphers = [one_poll(client, s.port, path)[1] for s in servers]
    if ciphers[0] != ciphers[1]:
        raise Failed(f"different ciphers: {ciphers}")
    return ciphers[0][0]


def run(ctx):
    count = ctx.waiting(100000)
    cluster, tokens = polls.filled(ctx, count)
    headers, body = polls.typical_answer(cluster, tokens)
    tls = certificate(ctx)
    peer = Nginx(ctx, body, headers, tls=tls)
    seal(cluster, *tls)
    with open(tokens) as f:
        path = "/v1/tickets/" + f.readlines()[count // 2 % 1000].strip()
    servers = [Server("segq", cluster.router_port(), cluster.all()),
               Server(polls.NGINX, peer.port, peer.procs())]
    cipher = same_cipher(tls[2], servers, path)
    works = dict(zip(AIMS, (lambda s: kept(ctx, s, path),
                            lambda s: opened(ctx, tls[2], s, path, False),
                            lambda s: opened(ctx, tls[2], s, path, True))))
    for i in ctx.each("https"):
        for what, work in works.items():
            for s in servers:
                s.measure(what, lambda: work(s))
    segq, nginx = servers
    cases = [case(f"{what}, CPU", "us/poll", stats.summary(segq.us[what]),
                  stats.summary(nginx.us[what]), nginx.name,
                  stats.ratios(segq.us[what], nginx.us[what]), aim=aim, aim_op="<=")
             for what, aim in AIMS.items()]
    return [row(ID, "Polls with TLS", f"{CONNS} kept connections, or one for each poll; one token of "
                f"{count} waiting; {cipher}, a certificate of P-256 on both sides.", cases,
                [polls.layout(ctx)])]
