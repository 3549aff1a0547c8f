#!/bin/bash
# One person in two queues, over real processes: two routers, a segment node for each queue, kill -9
# between a turn and its pass, and between two asks of one call. Whoever asks: one pass, and the other
# place is given up.
. "$(dirname "$0")/lib.sh"

printf '%s\n' "$(printf 's%.0s' {1..40})" >"$DIR/claim.key" && chmod 600 "$DIR/claim.key"
up --routers 2 --seg-nodes 2 --task-nodes 0 --release-per-s 100 --set away=0 --set pass_ttl=10m --set claim=5m \
    --set state=paused --set router.join_groups=true \
    --set router.claim_keys="[{kid: shop, alg: HS256, secret_file: $DIR/claim.key}]"
CTL=("$BIN/segqctl" --dir "$C")
check "there is a second queue" "${CTL[@]}" queue add rides state=paused claim=5m pass_ttl=10m away=0
is_there() { [ "$(status_of "$R/v1/queues/rides")" = 200 ] && [ "$(status_of "$R2/v1/queues/rides")" = 200 ]; }
wait_for 10 "both routers know it" is_there

join() { # [json [router]]
    http -X POST -H 'Content-Type: application/json' -d "${1:-{\"queues\":[\"login\",\"rides\"]\}}" "${2:-$R}/v1/places"
}
seen() { jq -c '[.state, (.places[] | .state)]'; }
look() { http "${2:-$R}/v1/places/$1"; }
turn() { admin POST "/v1/admin/queues/$1/release?n=1" >/dev/null; }
joins() { G=$(join | field group) && [ "${#G}" -gt 40 ]; }

# ---- joined, shown, left
wait_for 10 "a person joins both" joins
check_eq "both routers show both places" "$(look "$G" | seen) $(look "$G" "$R2" | seen)" \
    '["waiting","waiting","waiting"] ["waiting","waiting","waiting"]'
check_eq "  with positions" "$(look "$G" | jq -c '[.places[].position]')" '[1,1]'
check_eq "a queue that is not there: none is joined, and it is named" \
    "$(join '{"queues":["login","nowhere"]}' | jq -r '[.code, .detail] | join(" ")')" \
    "queue_not_found none of the queues was joined, for nowhere: there is no such queue"
check_eq "one queue is no group" "$(join '{"queues":["login"]}' | field code)" bad_request
check_eq "a group that is not ours is refused" "$(status_of "$R/v1/places/${G%?????}aaaaa")" 404
key() { http -X POST -H 'Content-Type: application/json' -H 'Idempotency-Key: 0123456789abcdef' \
    -d '{"queues":["login","rides"]}' "$1/v1/places" | jq -c '[.places[].ticket]'; }
K=$(key "$R")
check_eq "the same join again is the same places" "$K" "$(key "$R2")"
check "one of the queues is full" "${CTL[@]}" queue set rides max_waiting=1
full() { [ "$(http "$R/v1/queues/rides" | field state)$(http "$R2/v1/queues/rides" | field state)" = fullfull ]; }
wait_for 10 "  as both routers hear" full
check_eq "so nobody joins it" "$(join | field code) $(key "$R2" 2>/dev/null)" "queue_full "
check "it has room" "${CTL[@]}" queue set rides max_waiting=0
room() { [ "$(http "$R/v1/queues/rides" | field state)$(http "$R2/v1/queues/rides" | field state)" = pausedpaused ]; }
wait_for 10 "  as both routers hear" room
check_eq "  and the places of the join that came again are kept" "$(key "$R")" "$K"
L=$(join | field group)
check_eq "one leaves" "$(status_of -X DELETE "$R2/v1/places/$L")" 204
has_left() { [ "$(look "$L" | jq -c '[.state, (.places[] | .reason)]')" = '["over","left","left"]' ]; }
wait_for 5 "  all of them, as the other router hears" has_left

# ---- one person, by the claim of the operator's back end: one group, whoever asks
named() { # name router [queues]
    local claim
    claim=$("${CTL[@]}" claim login rides --lane default --subject "$1" --key "$DIR/claim.key" --kid shop)
    join "{\"queues\":${3:-[\"login\",\"rides\"]},\"claim\":\"$claim\"}" "$2"
}
N=$(named anna "$R")
check_eq "segqctl signs a claim for both queues" "$(jq '.places | length' <<<"$N")" 2
check_eq "with a claim a person has one group, at both routers, listed in any order" "$(named anna "$R2" '["rides","login"]' | jq -c '[.places[].ticket]')" \
    "$(jq -c '[.places[].ticket]' <<<"$N")"
check_eq "  another one has another" "$(named bob "$R2" | jq -c '[.places[].ticket | inside("'"$(jq -r '[.places[].ticket] | join(" ")' <<<"$N")"'")]')" "[false,false]"
for who in anna bob; do http -X DELETE "$R/v1/places/$(named "$who" "$R" | field group)" >/dev/null; done

# ---- a name that no queue has, in the configuration; a file that is not there
cp "$C/config/router.yaml" "$DIR/router.yaml"
put() { cat "$DIR/router.yaml" - >"$C/config/router.yaml" && kill -HUP "$(pid_of router.0)"; }
put <<<'groups: [{ name: night, queues: [login, ridse] }]'
named_wrong() { "${CTL[@]}" status | grep -q 'router.0: groups: night names queue ridse, which does not exist; near: rides'; }
wait_for 10 "a queue that does not exist is told by status, with the one that is near" named_wrong
check_eq "  once in the log" "$(grep -c event=queue_names_unknown "$C/logs/router.0.log")" 1
check_eq "  and counted" "$(metric 30 segq_router_unknown_queues)" 1
done_n() { grep -c 'event=reloaded' "$C/logs/router.0.log"; }
n=$(done_n)
mv "$DIR/claim.key" "$DIR/claim.gone"
put <<<'groups: [{ name: night, queues: [login, ridse] }]'
not_taken() { grep -q 'event=reload_refused.*claim.key' "$C/logs/router.0.log"; }
wait_for 10 "a file that is not there is refused" not_taken
mv "$DIR/claim.gone" "$DIR/claim.key"
put <<<'groups: [{ name: night, queues: [login, rides] }]'
all_known() { grep -q event=queue_names_known "$C/logs/router.0.log"; }
wait_for 10 "the right name ends it" all_known
taken() { [ "$(done_n)" -gt "$n" ]; }
wait_for 10 "  with a word of its own" taken
check_eq "  what was refused has said that alone" "$(done_n)" "$((n + 1))"
wait_for 10 "  and status says nothing more" eval '! "${CTL[@]}" status | grep -q night'
cp "$DIR/router.yaml" "$C/config/router.yaml" && kill -HUP "$(pid_of router.0)"

# ---- both turns at once, and kill -9 of both nodes before anybody asks
turn login
turn rides
out() { [ "$(queue_field waiting login)$(queue_field waiting rides)" = 11 ]; }
wait_for 10 "both turns come" out
kill -KILL "$(pid_of segment.0)" "$(pid_of segment.1)"
for i in $(seq 40); do # at both routers, as fast as it goes, while the nodes come back
    look "$G" >"$DIR/told.$i.1" &
    a=$!
    look "$G" "$R2" >"$DIR/told.$i.2" &
    wait "$a" "$!"
done
has_pass() { [ "$(look "$G" "${1:-$R}" | field state)" = admitted ]; }
wait_for 20 "whoever asks gets a pass" has_pass
look "$G" >"$DIR/told.41.1"
look "$G" "$R2" >"$DIR/told.41.2"
check_eq "everybody was told the same one" "$(cat "$DIR"/told.* | jq -r '.pass // empty' | sort -u | wc -l)" 1
check_eq "  the other place is given up" "$(look "$G" "$R2" | jq -r '[.places[] | .reason // .state] | sort | join(" ")')" \
    "admitted given_up"
P=$(look "$G" | field pass)
Q=$(look "$G" | jq -r '.places[] | select(.state == "admitted") | .queue')
check_eq "  and the pass is good" "$(status_of -H "Authorization: Bearer $P" "$R2/v1/verify?queue=$Q")" 204

# ---- one turn; the other queue's node is away: no pass until it is known to be given up
key "$R" >/dev/null # the places of that key are at the heads of the lines
H=$(http -X POST -H 'Content-Type: application/json' -H 'Idempotency-Key: 0123456789abcdef' \
    -d '{"queues":["login","rides"]}' "$R/v1/places" | field group)
other=$(look "$H" | jq -r '.places[] | select(.queue == "login") | .ticket')
node=$(admin GET "/v1/admin/tickets/$other" | field node)
kill -STOP "$(pid_of seg_cluster)"
turn rides
gone_out() { [ "$(queue_field waiting rides)" = 0 ]; }
wait_for 10 "the turn comes in rides" gone_out
kill -KILL "$(pid_of "$node")"
check_eq "while $node is away there is no pass" "$(look "$H" | field code) $(look "$H" "$R2" | field code)" \
    "queue_unavailable queue_unavailable"
kill -CONT "$(pid_of seg_cluster)"
has_rides() { [ "$(look "$H" "$R2" | jq -c '[.places[] | .reason // .state]')" = '["given_up","admitted"]' ]; }
wait_for 20 "it is back: the pass is told, the other place is given up" has_rides
empty() { [ "$(queue_field waiting login)" = 0 ]; }
wait_for 10 "nobody waits any more" empty
