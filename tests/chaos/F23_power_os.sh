#!/bin/bash
# F23: the machines of segment nodes lose power, again and again, with journal=os: what was
# answered in the last second may be forgotten, and nothing else. In particular nobody gets the
# number of somebody whose join was forgotten, and with it the same pass.
. "$(dirname "$0")/lib.sh"
. "$chaos/procs.sh"

machines "m0 s0 s1 r0 r1"
shim s0 s1
own_boot_id
cluster_up --capacity 100 --release-per-s 12 --set queuemng.skip_after=60s
observe --first 200 --per-s 30 --timeout-s 5
wait_for 60 "people are answered" answered poll 200 300

# What was told long enough before a cut is compared with all that comes later.
settle "a while ago nothing was broken"
for i in 1 2; do
    for s in s0 s1; do
        hold 7
        wait_for 60 "people join" answered join 201 5
        a_moment 700
        cut_power $s power-$s-$i
    done
done
check "unsynced bytes were lost: $LOST_BYTES" test "$LOST_BYTES" -gt 0
wait_for 60 "routers reach all segment nodes" ready r0 r1
settle "everybody hears what is ahead of them"

phase healed
wait_for 60 "people are answered" answered poll 200 300
wait_for 60 "people join" answered join 201 10
observe_end --rate 12 --apart-s 1 --power power- --stale settling \
    --stale power-s0-1 --stale power-s1-1 --stale power-s0-2 --stale power-s1-2 --served healed:300
