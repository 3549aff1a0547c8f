"""cable.py A B CONTROL: a cable between two interfaces of its namespace, frame by frame. What
is written to the FIFO CONTROL makes it bad, both ways: "delay=MS loss=SHARE rate=BYTES_PER_S";
an empty line makes it good again. A frame keeps its place in the order; at a given rate at most
QUEUE_MAX bytes wait, the rest is lost, as in a router of the real world."""
import heapq
import os
import random
import select
import socket
import sys
import time

ETH_P_ALL, SOL_PACKET, PACKET_VNET_HDR, VNET_HDR = 0x0003, 263, 15, 10
QUEUE_MAX = 64 * 1024
FRAME_MAX = 70000


def open_port(name):
    """All frames of an interface. With the header that says which checksums are still to be made:
    it goes out as it came in, so that unfinished checksums are finished by who takes the frame."""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    s.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    s.bind((name, ETH_P_ALL))
    s.setblocking(False)
    return s


class Cable:
    """Frames under way; `late` is a heap of (when, number, port, frame)."""

    def __init__(self):
        self.delay_s, self.loss, self.rate = 0.0, 0.0, 0.0
        self.late, self.number = [], 0
        self.free_at = {}  # port -> when its last frame is through
        self.dice = random.Random(1)

    def obey(self, line):
        """A line of CONTROL."""
        words = dict(w.split("=", 1) for w in line.split())
        self.delay_s = float(words.get("delay", 0)) / 1000
        self.loss = float(words.get("loss", 0))
        self.rate = float(words.get("rate", 0))

    def take(self, port, frame, now):
        """A frame that shall go out at port."""
        if self.loss and self.dice.random() < self.loss:
            return
        start = max(now, self.free_at.get(port, 0))
        if self.rate:
            if (start - now) * self.rate > QUEUE_MAX:
                return
            start += len(frame) / self.rate
        self.free_at[port] = start
        self.number += 1
        heapq.heappush(self.late, (start + self.delay_s, self.number, port, frame))

    def give(self, now, ports):
        """Everything that is due."""
        while self.late and self.late[0][0] <= now:
            _, _, port, frame = heapq.heappop(self.late)
            try:
                ports[port].send(frame)
            except OSError:
                pass  # the other end has no room or is gone: frames may be lost


def read_all(cable, ports, i):
    """What came in at port i leaves at the other one. Our own frames are not heard again."""
    for _ in range(200):
        try:
            frame, where = ports[i].recvfrom(FRAME_MAX)
        except BlockingIOError:
            return
        except OSError:
            return
        if where[2] != socket.PACKET_OUTGOING and len(frame) > VNET_HDR:
            cable.take(1 - i, frame, time.monotonic())


def main(names, control):
    """Until it is ended."""
    ports = [open_port(n) for n in names]
    os.mkfifo(control)
    orders = os.open(control, os.O_RDWR | os.O_NONBLOCK)
    cable, text = Cable(), ""
    poll = select.poll()
    for f in [p.fileno() for p in ports] + [orders]:
        poll.register(f, select.POLLIN)
    while True:
        wait_ms = None
        if cable.late:
            wait_ms = max(0, cable.late[0][0] - time.monotonic()) * 1000
        for f, _ in poll.poll(wait_ms):
            if f == orders:
                text += os.read(orders, 4096).decode()
                *lines, text = text.split("\n")
                for line in lines:
                    cable.obey(line)
            else:
                read_all(cable, ports, 0 if f == ports[0].fileno() else 1)
        cable.give(time.monotonic(), ports)


if __name__ == "__main__":
    main(sys.argv[1:3], sys.argv[3])
