"""zset.py: a Redis sorted set used as a waiting line, driven through a pipe.

Line: members 1, 2, 3 ... with their numbers as scores; who joins gets the next number, who is
released is the lowest, anybody may leave. Members are 32 hexadecimal digits, as session ids
are. Times are Redis' own: what INFO commandstats says that a command took inside the server,
without parsing, network or client.
"""
import random

from kit.procs import Failed

SPREAD = 0x9E3779B97F4A7C15F39CC0605CEDC835  # odd: no two members are the same
CHUNK = 1000  # commands, or members of one ZADD, on the way at once
DONE = b"+PONG\r\n"


def member(number):
    return b"%032x" % (number * SPREAD & ((1 << 128) - 1))


def words(*args):
    """One command, as it goes over the wire."""
    return b"*%d\r\n" % len(args) + b"".join(b"$%d\r\n%s\r\n" % (len(a), a) for a in args)


def pipe(redis, chunks):
    """Sends each chunk of commands while the one before is being worked on."""
    waiting = False
    for chunk in chunks:
        if waiting:
            _answers(redis)
        redis.sock.sendall(chunk + words(b"PING"))
        waiting = True
    if waiting:
        _answers(redis)


def _answers(redis):
    """Reads until the PING at a chunk's end is answered; the first error, if there was one."""
    got = b""
    while not got.endswith(DONE):
        part = redis.sock.recv(1 << 18)
        if not part:
            raise Failed("Redis closed the connection")
        got += part
    if got[:1] == b"-" or b"\n-" in got:
        at = 0 if got[:1] == b"-" else got.index(b"\n-") + 1
        raise Failed("Redis: " + got[at:].split(b"\r")[0].decode())


def in_chunks(commands):
    """Joins single commands into chunks."""
    part = []
    for c in commands:
        part.append(c)
        if len(part) == CHUNK:
            yield b"".join(part)
            part = []
    if part:
        yield b"".join(part)


def add_many(redis, key, first, last):
    """Members first..last, many to a command."""
    def chunks():
        for at in range(first, last + 1, CHUNK):
            end = min(at + CHUNK, last + 1)
            head = b"*%d\r\n$4\r\nZADD\r\n$%d\r\n%s\r\n" % (2 + 2 * (end - at), len(key), key)
            yield head + b"".join(b"$%d\r\n%d\r\n$32\r\n%s\r\n" % (len(b"%d" % i), i, member(i))
                                  for i in range(at, end))
    pipe(redis, chunks())


class Line:
    """One waiting line of `count`; `rounds` of all operations keep it that long."""

    def __init__(self, redis, key, count, seed=1):
        self.redis, self.key, self.first, self.next = redis, key, 1, count + 1
        self.left, self.rnd = set(), random.Random(seed)
        add_many(redis, key, 1, count)

    def someone(self):
        """A number that waits."""
        while True:
            n = self.rnd.randrange(self.first, self.next)
            if n not in self.left:
                return n

    def ranks(self, n):
        pipe(self.redis, in_chunks(words(b"ZRANK", self.key, member(self.someone()))
                                   for _ in range(n)))

    def joins(self, n):
        pipe(self.redis, in_chunks(words(b"ZADD", self.key, b"%d" % i, member(i))
                                   for i in range(self.next, self.next + n)))
        self.next += n

    def leaves(self, n):
        who = []
        for _ in range(n):
            who.append(self.someone())
            self.left.add(who[-1])
        pipe(self.redis, in_chunks(words(b"ZREM", self.key, member(i)) for i in who))

    def release(self, n):
        """The n lowest, by one command; joins and leaves must have left the line that long."""
        pipe(self.redis, [words(b"ZPOPMIN", self.key, b"%d" % n)])
        while n > 0:
            n -= self.first not in self.left
            self.left.discard(self.first)
            self.first += 1

    def length(self):
        return self.redis.call("ZCARD", self.key.decode())

    def expected(self):
        return self.next - self.first - len(self.left)


def usec_per_call(redis, command):
    """Redis' own time since the last CONFIG RESETSTAT."""
    for text in redis.call("INFO", "commandstats").split():
        if text.startswith(f"cmdstat_{command}:"):
            fields = dict(f.split("=") for f in text.split(":", 1)[1].split(","))
            return int(fields["usec"]) / int(fields["calls"])
    raise Failed(f"Redis has no figures for {command}")


def memory(redis):
    """What Redis says that its data takes."""
    for text in redis.call("INFO", "memory").split():
        if text.startswith("used_memory:"):
            return int(text.split(":")[1])
    raise Failed("Redis does not tell its memory")
