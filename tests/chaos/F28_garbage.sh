#!/bin/bash
# F28: noise, half frames, foreign protocols, frames that claim 4 GiB at the internal ports of
# the manager and of a segment node, by somebody who can reach them, amid a crowd: each of these
# connections is closed with one line that says why; processes and people do not notice.
. "$(dirname "$0")/lib.sh"

N=60
machines "m0 s0 s1 r0 r1"
cluster_up --capacity 100 --release-per-s 12 --set queuemng.tls=accept # its reader of frames meets them, too
observe
wait_for 60 "people are answered" answered poll 200 300
mng=$(pid_of m0.0) seg=$(pid_of s0.0)
closed() { grep -c "rpc .*addr=$(addr o0):.*why=" "$C/logs/$1.log"; }
lines() { [ "$(closed "$1")" -ge $N ]; }
over() { [ "$(grep -c '^closed' "$DIR/helper.log")" -ge "$1" ]; }

phase garbage
helper_on o0 python3 "$chaos/hostile.py" garbage "$(addr m0)" 7070 $N
helper_on o0 python3 "$chaos/hostile.py" garbage "$(addr s0)" 7200 $N
wait_for 120 "all of it is thrown, and refused" over 2
check "none of these connections stays open" test "$(grep -c 'stays open' "$DIR/helper.log")" -eq 0
check_eq "all were closed" "$(grep -c "^closed $N" "$DIR/helper.log")" 2
wait_for 30 "the manager has a line for each" lines m0.0
wait_for 30 "so has the segment node" lines s0.0
check "not more than one each" test "$(closed m0.0)" -le $N -a "$(closed s0.0)" -le $N
frames() { grep -c 'why=.*\(not our frames\|above the limit\|in the hello\)' "$C/logs/$1.log"; }
check "the manager's reader of frames refused some" test "$(frames m0.0)" -gt 0
check_eq "the manager is the same process" "$(pid_of m0.0)" "$mng"
check_eq "the segment node is the same process" "$(pid_of s0.0)" "$seg"
check "routers reach all segment nodes" ready r0 r1

phase after
wait_for 60 "people are answered" answered poll 200 300
observe_end --rate 12 --p99 garbage:6000 --gap garbage:25 --served garbage:50 --served after:300
