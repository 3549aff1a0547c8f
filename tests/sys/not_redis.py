#!/usr/bin/env python3
"""not_redis.py PORT: answers whatever comes as a web server would. Ended by a signal."""
import socket
import sys


def main(port):
    """One connection after the other: an answer to the first bytes, then the end."""
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", port))
    server.listen(16)
    while True:
        conn, _ = server.accept()
        with conn:
            try:
                conn.settimeout(5)
                conn.recv(4096)
                conn.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
            except OSError:
                pass


if __name__ == "__main__":
    main(int(sys.argv[1]))
