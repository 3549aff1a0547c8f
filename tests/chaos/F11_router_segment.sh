#!/bin/bash
# F11: a router and a segment node cannot reach one another, everything else can. What the
# router cannot ask is put off within its deadline, nothing hangs; by way of the other router
# everybody goes on, and nobody times out.
. "$(dirname "$0")/lib.sh"

machines "m0 s0 s1 r0 r1"
cluster_up --capacity 100 --release-per-s 15 --set queuemng.heartbeat=500ms \
    --set router.heartbeat=500ms --set segment.heartbeat=500ms
observe
wait_for 60 "people are answered" answered poll 200 300

phase cut
cut r0 s0
wait_for 30 "r0 puts off what it cannot ask" answered poll 503 3
hold 8
check "r1 reaches all segment nodes" ready r1

phase healed
heal
wait_for 30 "r0 reaches all segment nodes again" ready r0
hold 4
observe_end --rate 15 --slowest cut:8000 --slowest healed:8000 --p99 cut@1:3000 --gap cut:25 \
    --served cut:300 --served healed:100
