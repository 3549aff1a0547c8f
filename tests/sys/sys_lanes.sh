#!/bin/bash
# Lanes and direct entry in one cluster of two routers and two segment nodes: who comes to an
# empty line has the pass in the answer to the join; with a line one waits; another lane than
# the default one needs a claim; lanes share by weight; segqctl signs claims, and moves a ticket to
# another lane by one.
. "$(dirname "$0")/lib.sh"

SECRET=0123456789abcdef0123456789abcdef
umask 077
echo "$SECRET" >"$DIR/claim.key"
openssl genpkey -algorithm ed25519 -out "$DIR/ed.pem" 2>/dev/null
openssl pkey -in "$DIR/ed.pem" -pubout -out "$DIR/ed.pub.pem"
up --set away=0 --routers 2 --seg-nodes 2 --release-per-s 20 --set poll_min=200ms --set poll_max=500ms --set idle.game=10m \
    --set lanes='[{name: default, weight: 1}, {name: vip, weight: 3}]' \
    --set router.claim_keys="[{kid: shop, alg: HS256, secret_file: $DIR/claim.key}, {kid: desk, alg: EdDSA, public_key: \"$(sed -n 2p "$DIR/ed.pub.pem")\"}]"

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
on_credit() { # by a node, in the turn of the join
    enter && [ $(($(metric 70 segq_segment_entered_total) + $(metric 71 segq_segment_entered_total))) -ge 3 ]
}
wait_for 60 "then nobody waits for the manager" on_credit
entered() { echo $(($(metric 70 segq_segment_entered_total) + $(metric 71 segq_segment_entered_total))); }
row_of_joins() { # 40, one after the other: most of them without waiting for anything
    local was i
    was=$(entered)
    for i in $(seq 40); do enter || return 1; done
    [ $(($(entered) - was)) -ge 30 ]
}
set_queue '{"release_per_s": 2000}'
wait_for 60 "and one after another they go on being let in at once" row_of_joins
check "the manager says so, too" test "$(metric 1 segq_manager_entered_total)" -ge 30
set_queue '{"release_per_s": 20}'
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

# ---- an operator signs a claim, and moves a ticket
ctl() { "$BIN/segqctl" --dir "$C" "$@" >"$DIR/out" 2>"$DIR/err"; }
says() { grep -qE -- "$1" "$DIR/out" || { sed 's/^/     /' "$DIR/out" "$DIR/err"; return 1; }; }
exits() { # STATUS PATTERN segqctl-arguments...: refused with that status and these words
    local want=$1 words=$2 rc
    shift 2
    ctl "$@"
    rc=$?
    [ "$rc" = "$want" ] && grep -qE -- "$words" "$DIR/err" && return
    sed "s/^/     ($rc) /" "$DIR/err"
    return 1
}
HS=(--key "$DIR/claim.key" --kid shop) ED=(--key "$DIR/ed.pem" --kid desk)
moved_token() { awk '$1 == "token" { print $2 }' "$DIR/out"; }
gone_left() { [ "$(poll "$1" | field reason)" = left ]; }

check "segqctl signs a claim with a secret" ctl claim login --lane vip "${HS[@]}"
check_eq "  it opens the lane" "$(join_with "$(cat "$DIR/out")" | field lane)" vip
check "and with an Ed25519 key" ctl claim login --lane vip --subject eve "${ED[@]}"
check_eq "  with the person's name" "$(join_with "$(cat "$DIR/out")" ',"subject":"bob"' | field detail)" \
    "the claim is for another subject (sub)"

OLD=$(join_queue "$R" login '{"client":"browser"}' | token_in)
PLACE=$(poll "$OLD" | field position)
check "segqctl moves a ticket to another lane" ctl move-ticket "$OLD" vip "${ED[@]}"
check "  it names the old place" says "^old place +lane default, position $PLACE"
check "  and the new one" says '^new place +lane vip, position [0-9]+'
NEW=$(moved_token)
check_eq "the new token waits in that lane" "$(poll "$NEW" | field 'lane + " " + .state')" "vip waiting"
wait_for 30 "the old token has left" gone_left "$OLD" # the other router is told by its next push
check_eq "  its status" "$(status_of "$R/v1/tickets/$OLD")" 410
LINK=$(awk '$1 == "link" { print $2 }' "$DIR/out")
page() { http "${LOOKS[@]}" -b "segq_ticket=$1" -D "$DIR/head" "$2"; }
page "$OLD" "$LINK" >/dev/null
check "the link gives the browser that ticket" grep -q "^Set-Cookie: segq_ticket=$NEW" "$DIR/head"
check "the page of the old ticket names the link" grep -q "If you were given a link" <(page "$OLD" "$R/q/login")
http "${LOOKS[@]}" -H 'Sec-Fetch-Site: same-origin' -b "segq_ticket=$NEW" -D "$DIR/head" -d "token=$OLD" "$R/q/login/enter" >/dev/null
check "an old tab leaves the browser its new ticket" eval "! grep -q '^Set-Cookie' $DIR/head"
check "and shows its place" grep -q "You are in line" <(page "$NEW" "$R/q/login")
check "the same command again tells the same place" eval \
    'ctl move-ticket "$OLD" vip "${ED[@]}" && [ "$(moved_token)" = "$NEW" ]'

NAMED=$(join_queue "$R" login '{"subject":"carla"}' | token_in)
check "a ticket with a subject wants its name" exits 1 'subject' move-ticket "$NAMED" vip "${HS[@]}"
check "  given it is moved" ctl move-ticket "$NAMED" vip --subject carla "${HS[@]}"
check_eq "  and found by that name" "$(join_queue "$R" login '{"subject":"carla"}' | token_in)" "$(moved_token)"

OLD=$(join_queue "$R" login | token_in)
check "no key" exits 2 'no key to sign with.*--key' move-ticket "$OLD" vip
check "a public key" exits 2 'a public key verifies.*private key' move-ticket "$OLD" vip --key "$DIR/ed.pub.pem"
check "a key that routers do not have" exits 1 'not configured \(kid\)' move-ticket "$OLD" vip --key "$DIR/claim.key" --kid none
check "  says with what it was signed" grep -q 'signed with .*HS256, kid none.*claim_keys' "$DIR/err"
check "no such lane" exits 1 'does not have that lane' move-ticket "$OLD" gold "${HS[@]}"
check "its own lane" exits 1 "in lane 'default' already" move-ticket "$OLD" default "${HS[@]}"
check "a ticket that is inside" exits 1 'let in already' move-ticket "$(token_in <"$DIR/vip.9")" default "${HS[@]}"
check "a forged token" exits 1 'not a ticket of ours|not a token of this cluster' move-ticket "${OLD%??}${OLD:0:2}" vip "${HS[@]}"
check "no token" exits 2 'is not a token' move-ticket 17-4 vip "${HS[@]}"
ctl --yes reject login
shut() { exits 1 'nobody is let in at present' move-ticket "$OLD" vip "${HS[@]}"; }
wait_for 10 "nor where joins are refused" shut
check "  which is not the claim's fault" eval '! grep -q claim_keys "$DIR/err"'
ctl pause login
check_eq "none of these took the place" "$(poll "$OLD" | field 'lane + " " + .state')" "default waiting"

# ---- its node stands still in between: nobody has two places, nobody has none
check "why names its node" ctl why "$OLD"
NODE=$(awk '$1 == "node" { print $2 }' "$DIR/out")
kill -STOP "$(pid_of "$NODE")"
check "a node that does not answer" exits 1 'finishes what this one began' move-ticket "$OLD" vip "${HS[@]}"
kill -KILL "$(pid_of "$NODE")"
again() { ctl move-ticket "$OLD" vip "${HS[@]}"; }
wait_for 60 "killed and back: the same command moves the ticket" again
wait_for 30 "the old token has left" gone_left "$OLD"
is_vip() { [ "$(poll "$1" | field 'lane + " " + .state')" = "vip waiting" ]; }
wait_for 30 "the new one waits" is_vip "$(moved_token)"
