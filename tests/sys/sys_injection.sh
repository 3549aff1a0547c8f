#!/bin/bash
# Line breaks, quotes, escape sequences and markup through every text that the public can
# send: no log line, metric, header or answer is forged by them (T7, T15).
. "$(dirname "$0")/lib.sh"

up --release-per-s 10 --set router.log_level=debug
cat >"$DIR/evil.py" <<'EOT'
"""Sends hostile bytes in every place of a request; prints every answer, with a line before."""
import json
import socket
import sys

port, token = int(sys.argv[1]), sys.argv[2]
MARK = "FORGED"
TEXTS = ["\r\nX-%s: 1" % MARK, "\n2026-01-01T00:00:00.000Z error httpd %s" % MARK,
         '"} %s 1\n%s{a="' % (MARK, MARK), "\x1b[31m%s\x1b]0;x\x07" % MARK,
         "<script>%s</script>" % MARK, "%%s%%n%s" % MARK, "%%0d%%0aX-%s: 1" % MARK,
         "\x00%s" % MARK, "\u202e%s\x9b" % MARK, "' OR 1=1 -- %s" % MARK,
         "../../%s" % MARK, "//admin/%s" % MARK, "%%2e%%2e/%s" % MARK]


def say(data):
    """One connection, one request, all that comes back."""
    sock = socket.create_connection(("127.0.0.1", port), 60)
    sock.settimeout(60)
    sock.sendall(data)
    sock.shutdown(socket.SHUT_WR)
    got = b""
    try:
        while more := sock.recv(65536):
            got += more
    except OSError:
        pass
    sock.close()
    sys.stdout.buffer.write(b"==== answer\n" + got + b"\n")


def request(line, headers="", body=""):
    """A request with a body, whatever is in its parts."""
    data = body.encode("utf-8", "surrogatepass")
    head = "%s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n%s\r\n" % (line, len(data), headers)
    say(head.encode("utf-8") + data)


JOIN = "POST /v1/queues/login/tickets"
for text in TEXTS:
    request("GET /v1/tickets/" + text)
    request("GET /v1/tickets/" + token + "?x=" + text)
    request("GET /v1/queues/" + text)
    request("POST /v1/queues/%s/tickets" % text)
    request("GET /" + text)
    request(text + " /healthz")
    request("GET /v1/tickets/" + token, "User-Agent: %s\r\n" % text)
    request("GET /v1/tickets/" + token, "X-Forwarded-For: %s\r\n" % text)
    request("GET /v1/tickets/" + token, "%s: x\r\n" % text)
    request("GET /v1/tickets/" + token, "Authorization: Bearer %s\r\n" % text)
    for member in ("subject", "client", "lane", "claim", text):
        request(JOIN, "Content-Type: application/json\r\n", json.dumps({member: text}))
    request(JOIN, "Content-Type: %s\r\n" % text, "{}")
    request(JOIN, "", text)
EOT
t=$(join_queue | token_in)
python3 "$DIR/evil.py" $((PORT + 10)) "$t" >"$DIR/answers"
n=$(grep -ac '^HTTP/1.1 ' "$DIR/answers")
check "nearly all were answered ($n)" test "$n" -ge 200
check "no answer has a header of theirs" bash -c "! grep -aqi '^X-FORGED' '$DIR/answers'"
check "no answer repeats what they said" bash -c "! grep -aq FORGED '$DIR/answers'"
check_eq "none is 5xx" "$(grep -ac '^HTTP/1.1 5' "$DIR/answers")" 0
log=$C/logs/router.0.log
line='^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{12}Z (error|warn|info|debug) [a-z_]+ [ -~]*$'
check "there are log lines of these connections" test "$(grep -c 'debug httpd event=conn_closed' "$log")" -ge 200
check "every log line is one of ours, in plain ASCII" bash -c "! LC_ALL=C grep -avE '$line' '$log' | grep -q ."
http "http://127.0.0.1:$((PORT + 30))/metrics" >"$DIR/metrics"
sample='^([a-zA-Z_][a-zA-Z0-9_]*)(\{([a-z_]+="([^"\\]|\\["\\n])*",?)*\})? [0-9.eE+-]+$'
check "every metric is well formed" bash -c "! grep -avE '$sample' '$DIR/metrics' | grep -av '^# ' | grep -q ."
check "and has nothing of theirs" bash -c "! grep -aq FORGED '$DIR/metrics'"

# Operators' strings are stored: what is no name is refused, the rest is quoted.
for name in 'a"b' 'a%0ab' '%3Cb%3E' 'a%20b' '..%2fx' 'A'; do
    s=$(status_of -X PUT -H "Authorization: Bearer $(admin_token)" -d '{}' "$A/v1/admin/queues/$name")
    check "queue name $name is refused ($s)" test "$s" = 400 -o "$s" = 404
done
for path in /v1/admin/cluster //v1/admin/cluster /V1/admin/cluster /v1/./admin/cluster /v1/%61dmin/cluster; do
    check_eq "public port: nothing at $path" "$(status_of --path-as-is -H "Authorization: Bearer $(admin_token)" "$R$path")" 404
    s=$(status_of --path-as-is "$A$path")
    check "admin port without the token: $path ($s)" test "$s" = 401 -o "$s" = 404 -o "$s" = 400
done
check_eq "players are served" "$(status_of "$R/v1/tickets/$t")" 200
