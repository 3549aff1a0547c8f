"""terminal.py: a program at a terminal of its own.

    t = Terminal(24, 80, [program, argument...])
    t.until(rb"pattern")   what it has written since the last such call, up to the match
    t.type("q")
    t.size(12, 80)
    t.end()                its exit, negative: the signal; then t.rest is what it wrote last
    t.echoes()             does the terminal show what is typed? After a program: it should
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

PATIENCE_S = 60


class Terminal:
    def __init__(self, lines, columns, argv):
        self.seen = self.rest = b""
        # The other end stays open here: what the terminal is set to can be asked when all is over.
        self.fd, self.slave = pty.openpty()
        self.size(lines, columns)
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.fd)
            os.login_tty(self.slave)
            os.environ["TERM"] = "xterm"
            os.execv(argv[0], argv)

    def size(self, lines, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, text):
        os.write(self.fd, text.encode())

    def read(self, s):
        if not select.select([self.fd], [], [], s)[0]:
            return False
        self.seen += os.read(self.fd, 65536)
        return True

    def until(self, pattern):
        end = time.monotonic() + PATIENCE_S
        while not (found := re.search(pattern, self.seen)):
            if time.monotonic() > end:
                raise SystemExit(f"terminal.py: no {pattern!r} in {self.seen[-2000:]!r}")
            self.read(0.2)
        text, self.seen = self.seen[:found.end()], self.seen[found.end():]
        return text

    def end(self):
        end = time.monotonic() + PATIENCE_S
        while (status := os.waitpid(self.pid, os.WNOHANG))[0] == 0:
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
            self.read(0.05)
        while self.read(0):
            pass
        self.rest, self.seen = self.seen, b""
        return os.waitstatus_to_exitcode(status[1])

    def echoes(self):
        return bool(termios.tcgetattr(self.slave)[3] & termios.ECHO)
