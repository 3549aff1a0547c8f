#!/bin/bash
# Lanes and direct entry in one cluster of two routers and two segment nodes: who comes to an
# empty line has the pass in the answer to the join; with a line one waits; another lane than
# the default one needs a claim; lanes share by weight.
. "$(dirname "$0")/lib.sh"

SECRET=0123456789abcdef0123456789abcdef
umask 077
echo "$SECRET" >"$DIR/claim.key"
up --set away=0 --routers 2 --seg-nodes 2 --release-per-s 20 --set poll_min=200ms --set poll_max=500ms --set idle.game=10m \
    --set lanes='[{name: default, weight: 1}, {name: vip, weight: 3}]' \
    --set router.claim_keys="[{kid: shop, alg: HS256, secret_file: $DIR/claim.key}]"

claim() { # lane [members, each with a comma before it] -> JWT, as a back end would make it
    python3 - "$SECRET" "$1" "${2:-}" <<'PY'
import base64, hashlib, hmac, json, sys, time
secret, lane, more = sys.argv[1:]
b64 = lambda b: base64.urlsafe_b64encode(b).rstrip(b'=').decode()
head = json.dumps({'alg': 'HS256', 'kid': 'shop'}).encode()
body = '{"aud":"login","lane":"%s","exp":%d%s}' % (lane, time.time() + 300, more)
text = b64(head) + '.' + b64(body.encode())
print(text + '.' + b64(hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest()))
PY
}
join_with() { join_queue "$R" login "{\"claim\":\"$1\"${2:-}}"; }
set_queue() { admin PATCH /v1/admin/queues/login "$1" >/dev/null; }
lane_waits() { http "$R/v1/queues/login" | jq -r ".lanes[] | select(.name == \"$1\") | .waiting"; }

# ---- direct entry: what comes one by one finds nobody before it
enter() { # JSON: true if it was let in at once
    join_queue "$R" login "${1:-}" >"$DIR/entered"
    [ "$(field state <"$DIR/entered")" = admitted ]
}
wait_for 60 "an empty line lets in with the join" enter
check "with a pass that the router's key verifies" eval \
    "field pass <$DIR/entered >$DIR/pass && node $root/tests/e2e/verify.js $R/.well-known/jwks.json login <$DIR/pass"
check_eq "asked again it is the same pass" "$(poll "$(token_in <"$DIR/entered")" | field pass)" "$(cat "$DIR/pass")"
check_eq "the gate lets it in" "$(status_of -H "Authorization: Bearer $(cat "$DIR/pass")" "$R/v1/verify")" 204
page_goes_on() {
    http "${LOOKS[@]}" -o /dev/null -w '%{http_code} %{redirect_url}' "$R/q/login?return=/shop" | grep -q "^303 .*/shop$"
}
wait_for 60 "the page goes right on" page_goes_on
check "it is counted" test "$(metric 30 segq_router_joins_admitted_total)" -ge 2
set_queue '{"direct_entry": false}'
held_is() { [ "$(join_queue "$R" login | field state)" = "$1" ]; }
wait_for 60 "it can be turned off" held_is waiting
set_queue '{"direct_entry": true, "state": "paused"}'
check "with nobody let in a join waits" held_is waiting

# ---- claims and lanes
check_eq "a lane asked for in the open is refused" \
    "$(join_queue "$R" login '{"lane":"vip"}' | field code)" not_eligible
check_eq "so is a claim for another queue" \
    "$(join_with "$(claim vip | sed 's/./X/9')" | field code)" not_eligible
join_many 30 "$DIR/default"
before=$(($(cat "$DIR"/default/* | jq -s "map(.position) | max") - 30)) # what is counted lags
V=$(claim vip)
join_with "$V" ',"subject":"first"' >"$DIR/vip.1"
check_eq "a claim opens its lane" "$(field lane <"$DIR/vip.1")" vip
check_eq "whose places are its own" "$(field position <"$DIR/vip.1")" 1
for i in $(seq 2 30); do join_with "$V" ",\"subject\":\"s$i\"" >"$DIR/vip.$i"; done
check_eq "in the order of the joins" "$(field position <"$DIR/vip.30")" 30
check_eq "a claim that binds another subject is refused" \
    "$(join_with "$(claim vip ',"sub":"anna"')" ',"subject":"bob"' | field detail)" \
    "the claim is for another subject (sub)"
both_are() { [ "$(lane_waits default) $(lane_waits vip)" = "$1" ]; }
wait_for 60 "the lanes are told apart" both_are "$((before + 30)) 30"
admin POST '/v1/admin/queues/login/release?n=12' >/dev/null
wait_for 60 "of 12 releases a weight of 3 has three times as many" both_are "$((before + 27)) 21"
released() { [ "$(poll "$(token_in <"$1")" | field state)" = admitted ]; }
wait_for 60 "the ninth of the lane is in" released "$DIR/vip.9"
check_eq "the tenth is its first now" "$(poll "$(token_in <"$DIR/vip.10")" | field position)" 1

# ---- support staff move a ticket; nobody is let in, both lanes wait
move() { admin POST "/v1/admin/queues/login/tickets/$1/move?lane=$2"; }
T=$(token_in <"$DIR/vip.20")
first=$(poll "$T" | field position)
was=$(lane_waits default)
move "$T" default >"$DIR/moved"
check_eq "a ticket goes to another lane" "$(jq -c '[.lane, .moved]' <"$DIR/moved")" '["default",true]'
check_eq "its token is good for its new place, the last one" \
    "$(poll "$T" | jq -c '[.state, .lane, .position, .token == "'"$T"'"]')" "[\"waiting\",\"default\",$((was + 1)),true]"
check_eq "who was behind it is nearer by one" "$(poll "$(token_in <"$DIR/vip.21")" | field position)" "$first"
check_eq "asked again nothing more is done" "$(move "$T" default | jq -c '[.ticket, .moved]')" \
    "[$(jq .ticket "$DIR/moved"),false]"
check_eq "the note of it has the id in place of the token" "$(admin GET '/v1/admin/audit?n=1' |
    jq -r '.entries[0].path' | tr -s 0-9 9)" /v9/admin/queues/login/tickets/9-9/move
check_eq "as all files have" "$(grep -rlF "$T" "$C/logs" "$C/state")" ""
check_eq "by its id, too" "$(move "$(field ticket <"$DIR/moved")" default | field moved)" false
check_eq "why says where it went" "$(admin GET "/v1/admin/tickets/$T" | jq -c '[.state, (.because | split(" ") | last)]')" \
    "$(jq -c '["moved", .ticket]' "$DIR/moved")"
again_as() { join_with "$V" ",\"subject\":\"$1\"" | jq -c '[.lane, .position]'; }
check_eq "who joins again has that place" "$(again_as s20)" "[\"default\",$((was + 1))]"
wait_for 60 "each lane has one more, and one less" both_are "$((was + 1)) 20"
check_eq "no such lane" "$(move "$T" gold | field code)" bad_request
check_eq "no such ticket" "$(move nonsense default | field code)" ticket_unknown
check_eq "who is in already is in no lane" "$(move "$(token_in <"$DIR/vip.9")" default | field code)" conflict
staff() { "$BIN/segqctl" --dir "$C" move-ticket login "$@" >"$DIR/staff"; }
check "segqctl moves one" staff "$(token_in <"$DIR/vip.21")" default
check "and says its new place" grep -qE '^ok: [0-9]+-[0-9]+ is number [0-9 ]+ of lane default$' "$DIR/staff"
check_eq "and back to where it came from, at the end" \
    "$(staff "$T" vip; poll "$T" | field lane)" vip

# Nodes are killed while a dozen are on their way: each is in one lane, and goes when asked.
for i in $(seq 10 19); do token_in <"$DIR/vip.$i"; done >"$DIR/tokens"
while read -r t; do move "$t" default >"$DIR/answer.$t" & done <"$DIR/tokens"
kill -9 "$(pid_of segment.0)" "$(pid_of segment.1)"
wait $(jobs -p)
again() { # all of them wait, in the lane $1
    poll_many "$DIR/tokens" "$DIR/seen"
    [ "$(jq -r 'select(.state == "waiting") | .lane' "$DIR/seen" | grep -c "^$1\$")" = 10 ]
}
ask_again() {
    while read -r t; do move "$t" default >/dev/null; done <"$DIR/tokens"
    again default
}
wait_for 120 "moved through a crash of both nodes, every token has its place in the other lane" ask_again
check_eq "none has two" "$(jq -r .position "$DIR/seen" | sort -n | uniq -d | wc -l)" 0

# The record of a moved ticket goes along when its segment moves to another machine.
for n in segment.0 segment.1; do
    admin POST "/v1/admin/nodes/$n/drain" >/dev/null
    wait_for 120 "$n is drained" eval "[ \"\$(segments | grep -c ' $n\$')\" = 0 ]"
    check "every token still finds its ticket" again default
    admin POST "/v1/admin/nodes/$n/undrain" >/dev/null
done
head -1 "$DIR/tokens" >"$DIR/one"
check_eq "one leaves by the old token" "$(status_of -X DELETE "$R2/v1/tickets/$(cat "$DIR/one")")" 204
check_eq "and is gone" "$(poll "$(cat "$DIR/one")" | field reason)" left
anew() { [ "$(again_as s10 | jq -r '.[0]')" = vip ]; }
wait_for 60 "who left may join anew" anew
set_queue '{"state": "open"}'
L=$(tail -1 "$DIR/tokens")
printf '{"token":"%s"}' "$L" >"$DIR/last"
wait_for 120 "the others are let in" released "$DIR/last"
check_eq "with a pass of the new lane" \
    "$(poll "$L" | field pass | cut -d. -f2 | tr '_-' '/+' | base64 -d 2>/dev/null | jq -r .lane)" default
