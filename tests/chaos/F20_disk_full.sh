#!/bin/bash
# F20: the disk of the journals is full, amid a crowd; then somebody frees it. Meanwhile nobody
# new joins (503), the others are answered and may leave; one line in the log says so, not
# thousands; and afterwards it goes on by itself. What was answered survives a kill, also one
# while nothing can be written.
. "$(dirname "$0")/lib.sh"
. "$chaos/procs.sh"

machines "m0 s0 r0 r1"
mkdir -p "$C/state/journal"
mount -t tmpfs -o size=16m none "$C/state/journal" || give_up "no tmpfs"
cluster_up --capacity 200 --release-per-s 10 --set queuemng.skip_after=60s
observe --leave-share 0.3
wait_for 60 "people are answered" answered poll 200 300
refuses() { [ "$(status_of -X POST "$R/v1/queues/login/tickets")" = 503 ]; }
grow() { dd if=/dev/zero of="$C/state/journal/$1" bs=4k count="${2:-1000000}" oflag=append conv=notrunc 2>/dev/null; }
full_lines() { cat "$C"/logs/s?.0.log | grep -cE 'no room|holding'; }

# A log has room for a megabyte of its own from the start: it takes some ten thousand joins until
# that is used up. Those are the crowd of another queue, where nobody is let in.
admin PUT /v1/admin/queues/crowd '{"segment_capacity": 200000, "release_per_s": 0, "idle": {"game": "30m", "mobile": "30m", "browser": "30m"}}' >/dev/null
crowd_joins() { [ "$(status_of -X POST "$R/v1/queues/crowd/tickets")" = 201 ]; }
wait_for 60 "there is another queue" crowd_joins
phase full
grow fill
hold 2
check "people still join: there is room that was set aside" answered join 201 5
helper_on o0 "$BIN/../bench/fill" "$(addr r0)" 8080 crowd 150000 1
crowded() { [ "$(status_of -X POST "$R/v1/queues/crowd/tickets")" = 503 ]; }
wait_for 120 "it is used up: joins are refused" crowded
grow fill
wait_for 60 "not a page is left: those who wait are answered" answered poll 200 400
hold 4
wait_for 60 "people are put off who want to join" answered join 503 10
lines=$(full_lines)
check "the logs say so in some lines, not for each: $lines" test "$lines" -le 200

kill9 s0.0
hold 1

phase freed
rm "$C/state/journal/fill"
joins() { [ "$(status_of -X POST "$R/v1/queues/login/tickets")" = 201 ]; }
wait_for 60 "there is room: joins go on by themselves" joins
wait_for 60 "routers reach all segment nodes" ready r0 r1
settle "everybody hears what is ahead of them"
kill_now s0.0
wait_for 60 "the node is killed, and back" ready r0 r1
settle "everybody hears what is ahead of them"

phase healed
wait_for 60 "people are answered" answered poll 200 300
wait_for 60 "people join" answered join 201 10
check "the journal reads well" "$BIN/segment" --check-journal "$C/state/journal/s0.0" >/dev/null
observe_end --rate 10 --apart-s 1 --stale full --stale freed --stale settling \
    --served full:100 --served healed:300
