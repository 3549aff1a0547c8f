#!/bin/bash
# F8: two managers at the same time. The one that leads is stopped, killed, or cut off from the
# Redis that has the lease while it reaches everybody else: the other one leads; what the old
# one still says is refused or not said at all. One tail, one release stream throughout.
. "$(dirname "$0")/lib.sh"
. "$chaos/procs.sh"

machines "d0 m0 m1 s0 s1 r0 r1"
cluster_up --capacity 80 --release-per-s 12 --set queuemng.skip_after=60s
observe --first 200
wait_for 60 "people are answered" answered poll 200 300
own_view() { http --max-time 2 -H "Authorization: Bearer $(admin_token)" "http://$(addr "$1"):7071/v1/admin/manager"; }
leads() { [ "$(own_view "$1" | jq -r .role 2>/dev/null)" = leader ]; }
stands_by() { [ "$(own_view "$1" | jq -r .role 2>/dev/null)" = standby ]; }
epoch_of() { own_view "$1" | jq .epoch; }
find() { # old: who leads, new: the other one
    if leads m0; then old=m0 new=m1; elif leads m1; then old=m1 new=m0; else return 1; fi
}
grown() { check "its epoch is above $1: $(epoch_of "$new")" test "$(epoch_of "$new")" -gt "$1"; }
is_let_in() { jq -r --argjson t "$(tail -1 "$DIR/phases.jsonl" | jq .t)" \
    'select(.t0 >= $t and .state == "admitted") | .who' "$HISTORY" 2>/dev/null | sort -u | awk 'END { exit NR < 20 }'; }

phase stopped
wait_for 60 "one leads" find
e=$(epoch_of $old)
stop $old.0
wait_for 60 "$old is stopped: $new leads" leads $new
grown "$e"
cont $old.0
wait_for 60 "$old wakes, and stands by" stands_by $old
check "$new leads" leads $new

phase killed
wait_for 60 "one leads" find
e=$(epoch_of $old)
kill_now $old.0
wait_for 60 "one leads" find
e2=$(epoch_of $old)
check "$old leads, under another epoch ($e, $e2)" test "$e2" -gt "$e"

phase split
wait_for 60 "one leads" find
e=$(epoch_of $old)
cut $old d0 # it reaches nodes and routers, and thinks of nothing bad
wait_for 60 "$old is cut off from Redis: $new leads" leads $new
grown "$e"
no_more() { ! leads $old; }
wait_for 60 "$old leads no more" no_more
hold 3
heal
wait_for 60 "healed: $old stands by" stands_by $old
check "$new leads" leads $new
settle "everybody hears what is ahead of them"

phase healed
wait_for 60 "people are let in" is_let_in
wait_for 60 "people join" answered join 201 10
observe_end --rate 12 --apart-s 1 --stale stopped --stale killed --stale split --stale settling \
    --gap stopped:25 --gap killed:25 --gap split:25 --served stopped:50 --served split:50 \
    --served healed:100
