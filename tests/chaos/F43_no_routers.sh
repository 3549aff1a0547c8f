#!/bin/bash
# F43: all routers are gone for longer than the time after which a silent user is gone: killed, or
# cut off without a word; they are back one after the other, and once a segment node is killed
# meanwhile. Nobody could poll, so nobody is expired.
. "$(dirname "$0")/lib.sh"
. "$chaos/procs.sh"

IDLE=3
machines "m0 s0 s1 r0 r1"
cluster_up --capacity 100 --release-per-s 10 --set queuemng.skip_after=60s --set idle.game=${IDLE}s
observe --timeout-s 2 --leave-share 0
wait_for 60 "people are answered" answered poll 200 300

away() { # phase word-that-takes-it-away word-that-brings-it-back
    phase "$1"
    for r in r0 r1; do "$2" $r.0; done
    hold $((IDLE + 5))
    "$3" r0.0
    [ "$1" != node ] || kill9 s0.0
    hold 2
    "$3" r1.0
    wait_for 60 "$1: the routers are back" ready r0 r1
    settle "everybody hears what is ahead of them"
}
away stopped stop cont
cut_off() { cut "${1%.0}" s0; cut "${1%.0}" s1; }
join_again() { # one router of the two
    local s
    for s in s0 s1; do
        on "${1%.0}" ip neigh del "$(addr $s)" dev eth0
        on $s ip neigh del "$(addr "${1%.0}")" dev eth0
    done
}
away cut cut_off join_again
away node stop cont

phase after
wait_for 60 "people are answered" answered poll 200 300
wait_for 60 "people join" answered join 201 20
observe_end --rate 10 --idle-s 100000 --apart-s 1 --stale stopped --stale cut --stale node \
    --stale settling --served after:300
