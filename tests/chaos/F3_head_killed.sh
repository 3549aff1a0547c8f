#!/bin/bash
# F3: kill -9 of whoever has the head, during releases. Nobody is skipped, nobody gets a second
# pass or another one, releases go on where they stopped, and what was not let in meanwhile is
# not made up for (the rate holds in every window).
. "$(dirname "$0")/lib.sh"
. "$chaos/procs.sh"

machines "m0 s0 s1 r0 r1"
cluster_up --capacity 60 --release-per-s 25 --set queuemng.skip_after=60s
observe --first 400 --per-s 25
wait_for 60 "people are answered" answered poll 200 300

phase killed
kill_part head 7
wait_for 60 "routers reach all segment nodes" ready r0 r1
settle "everybody hears what is ahead of them"

phase healed
wait_for 60 "people are answered" answered poll 200 300
is_let_in() { tail -n 300 "$HISTORY" | jq -r 'select(.state == "admitted") | .who' 2>/dev/null | sort -u | awk 'END { exit NR < 10 }'; }
wait_for 60 "people are let in" is_let_in
observe_end --rate 25 --apart-s 1 --stale killed --stale settling --slowest killed:8000 \
    --gap killed:30 --served killed:100 --served healed:300 --admitted 100
