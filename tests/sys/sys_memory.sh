#!/bin/bash
# A router and a segment node that get no more memory (F27): they refuse what is new, keep
# what is there, do not die, and go on by themselves when there is memory again.
. "$(dirname "$0")/lib.sh"

up --release-per-s 1 --set state=paused --set idle.game=15m
router=$(pid_of router.0) seg=$(pid_of segment.0)
if under_asan; then # its shadow memory alone is above any limit
    ok "not under AddressSanitizer"
    exit 0
fi
t=$(join_queue | token_in)
place=$(poll "$t" | field position)
no_more() { # pid: no more address space than it has now, and a little
    prlimit --pid "$1" --as=$(($(awk '/VmSize/ { print $2 }' "/proc/$1/status") * 1024 + $2)):
}
served() { [ "$(poll "$t" | field position)" = "$place" ]; }

# ---- the router: heads that never end, 8 KiB of each
cat >"$DIR/heads.py" <<'EOT'
"""N connections that send most of a large head; says how many of them were cut off."""
import select
import socket
import sys

port, n = int(sys.argv[1]), int(sys.argv[2])
socks, cut = [], 0
for _ in range(n):
    s = socket.create_connection(("127.0.0.1", port), 60)
    try:
        s.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 8000)
    except OSError:
        pass
    socks.append(s)
print("sent", flush=True)
watch = select.poll()
for s in socks:
    watch.register(s, select.POLLIN)
while True:
    for fd, _ in watch.poll(1000):
        watch.unregister(fd)
        cut += 1
    print("cut", cut, flush=True)
EOT
no_more "$router" $((2 << 20))
helper python3 "$DIR/heads.py" $((PORT + 10)) 1500
some_cut() { [ "$(sed -n 's/^cut //p' "$DIR/helper.log" | tail -n 1)" -ge 100 ] 2>/dev/null; }
wait_for 20 "connections are cut off for which there is no memory" some_cut
check "the router is there" runs "$router"
end_pid "$H"
wait_for 20 "when the crowd is gone it serves polls, the place is kept" served
check_eq "and joins" "$(status_of -X POST "$R/v1/queues/login/tickets")" 201
prlimit --pid "$router" --as=unlimited:

# ---- the segment node: joins until there is no memory for more
no_more "$seg" 0
helper "$BIN/../bench/fill" 127.0.0.1 $((PORT + 10)) login 3000000 100
no_room() { grep -q 'refused after' "$DIR/helper.log"; } # a join alone may find a few bytes again
wait_for 60 "joins are refused" no_room
check "the segment node is there" runs "$seg"
wait_for 10 "polls are answered, the place is kept" served
end_pid "$H"
prlimit --pid "$seg" --as=unlimited:
joins() { [ "$(status_of -X POST "$R/v1/queues/login/tickets")" = 201 ]; }
wait_for 30 "with memory again people join" joins
check "the first place was never lost" served
check_eq "it is the same router" "$(pid_of router.0)" "$router"
check_eq "and the same segment node" "$(pid_of segment.0)" "$seg"
