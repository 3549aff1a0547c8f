#!/bin/bash
# A site of AWS' Virtual Waiting Room moves: its published client flow, over real processes. Two routers;
# numbers that stay over full segments, merges, a leave amid the line, kill -9 of a node, of the manager
# and of a router; the number that is served reaches each person's when that one is let in, and not before;
# queues of which the door cannot speak; a hostile client.
. "$(dirname "$0")/lib.sh"

# Segments of five: the line has many. Its people are silent, as that page's are.
up --routers 2 --seg-nodes 1 --task-nodes 0 --release-per-s 200 --set segment_capacity=5 --set state=paused \
    --set direct_entry=false --set away=0 --set idle.browser=1h --set claim=5m --set pass_ttl=10m
CTL=("$BIN/segqctl" --dir "$C")
J=(-H 'Content-Type: application/json')

post() { # path json [router]
    http -X POST "${J[@]}" -d "$2" "${3:-$R}$1"
}
assign() { post /assign_queue_num '{"event_id":"Sample"}' "${1:-$R}" | jq -r '.api_request_id // empty'; }
number() { http "${2:-$R}/queue_num?event_id=Sample&request_id=$1"; } # id [router]
served() { http "${1:-$R}/serving_num?event_id=Sample" | jq .serving_counter; }
both_served() { echo "$(served) $(served "$R2")"; }
both_serve() { [ "$(both_served)" = "$1 $1" ]; }
token() { post /generate_token "{\"event_id\":\"Sample\",\"request_id\":\"$1\"}" "${2:-$R}"; }
token_status() { status_of -X POST "${J[@]}" -d "{\"event_id\":\"Sample\",\"request_id\":\"$1\"}" "${2:-$R}/generate_token"; }
turns() { admin POST "/v1/admin/queues/login/release?n=$1" >/dev/null; }

shut() { [ "$(status_of "$R/serving_num?event_id=Sample")$(status_of "$R2/assign_queue_num")" = 404404 ]; }
check "without aws_events there is no door" shut
echo 'aws_events: [{event_id: Sample, queue: login}, {event_id: Rides, queue: rides}]' >>"$C/config/router.yaml"
kill -HUP "$(pid_of rt_cluster)"
open() { [ "$(status_of "$R/serving_num?event_id=Sample")$(status_of "$R2/serving_num?event_id=Sample")" = 200200 ]; }
wait_for 10 "with them there is one, at both routers" open

# ---- twelve people, at both routers in turn
joins() { FIRST=$(assign) && [ -n "$FIRST" ]; }
wait_for 10 "a person asks for a place" joins
id=([1]=$FIRST)
one() { # K: joined in order, so the numbers are known
    local at=$R
    [ $(($1 % 2)) = 1 ] || at=$R2
    id[$1]=$(assign "$at")
    [ -n "${id[$1]}" ]
}
for k in $(seq 2 12); do wait_for 10 "person $k asks for a place" one "$k"; done
numbers() { for k in "${!id[@]}"; do number "${id[$k]}" "${1:-$R}" | jq -r '.queue_number // "none"'; done | paste -sd ' '; }
check_eq "their numbers are the order in which they came, without a gap" "$(numbers)" "1 2 3 4 5 6 7 8 9 10 11 12"
check_eq "  at the other router, too" "$(numbers "$R2")" "1 2 3 4 5 6 7 8 9 10 11 12"
check_eq "  in that API's members" "$(number "${id[3]}" | jq -c '[keys_unsorted, .event_id, .status, (.entry_time > 1700000000)]')" \
    '[["queue_number","entry_time","event_id","status"],"Sample",1,true]'
check_eq "nobody is served" "$(both_served)" "0 0"
waits() { [ "$(http "$R2/waiting_num?event_id=Sample")" = "{\"waiting_num\":$1}" ]; }
wait_for 10 "twelve wait" waits 12
check_eq "so the first gets no token yet" "$(token_status "${id[1]}") $(token "${id[1]}" "$R2")" \
    '202 {"error":"Request ID not being served yet"}'
check_eq "  nor a time by which to come" "$(status_of "$R/queue_pos_expiry?event_id=Sample&request_id=${id[1]}")" 202

# ---- three turns; one leaves amid the line
turns 3
wait_for 10 "three are let in: both routers serve up to 3" both_serve 3
check_eq "  the third gets a token, the fourth none" "$(token_status "${id[3]}" "$R2") $(token_status "${id[4]}")" "200 202"
T=$(token "${id[3]}")
check_eq "  in that API's members" "$(jq -c '[keys_unsorted, .token_type, (.expires_in > 500)]' <<<"$T")" \
    '[["access_token","refresh_token","id_token","token_type","expires_in"],"Bearer",true]'
check_eq "  the same at each router" "$(token "${id[3]}" "$R2" | field access_token)" "$(field access_token <<<"$T")"
P=$(field access_token <<<"$T")
check_eq "  which is a pass" "$(status_of -H "Authorization: Bearer $P" "$R2/v1/verify?queue=login")" 204
kid=$(cut -d. -f1 <<<"$P" | tr -- '-_' '+/' | base64 -d 2>/dev/null | jq -r .kid)
check_eq "  signed by the public key" "$(http "$R/public_key?event_id=Sample" | jq -c '[.kty, .crv, .alg, .kid]')" \
    "[\"OKP\",\"Ed25519\",\"EdDSA\",\"$kid\"]"
check "  for some time" test "$(http "$R/queue_pos_expiry?event_id=Sample&request_id=${id[3]}" | jq .expires_in)" -gt 500
check_eq "the sixth leaves" "$(status_of -X DELETE "$R2/v1/tickets/${id[6]}")" 204

# ---- kill -9 of the node, of the manager, of a router: numbers stay, and the counter does not fall
was=$(pid_of segment.0)
kill -KILL "$was"
wait_for 20 "the killed node is back" restarted segment.0 "$was"
told() { [ "$(numbers "${1:-$R}")" = "1 2 3 4 5 none 7 8 9 10 11 12" ]; }
wait_for 20 "  and all have their numbers, but who has left" told
check_eq "  still three are served" "$(both_served)" "3 3"
turns 3
wait_for 20 "three more: who has left is passed by the counter" both_serve 7
check_eq "  the seventh gets a token, the eighth none" "$(token_status "${id[7]}") $(token_status "${id[8]}" "$R2")" "200 202"
was=$(pid_of queuemng)
kill -KILL "$was"
wait_for 20 "the killed manager is back" restarted queuemng "$was"
thirteenth() { id[13]=$(assign "$R2") && [ -n "${id[13]}" ]; }
wait_for 20 "the next one asks for a place" thirteenth
check_eq "  and is number 13" "$(number "${id[13]}" | field queue_number)" 13
was=$(pid_of router.0)
kill -KILL "$was"
wait_for 20 "the killed router is back" restarted router.0 "$was"
wait_for 20 "  and serves up to 7 as the other" both_serve 7

# ---- the published page, twenty times, amid all that
helper "$root/tests/sys/aws_client.py" Sample 20 "$R" "$R2"
client=$H
wait_for 20 "twenty visitors of the sample page come" waits 26
for k in 9 12 13; do check_eq "  person $k leaves" "$(status_of -X DELETE "$R/v1/tickets/${id[$k]}")" 204; done
merged() { [ "$(metric 1 segq_manager_moves_committed_total)" -gt 0 ]; }
wait_for 20 "  so segments are merged" merged
check_eq "  and the numbers in them stay" "$(for k in 8 10 11; do number "${id[$k]}" "$R2" | field queue_number; done | paste -sd ' ')" "8 10 11"
check "the queue goes on" "${CTL[@]}" resume login
wait_for 60 "  and all of them are through" is_gone "$client"
check_eq "  nobody is lost, no counter fell" "$(grep -cE '^(lost|counter fell)|Traceback' "$DIR/helper.log")" 0
check_eq "  twenty tokens, numbers 14 to 33, each once" "$(awk '{ print $1 }' "$DIR/helper.log" | sort -n | paste -sd ' ')" "$(seq -s ' ' 14 33)"
check_eq "  told at their number or later" "$(awk '$2 < $1' "$DIR/helper.log" | wc -l)" 0
check_eq "  all passes are good" "$(awk '{ print $3 }' "$DIR/helper.log" | sort -u | while read -r p; do
    status_of -H "Authorization: Bearer $p" "$R/v1/verify?queue=login"; echo; done | sort | uniq -c | awk '{ print $1, $2 }')" "20 204"
# Each visitor has heard it of one router; the other one's copy of the line may be a push behind.
wait_for 10 "the line is empty: both routers serve its last number" both_serve 33
check "somebody comes to the empty line" one 34
in_at_once() { [ "$(token_status "${id[34]}" "$R2")" = 200 ]; }
wait_for 10 "  and is in" in_at_once
wait_for 10 "  as the counter says" both_serve 34
check "with direct entry" "${CTL[@]}" queue set login direct_entry=true
at_once() { # the next one has a pass with the join, and a number that is served
    one 35 && [ "$(token_status "${id[35]}" "$R2")" = 200 ]
}
wait_for 10 "  somebody is in at once" at_once
N=$(number "${id[35]}" | field queue_number)
is_served() { [ "$(served)" -ge "$N" ] && [ "$(served "$R2")" -ge "$N" ]; }
wait_for 10 "  and number $N is served" is_served
check "the queue is paused" "${CTL[@]}" pause login
one_more() { one 36 && [ "$(token_status "${id[36]}" "$R2")" = 202 ]; }
wait_for 10 "  so the next one waits" one_more
M=$(number "${id[36]}" | field queue_number)
check "  behind all others: $N, $M" test "$M" -gt "$N"
looked() { for i in 1 2 3 4 5; do [ "$(served)" -lt "$M" ] && [ "$(served "$R2")" -lt "$M" ] || return 1; pause 0.1; done; true; }
check "  and neither router says that $M is served" looked

# ---- a hostile client
bad() { status_of -X POST "${J[@]}" -d "$2" "$R$1"; }
check_eq "events that are not there, or not said" "$(bad /assign_queue_num '{"event_id":"Nobody"}') $(bad /assign_queue_num '{}') $(status_of "$R/serving_num") $(status_of "$R/queue_num?event_id=Sample%00&request_id=1")" "400 400 400 400"
check_eq "bodies that are none" "$(bad /assign_queue_num '') $(bad /assign_queue_num '[1]') $(bad /generate_token '{"event_id":"Sample"') $(bad /generate_token '{"event_id":"Sample","event_id":"Sample"}') $(bad /generate_token "{\"event_id\":\"Sample\",\"request_id\":{\"a\":1}}")" "400 400 400 400 400"
check_eq "  by their member" "$(post /generate_token '{"event_id":7}' | field detail)" "event_id must be a string of 1 to 128 characters"
check_eq "a form is no JSON" "$(status_of -X POST -d 'event_id=Sample' -H 'Content-Type: text/plain' "$R/assign_queue_num")" 415
check_eq "request ids that are not ours" "$(token_status "${id[3]%?????}aaaaa") $(token_status x) $(token_status "${id[3]}a") $(status_of "$R/queue_num?event_id=Sample&request_id=")" "404 404 404 404"
check_eq "other methods" "$(status_of "$R/assign_queue_num") $(status_of -X POST "$R/serving_num?event_id=Sample") $(status_of -X DELETE "$R/generate_token")" "405 405 405"
check_eq "who has left is told so" "$(token_status "${id[6]}") $(token "${id[6]}" | field code)" "410 ticket_gone"

# ---- queues of which the door cannot speak
check "a second queue, with the defaults" "${CTL[@]}" queue add rides state=paused
refused() { [ "$(http -X POST "${J[@]}" -d '{"event_id":"Rides"}' "$R/assign_queue_num" | field detail | grep -c "$1")" = 1 ]; }
wait_for 10 "  gives up silent people, so the door refuses it" refused 'wait in silence'
check "  it bears silence" "${CTL[@]}" queue set rides away=0 idle.browser=1h
rides() { RIDE=$(post /assign_queue_num '{"event_id":"Rides"}' | jq -r '.api_request_id // empty') && [ -n "$RIDE" ]; }
wait_for 10 "  then it has a door" rides
check_eq "a ticket of another event is refused" "$(token_status "$RIDE") $(status_of "$R/queue_num?event_id=Rides&request_id=${id[34]}")" "400 400"
check "  places with a device" "${CTL[@]}" queue set rides bind=device
wait_for 10 "  have none" refused 'belongs to a device'
check "  nor a queue that hides far places" "${CTL[@]}" queue set rides bind=none position_cap=50
wait_for 10 "  as it says" refused 'does not tell all places'
check_eq "  its counter is not told either" "$(status_of "$R/serving_num?event_id=Rides")" 403

# ---- the door shuts
sed -i '/^aws_events/d' "$C/config/router.yaml"
kill -HUP "$(pid_of rt_cluster)"
wait_for 10 "without aws_events the paths are not there again" shut
