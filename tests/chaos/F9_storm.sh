#!/bin/bash
# F9: whatever runs as the router, the segment node, the manager is killed twenty times, 200 ms
# apart; then everything at once, as by a power cut of the rack, and booted again. It comes back
# by itself, nobody is let in faster than allowed, and it is calm ten seconds later.
. "$(dirname "$0")/lib.sh"
. "$chaos/procs.sh"

BACK_MS=30000
machines "m0 s0 s1 r0 r1"
cluster_up --capacity 80 --release-per-s 12 --set queuemng.skip_after=60s
observe --timeout-s 4
wait_for 60 "people are answered" answered poll 200 300

storm() { # process
    local i pid t0
    for ((i = 0; i < 20; i++)); do
        pid=$(pid_of "$1")
        [ "${pid:-0}" -gt 0 ] && kill -KILL "$pid" 2>/dev/null
        sleep 0.2 # the storm's own pace
    done
    t0=$(now_ms)
    wait_for 60 "$1: killed for four seconds; all is back" ready r0 r1
    in_time "$1" $(($(now_ms) - t0)) $BACK_MS
}
phase storms
for p in r0.0 s0.0 m0.0; do storm $p; done
settle "everybody hears what is ahead of them"

phase power
# shellcheck disable=SC2046
all=$(everybody)
# shellcheck disable=SC2086
kill -KILL $all
# shellcheck disable=SC2086
wait_for 40 "all of $(wc -w <<<"$all") processes are dead" gone_all $all
t0=$(now_ms)
boot m0 s0 s1 r0 r1
wait_for 60 "the rack has power again: all is back" ready r0 r1
in_time "all of it" $(($(now_ms) - t0)) $BACK_MS
wait_for 60 "people are answered" answered poll 200 100
hold 10

phase after
ticks() { # of 10 ms, of all our processes
    local p n=0
    for p in $(everybody); do n=$((n + $(awk '{ print $14 + $15 }' "/proc/$p/stat"))); done
    echo $n
}
was=$(ticks) t0=$(now_ms)
wait_for 60 "people are answered" answered poll 200 500
used=$((($(ticks) - was) * 1000 / ($(now_ms) - t0)))
check "all processes together use $used % of one core" test "$used" -lt 100
wait_for 60 "people join" answered join 201 10
observe_end --rate 12 --apart-s 1 --stale storms --stale settling --stale power \
    --gap storms:120 --gap power:120 --served storms:50 --served after:300
