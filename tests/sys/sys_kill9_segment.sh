#!/bin/bash
# kill -9 of the only segment node, with many waiting: a moment later everybody is where
# they were, passes are the same, and releases go on where they stopped; also while people
# join, poll and are let in; and however long it stays away. Meanwhile routers go on answering
# those who wait, for `replica_keep`.
#   WAITING=N   how many (200000; 20000 in a sanitizer build)
. "$(dirname "$0")/lib.sh"

FILL=$BIN/../bench/fill
[ -x "$FILL" ] || give_up "no $FILL (make bins builds it)"
N=${WAITING:-$(under_asan && echo 20000 || echo 200000)}
LIMIT_MS=$(under_asan && echo 10000 || echo 2000)
up --set away=0 --routers 1 --seg-nodes 1 --release-per-s 50 --set queuemng.lost_after=5s \
    --set idle.game=30m --set claim=30m --set pass_ttl=30m
serves() { [ "$(status_of --max-time 0.5 "$R/v1/tickets/$1")" = 200 ]; }
logged() { grep -c 'event=recovered segments' "$C/logs/segment.0.log"; }

# kill_segment TOKEN "when": until TOKEN is answered again
kill_segment() {
    local pid t0 n
    n=$(logged)
    pid=$(pid_of segment.0)
    t0=$(now_ms)
    kill -KILL "$pid"
    back() { [ "$(logged)" -gt "$n" ] && serves "$1"; }
    wait_for 20 "$2: its places are served again" back "$1"
    in_time "$2" $(($(now_ms) - t0)) "$LIMIT_MS"
}

# ---- at rest ------------------------------------------------------------------------

inside=$(join_queue | token_in)
wait_for 10 "the first one is let in" is_admitted "$inside"
pass=$(poll "$inside" | field pass)
admin POST /v1/admin/queues/login/pause >/dev/null
paused() { [ "$(queue_field state)" = paused ]; }
wait_for 5 "then the queue is paused" paused
left=$(join_queue | token_in)
timeout 600 "$FILL" 127.0.0.1 $((PORT + 10)) login $((N - 1)) 300 >"$DIR/tokens"
check_eq "$((N - 1)) people join" $? 0
tail=$(join_queue | token_in)
check_eq "one leaves" "$(status_of -X DELETE "$R/v1/tickets/$left")" 204
known() { [ "$(segments | awk '{ s += $3 } END { print s + 0 }')" = "$1" ]; } # to queuemng
wait_for 10 "$N wait" known "$N"
moved_up() { [ "$(poll "$tail" | field position)" = "$N" ]; }
wait_for 5 "and have moved up" moved_up
places() { poll_many "$DIR/tokens" "$DIR/polls"; places_in "$DIR/polls"; }
places >"$DIR/before"
check "some three hundred of them are asked for their places" test "$(wc -l <"$DIR/before")" -gt 250
kill_segment "$(head -1 "$DIR/tokens")" "at rest"
places >"$DIR/after"
check "every place is the same" cmp "$DIR/before" "$DIR/after"
wait_for 5 "$N wait" known "$N"

# Two thirds of replica_keep, so that a slow machine's last polls are within it, too.
last_known() { metric 30 'segq_router_polls_by_total{by="last_known"}'; }
kill -STOP "$(pid_of seg_cluster)"
kill -KILL "$(pid_of segment.0)"
put_off=0 rounds=0
end=$(($(now_ms) + 8000))
while [ "$(now_ms)" -lt $end ]; do
    poll_many "$DIR/tokens" "$DIR/polls"
    put_off=$((put_off + $(jq -r .status "$DIR/polls" | grep -c 503)))
    places_in "$DIR/polls" >"$DIR/away"
    rounds=$((rounds + 1))
done
check_eq "while it is away nobody who waits is put off, in $rounds rounds" "$put_off" 0
check "they are told their places as last known" cmp "$DIR/before" "$DIR/away"
check "$(last_known) answers were of that kind" test "$(last_known)" -gt 250
n=$(logged)
kill -CONT "$(pid_of seg_cluster)"
recovered() { [ "$(logged)" -gt "$n" ]; }
wait_for 20 "it is back" recovered
told() { [ "$(metric 70 segq_segment_seen_marks_total)" -gt 250 ]; }
wait_for 10 "and hears of those who polled" told
check "every place is the same" cmp "$DIR/before" <(places)

check_eq "the pass is the same" "$(poll "$inside" | field pass)" "$pass"
check_eq "who left has left" "$(poll "$left" | field reason)" left
check_eq "who joins now stands behind all" "$(join_queue | field position)" $((N + 1))
check "the log says how long it took" grep -q "event=recovered segments=.* tickets=$((N + 1)) seconds=" "$C/logs/segment.0.log"

# ---- while everything moves -----------------------------------------------------------

# All of them are released; nobody comes for his pass but those behind them. A release by
# hand ends with the last one that queuemng knows of.
wait_for 10 "all $((N + 1)) are known" known $((N + 1))
admin POST "/v1/admin/queues/login/release?n=$((N + 1))" >/dev/null
waits() { [ "$(queue_field waiting)" -"$1" "$2" ]; }
wait_for 30 "they are all released" waits eq 0
released=$(head -1 "$DIR/tokens")
wait_for 5 "the first of them is let in" is_admitted "$released"
first=$(poll "$released" | field pass)
admin POST /v1/admin/queues/login/resume >/dev/null

# It comes at the same pace until it has seen enough, however long that takes.
crowd --players 75000 --arrive-s 300 --wait-only --max-s 300 --leave-share 0.1 --repeat 0.5
wait_for 15 "people join meanwhile" waits gt 300
last=$(join_queue | token_in)
kill_segment "$last" "under load"
wait_for 15 "and go on" waits gt 700
kill_segment "$last" "again"
end_crowd
check "many of them were let in meanwhile" test "$(jq .admitted "$DIR/swarm.json")" -gt 100
check_eq "the pass is still the same" "$(poll "$inside" | field pass)" "$pass"
check_eq "and so is that of the first" "$(poll "$released" | field pass)" "$first"
"$BIN/segment" --check-journal "$C/state/journal/segment.0" >"$DIR/check"
check_eq "the journal reads well" $? 0
check "and is explained" grep -q ' join' "$DIR/check"

# ---- away for too long ----------------------------------------------------------------

kill -STOP "$(pid_of seg_cluster)"
kill -KILL "$(pid_of segment.0)"
away() { [ "$(status_of "$R/v1/tickets/$last")" = 503 ]; }
wait_for 20 "while it is away for longer than replica_keep, polls are put off" away
given_up() { [ "$(metric 1 segq_manager_segments_lost_total)" -gt 0 ]; }
wait_for 20 "after lost_after another node would get its segments, but there is none" given_up
check "polls are still put off" away
kill -CONT "$(pid_of seg_cluster)"
wait_for 20 "it comes back, and what it brings is taken" serves "$last"
check "nobody has lost the place" test "$(poll "$last" | field state)" != gone
fresh() { [ "$(status_of -X POST "$R/v1/queues/login/tickets")" = 201 ]; }
wait_for 20 "and people join" fresh
check_eq "the pass is the same, even now" "$(poll "$released" | field pass)" "$first"
