#!/bin/bash
# Bounds are lowered below what is there (F30): the capacity of segments and the most who may
# wait by HUP, a node's room by a restart. Who is there keeps the place, also over the restart;
# who is new is refused until there is room, and let in then, behind the others.
. "$(dirname "$0")/lib.sh"

up --set away=0 --capacity 2000 --release-per-s 1000 --set state=paused \
    --set idle.game=15m --set claim=10m --set pass_ttl=30m
N=1500
all_join $N
places() { # file: "token position" of all who wait
    poll_many "$DIR/tokens" "$1.polls"
    jq -r 'select(.state == "waiting") | "\(.token) \(.position)"' "$1.polls" | sort >"$1"
}
places "$DIR/then"
same() { places "$DIR/now"; cmp -s "$DIR/then" "$DIR/now"; }
file=$C/config/queuemng.yaml
boss=$(pid_of mng_cluster)
hup() { # sed-expression
    sed -i "$1" "$file"
    kill -HUP "$boss"
}
def() { admin GET /v1/admin/queues/login | jq -r ".$1"; }
is() { [ "$(def "$1")" = "$2" ]; }
joins() { status_of -X POST "$R/v1/queues/login/tickets"; }
joins_say() { [ "$(joins)" = "$1" ]; }

# ---- segments smaller than what is in them ------------------------------------------------

hup 's/segment_capacity: 2000/segment_capacity: 50/'
wait_for 20 "segments of 50, while one holds $N" is segment_capacity 50
check_eq "nobody's place changes" "$(same && echo same)" same
join_many 600 "$DIR/j2"
tokens_of "$DIR/j2" >>"$DIR/tokens"
check_eq "600 more join" "$(tokens_of "$DIR/j2" | wc -l)" 600
check "the first segment is filled up, then come small ones" test "$(n_segments)" -ge 2
check_eq "behind all who were there" "$(cat "$DIR"/j2/* | jq .position | sort -n | sed -n '1p;$p' |
    tr '\n' ' ')" "$((N + 1)) $((N + 600)) "
places "$DIR/then"
check_eq "all have their place" "$(wc -l <"$DIR/then")" $((N + 600))

# ---- fewer may wait than do ---------------------------------------------------------------

hup 's/^\( *\)segment_capacity:/\1max_waiting: 1000\n&/'
wait_for 20 "no more than 1000 may wait" is max_waiting 1000
wait_for 20 "joins are refused" joins_say 503
check_eq "because the queue is full" "$(join_queue | field code)" queue_full
check_eq "nobody who waits is touched" "$(same && echo same)" same
hup '/max_waiting/d'
wait_for 20 "the bound is taken back: joins go on" joins_say 201

# ---- a node with less room than it holds ---------------------------------------------------

places "$DIR/then" # whoever just joined is in nobody's list, and behind everybody
old=$(pid_of segment.0)
sed -i '/^max_tickets/d' "$C/config/segment.yaml"
echo 'max_tickets: 512' >>"$C/config/segment.yaml"
kill -TERM "$old" # its supervisor starts it again
wait_for 20 "the node is started again, with room for 512" restarted segment.0 "$old"
wait_for 20 "everybody has his place all the same" same
join_many 600 "$DIR/j3" # into what is left of the last block of 512
check "at most the rest of a block joins" test "$(tokens_of "$DIR/j3" | wc -l)" -lt 512
check_eq "then nobody new does" "$(joins)" 503
check_eq "and again: all have their place" "$(same && echo same)" same
admin POST /v1/admin/queues/login/resume >/dev/null
all_in() {
    poll_many "$DIR/tokens" "$DIR/end"
    [ "$(grep -o '"state":"admitted"' "$DIR/end" | wc -l)" = $((N + 600)) ]
}
wait_for 40 "all are let in" all_in
check_eq "in the order of their places" "$(released_in_order "$DIR/then" "$DIR/end")" "$((N + 600)) 0"
wait_for 20 "now there is room: joins go on" joins_say 201
