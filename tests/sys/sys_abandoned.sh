#!/bin/bash
# A hundred thousand people have joined and gone, and one who is there stands behind them, by
# slots and by a rate: they are passed over, and cost him no slot, no claim window, no idle
# time-out. One of them comes back, and is the next.
. "$(dirname "$0")/lib.sh"

up --routers 1 --seg-nodes 2 --capacity 40000 --release-per-s 2 --set away=3s \
    --set poll_min=500ms --set poll_max=1s --set claim=20m --set grace=20m --set pass_ttl=30m \
    --set idle.game=5m --set idle.browser=5m --set idle.mobile=5m --set direct_entry=false \
    --set poll_budget_per_s=1000000
no_time() { [ "$(queue_field eta_s)" = 0 ]; }
wait_for 30 "where nobody waits and some are let in it takes no time" no_time
"$BIN/../bench/fill" 127.0.0.1 $((PORT + 10)) login 100000 100 >"$DIR/gone" 2>"$DIR/fill.said" ||
    give_up "fill: $(cat "$DIR/fill.said")"
began=$(now_ms)
one=$(join_queue | token_in)
state_is() { [ "$(poll "$one" | field state)" = "$1" ]; }
check "who is there waits behind them" state_is waiting
let_in() { state_is admitted; }
wait_for 240 "it is let in: not after a hundred thousand at two a second, nor when they time out" \
    let_in
echo "after $(($(now_ms) - began)) ms"
passed_over() { echo $(($(metric 1 segq_lane_no_shows_total) + 0)); }
over() { [ "$(passed_over)" -ge 90000 ]; }
wait_for 30 "they are no-shows, whom nobody waited for" over
given=$(($(queue_field ready) + $(queue_field active)))
check "few of them were given a share of the rate ($given)" test "$given" -lt 2000
one=$(tail -1 "$DIR/gone")
wait_for 60 "one of them comes back, and is let in" let_in
