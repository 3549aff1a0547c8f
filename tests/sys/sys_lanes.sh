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
