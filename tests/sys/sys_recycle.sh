#!/bin/bash
# Emptied segments are unlinked and their room is used again, under new ids: three times
# as many segments as the node has room for pass through it.
. "$(dirname "$0")/lib.sh"

up --capacity 50 --seg-nodes 1 --segments-per-node 12 --release-per-s 1 --set state=paused
: >"$DIR/ids"
unlinked() { [ "$(n_sealed)" = 0 ]; }
for round in 1 2 3 4; do
    rm -rf "$DIR/j"
    join_many 400 "$DIR/j" 20
    check_eq "round $round: 400 joined" "$(tokens_of "$DIR/j" | wc -l)" 400
    cat "$DIR"/j/* | jq .segment | sort -un >"$DIR/new"
    oldest=$(sort -n "$DIR/ids" | tail -1)
    check_eq "round $round: no id comes again (the open tail goes on)" \
        "$(awk -v t="${oldest:-0}" '$1 < t' "$DIR/new" | wc -l)" 0
    cat "$DIR/new" >>"$DIR/ids"
    tokens_of "$DIR/j" >"$DIR/leave"
    leave_many "$DIR/leave"
    wait_for 20 "round $round: all left, empty segments are unlinked" unlinked
done
check "more segments were used than there is room for" \
    test "$(sort -un "$DIR/ids" | wc -l)" -gt 24
one=$(tokens_of "$DIR/j" | head -1)
check_eq "a ticket of a removed segment is gone, not unknown" "$(status_of "$R/v1/tickets/$one")" 410
