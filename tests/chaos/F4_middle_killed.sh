#!/bin/bash
# F4: kill -9 of a node in the middle of the line, where people wait and nobody joins or is let
# in. Who waits there is put off, and then stands where they stood; those before and behind go
# on, with positions that do not grow.
. "$(dirname "$0")/lib.sh"
. "$chaos/procs.sh"

machines "m0 s0 s1 s2 r0 r1"
cluster_up --capacity 50 --release-per-s 8 --set queuemng.skip_after=60s
observe --first 400
wait_for 60 "people are answered" answered poll 200 300

phase killed
kill_part middle 6
wait_for 60 "routers reach all segment nodes" ready r0 r1
settle "everybody hears what is ahead of them"

phase healed
wait_for 60 "people are answered" answered poll 200 300
wait_for 60 "people join" answered join 201 10
observe_end --rate 8 --apart-s 1 --stale killed --stale settling --slowest killed:8000 \
    --gap killed:30 --served killed:100 --served healed:300
