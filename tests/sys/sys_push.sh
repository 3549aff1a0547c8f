#!/bin/bash
# A queue whose routers send Web Push themselves (`turn_notice.push_contact`): a made-up push service over TLS gets one
# sealed message for each person let in, amid kills; only push services that the operator has named are called, by
# the addresses of their endpoints; a subscription that has ended is forgotten; one of a push service that the
# operator has taken away waits, and is posted nowhere else.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/certs.sh"

up --routers 2 --seg-nodes 1 --task-nodes 1
P=$((PORT + 90))
N=$DIR/seen
touch "$N"
authority ca
issue push ca 2 DNS:localhost,IP:127.0.0.1
node "$here/push_service.js" $P "$CERTS/push.crt" "$CERTS/push.key" "$N" >"$DIR/browser" 2>>"$DIR/helper.log" &
helpers+=("$!")
has_browser() { [ -s "$DIR/browser" ]; }
wait_for 20 "a browser has a push service" has_browser
ctl() { "$BIN/segqctl" --dir "$C" "$@"; }
answers() { admin PUT "/v1/admin/$1" "$2" | jq -r '.detail // ""'; } # PATH JSON
detail() { check_eq "$1" "$(answers "$2" "$3")" "$4"; }              # "claim" PATH JSON DETAIL
line() { echo "{\"release_per_s\":50,\"state\":\"$1\",\"claim\":\"1s\",\"away\":\"0\",\"direct_entry\":false,\"poll_max\":\"1s\",\"turn_notice\":{\"queue\":\"hook\",\"claim_window\":\"60s\",\"push_contact\":\"mailto:ops@example.org\"}}"; }

tls() { echo "\"url\":\"https://$1:$P\",\"allow\":[\"127.0.0.0/8\"],\"tls\":{\"ca_file\":\"$CERTS/ca.crt\"},\"breaker\":{\"open\":\"1s\"}"; }
detail "an endpoint for those who are told otherwise" endpoints/hook "{$(tls 127.0.0.1)}" ""
detail "an endpoint for a push service" endpoints/made-up "{$(tls localhost)}" ""
detail "  which is called for its queue" pools/hook%2Flocalhost \
    '{"endpoint":"made-up","retry":{"min":"200ms","max":"500ms"},"max_attempts":60}' ""
detail "routers send" queues/shop "$(line paused)" ""
detail "  who sends is said in a url" queues/bad '{"release_per_s":1,"turn_notice":{"queue":"hook","push_contact":"ops"}}' \
    "queue bad: turn_notice: push_contact must begin with mailto: or https://, in characters of a url"

NOBODY="turn_notice.push_contact: no browser can be told, since no pool made-up/HOST has the endpoint of a push service: segqctl endpoint add"
check "a queue without a push service is warned of" grep -qF "warning: $NOBODY" \
    <(ctl queue add none release_per_s=1 turn_notice.queue=made-up turn_notice.push_contact=mailto:ops@example.org 2>&1)
check "  by segqctl status, too" grep -qF "warning: queue none: $NOBODY" <(ctl status)
check_eq "a queue with one is not" "$(ctl status | grep -c 'warning: queue shop')" 0
check_eq "  and its pool is not taken away by mistake" "$(admin DELETE /v1/admin/pools/hook%2Flocalhost | jq -r .code)" conflict

# ---- the page, and who asks
page_key() { # ROUTER-URL
    http "${LOOKS[@]}" "$1/q/shop?return=/" | sed -n 's/.*data-key="\([^"]*\)".*/\1/p'
}
has_key() { [ -n "$(page_key "$R")" ]; }
wait_for 20 "the page has a button" has_key
KEY=$(page_key "$R")
check_eq "  with a key that is the same at all routers" "$(page_key "$R2")" "$KEY"
check_eq "  which is no file" "$(grep -rlaF "$KEY" "$C" | wc -l)" 0
keys=$(head -1 "$DIR/browser")
put() { # TOKEN URL
    http -X PUT -d "{\"contact\":{\"endpoint\":\"$2\",\"expirationTime\":null,\"keys\":$keys}}" "$R/v1/tickets/$1/contact" | jq -r '.code + ": " + .detail'
}
join() { http -X POST -d '{"client":"game"}' "$R/v1/queues/shop/tickets" | field token; }
T=$(join)
said() { check_eq "$1" "$(put "$T" "$2")" "$3"; }
detail "  and of another service, which is called elsewhere" pools/hook%2Frefunds '{"endpoint":"made-up"}' ""
said "no other host is called" https://10.0.0.1/x "not_eligible: 10.0.0.1 is no push service that this queue uses: poll the ticket"
check "  whose host the operator reads in the log" grep -qs 'event=push_refused queue=shop host="10.0.0.1" left_out=0' "$C"/logs/router.*.log
said "  no other port" https://localhost:8443/x "bad_request: contact is no push subscription: endpoint is an https url, without a port"
said "  and nothing in the clear" http://localhost/x "bad_request: contact is no push subscription: endpoint is an https url, without a port"
said "  no queue of another service, whose endpoint is elsewhere" https://refunds/all "not_eligible: refunds is no push service that this queue uses: poll the ticket"
n=8
for ((i = 0; i < n; i++)); do
    K=$(join)
    [ -z "$(put "$K" https://localhost/m/$i?v=1)" ] && echo "$i" >>"$DIR/asked"
done
check_eq "those of a push service that is named are taken" "$(grep -c . "$DIR/asked")" $n
check_eq "  one has ended" "$(put "$(join)" https://localhost/410)" ""
EDGE=w/?token=$(head -c 1200 /dev/zero | tr '\0' E)
check_eq "  one is as long as some of Edge" "$(put "$(join)" "https://localhost/$EDGE")" ""

# ---- their turn, while their push service is not named
restart() { # NAME: kill -9
    local pid
    pid=$(pid_of "$1")
    kill -KILL "$pid"
    wait_for 20 "$1 is killed, and comes back" restarted "$1" "$pid"
}
detail "another place has its name" endpoints/made-up "{$(tls 127.0.0.1)}" ""
no_service() { [ "$(put "$T" https://localhost/x)" = "not_eligible: localhost is no push service that this queue uses: poll the ticket" ]; }
wait_for 20 "  so it is none" no_service
detail "the line moves" queues/shop "$(line open)" ""
all_due() { [ "$(metric 70 segq_segment_contacts_due)" = $((n + 2)) ]; }
wait_for 30 "all are let in" all_due
warns() { ctl status | grep -qE "^warning: router\.[01]: queue shop: people are not told of their turn by localhost: no pool has an endpoint of that host$"; }
wait_for 30 "segqctl status says that they are not told" warns
check_eq "  each router's log once" "$(grep -hc 'event=turn_no_way queue=shop host="localhost"' "$C"/logs/router.*.log | sort -u)" 1
check_eq "  and nobody is called in its place" "$(grep -c . "$N")" 0
detail "it has its name again" endpoints/made-up "{$(tls localhost)}" ""

# ---- their turn
restart segment.0
restart router.1
restart task.0
told() { [ "$(jq -r 'select(.said.type == "turn.now") | .path' "$N" | sort -u | wc -l)" = $((n + 2)) ]; }
wait_for 60 "all are told" told
check_eq "  by calls that the service can open, and whose sender it knows" "$(jq -r '.wrong // empty' "$N" | sort -u)" ""
check_eq "  the sender" "$(jq -c .who "$N" | sort -u)" "{\"aud\":\"https://localhost\",\"sub\":\"mailto:ops@example.org\",\"key\":\"$KEY\"}"
check_eq "  as one call each" "$(jq -r '.key + " " + .path' "$N" | sort -u | cut -d' ' -f2 | sort | uniq -d | wc -l)" 0
none() { [ "$(metric 70 segq_segment_contacts_due)" = 0 ]; }
wait_for 20 "nothing is due any more, of the subscription that has ended, too" none
check_eq "  the long one, whole" "$(jq -r 'select(.path | startswith("/w/")) | .path' "$N" | sort -u)" "/$EDGE"

# ---- what push services answer, without kills
detail "the line stands" queues/shop "$(line paused)" ""
for s in 404 413 busy; do
    check_eq "  one more is answered with $s" "$(put "$(join)" https://localhost/$s)" ""
done
detail "  and moves again" queues/shop "$(line open)" ""
at() { jq -r "select(.path == \"/$1\") | .at" "$N"; }
called() { [ -n "$(at 404)" ] && [ -n "$(at 413)" ] && [ "$(at busy | wc -l)" = 2 ]; }
wait_for 30 "all are called, the busy one again" called
check "  not before it said" test "$(at busy | paste -sd' ' | awk '{ print $2 - $1 }')" -ge 2000
check_eq "  the others are not tried again" "$(at 404 | wc -l) $(at 413 | wc -l)" "1 1"
check "  nor is who has ended, but if its node was killed amid the call" test "$(at 410 | wc -l)" -le 2
check_eq "no log has an address" "$(grep -rlaE 'localhost/(m|4|w|busy)' "$C/logs" | wc -l)" 0
