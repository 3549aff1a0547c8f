"""tunnel.py PORT LOG: a proxy: CONNECT host:port, and plain requests with a whole url. It reaches
127.0.0.1 whatever the host's name is. Each becomes a line of LOG: method and target. Ends with its
process."""
import socket
import sys
import threading
import urllib.parse


def pump(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
        b.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve(c):
    head = b""
    while b"\r\n\r\n" not in head:
        more = c.recv(65536)
        if not more:
            return
        head += more
    method, target, rest = head.split(b" ", 2)
    with open(sys.argv[2], "a") as log:
        log.write(f"{method.decode()} {target.decode()}\n")
    url = urllib.parse.urlsplit(("//" if method == b"CONNECT" else "") + target.decode())
    there = socket.create_connection(("127.0.0.1", url.port or 80))
    if method == b"CONNECT":
        c.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
    else:
        there.sendall(method + b" " + (url.path + (f"?{url.query}" if url.query else "")).encode() + b" " + rest)
    threading.Thread(target=pump, args=(there, c), daemon=True).start()
    pump(c, there)


s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
