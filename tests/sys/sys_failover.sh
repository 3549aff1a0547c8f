#!/bin/bash
# Two managers and a Redis. The leader is killed, stopped and woken, told to end; Redis is
# killed, emptied, slow, full; both managers are killed. The other one leads in less than
# three seconds, releases go on, never faster than allowed, in order; nobody loses a place;
# what was told is kept.
. "$(dirname "$0")/lib.sh"
. "$here/managers.sh"

N=5000 RATE=20 # so that somebody waits to the end, also on a slow machine
up --set away=0 --managers 2 --routers 2 --seg-nodes 2 --capacity 1000 --release-per-s $RATE \
    --set state=paused --set pass_ttl=1h --set claim=30m --set idle.game=30m

# ---- who leads -----------------------------------------------------------------------

# The other one, or the same, started again: whoever is quicker.
next_leads() { find_leader && [ "$(epoch)" -gt "$before" ]; }
one_stands_by() { find_leader && [ "$(manager_at "$S" | jq -r .role)" = standby ]; }
TOKEN=$(admin_token)
counter() { metric "$L" segq_manager_released_total; } # of this term
releases_more() { [ "$(counter)" -gt "$1" ]; }
under_3s() { in_time "$2" "$1" 3000; } # milliseconds "what"

wait_for 10 "one of them leads" somebody_leads
check "and only one" test "$(leads "$S" && echo 2 || echo 1)" = 1
sends_on() {
    [ "$(status_of -H "Authorization: Bearer $TOKEN" "http://127.0.0.1:$((PORT + S))/v1/admin/queues")" = 307 ]
}
wait_for 5 "the standby hears of the leader, and sends questions on" sends_on
standby_says=$(http -X POST -H "Authorization: Bearer $TOKEN" \
    "http://127.0.0.1:$((PORT + S))/v1/admin/queues/login/resume")
check_eq "and refuses orders" "$(jq -r .code <<<"$standby_says")" not_leader
check_eq "naming the leader" "$(jq -r .leader <<<"$standby_says")" "$A"
ctl() { "$BIN/segqctl" --token-file "$C/secrets/admin.token" "$@"; }
check_eq "segqctl, told of the standby alone, asks the leader" \
    "$(ctl --admin "http://127.0.0.1:$((PORT + S))" --json queue list | jq -r '.queues[0].name')" login

# A router and a segment node that have been told of the standby alone.
told=(--set "managers=127.0.0.1:$((PORT + S - 1))")
helper "$BIN/router" -c "$C/config/router.yaml" --set node=late "${told[@]}" \
    --set "listen=127.0.0.1:$((PORT + 12))" --set "admin=127.0.0.1:$((PORT + 32))"
helper "$BIN/segment" -c "$C/config/segment.yaml" --set node=late "${told[@]}" \
    --set "listen=127.0.0.1:$((PORT + 52))" --set "admin=127.0.0.1:$((PORT + 72))" \
    --set "journal_dir=$DIR/late"
wait_for 5 "a router that knows the standby alone finds the leader" \
    has_status 200 "http://127.0.0.1:$((PORT + 12))/readyz"
late_node() { admin GET /v1/admin/cluster | grep -q '"late"'; }
wait_for 5 "so does a segment node" late_node

# ---- a crowd -------------------------------------------------------------------------

all_join $N
crowd --router "$R2" --players 400 --arrive-s 20 --wait-only --max-s 48 --leave-share 0.1
check_eq "the definition is changed" "$(admin PATCH /v1/admin/queues/login '{"grace": "77s"}' |
    jq -r .grace)" 77s
admin POST /v1/admin/queues/login/resume >/dev/null
wait_for 5 "releases begin" releases_more $RATE

# ---- the leader is killed --------------------------------------------------------------

before=$(epoch)
kill -KILL "$(pid_of $LNAME)"
t0=$(now_ms)
check_eq "people join meanwhile" "$(status_of -X POST "$R/v1/queues/login/tickets")" 201
wait_for 5 "another one leads, under a higher epoch" next_leads
under_3s $(($(now_ms) - t0)) "it leads"
wait_for 5 "releases go on" releases_more 0
wait_for 10 "there is a standby again" one_stands_by

# ---- the leader is stopped, and wakes ---------------------------------------------------

pid=$(pid_of $LNAME)
sleeper=$L
log=$C/logs/$LNAME.0.log
kill -STOP "$pid"
t0=$(now_ms)
wait_for 5 "the other one leads" leads "$S"
under_3s $(($(now_ms) - t0)) "a leader that stands still is followed"
L=$S
wait_for 5 "releases go on" releases_more 20
slept() { [ $(($(now_ms) - t0)) -ge 5000 ]; }
wait_for 6 "five seconds" slept
kill -CONT "$pid"
stepped_down() { grep -q 'event=step_down' "$log"; }
wait_for 3 "the one that slept notices it" stepped_down
wakes_standby() { [ "$(manager_at "$sleeper" | jq -r .role)" = standby ]; }
wait_for 3 "and stands by" wakes_standby
find_leader
check "there is one leader" test "$L" != "$sleeper"

# ---- Redis is killed --------------------------------------------------------------------

kill -KILL "$(pid_of redis)"
wait_for 5 "nobody leads without Redis" nobody_leads
check_eq "people join all the same" "$(status_of -X POST "$R/v1/queues/login/tickets")" 201
check_eq "and poll" "$(status_of "$R/v1/tickets/$(tail -1 "$DIR/tokens")")" 200
wait_for 5 "a manager says that it is not well" has_status 503 "http://127.0.0.1:$((PORT + 1))/healthz"
rm -rf "$C"/state/redis/*
redis-server "$C/secrets/redis.conf" || give_up "redis-server does not start again"
wait_for 10 "Redis is back, with nothing in it; one leads" somebody_leads
written_back() { grep -q 'event=store_went_back' "$C"/logs/queuemng*.log; }
wait_for 5 "and has written back what was kept" written_back
wait_for 5 "the definition is as it was" grace_is 77s
wait_for 10 "releases go on by themselves" releases_more 20

# ---- Redis is slow, then full -------------------------------------------------------------

# On a slow machine the leader may lose its lease meanwhile; then it is tried again.
changed_slowly() { # to 76s and to 78s in turns, so that there is something to keep each time
    local t0 before
    [ "${grace:-}" = 76s ] && grace=78s || grace=76s
    find_leader || return 1
    before=$(epoch)
    t0=$(now_ms)
    rcli CLIENT PAUSE 400 ALL >/dev/null
    [ "$(admin PATCH /v1/admin/queues/login "{\"grace\": \"$grace\"}" | jq -r .grace)" = $grace ] || return 1
    [ $(($(now_ms) - t0)) -ge 400 ] || { fail "a change is answered before it is kept"; return 0; }
    [ "$(epoch)" = "$before" ]
}
wait_for 20 "a change is made while Redis is slow, and answered when it is kept" changed_slowly
rcli CONFIG SET maxmemory 1 >/dev/null
check_eq "without room in Redis a change is not made" \
    "$(status_of -X PATCH -H "Authorization: Bearer $TOKEN" -d '{"grace": "79s"}' \
        "$A/v1/admin/queues/login")" 503
wait_for 5 "nobody leads who cannot keep anything" nobody_leads
rcli CONFIG SET maxmemory 0 >/dev/null
wait_for 10 "there is room again, one leads" somebody_leads
wait_for 10 "releases go on" releases_more 20

# ---- both managers are killed -------------------------------------------------------------

chain() { segments | awk '{ print $1, $4 }'; }
# Nothing may change it meanwhile: who is let in empties segments, which are merged.
admin POST /v1/admin/queues/login/pause >/dev/null
moves() { metric "$L" segq_manager_moves_committed_total; }
still() { # for a second
    local t0 moved
    t0=$(now_ms) moved=$(moves) map_before=$(chain)
    until [ $(($(now_ms) - t0)) -ge 1000 ]; do [ "$(chain)" = "$map_before" ] || return 1; done
    [ -n "$map_before" ] && [ "$(moves)" = "$moved" ]
}
wait_for 20 "the queue is paused, its chain does not change" still
kill -KILL "$(pid_of queuemng)" "$(pid_of queuemng2)"
wait_for 10 "both killed, one leads again" somebody_leads
all_there() { [ "$(chain)" = "$map_before" ] && [ "$(segments | grep -c lost)" = 0 ]; }
wait_for 10 "the chain is as before" all_there
wait_for 5 "so is the definition" grace_is "$grace"
check_eq "and it is paused still" "$(admin GET /v1/admin/queues/login | jq -r .state)" paused
admin POST /v1/admin/queues/login/resume >/dev/null
wait_for 10 "releases go on" releases_more 20

# ---- the leader is told to end -------------------------------------------------------------

before=$(epoch)
kill -TERM "$(pid_of $LNAME)"
t0=$(now_ms)
wait_for 5 "the leader ends, another one leads" next_leads
in_time "at once: the lease is given back" $(($(now_ms) - t0)) 1500
wait_for 5 "releases go on" releases_more 20
admin POST /v1/admin/queues/login/pause >/dev/null

# ---- what the crowd has seen ----------------------------------------------------------------

wait_for 60 "the other players have seen enough" crowd_is_over
judge_crowd
nobody_lost "at the end"
released_at "$DIR/polls" >"$DIR/times"
n=$(wc -l <"$DIR/times")
check "$n were let in" test "$n" -gt $((RATE * 5))
places_in "$DIR"/j/* >"$DIR/then"
check_eq "in the order of their places" "$(released_in_order "$DIR/then" "$DIR/polls")" "$n 0"
check_eq "nobody behind them was" "$(released_by_place "$DIR/then" "$DIR/polls" | tail -1 | cut -d' ' -f2)" "$n"
# In any five seconds at most the rate, and a second's more: what a node that had no time
# for a moment gives then is late, not too much. (Exactly, tick by tick: sim_release.)
most=$(fullest 5 <"$DIR/times")
check "never more than $RATE/s: $most in the fullest five seconds" test "$most" -le $((RATE * 6))
