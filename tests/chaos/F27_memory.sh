#!/bin/bash
# F27: segment nodes may hold no more people; then a segment node and a router get no more memory
# from the kernel, amid a crowd; then they are killed, as the kernel kills who has too much. Joins
# are refused first (503), who is there is answered, nothing is wrong afterwards.
. "$(dirname "$0")/lib.sh"
. "$chaos/procs.sh"

machines "m0 s0 s1 r0 r1"
cluster_up --capacity 200 --release-per-s 15 --set segment.max_tickets=512 --set queuemng.skip_after=60s
observe --first 700 --per-s 10
wait_for 60 "both nodes are full: joins are put off" answered join 503 20
wait_for 60 "those who are in are answered" answered poll 200 300
phase room
wait_for 60 "there is room again as people are let in: others join" answered join 201 50

size_kib() { awk '/VmSize/ { print $2 }' "/proc/$1/status"; }
starve() { prlimit --pid "$1" --as=$((($(size_kib "$1") + $2) * 1024)):unlimited; }
feed() { prlimit --pid "$1" --as=unlimited:unlimited; }
seg=$(pid_of s0.0) router=$(pid_of r0.0)

phase starved
starve "$seg" 64
starve "$router" 64
helper_on o0 python3 "$chaos/hostile.py" idle "$(addr r0)" 8080 400
crowd=$H
hold 8
wait_for 60 "people are answered" answered poll 200 300
check_eq "the segment node is the same process" "$(pid_of s0.0)" "$seg"
check_eq "the router is the same process" "$(pid_of r0.0)" "$router"
end_pid "$crowd"
feed "$seg"
feed "$router"
wait_for 60 "with memory again all is well" ready r0 r1

phase killed
kill_now s0.0
kill_now r0.0
wait_for 60 "both are killed for it, and back" ready r0 r1
settle "everybody hears what is ahead of them"

phase healed
wait_for 60 "people are answered" answered poll 200 200
wait_for 60 "people join" answered join 201 10
observe_end --rate 15 --apart-s 1 --stale starved --stale killed --stale settling \
    --gap room:60 --gap starved:40 --served starved:100 --served healed:200
