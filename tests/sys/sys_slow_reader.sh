#!/bin/bash
# Clients that send requests and never read the answers: each is dropped alone, the router
# keeps its memory, and the others do not notice.
. "$(dirname "$0")/lib.sh"

# AddressSanitizer keeps freed memory back: less of it, or its size is what we measure.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=8
up --release-per-s 1 --set state=paused
t=$(join_queue | token_in)
router=$(pid_of router.0)
before=$(rss_kb "$router")
cat >"$DIR/slow.py" <<'EOT'
"""Opens N connections, sends polls as long as they are taken, reads nothing."""
import socket
import sys

host, port, token, n = "127.0.0.1", int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
ask = ("GET /v1/tickets/%s HTTP/1.1\r\nHost: a\r\n\r\n" % token).encode() * 100
socks = []
for _ in range(n):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect((host, port))
    s.setblocking(False)
    socks.append(s)
dropped = 0
while socks:
    for s in list(socks):
        try:
            s.send(ask)
        except BlockingIOError:
            pass
        except OSError:
            dropped += 1
            socks.remove(s)
            print("dropped", dropped, flush=True)
EOT
helper python3 "$DIR/slow.py" $((PORT + 10)) "$t" 20
worst=0
all_dropped() {
    local t0 ms
    t0=$(now_ms)
    [ "$(status_of "$R/v1/tickets/$t")" = 200 ] || fail "another client's poll failed"
    ms=$(($(now_ms) - t0))
    [ $ms -gt $worst ] && worst=$ms
    ! runs "$H" || [ "$(grep -c dropped "$DIR/helper.log")" -ge 20 ] ||
        { stalled; }
}
# A reader that is so slow that it stalls at its own pipeline limit may also just be held.
stalled() { [ "$(now_ms)" -gt "$patience" ]; }
patience=$(($(now_ms) + 8000))
wait_for 40 "twenty slow readers were dropped, or are held still" all_dropped
in_time "the slowest poll of others took under a second" "$worst" 1000
after=$(rss_kb "$router")
check "the router's memory grew by less than 32 MiB ($before -> $after KiB)" \
    test $((after - before)) -lt 32768
check_eq "it is the same process" "$(pid_of router.0)" "$router"
check_eq "and people join" "$(status_of -X POST "$R/v1/queues/login/tickets")" 201
