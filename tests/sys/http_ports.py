"""http_ports.py NAME=PORT...: every way of asking a server for something else than what is
written, against each port. A request comes with a second one behind it (or inside it) for
/smuggled. A server that reads the first in a way of its own answers the second, too, or
answers it though it was a body: that is a desync. Prints a line per port and per defect."""
import socket
import sys

HOST = b"Host: a\r\n"
INSIDE = b"GET /smuggled HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
N = str(len(INSIDE)).encode()


def post(fields, body=b"", line=b"POST /metrics HTTP/1.1"):
    """A request with these field lines, whatever they are."""
    return line + b"\r\n" + HOST + fields + b"\r\n" + body


def chunk(body, ext=b""):
    """Its body in one chunk and the end."""
    return b"%x%s\r\n%s\r\n0\r\n\r\n" % (len(body), ext, body)


CHUNKED = b"Transfer-Encoding: chunked\r\n"
# Refused with one answer, then the connection ends: nothing behind them is ever a request.
REFUSED = {
    "CL and TE": post(b"Content-Length: 5\r\n" + CHUNKED, b"0\r\n\r\n"),
    "TE and CL": post(CHUNKED + b"Content-Length: " + N + b"\r\n", b"0\r\n\r\n"),
    "two CL": post(b"Content-Length: 0\r\nContent-Length: " + N + b"\r\n"),
    "the same CL twice": post(b"Content-Length: 0\r\nContent-Length: 0\r\n"),
    "a list as CL": post(b"Content-Length: 0, " + N + b"\r\n"),
    "CL with a sign": post(b"Content-Length: +0\r\n"),
    "negative CL": post(b"Content-Length: -1\r\n"),
    "CL in hex": post(b"Content-Length: 0x0\r\n"),
    "CL with a blank inside": post(b"Content-Length: 0 0\r\n"),
    "empty CL": post(b"Content-Length:\r\n"),
    "CL beyond 64 bits": post(b"Content-Length: 18446744073709551616\r\n"),
    "space before the colon": post(b"Content-Length : " + N + b"\r\n"),
    "tab before the colon": post(b"Transfer-Encoding\t: chunked\r\n"),
    "space in a name": post(b"Content Length: 3\r\n"),
    "no name": post(b": x\r\n"),
    "no colon": post(b"Content-Length\r\n"),
    "control byte in a name": post(b"Content-Length\x0b: 3\r\n"),
    "obs-fold": post(b"A: b\r\n Content-Length: " + N + b"\r\n"),
    "obs-fold with a tab": post(b"A: b\r\n\tchunked\r\n"),
    "a folded first field": b"GET /metrics HTTP/1.1\r\n X: y\r\n" + HOST + b"\r\n",
    "NUL in a value": post(b"A: b\x00c\r\n"),
    "bare CR in a value": post(b"A: b\rContent-Length: " + N + b"\r\n"),
    "bare LF after a field": post(b"A: b\nContent-Length: " + N + b"\r\n"),
    "bare LF after the head": b"GET /metrics HTTP/1.1\r\n" + HOST + b"\n",
    "bare LF after the request line": b"GET /metrics HTTP/1.1\n" + HOST + b"\r\n",
    "LF everywhere": b"GET /metrics HTTP/1.1\nHost: a\n\n",
    "TE xchunked": post(b"Transfer-Encoding: xchunked\r\n"),
    "TE chunked twice": post(CHUNKED + CHUNKED, b"0\r\n\r\n"),
    "TE chunked, chunked": post(b"Transfer-Encoding: chunked, chunked\r\n", b"0\r\n\r\n"),
    "TE identity": post(b"Transfer-Encoding: identity\r\n"),
    "TE with identity behind": post(b"Transfer-Encoding: chunked, identity\r\n", b"0\r\n\r\n"),
    "TE gzip, chunked": post(b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"),
    "TE with a form feed": post(b"Transfer-Encoding: \x0cchunked\r\n", b"0\r\n\r\n"),
    "TE quoted": post(b'Transfer-Encoding: "chunked"\r\n', b"0\r\n\r\n"),
    "empty TE": post(b"Transfer-Encoding:\r\n"),
    "TE in HTTP/1.0": post(CHUNKED, b"0\r\n\r\n", b"POST /metrics HTTP/1.0"),
    "chunk size with a blank": post(CHUNKED, b"3 \r\nabc\r\n0\r\n\r\n"),
    "chunk size in 0x": post(CHUNKED, b"0x3\r\nabc\r\n0\r\n\r\n"),
    "chunk size with a sign": post(CHUNKED, b"+3\r\nabc\r\n0\r\n\r\n"),
    "chunk size beyond 64 bits": post(CHUNKED, b"10000000000000003\r\nabc\r\n0\r\n\r\n"),
    "no chunk size": post(CHUNKED, b"\r\nabc\r\n0\r\n\r\n"),
    "chunk size ends in LF": post(CHUNKED, b"3\nabc\r\n0\r\n\r\n"),
    "chunk extension with LF": post(CHUNKED, b"3;a\nabc\r\n0\r\n\r\n"),
    "chunk extension with NUL": post(CHUNKED, b"3;a\x00\r\nabc\r\n0\r\n\r\n"),
    "chunk data too long": post(CHUNKED, b"3\r\nabcd\r\n0\r\n\r\n"),
    "chunk data ends in LF": post(CHUNKED, b"3\r\nabc\n0\r\n\r\n"),
    "trailer that is folded": post(CHUNKED, b"0\r\nA: b\r\n c\r\n\r\n"),
    "trailer without a colon": post(CHUNKED, b"0\r\nA\r\n\r\n"),
    "no Host": b"GET /metrics HTTP/1.1\r\n\r\n",
    "two Hosts": post(HOST),
    "Host with a blank": b"GET /metrics HTTP/1.1\r\nHost: a b\r\n\r\n",
    "Host with a slash": b"GET /metrics HTTP/1.1\r\nHost: a/b\r\n\r\n",
    "Host with user": b"GET /metrics HTTP/1.1\r\nHost: u@a\r\n\r\n",
    "two Authorizations": post(b"Authorization: Bearer x\r\nAuthorization: Bearer y\r\n"),
    "absolute form without a host": b"GET http:///metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "absolute form of another kind": b"GET ftp://a/metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "no slash": b"GET metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "asterisk for GET": b"GET * HTTP/1.1\r\n" + HOST + b"\r\n",
    "CONNECT": b"CONNECT a:80 HTTP/1.1\r\n" + HOST + b"\r\n",
    "fragment": b"GET /metrics#x HTTP/1.1\r\n" + HOST + b"\r\n",
    "NUL in the path": b"GET /metrics\x00 HTTP/1.1\r\n" + HOST + b"\r\n",
    "bytes above ASCII in the path": b"GET /metrics\xc3\xa9 HTTP/1.1\r\n" + HOST + b"\r\n",
    "two spaces": b"GET  /metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "a tab": b"GET\t/metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "space behind the version": b"GET /metrics HTTP/1.1 \r\n" + HOST + b"\r\n",
    "space before the method": b" GET /metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "no method": b"/metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "method with a control byte": b"GE\x01T /metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "HTTP/0.9": b"GET /metrics\r\n",
    "HTTP/1.10": b"GET /metrics HTTP/1.10\r\n" + HOST + b"\r\n",
    "HTTP/2.0": b"GET /metrics HTTP/2.0\r\n" + HOST + b"\r\n",
    "http/1.1": b"GET /metrics http/1.1\r\n" + HOST + b"\r\n",
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": b"\x16\x03\x01\x00\x05hello\r\n",
    "two empty lines before": b"\r\n\r\nGET /metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "an empty line that is LF": b"\nGET /metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "an unknown expectation": post(b"Expect: money\r\nContent-Length: 0\r\n"),
    "a long target": b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "a long field": post(b"A: " + b"a" * 17000 + b"\r\n"),
    "many fields": post(b"A: b\r\n" * 120),
    "a body of a gigabyte": post(b"Content-Length: 1073741824\r\n"),
    "a chunk of a gigabyte": post(CHUNKED, b"40000000\r\n"),
}
# Taken: the body is a body, whatever stands in it, and what follows is the next request.
TAKEN = {
    "plain": b"GET /metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "CL": post(b"Content-Length: " + N + b"\r\n", INSIDE),
    "CL with zeros": post(b"Content-Length: 000" + N + b"\r\n", INSIDE),
    "CL of a GET": post(b"Content-Length: " + N + b"\r\n", INSIDE, b"GET /metrics HTTP/1.1"),
    "chunked": post(CHUNKED, chunk(INSIDE)),
    "Chunked": post(b"transfer-encoding: \t cHUNKED \r\n", chunk(INSIDE)),
    "chunked GET": post(CHUNKED, chunk(INSIDE), b"GET /metrics HTTP/1.1"),
    "chunk extension": post(CHUNKED, chunk(INSIDE, b";a=b;c=\"d\"")),
    "chunk size with zeros": post(CHUNKED, b"00" + chunk(INSIDE)),
    "trailers": post(CHUNKED, b"3\r\nabc\r\n0\r\nContent-Length: 9\r\nA: b\r\n\r\n"),
    "absolute form": b"GET http://b/metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "an empty line before": b"\r\nGET /metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "HEAD": b"HEAD /metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "a body for HEAD": post(b"Content-Length: " + N + b"\r\n", INSIDE, b"HEAD /metrics HTTP/1.1"),
    "an unknown method": b"BREW /metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "TRACE": b"TRACE /metrics HTTP/1.1\r\n" + HOST + b"\r\n",
    "Expect": post(b"Expect: 100-continue\r\nContent-Length: 3\r\n", b"abc"),
    "Upgrade": post(b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nContent-Length: 0\r\n"),
    "HTTP/1.0 that stays": b"GET /metrics HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
}


def answers(port, pieces):
    """All that comes back until the other end closes: the text of each answer's head."""
    sock = socket.create_connection(("127.0.0.1", port), 60)
    sock.settimeout(60)
    got = b""
    try:
        for piece in pieces:
            sock.sendall(piece)
        while more := sock.recv(65536):
            got += more
    except OSError:
        pass
    sock.close()
    return parse(got)


def parse(got):
    """Heads and bodies by Content-Length; of a HEAD there is none, so one is looked for."""
    found = []
    while got:
        head, sep, rest = got.partition(b"\r\n\r\n")
        if not sep or not head.startswith(b"HTTP/1.1 "):
            return found + [(0, b"not an answer: " + got[:60], b"")]
        status = int(head[9:12])
        fields = dict((k.lower(), v) for k, v in
                      (f.split(b": ", 1) for f in head.split(b"\r\n")[1:]))
        n = int(fields.get(b"content-length", b"0"))
        if rest.startswith(b"HTTP/1.1 ") or status == 100:
            n = 0
        found.append((status, fields.get(b"content-type", b""), rest[:n]))
        got = rest[n:]
    return [f for f in found if f[0] != 100]


def look(port, what, request, refused):
    """What is wrong with the answers, if anything is."""
    tail = INSIDE if refused else b"GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    bad = []
    # At once, and cut into bytes that come one after the other: the same answers.
    for way, pieces in (("whole", [request + tail]), ("in two", [request[:20], request[20:], tail])):
        got = answers(port, pieces)
        said = [g[0] for g in got]
        if refused and not (len(got) == 1 and got[0][0] in (400, 413, 414, 417, 431, 501, 505)):
            bad.append("%s, %s: wanted one refusal, got %s" % (what, way, said))
        elif refused and got[0][1] != b"application/problem+json":
            bad.append("%s, %s: no problem document but %s" % (what, way, got[0][1]))
        elif not refused and not (len(got) == 2 and 200 <= got[0][0] < 500 and got[1][0] in (401, 404)):
            bad.append("%s, %s: wanted two answers, got %s" % (what, way, said))
        elif not refused and b"smuggled" in b"".join(g[2] for g in got):
            bad.append("%s, %s: the body was taken for a request" % (what, way))
    return bad


def main():
    for arg in sys.argv[1:]:
        name, _, port = arg.partition("=")
        bad = []
        for what, request in REFUSED.items():
            bad += look(int(port), what, request, True)
        for what, request in TAKEN.items():
            bad += look(int(port), what, request, False)
        for b in bad:
            print("%s: %s" % (name, b))
        print("%s: %d requests, %d wrong" % (name, 2 * (len(REFUSED) + len(TAKEN)), len(bad)))


main()
