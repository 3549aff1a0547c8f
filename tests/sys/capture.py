"""capture.py FILE PORT...: writes what passes the loopback from or to these TCP ports into FILE,
until it is ended; says "ready" first. It needs the right to open a packet socket."""
import signal
import socket
import struct
import sys

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
ports = {int(p) for p in sys.argv[2:]}
sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
sock.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
sock.bind(("lo", 0x0800))
print("ready", flush=True)
with open(sys.argv[1], "wb", buffering=0) as out:
    while True:
        packet, where = sock.recvfrom(1 << 17)
        head = (packet[0] & 15) * 4
        if where[2] == socket.PACKET_OUTGOING or packet[9] != socket.IPPROTO_TCP:
            continue  # the loopback shows each twice
        if ports & set(struct.unpack_from(">HH", packet, head)):
            out.write(packet[head + (packet[head + 12] >> 4) * 4:])
