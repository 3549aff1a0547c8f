#!/bin/bash
# A place belongs to one device, over real processes: two routers, a segment node each, kill -9. A copied
# ticket, a copied pass, another device of the same name are refused at each router, before and behind
# the kill; nobody loses a place by it.
. "$(dirname "$0")/lib.sh"

up --routers 2 --seg-nodes 2 --task-nodes 0 --release-per-s 100 --set away=0 --set pass_ttl=10m --set claim=5m \
    --set bind=device --set state=paused

Q=v1/queues/login/tickets
join_as() { # JAR [router [json]] -> ticket
    http -b "$DIR/$1" -c "$DIR/$1" -X POST -H 'Content-Type: application/json' -d "${3:-{\}}" "${2:-$R}/$Q"
}
place() { http -b "$DIR/$1" "${3:-$R}/v1/tickets/$2" | jq -c '[.code // .state, .position // .ticket]'; } # JAR TOKEN [router]
touch "$DIR/none"

# ---- a ticket
T=$(join_as ann | field token)
check_eq "the cookie of a join is for each path, and for no script" "$(awk '/segq_device_login/ { print $1, $3, length($7) }' "$DIR/ann")" "#HttpOnly_127.0.0.1 / 22"
check_eq "with it the ticket works at the router that gave it" "$(place ann "$T")" '["waiting",1]'
check_eq "  and at the other one" "$(place ann "$T" "$R2")" '["waiting",1]'
N=$(http "$R/v1/tickets/$T" | field ticket)
check "a copied ticket is refused, with its number: $N" test "${N#*-}" != "$N"
check_eq "  at the other router, too" "$(place none "$T" "$R2")" "[\"other_device\",\"$N\"]"
join_as bob >/dev/null
check_eq "  and with another device's cookie" "$(place bob "$T")" "[\"other_device\",\"$N\"]"
check_eq "nobody leaves for another one" "$(status_of -b "$DIR/bob" -X DELETE "$R2/v1/tickets/$T")" 403
check_eq "the place was kept" "$(place ann "$T")" '["waiting",1]'

# ---- one name, two devices
S=$(join_as carl "$R" '{"subject":"carl"}' | field token)
check_eq "another device of the same name is refused" "$(join_as dora "$R2" '{"subject":"carl"}' | field code)" other_device
check_eq "  the first one finds its place" "$(join_as carl "$R2" '{"subject":"carl"}' | field token)" "$S"
again() { http -c "$DIR/$1" -H 'Idempotency-Key: 0123456789abcdef' -X POST "$2/$Q"; }
E1=$(again eve "$R" | field token)
E2=$(again eve2 "$R2" | field token)
check_eq "a join again whose answer was lost is the same device" "$(place eve2 "$E1")" "$(place eve "$E2" "$R2")"

# ---- kill -9
pid=$(pid_of router.1)
kill -KILL "$pid"
kill -KILL "$(pid_of segment.0)" "$(pid_of segment.1)"
wait_for 20 "a router comes back that remembers nothing" restarted router.1 "$pid"
back() { [ "$(place ann "$T" "$R2")" = '["waiting",1]' ] && [ "$(place ann "$T")" = '["waiting",1]' ]; }
wait_for 20 "  and the ticket works" back
check_eq "  with its device only" "$(place bob "$T" "$R2")" "[\"other_device\",\"$N\"]"
other() { [ "$(join_as dora "$R" '{"subject":"carl"}' | field code)" = other_device ]; }
wait_for 20 "  also by its name" other

# ---- an operator lets another device take it over
U=$(join_as fay | field token)
at() { place fay "$U" | jq -c '.[1]'; }
G=$(at)
NU=$(http "$R/v1/tickets/$U" | field ticket)
ctl() { "$BIN/segqctl" --dir "$C" "$@"; }
said=$(ctl rebind "$NU")
check "it says from and to: $said" grep -q "^ticket $NU of queue login: the device that joined -> the next one that shows it, until " <<<"$said"
check "the log of operators has it" eval 'ctl audit | grep "tickets/$NU/rebind"'
taken() { [ "$(place gus "$U" "$R2")" = "[\"waiting\",$G]" ]; }
takes() { http -b "$DIR/gus" -c "$DIR/gus" "$R2/v1/tickets/$U" >/dev/null; taken; }
wait_for 10 "the next device that shows it has its place" takes
gone() { [ "$(place fay "$U")" = "[\"other_device\",\"$NU\"]" ]; }
wait_for 5 "  the old one has not any more" gone
check_eq "  nor has a third one" "$(place bob "$U")" "[\"other_device\",\"$NU\"]"
link=$(ctl rebind "$NU" | sed 's/.* at a router: //')
visit() { http "${LOOKS[@]}" -L -b "$DIR/hal" -c "$DIR/hal" "$R$1" | grep -q 'id="position"'; }
check_eq "while it is open once more, who has it keeps it" "$(place gus "$U")" "[\"waiting\",$G]"
by_link() { visit "$link" || visit /q/login; }
wait_for 10 "by the link that it prints it is taken over at the page" by_link
check_eq "  once" "$(http -o /dev/null -w '%{http_code}' "${LOOKS[@]}" "$R2$link")" 403
pid=$(pid_of queuemng)
kill -KILL "$pid"
wait_for 20 "the manager comes back" restarted queuemng "$pid"
wait_for 20 "  and answers" eval 'ctl status >/dev/null 2>&1'
kill -KILL "$(pid_of router.1)"
kept() { [ "$(place hal "$U" "$R2")" = "[\"waiting\",$G]" ] && [ "$(place gus "$U" "$R2" | jq -r '.[0]')" = other_device ]; }
wait_for 20 "  and a router that remembers nothing knows whose it is" kept

# ---- the page, the pass, the gate
check_eq "the page says so, and to whom to turn" "$(http "${LOOKS[@]}" -b "segq_ticket=$T" "$R/q/login" | grep -oE 'class="other_device"|<code>[0-9-]+' | tr -d '\n')" "class=\"other_device\"<code>$N"
check "the queue opens" "$BIN/segqctl" --dir "$C" queue set login state=open
let_in() { [ "$(http -b "$DIR/ann" "$R2/v1/tickets/$T" | field state)" = admitted ]; }
wait_for 20 "its device is let in" let_in
P=$(http -b "$DIR/ann" "$R/v1/tickets/$T" | field pass)
verify() { status_of -b "$DIR/$1" -H "Authorization: Bearer $P" "$2/v1/verify?queue=login"; }
check_eq "the pass is good with its device, at both routers" "$(verify ann "$R") $(verify ann "$R2")" "204 204"
check_eq "  with another it is not" "$(verify bob "$R") $(verify none "$R2")" "403 403"
check "nobody's place is bound any more" "$BIN/segqctl" --dir "$C" queue set login bind=none
free() { [ "$(verify none "$R") $(verify none "$R2")" = "204 204" ]; }
wait_for 10 "  so any may show it" free
