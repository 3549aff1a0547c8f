#!/bin/bash
# Dies at each named point of the code once (common/base/failpoint.h; the table in
# tests/README.md says which points there are), while a crowd joins, polls, leaves and is
# let in, segments fill up and are merged, and a node is drained: nobody loses a place, is
# passed, or is let in twice. Only test builds (asan) have the points; the others must not.
. "$(dirname "$0")/lib.sh"

if ! has_points; then
    check "a build for use has no failpoints" bash -c "! grep -q SEGQ_FAILPOINTS '$BIN/segment' '$BIN/queuemng'"
    exit
fi

export SEGQ_FAILPOINTS=$DIR/points
mkdir -p "$SEGQ_FAILPOINTS"
# The order is exact because releases wait for a node that is down (skip_after): its people are
# answered in time meanwhile, as last known, so that a passed place would show as a violation.
up --routers 1 --seg-nodes 2 --capacity 60 --release-per-s 8 \
    --set segment.journal_snapshot=8k --set queuemng.skip_after=60s
# It comes at the same pace until the last point is met, however long that takes.
crowd --players 34000 --arrive-s 1000 --max-s 1000 --leave-share 0.5 --wait-only --repeat 0.5

serves() { [ "$(status_of --max-time 1 -X POST "$R/v1/queues/login/tickets")" = 201 ]; }
die_at() { # POINT [what]: armed, met, and back in service
    arm "$@"
    wait_for 25 "$1 is met" fired "$1"
    wait_for 40 "$1: people can join again" serves
}

full_twice() { [ "$(n_sealed)" -ge 2 ]; }
wait_for 30 "segments fill up" full_twice
for point in join drop pop open; do
    die_at $point.before_write
    die_at $point.after_write
done
# Snapshots: killed at each step, the old one or the new one is there.
for step in before_sync before_rename after_rename before_unlink after_unlink; do
    die_at snapshot.$step
done
# A write or a sync of the journal fails, once: the node stands still until all that it has
# is in a new file; the manager's store likewise.
for point in disk.write disk.sync store.write store.sync; do
    die_at $point error
    die_at $point 'after 3 error'
done
check "a failed write is not believed" grep -q event=journal_holding "$C"/logs/segment.?.log
going_on() { # every node that held goes on
    local f
    for f in "$C"/logs/segment.?.log; do
        case $(grep -oE 'event=(journal_holding|journal_resumed|recovered)' "$f" | tail -1) in *holding) return 1 ;; esac
    done
}
wait_for 30 "and every node goes on by itself" going_on
check "the manager's file is rewritten" grep -q event=store_rewritten "$C"/logs/queuemng.0.log
# A tail is told to seal itself when its node is drained: the one or the other has one.
seal_on() { # NODE: drained, for a moment, unless the point is met before
    local i
    admin POST "/v1/admin/nodes/segment.$1/drain" >/dev/null
    for ((i = 0; i < 100; i++)); do
        fired "$point" && break
        sleep 0.05
    done
    admin POST "/v1/admin/nodes/segment.$1/undrain" >/dev/null
}
for point in seal.before_write seal.after_write; do
    arm $point
    for node in 0 1 0 1 0 1; do
        fired $point || seal_on $node
    done
    check "$point is met" fired $point
    wait_for 40 "$point: people can join again" serves
done
# a pass is collected; a source is frozen; a target has all; a source is cleared
for point in session final absorb alias; do
    die_at $point.before_write
    die_at $point.after_write
done
# The manager: a chain is changed; and what follows is killed, too, when it begins its
# term, or a node when it takes it for its manager.
for point in chain.before_store chain.after_store; do
    next=epoch.${point#chain.}
    next=${next/store/write}
    arm "meta.${point#chain.}"
    arm "$next"
    die_at $point
    wait_for 40 "meta.${point#chain.} is met" fired "meta.${point#chain.}"
    wait_for 40 "$next is met" fired "$next"
    wait_for 40 "$next: people can join again" serves
done
end_crowd
