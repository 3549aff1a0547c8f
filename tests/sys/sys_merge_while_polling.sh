#!/bin/bash
# Nine in ten leave: the sparse segments behind the head are merged while the others go on
# polling. No poll fails, nobody's place grows, and the order stays.
. "$(dirname "$0")/lib.sh"

up --capacity 50 --seg-nodes 2 --release-per-s 100 --set state=paused \
    --set idle.game=10m
join_many 600 "$DIR/j"
cat "$DIR"/j/* | jq -r '"\(.position) \(.token)"' | sort -n >"$DIR/line"
check_eq "600 joined" "$(wc -l <"$DIR/line")" 600
before=$(n_sealed)
awk 'NR % 10 == 3 { print $2 }' "$DIR/line" >"$DIR/stay"
awk 'NR % 10 != 3 { print $2 }' "$DIR/line" >"$DIR/leave"

leave_many "$DIR/leave" &
leaver=$!
helpers+=("$leaver")

# Polls without a pause while they leave and while segments move.
round=0
end=$(($(now_ms) + 40000 * ${PATIENCE:-5}))
awk 'NR % 10 == 3 { print $2, $1 }' "$DIR/line" | sort >"$DIR/last"
merged() { [ "$(metric 1 segq_manager_moves_committed_total)" -ge 3 ] 2>/dev/null; }
grew=0 odd=0 settled=0
until [ $settled -ge 5 ]; do
    [ "$(now_ms)" -lt $end ] || give_up "no merge in all this time: $before -> $(n_sealed) sealed segments"
    poll_many "$DIR/stay" "$DIR/polls"
    round=$((round + 1))
    odd=$((odd + $(jq -r .state "$DIR/polls" | grep -vc waiting)))
    jq -r 'select(.position != null) | "\(.token) \(.position)"' "$DIR/polls" | sort >"$DIR/now"
    grew=$((grew + $(join "$DIR/last" "$DIR/now" | awk '$3 > $2 { n++ } END { print n + 0 }')))
    mv "$DIR/now" "$DIR/last"
    if ! runs "$leaver" && merged && [ "$(n_sealed)" -le 3 ]; then settled=$((settled + 1)); fi
done
ok "$before sealed segments became $(n_sealed) while 60 players polled $round times"
check_eq "every poll said waiting" "$odd" 0
check_eq "no place grew" "$grew" 0
awk '{ print $1, NR }' "$DIR/stay" | sort >"$DIR/wanted"
in_place() { # one more merge may be under way: places are not known for a moment
    poll_many "$DIR/stay" "$DIR/polls"
    cmp -s <(places_in "$DIR/polls") "$DIR/wanted"
}
wait_for 10 "the 60 who stay stand at 1 to 60, in the order of their joins" in_place
