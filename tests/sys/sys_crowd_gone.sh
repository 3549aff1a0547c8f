#!/bin/bash
# A crowd comes and goes: 5 000 connections with 15 KB of head each at the router's public
# port, 200 at each admin port with half a mebibyte of body. Afterwards the processes give
# back the memory that the crowd took.
. "$(dirname "$0")/lib.sh"

under_asan && { ok "not under AddressSanitizer: it keeps freed memory"; exit 0; }
up
own_kb() { awk '/^Private_Dirty/ { print $2 }' "/proc/$1/smaps_rollup"; }
cat >"$DIR/crowd.py" <<'EOT'
"""PORT N BYTES KIND: N connections that have sent most of a head, or of a body, and wait; the
word "come" is printed, then a line is read, and they all go."""
import socket
import sys

port, n, size, kind = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
if kind == "head":
    text = b"GET / HTTP/1.1\r\nHost: a\r\n" + b"".join(
        b"X-%d: %s\r\n" % (i, b"x" * 990) for i in range(size // 1000))
else:
    text = b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n" + b"x" * size
socks = []
for _ in range(n):
    s = socket.create_connection(("127.0.0.1", port), 60)
    try:
        s.sendall(text)
    except OSError: # refused: all of them together have a bound
        pass
    socks.append(s)
print("come", flush=True)
sys.stdin.readline()
EOT
crowd() { # NAME PID PORT N BYTES KIND WANTED_KB
    local before most
    before=$(own_kb "$2")
    coproc python3 "$DIR/crowd.py" "$3" "$4" "$5" "$6"
    read -r _ <&"${COPROC[0]}"
    grown() { [ $(($(own_kb "$2") - $1)) -gt "$3" ]; } # it reads what has been sent
    wait_for 15 "$1: the crowd takes memory" grown "$before" "$2" "$7"
    most=$(own_kb "$2")
    echo >&"${COPROC[1]}"
    wait "$COPROC_PID"
    back() { [ $(($(own_kb "$2") - $1)) -lt 6000 ]; }
    wait_for 15 "$1: when it is gone the memory is, too" back "$before" "$2"
    echo "     $1: $before kB, $most kB with the crowd, $(own_kb "$2") kB after it"
}
ulimit -n 6000
crowd router "$(pid_of router.0)" $((PORT + 10)) 5000 15000 head 60000
crowd queuemng "$(pid_of queuemng)" $((PORT + 1)) 200 500000 body 8000
for p in router.0 segment.0; do
    port=$(grep -ho 'admin=[^ ]*' "$C/logs/$p.log" | tail -1 | sed 's/.*://')
    crowd "the admin port of $p" "$(pid_of "$p")" "$port" 200 500000 body 8000
done
check_eq "joins are served" "$(status_of -X POST "$R/v1/queues/login/tickets")" 201
