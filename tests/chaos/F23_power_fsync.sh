#!/bin/bash
# F23: the machines of segment nodes lose power, again and again, with journal=fsync: nothing
# that was answered is lost. (F23_power_os.sh: with journal=os.)
. "$(dirname "$0")/lib.sh"
. "$chaos/procs.sh"

machines "m0 s0 s1 r0 r1"
shim s0 s1
own_boot_id
cluster_up --capacity 100 --release-per-s 12 --set segment.journal=fsync --set queuemng.skip_after=60s
observe --first 200 --per-s 20
wait_for 60 "people are answered" answered poll 200 300

phase cuts
for i in 1 2 3; do
    for s in s0 s1; do
        a_moment 700
        cut_power $s
    done
done
wait_for 60 "routers reach all segment nodes" ready r0 r1
settle "everybody hears what is ahead of them"

phase healed
wait_for 60 "people are answered" answered poll 200 300
wait_for 60 "people join" answered join 201 10
observe_end --rate 12 --apart-s 1 --stale cuts --stale settling --gap cuts:40 --served cuts:100 \
    --served healed:300
