#!/bin/bash
# A queue that opens by the clock: people come early, processes are killed, at the opening
# lots are drawn, once, and anybody can check it with the seed that was promised before. Then
# the other states that an operator sets: reject, passthrough.
. "$(dirname "$0")/lib.sh"

N=200
up --set away=0 --routers 1 --seg-nodes 2 --release-per-s 0.0001 --set idle.game=30m --set idle.browser=30m \
    --set poll_min=200ms --set poll_max=1s --set claim=30m --set pass_ttl=30m
ctl() { "$BIN/segqctl" --dir "$C" "$@"; }
moment() { date -u -d "@$(($(date +%s) + $1))" +%FT%TZ; } # in so many seconds
state_is() { [ "$(queue_field state)" = "$1" ]; }
join_status() { status_of -X POST "$R/v1/queues/login/tickets"; }

# ---- before ---------------------------------------------------------------------------
check "it shall open in two hours" ctl queue set login opens_at="$(moment 7200)" prequeue=60m
wait_for 10 "until then it is closed" state_is closed
check_eq "nobody may join" "$(join_status)" 403
check "the page says so, and looks again by itself" grep -q 'Not open yet.*url=/q/login\|Opens in' \
    <(http "$R/q/login?return=/" | tr '\n' ' ')
commitment=$(queue_field draw.commitment)
check_eq "a draw is promised" ${#commitment} 64
check "a moment that is none is refused" \
    eval '! ctl queue set login opens_at=soon >"$DIR/soon" 2>&1; grep -q "opens_at.*soon" "$DIR/soon"'

check "now in half an hour" ctl queue set login opens_at="$(moment 1800)"
wait_for 10 "people may come early" state_is prequeue
join_many $N "$DIR/early"
tokens_of "$DIR/early" >"$DIR/tokens"
check_eq "$N people come" "$(wc -l <"$DIR/tokens")" $N
nobody_has_a_place() {
    poll_many "$DIR/tokens" "$DIR/polls"
    [ "$(jq -r 'select(.state == "waiting" and .position == null and .prequeue and .opens_at > 0) | .ticket' \
        "$DIR/polls" | sort -u | wc -l)" = $N ]
}
check "nobody has a place yet" nobody_has_a_place
check "why says so" grep -q '^because *it came early: .* is drawn when the queue opens$' <(ctl why "$(head -n 1 "$DIR/tokens")")
check "status, too" grep -q '^queue login (open: prequeue): 0/s allowed, limited by not_open' <(ctl status login)
check "the page says when it opens" grep -q 'You are here early.*about 30 minutes' \
    <(http "${LOOKS[@]}" "$R/q/login?return=/" | tr '\n' ' ')
check "nobody is let in by hand" eval '! ctl release login 5 2>/dev/null'
check_eq "the promise is the same" "$(queue_field draw.commitment)" "$commitment"
check_eq "the seed is a secret" "$(queue_field draw.seed)" null

# ---- kill -9, and it opens in the middle of it -------------------------------------------
kill -KILL "$(pid_of segment.0)" "$(pid_of queuemng)"
wait_for 30 "after a kill -9 all are there, without a place" nobody_has_a_place
check_eq "the promise is the same" "$(queue_field draw.commitment)" "$commitment"
opens() { ctl queue set login opens_at="$(moment 3)" >/dev/null; }
wait_for 30 "it shall open in three seconds" opens
opened() { http "$R/v1/queues/login" | jq -e '.draw.seed and .state == "open"' >/dev/null; }
wait_for 20 "it opens" opened
kill -KILL "$(pid_of segment.0)" "$(pid_of segment.1)" "$(pid_of queuemng)"
all_have_places() {
    poll_many "$DIR/tokens" "$DIR/polls"
    [ "$(jq -r 'select(.position != null) | .position' "$DIR/polls" | sort -un | wc -l)" = $N ]
}
wait_for 30 "everybody has a place of his own" all_have_places
check_eq "the promise is the same" "$(queue_field draw.commitment)" "$commitment"
late=
stands_last() { # while the nodes come back a join may be refused, or not know its place yet
    [ -n "$late" ] || late=$(join_queue | token_in)
    [ -n "$late" ] && [ "$(poll "$late" | field position)" = $((N + 2)) ]
}
wait_for 30 "who comes now stands behind all, and the one on the page" stands_last

# ---- anybody can check it -------------------------------------------------------------------
http "$R/v1/queues/login" >"$DIR/queue.json"
cat >"$DIR/verify.py" <<'PY'
"""What the description says, with Python's own SHA-256: the order, and who has which place."""
import hashlib
import json
import struct
import sys

queue = json.load(open(sys.argv[1]))
draw = queue["draw"]
seed = bytes.fromhex(draw["seed"])
text = "segq draw 1\n%s\n%s\n" % (queue["queue"], draw["seed"])
assert hashlib.sha256(text.encode()).hexdigest() == sys.argv[3], "another seed than promised"


def random(segment, i):
    """The i-th random number of a segment's draw."""
    block = hashlib.sha256(seed + struct.pack(">QQ", segment, i // 4)).digest()
    return struct.unpack(">4Q", block)[i % 4]


places = {}
for s in draw["segments"]:
    line = list(range(s["count"]))
    for i in range(s["count"] - 1, 0, -1):
        j = random(s["segment"], i) * (i + 1) >> 64
        line[i], line[j] = line[j], line[i]
    for n in line:
        places["%d-%d" % (s["segment"], n)] = len(places) + 1
polls = [json.loads(p) for p in open(sys.argv[2]) if p.strip()]
order = sorted(polls, key=lambda t: t["position"])
assert [t["ticket"] for t in order] == sorted((t["ticket"] for t in polls), key=places.get)
numbers = [int(t["ticket"].split("-")[1]) for t in order]
assert numbers != sorted(numbers), "they stand as they came"
json.dump(places, open(sys.argv[4], "w"))
PY
jq -c . "$DIR/polls" >"$DIR/lines"
check "the places are those of the draw" python3 "$DIR/verify.py" "$DIR/queue.json" "$DIR/lines" \
    "$commitment" "$DIR/places"
someone=$(jq -r .ticket "$DIR/polls" | head -1)
check "segqctl says the same" grep -q "$someone: place $(jq -r --arg t "$someone" '.[$t]' "$DIR/places") of" \
    <(ctl draw login "$someone")
check "against what was promised" grep -q '^ *as promised$' <(ctl draw login "$commitment" "$someone")
refuses() { ! ctl draw login "$(tr 0-9a-f 1-9a-f0 <<<"$commitment")" >/dev/null 2>"$DIR/refused"; }
check "and not against anything else" refuses
check "which it says" grep -q 'not the commitment that you noted' "$DIR/refused"
check "and does not know others" eval '! ctl draw login 1-4000000 >/dev/null 2>&1'

first=$(jq -r 'select(.position <= 50) | .token' "$DIR/polls" | sort) # or 49, and the page
let_in() { ctl release login 50 >/dev/null; }
wait_for 30 "50 are let in" let_in
admitted() {
    poll_many "$DIR/tokens" "$DIR/polls"
    [ "$(jq -r 'select(.state == "admitted") | .token' "$DIR/polls" | sort)" = "$first" ]
}
wait_for 30 "the first 50 of the draw" admitted

# ---- other states ----------------------------------------------------------------------------
check "everybody is rejected" ctl reject login --yes
wait_for 10 "routers know it" state_is reject
check_eq "a join" "$(join_status)" 403
check "the page" grep -q 'Not available at the moment' <(http "$R/q/login?return=/")
check "who waits keeps the place" eval '[ "$(jq -r "select(.state == \"waiting\") | .token" "$DIR/polls" | head -1 |
    while read -r t; do poll "$t" | field state; done)" = waiting ]'
pass=$(poll "$(head -1 <<<"$first")" | field pass)
verify() { status_of "$R/v1/verify?queue=login" "$@"; }
check_eq "without a pass nobody comes in" "$(verify)" 401
check_eq "a pass stays good" "$(verify -H "Authorization: Bearer $pass")" 204
check "to let everybody by is not done without a word" eval '! ctl passthrough login </dev/null 2>/dev/null'
check "everybody is let by" ctl --yes passthrough login
wait_for 10 "routers know it" state_is passthrough
check_eq "nobody needs a pass" "$(verify)" 204
check "the gateway is told why" grep -qi '^X-Segq-Bypass: passthrough' \
    <(http -D - -o /dev/null "$R/v1/verify?queue=login")
check_eq "the page sends straight on" "$(status_of "$R/q/login?return=/")" 303
wait_for 20 "who waited is let in" waiting_is 0
check "and back" ctl open login
wait_for 10 "it is open" state_is open
check_eq "a pass is needed again" "$(verify)" 401
