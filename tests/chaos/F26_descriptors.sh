#!/bin/bash
# F26: a router has no descriptors left, amid a crowd. It stops accepting, says so, does not
# spin, serves those who are connected; the others use another router. When there are some
# again it goes on by itself. Then the same for a segment node: nobody notices, its links are
# there already.
. "$(dirname "$0")/lib.sh"

machines "m0 s0 s1 r0 r1"
cluster_up --capacity 100 --release-per-s 12
# Everybody keeps the connection: who has one is served.
observe --reconnect-share 0 --timeout-s 4
wait_for 60 "people are answered" answered poll 200 300
router=$(pid_of r0.0) segment=$(pid_of s0.0)
fds() { ls "/proc/$1/fd" | wc -l; }
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; } # of 10 ms

phase router
helper_on o0 python3 "$chaos/hostile.py" idle "$(addr r0)" 8080 200
crowd=$H
prlimit --pid "$router" --nofile=$(($(fds "$router") + 4)):4096
paused() { grep -q 'event=accept_paused' "$C/logs/r0.0.log"; }
wait_for 60 "the router has no descriptors and says so" paused
was=$(ticks "$router")
hold 8
used=$(($(ticks "$router") - was))
check "it does not spin: $used ticks of 10 ms in 8 s" test "$used" -lt 400
check "it says so seldom" test "$(grep -c 'event=accept_paused' "$C/logs/r0.0.log")" -le 20
end_pid "$crowd"
prlimit --pid "$router" --nofile=4096:4096
back() { [ "$(status_of "$R/v1/queues/login")" = 200 ]; }
wait_for 60 "when there are some again others connect" back
check_eq "it is the same process" "$(pid_of r0.0)" "$router"

phase segment
prlimit --pid "$segment" --nofile="$(fds "$segment")":4096
hold 5
prlimit --pid "$segment" --nofile=4096:4096
check_eq "the segment node is the same process" "$(pid_of s0.0)" "$segment"
check "both routers reach all segment nodes" ready r0 r1

phase after
wait_for 60 "people are answered" answered poll 200 300
observe_end --rate 12 --p99 router@1:3000 --gap router:30 --served router@0:100 \
    --served router@1:300 --p99 segment:6000 --served segment:200 --served after:300
