#!/bin/bash
# F2: kill -9 of whoever has the tail, again and again, while people join and a tail is full
# every few seconds: at the hand-over, too. Joins are put off, then go on behind the old ones.
. "$(dirname "$0")/lib.sh"
. "$chaos/procs.sh"

machines "m0 s0 s1 s2 r0 r1"
cluster_up --capacity 40 --release-per-s 12 --set queuemng.skip_after=60s
observe --first 200 --per-s 20
wait_for 60 "people are answered" answered poll 200 300

phase killed
kill_part tail 7
wait_for 60 "routers reach all segment nodes" ready r0 r1
settle "everybody hears what is ahead of them"

phase healed
wait_for 60 "people are answered" answered poll 200 300
wait_for 60 "people join" answered join 201 20
observe_end --rate 12 --apart-s 1 --stale killed --stale settling --slowest killed:8000 \
    --gap killed:30 --served killed:100 --served healed:300
