#!/bin/bash
# A thousand people join at once while every segment holds fifty: the tail is handed over
# twenty times with joins in flight. Places are unique, and later joins stand behind.
. "$(dirname "$0")/lib.sh"

up --set away=0 --capacity 50 --seg-nodes 2 --release-per-s 100 --set state=paused \
    --set idle.game=10m --set claim=10m --set pass_ttl=30m
join_many 1000 "$DIR/j"
check_eq "every one of 1000 concurrent joins got a place" "$(tokens_of "$DIR/j" | wc -l)" 1000
check_eq "tokens are unique" "$(tokens_of "$DIR/j" | sort -u | wc -l)" 1000
check_eq "places are unique" "$(cat "$DIR"/j/* | jq .position | sort -u | wc -l)" 1000
check_eq "places are 1 to 1000" \
    "$(cat "$DIR"/j/* | jq .position | sort -n | sed -n '1p;$p' | tr '\n' ' ')" "1 1000 "
check "they stand in 20 segments or more" \
    test "$(cat "$DIR"/j/* | jq .segment | sort -u | wc -l)" -ge 20

# Who joins after another's answer stands behind: 120 in a row cross two seams.
for i in $(seq 120); do join_queue; echo; done >"$DIR/row"
check_eq "120 joins one after the other get places in that order" \
    "$(jq .position "$DIR/row" | tr '\n' ' ')" "$(seq -s ' ' 1001 1120) "

tokens_of "$DIR/j" >"$DIR/tokens"
jq -r .token "$DIR/row" >>"$DIR/tokens"
poll_many "$DIR/tokens" "$DIR/polls"
check_eq "all 1120 polls say waiting" "$(jq -r .state "$DIR/polls" | grep -c waiting)" 1120
places_in "$DIR"/j/* "$DIR/row" >"$DIR/then"
places_in "$DIR/polls" >"$DIR/now"
check "every poll repeats the place of the join" cmp -s "$DIR/then" "$DIR/now"

wait_for 5 "1120 wait" waiting_is 1120

# Let them all in: released in the order of their places.
check_eq "resume" "$(status_of -X POST -H "Authorization: Bearer $(admin_token)" \
    "$A/v1/admin/queues/login/resume" | cut -c1)" 2
wait_for 40 "all are released" waiting_is 0
poll_many "$DIR/tokens" "$DIR/polls2"
check_eq "all are admitted" "$(jq -r .state "$DIR/polls2" | grep -c admitted)" 1120
check_eq "nobody behind was released before somebody in front" \
    "$(released_in_order "$DIR/then" "$DIR/polls2")" "1120 0"
