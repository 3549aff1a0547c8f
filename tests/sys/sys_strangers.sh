#!/bin/bash
# Strangers at the internal ports, 600 a second from an address of their own: half of them say
# nothing, half begin a handshake. A router, a segment node and the manager that are killed
# meanwhile find one another all the same; what the strangers hold and cost is bounded.
. "$(dirname "$0")/lib.sh"

up --release-per-s 50
admin POST /v1/admin/queues/login/pause >/dev/null
t=$(join_queue | token_in)
check "somebody waits" test -n "$t"
flood() { # PORT
    local had
    had=$(grep -c '^here' "$DIR/helper.log" 2>/dev/null)
    helper python3 "$root/tests/chaos/hostile.py" strangers 127.0.0.1 "$1" 600 127.0.0.9
    floods() { [ "$(grep -c '^here' "$DIR/helper.log")" -gt "$had" ]; }
    wait_for 10 "strangers come to port $1" floods
}
touch "$DIR/helper.log"
flood "$PORT"
flood $((PORT + 50))
refuses() { grep -q 'event=link_refused n=' "$C/logs/$1.log"; }
wait_for 10 "the oldest give way at the manager" refuses queuemng.0
wait_for 10 "and at the segment node" refuses segment.0

again() { # NAME: killed, and back among the others
    local was
    was=$(pid_of "$1")
    kill -KILL "$was"
    wait_for 20 "$1 is started anew" restarted "$1" "$was"
    wait_for 20 "$1: the router is ready" has_status 200 "$R/readyz"
    answers() { [ "$(status_of "$R/v1/tickets/$t")" = 200 ]; }
    wait_for 20 "$1: the ticket is answered" answers
}
again router.0
again segment.0
again queuemng

m=$(pid_of queuemng)
sockets() { find "/proc/$m/fd" -lname 'socket:*' | wc -l; }
check "strangers hold $(sockets) sockets of the manager, at most 256" test "$(sockets)" -le 300
ticks() { awk '{ print $14 + $15 }' "/proc/$m/stat"; }
since=$(now_ms) was=$(ticks)
lines=$(grep -c event=link_refused "$C/logs/queuemng.0.log")
later() { [ $(($(now_ms) - since)) -ge 5000 ]; }
wait_for 6 "five seconds of it" later
lines=$(($(grep -c event=link_refused "$C/logs/queuemng.0.log") - lines))
cpu=$((($(ticks) - was) * 1000 / ($(now_ms) - since)))
under_asan || check "they cost $cpu % of a processor, at most 40" test $cpu -le 40
check "one line of log a beat tells of them, in five seconds: $lines" test $lines -le 40
check "they are still there" bash -c "kill -0 ${helpers[*]}"
