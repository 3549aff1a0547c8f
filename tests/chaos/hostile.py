"""hostile.py WHAT HOST PORT N [PATH]: N connections of somebody who does not behave. Says "here"
when all of them are made, then stays until it is ended (garbage: ends by itself, with a line).
  idle     connects and says nothing more than half a request
  greedy   asks for PATH again and again and never reads an answer
  garbage  at an internal port: noise, half frames and handshakes, HTTP, frames that claim 4 GiB; each
           until the other end closes
  strangers  at an internal port: N a second, from the address PATH; they say nothing, or begin a
           handshake of TLS by turns, and stay until the other end closes, or 400 others came"""
import os
import random
import select
import socket
import ssl
import struct
import sys
import time

HALF = b"GET /v1/queues/login HTTP/1.1\r\nHost: a\r\n"


def connect(host, port):
    """One connection, patiently."""
    s = socket.create_connection((host, port), 30)
    s.settimeout(30)
    return s


def say(text):
    """To whoever started us."""
    print(text, flush=True)


def idle(host, port, n, _path):
    """Held for ever; some are closed by the other end."""
    held = [connect(host, port) for _ in range(n)]
    for s in held:
        s.sendall(HALF)
    say("here")
    while True:
        time.sleep(3600)


def greedy(host, port, n, path):
    """Writes what the socket takes, reads nothing; a connection that was closed is made anew."""
    ask = ("GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % path).encode() * 20

    def fresh():
        s = connect(host, port)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.setblocking(False)
        return s
    held = [fresh() for _ in range(n)]
    say("here")
    while True:
        _, ready, _ = select.select([], held, [], 1)
        for s in ready:
            try:
                s.send(ask)
            except BlockingIOError:
                pass
            except OSError:
                held.remove(s)
                s.close()
                held.append(fresh())
                say("dropped")
        time.sleep(0.05)


def rubbish(dice):
    """One of the kinds."""
    noise = dice.randbytes(dice.randrange(1, 3000))
    return dice.choice([
        noise,
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"\x16\x03\x01\x02\x00" + noise,  # a handshake of TLS that is none, or never ends
        struct.pack("<IBBHQ", 0xffffffff, 1, 0, 0, 0),
        struct.pack("<IBBHQ", 60, 1, 0, 1, 0) + noise[:30],  # a hello that never ends
        struct.pack("<IBBHQ", len(noise[:900]), 1, 0, 1, 0) + noise[:900],
        struct.pack("<IBBHQ", 0, 1, 0, 50, 7),  # an order before the hello
        struct.pack("<IBBHQ", 0, 9, 0, 1, 0),  # a frame version of the future
    ])


def garbage(host, port, n, _path):
    """A connection after the other, ten at a time."""
    dice, closed = random.Random(os.getpid()), 0
    for _ in range(0, n, 10):
        some = [connect(host, port) for _ in range(min(10, n))]
        for s in some:
            try:
                s.sendall(rubbish(dice))
                while s.recv(4096):
                    pass
                closed += 1
            except socket.timeout:
                say("a connection stays open")
            except OSError:
                closed += 1
            s.close()
    say("closed %d" % closed)


def client_hello():
    """A good one, of somebody who knows no key."""
    out = ssl.MemoryBIO()
    try:
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname="a").do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def strangers(host, port, n, address):
    """As fast as the machine lets us, up to n a second: nothing is waited for, and the last 800 stay.
    Half of them say nothing: more than a process bears."""
    said, held, made, since = [b"", client_hello()], [], 0, time.monotonic()
    while True:
        for _ in range(min(n // 10, int((time.monotonic() - since) * n) - made)):
            s = socket.socket()
            s.setblocking(False)
            s.bind((address, 0))
            s.connect_ex((host, port))
            try:
                s.send(said[made % 2])
            except OSError:
                pass
            held.append(s)
            made += 1
            if made == n:
                say("here")
        while len(held) > 800:
            held.pop(0).close()
        time.sleep(0.01)


if __name__ == "__main__":
    {"idle": idle, "greedy": greedy, "garbage": garbage, "strangers": strangers}[sys.argv[1]](
        sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), (sys.argv + ["/"])[5])
