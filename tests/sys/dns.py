"""dns.py ADDRESS:PORT FILE LOG: a name server that says what FILE says: a line "name address ..." for
each name, as it is at that moment (addresses of both kinds; none: there is no such name; "?": nothing
is answered). Each question becomes a line of LOG: name and kind. Answers may be kept for 0 s. Ends with
its process."""
import ipaddress
import socket
import struct
import sys

KINDS = {1: 4, 28: 16}  # A, AAAA: bytes of an address


def addresses(name):
    with open(sys.argv[2]) as f:
        for line in f:
            if line.split()[0] == name:
                return [ipaddress.ip_address(a).packed if a != "?" else None for a in line.split()[1:]]
    return []


def name_of(question):
    parts, at = [], 12
    while question[at]:
        parts.append(question[at + 1:at + 1 + question[at]].decode())
        at += 1 + question[at]
    return ".".join(parts).lower(), at + 5


host, port = sys.argv[1].rsplit(":", 1)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((host, int(port)))
while True:
    q, peer = s.recvfrom(4096)
    name, end = name_of(q)
    kind = struct.unpack("!H", q[end - 4:end - 2])[0]
    known = addresses(name)
    found = [a for a in known if a and len(a) == KINDS.get(kind)]
    with open(sys.argv[3], "a") as log:
        log.write(f"{name} {kind}\n")
    if None in known:
        continue
    answer = q[:2] + struct.pack("!HHHHH", 0x8580 | (0 if known else 3), 1, len(found), 0, 0) + q[12:end]
    for a in found:
        answer += struct.pack("!HHHIH", 0xC00C, kind, 1, 0, len(a)) + a
    s.sendto(answer, peer)
