#!/bin/bash
# F24: journals are made short by a snapshot all the time (after every 4 KiB), and the segment
# nodes are killed at random moments of that: the old files count or the new ones, never
# neither. (Each single step: unit/test_journal_faults, sys_failpoints.)
. "$(dirname "$0")/lib.sh"
. "$chaos/procs.sh"

machines "m0 s0 s1 r0 r1"
cluster_up --capacity 100 --release-per-s 12 --set segment.journal_snapshot=4k --set queuemng.skip_after=60s
observe --first 300 --per-s 20
wait_for 60 "people are answered" answered poll 200 300
snaps() { metric "$1" segq_segment_journal_snapshots_total; }
some_snaps() { [ "$(snaps "$1")" -ge 2 ] 2>/dev/null; }

few_logs() { [ "$(ls "$C/state/journal/$1.0" | grep -c '^log-')" -le 4 ]; }

phase killed
for i in 1 2 3 4; do
    for s in s0 s1; do
        n=$(registrations $s.0)
        wait_for 60 "$s writes snapshots, $i" some_snaps $s
        a_moment 300
        kill_now $s.0
        wait_for 60 "$s registers again" registered $s.0 $((n + 1))
    done
done
check_eq "no snapshot failed" "$(metric s0 segq_segment_journal_snapshot_failures_total) $(metric s1 segq_segment_journal_snapshot_failures_total)" "0 0"
wait_for 60 "routers reach all segment nodes" ready r0 r1
settle "everybody hears what is ahead of them"

phase healed
wait_for 60 "people are answered" answered poll 200 300
wait_for 60 "people join" answered join 201 10
for s in s0 s1; do
    wait_for 60 "old logs of $s go" few_logs $s
done
observe_end --rate 12 --apart-s 1 --stale killed --stale settling --slowest killed:8000 \
    --gap killed:30 --served killed:100 --served healed:300
