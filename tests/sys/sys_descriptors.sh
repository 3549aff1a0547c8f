#!/bin/bash
# A router without descriptors: it stops accepting, serves what it has, does not spin, and
# goes on by itself when there are some again (F26).
. "$(dirname "$0")/lib.sh"

up --release-per-s 1 --set state=paused
router=$(pid_of router.0)
t=$(join_queue | token_in)
fds() { ls "/proc/$router/fd" | wc -l; }
ticks() { awk '{ print $14 + $15 }' "/proc/$router/stat"; } # of 10 ms

cat >"$DIR/crowd.py" <<'EOT'
"""One connection that polls once a line of a pipe, and N more that ask once and wait."""
import socket
import sys

port, token, n = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
ask = ("GET /v1/tickets/%s HTTP/1.1\r\nHost: a\r\n\r\n" % token).encode()
first = socket.create_connection(("127.0.0.1", port), 60)
first.settimeout(60)


def poll():
    """The status of one poll over the first connection."""
    first.sendall(ask)
    return first.recv(4096)[9:12].decode()


print("first", poll(), flush=True)
others = []
for _ in open(sys.argv[4]):
    if not others:
        for _ in range(n):
            s = socket.create_connection(("127.0.0.1", port), 60)
            s.sendall(ask)
            others.append(s)
        print("crowd", flush=True)
    print("poll", poll(), flush=True)
EOT
mkfifo "$DIR/in"
exec 9<>"$DIR/in"
helper python3 "$DIR/crowd.py" $((PORT + 10)) "$t" 60 "$DIR/in"
said() { grep -c "$1" "$DIR/helper.log"; }
says() { [ "$(said "$1")" -ge "$2" ]; }
wait_for 10 "a first client is connected" says 'first 200' 1
prlimit --pid "$router" --nofile=$(($(fds) + 12)):4096
echo go >&9
wait_for 10 "60 more connect" says crowd 1
paused() { grep -q 'event=accept_paused' "$C/logs/router.0.log"; }
wait_for 10 "the router has no descriptors and says so" paused
wait_for 10 "the first client is served all the same" says 'poll 200' 1
curl -s --max-time 280 -o "$DIR/scrape" "http://127.0.0.1:$((PORT + 30))/metrics" & # waits, too
scrape=$!
b=$(ticks)
t0=$(now_ms)
for _ in $(seq 20); do echo go >&9; done
wait_for 10 "again and again" says 'poll 200' 21
over() { [ $(($(now_ms) - t0)) -ge 2000 ]; }
wait_for 10 "two seconds pass" over
used=$(($(ticks) - b))
passed_ms=$(($(now_ms) - t0))
check "it does not spin: $used ticks of 10 ms in $passed_ms ms" test "$used" -lt $((passed_ms / 100))
check "it says so once, not all the time" test "$(grep -c 'event=accept_paused' "$C/logs/router.0.log")" -le 3
end_pid "$H"
wait $scrape
check "the scrape that waited is answered now" grep -q '^segq_router' "$DIR/scrape"
back() { [ "$(status_of "$R/v1/tickets/$t")" = 200 ]; }
wait_for 10 "when the crowd is gone others connect again" back
check_eq "it is the same process" "$(pid_of router.0)" "$router"
