#!/bin/bash
# A node is emptied for maintenance: its segments move to the other, nobody notices.
. "$(dirname "$0")/lib.sh"

up --capacity 50 --seg-nodes 2 --release-per-s 100 --set state=paused --set idle.game=15m
all_join 400
places_in "$DIR"/j/* >"$DIR/then"
check "both nodes hold segments" test "$(segments | awk '{ print $4 }' | sort -u | wc -l)" -eq 2

admin POST /v1/admin/nodes/segment.0/drain >/dev/null
on_0() { segments | n_of " segment.0\$"; }
empty() { [ "$(on_0)" = 0 ]; }
bad=0
end=$(($(now_ms) + 40000 * ${PATIENCE:-5}))
until empty; do
    [ "$(now_ms)" -lt $end ] || give_up "segment.0 still holds $(on_0) segments after all this time"
    poll_many "$DIR/tokens" "$DIR/polls"
    bad=$((bad + $(jq -r .state "$DIR/polls" | grep -vc waiting)))
done
ok "segment.0 is empty"
check_eq "every poll meanwhile said waiting" "$bad" 0
poll_many "$DIR/tokens" "$DIR/polls"
places_in "$DIR/polls" >"$DIR/now"
check "every place is as it was" cmp -s "$DIR/then" "$DIR/now"
join_many 120 "$DIR/j2"
check_eq "120 more join" "$(tokens_of "$DIR/j2" | wc -l)" 120
check_eq "the drained node gets none of them" "$(on_0)" 0

admin POST /v1/admin/nodes/segment.0/undrain >/dev/null
join_many 300 "$DIR/j3"
used() { [ "$(on_0)" -gt 0 ]; }
wait_for 10 "after undrain it is used again" used
