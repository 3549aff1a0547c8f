"""peer.py ADDR SECRET-FILE ROLE NAME [WHAT]: a peer of the internal links made by hand, from
PROTOCOL.md section 8. Says what became of its hello: "up", or "closed". WHAT:
  register   a segment node that registers with hostile texts, then stays until it is ended
  replay     sends the same PROOF again over a second connection
SECRET-FILE "-": a wrong key."""
import base64
import hashlib
import os
import socket
import struct
import sys

HELLO, CHALLENGE, PROOF, WELCOME, NODE_REG = 1, 2, 3, 4, 48
ROLES = {"router": 1, "segment": 2, "manager": 3}


def link_key(path):
    """The key that both ends derive from the cluster's secret (its first line)."""
    if path == "-":
        return bytes(32)
    with open(path, encoding="ascii") as f:
        secret = base64.b64decode(f.readline())
    return hashlib.blake2b(b"segq link 1", key=secret, digest_size=32).digest()


def card(role, name):
    """Who we are: version 1, incarnation 99, heartbeat 1 s, a fresh nonce."""
    head = struct.pack("<IBBHQI", 1, ROLES[role], len(name), 0, 99, 1000)
    return head + os.urandom(32) + name


def frame(kind, body):
    """One frame of version 1, without a request id."""
    return struct.pack("<IBBHQ", len(body), 1, 0, kind, 0) + body


def exactly(sock, n):
    """n bytes, or b"" if the other end closes."""
    got = b""
    while len(got) < n:
        more = sock.recv(n - len(got))
        if not more:
            return b""
        got += more
    return got


def read_frame(sock):
    """(type, body) of the next frame; (0, b"") at the end."""
    head = exactly(sock, 16)
    if not head:
        return 0, b""
    size, _, _, kind, _ = struct.unpack("<IBBHQ", head)
    return kind, exactly(sock, size) if size else b""


def mac(key, who, dialler, acceptor):
    """What proves the key, for "dialler" or "acceptor"."""
    text = b"segq-link-1 " + who + b"\0"
    text += b"".join(struct.pack("<I", len(card)) + card for card in (dialler, acceptor))
    return hashlib.blake2b(text, key=key, digest_size=32).digest()


def connect(addr):
    """A socket to host:port, with a limit on every wait."""
    host, port = addr.rsplit(":", 1)
    sock = socket.create_connection((host, int(port)), 60)
    sock.settimeout(60)
    return sock


def hello(sock, key, mine, proof=None):
    """True if we are let in. `proof`: sent in place of the right one."""
    try:
        sock.sendall(frame(HELLO, mine))
        kind, body = read_frame(sock)
        if kind != CHALLENGE:
            return False, b""
        proof = proof or mac(key, b"dialler", mine, body[:-32])
        sock.sendall(frame(PROOF, proof))
        return read_frame(sock)[0] == WELCOME, proof
    except OSError:
        return False, b""


def text_field(number, text):
    """A protobuf field of bytes."""
    return bytes([number << 3 | 2, len(text)]) + text


def register(sock):
    """NODE_REG whose addresses would like to be log lines, labels and markup."""
    evil = b'1:1\nFORGED error x "\\<b>FORGED\x1b[31m\xff'
    body = text_field(1, evil) + text_field(2, evil) + b"\x18\x64\x20\x64" + \
        text_field(6, bytes(32))
    sock.sendall(frame(NODE_REG, body))
    while read_frame(sock)[0]:
        pass


def main():
    """One try, said in one word."""
    addr, secret, role, name = sys.argv[1:5]
    what = sys.argv[5] if len(sys.argv) > 5 else ""
    key, mine = link_key(secret), card(role, name.encode())
    sock = connect(addr)
    up, proof = hello(sock, key, mine)
    if what == "replay":
        up, _ = hello(connect(addr), key, mine, proof)
    print("up" if up else "closed", flush=True)
    if up and what == "register":
        register(sock)
        print("ended", flush=True)


main()
