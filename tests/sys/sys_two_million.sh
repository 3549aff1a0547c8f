#!/bin/bash
# One queue of two million, over two nodes and twenty segments: places are exact from the
# first to the last, polls stay quick, the segments' memory stays below four bytes each.
#   BIG_WAITING=N   how many (2000000; 200000 in a sanitizer build, whose memory is its own)
. "$(dirname "$0")/lib.sh"

FILL=$BIN/../bench/fill
[ -x "$FILL" ] || give_up "no $FILL (make bins builds it)"
N=${BIG_WAITING:-$(under_asan && echo 200000 || echo 2000000)}
up --set away=0 --routers 1 --seg-nodes 2 --release-per-s 0 --set fallback_per_s=0 \
    --set idle.game=1h --set claim=1h --set pass_ttl=1h
nodes="$(pid_of segment.0) $(pid_of segment.1)"
# shellcheck disable=SC2086
before=$(rss_kb $nodes)
first=$(join_queue | token_in)
t0=$(now_ms)
timeout 800 "$FILL" 127.0.0.1 $((PORT + 10)) login $((N - 2)) 100 >"$DIR/tokens"
rc=$?
check_eq "$((N - 2)) more join ($(($(now_ms) - t0)) ms)" $rc 0
last=$(join_queue | token_in)
wait_for 20 "the queue says that $N wait" waiting_is "$N"
exact() { [ "$(poll "$last" | field position)" = "$N" ]; }
wait_for 5 "the last one stands at $N" exact
check_eq "the first one stands at 1" "$(poll "$first" | field position)" 1
# shellcheck disable=SC2086
growth=$(($(rss_kb $nodes) - before))
under_asan || check "memory: $((growth * 1024 * 100 / N)) hundredths of a byte each, below 400" \
    test $((growth * 1024)) -lt $((N * 4))

admin POST "/v1/admin/queues/login/release?n=$((N / 2))" >/dev/null
half() { [ "$(poll "$last" | field position)" = $((N - N / 2)) ]; }
wait_for 60 "half of them are let in by hand, and the last one stands at $((N - N / 2))" half
check_eq "the first one was among them" "$(poll "$first" | field state)" admitted
