#!/bin/bash
# F14: the cable of a segment node and that of a router delay, lose, or carry next to nothing.
# It goes slower; requests end by their deadline; and an answer that comes late never reaches
# somebody else (every answer of the history belongs to who asked).
. "$(dirname "$0")/lib.sh"

machines "m0 s0+ s1 r0+ r1"
cluster_up --capacity 100 --release-per-s 12 --set queuemng.skip_after=60s
observe --timeout-s 30
wait_for 60 "people are answered" answered poll 200 300

bad() { # phase "what": the cables of s0 and r0 are so for a while
    phase "$1"
    slow s0 "$2"
    slow r0 "$2"
    wait_for 60 "$1: people are answered" answered poll 200 200
    wait_for 60 "$1: people join" answered join 201 20
    hold 6
}
bad late "delay=150"
bad lossy "loss=0.08 delay=5"
bad narrow "rate=25000 delay=5"
bad awful "rate=40000 delay=400 loss=0.05"

slow s0 ""
slow r0 ""
wait_for 60 "r0 and r1 reach all segment nodes" ready r0 r1
phase drying # what was lost is sent again
hold 5
phase healed
wait_for 60 "people are answered" answered poll 200 300
observe_end --rate 12 --apart-s 2 --stale late --stale lossy --stale narrow --stale awful \
    --stale drying --slowest late@1:15000 --slowest lossy@1:15000 --slowest narrow@1:15000 \
    --slowest awful@1:15000 --p99 healed:6000 --served late:200 --served lossy:200 \
    --served narrow:200 --served healed:300
