#!/bin/bash
# F21: syncs fail, writes fail, writes do less than asked or are interrupted, with journal=fsync.
# What cannot be made durable is not acknowledged; a failed sync is never believed afterwards (a
# whole new snapshot is the cure); and what was answered is there after a kill amid all of it.
. "$(dirname "$0")/lib.sh"
. "$chaos/procs.sh"

machines "m0 s0 s1 r0 r1"
shim s0 s1
cluster_up --capacity 200 --release-per-s 10 --set segment.journal=fsync --set queuemng.skip_after=60s
observe --leave-share 0.3
wait_for 60 "people are answered" answered poll 200 300
refuses() { [ "$(status_of -X POST "$R/v1/queues/login/tickets")" = 503 ]; }
joins() { [ "$(status_of -X POST "$R/v1/queues/login/tickets")" = 201 ]; }
both() { for s in s0 s1; do shim_set $s "$1" "$2"; done; }
snapshots() { echo $(($(metric s0 segq_segment_journal_snapshots_total) + $(metric s1 segq_segment_journal_snapshots_total))); }
more_snapshots() { [ "$(snapshots)" -gt "$1" ]; }

broken() { # phase what how
    local was
    was=$(snapshots)
    phase "$1"
    both "$2" "$3"
    wait_for 60 "$1: joins are refused" refuses
    wait_for 60 "$1: those who wait are answered" answered poll 200 100
    hold 3
    both "$2" ""
    wait_for 60 "$1 no more: joins go on by themselves" joins
    check "after a whole snapshot" more_snapshots "$was"
}
broken syncs sync EIO
broken writes pwrite EIO

holding() { [ "$(metric "$1" segq_segment_journal_holding)" = 1 ]; }
# In a queue where nobody waited they are let in; in login they stand behind those of a node that stands still.
admin PUT /v1/admin/queues/empty '{"release_per_s": 50}' >/dev/null
gets_in() {
    local one
    one=$(join_queue "$R" empty | token_in)
    [ -n "$one" ] || return
    for _ in {1..20}; do is_admitted "$one" && return; pause 0.2; done
    return 1
}
works() { [ "$(metric "$1" segq_segment_journal_holding)" = 0 ]; }
for s in s0 s1; do # wherever the tail is, one of them has it
    phase "alone-$s"
    shim_set $s sync EIO
    wait_for 60 "only $s cannot sync: it holds" holding $s
    wait_for 60 "people join at the other node" answered join 201 20
    wait_for 60 "where nobody waited they are let in" gets_in
    check "while $s holds" holding $s
    shim_set $s sync ""
    wait_for 60 "$s can sync again" works $s
    settle "its people hear what is ahead of them"
done

phase odd
both pwrite short
wait_for 60 "short writes: people join" answered join 201 10
both pwrite EINTR
hold 2
wait_for 60 "interrupted writes: people join" answered join 201 30
both pwrite ""

phase killed
both sync EIO
wait_for 60 "syncs fail: joins are refused" refuses
n=$(registrations s0.0)
for s in s0 s1; do kill9 $s.0; done
cannot_start() { grep -q 'segment.*sync.*Input/output error' "$C/logs/s0.0.log"; }
wait_for 60 "killed amid failing syncs: they do not start" cannot_start
both sync ""
wait_for 60 "they start when the disk works" registered s0.0 $((n + 1))
wait_for 60 "routers reach all segment nodes" ready r0 r1
settle "everybody hears what is ahead of them"

forgets() { # what how: people leave, and are put off; then the nodes die
    local n
    phase "forgets$2"
    both "$1" "$2"
    wait_for 60 "$1 $2: joins are refused" refuses
    wait_for 60 "$1 $2: leaves are put off" answered leave 503 5
    n=$(registrations s0.0)
    for s in s0 s1; do kill9 $s.0; done
    both "$1" ""
    wait_for 60 "killed amid it: they start" registered s0.0 $((n + 1))
    wait_for 60 "routers reach all segment nodes" ready r0 r1
    settle "everybody hears what is ahead of them"
}
forgets pwrite EIO
forgets pwrite ENOSPC

phase healed
wait_for 60 "people are answered" answered poll 200 300
wait_for 60 "people join" answered join 201 10
for s in s0 s1; do
    check "the journal of $s reads well" "$BIN/segment" --check-journal "$C/state/journal/$s.0" >/dev/null
done
observe_end --rate 10 --apart-s 1 --stale syncs --stale writes --stale alone-s0 --stale alone-s1 --stale killed --stale forgetsEIO --stale forgetsENOSPC --stale settling \
    --served syncs:100 --served writes:100 --served healed:300
