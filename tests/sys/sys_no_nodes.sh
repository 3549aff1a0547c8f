#!/bin/bash
# No segment node can be reached: the line is not full, and neither programs nor people are told
# so. Who waits is told the place as last known, for replica_keep. When the nodes are back
# everything goes on by itself, and places are kept.
. "$(dirname "$0")/lib.sh"

up --routers 1 --seg-nodes 2 --set away=0 --set state=paused --set idle.game=15m --set idle.browser=15m
room() { http "${LOOKS[@]}" -H "Accept: text/html" -H "Accept-Language: $1" "$R/q/login"; }
joins() { http -X POST "$R/v1/queues/login/tickets" | jq -r "$1"; }
t=$(join_queue | token_in)
before=$(poll "$t" | field position)
nodes="$(pid_of segment.0) $(pid_of segment.1)"
# shellcheck disable=SC2086
kill -STOP $nodes
unavailable() { [ "$(joins .code)" = queue_unavailable ]; }
wait_for 20 "no node answers: a join is put off" unavailable
check_eq "and it is not said that the line is full" "$(joins .code)" queue_unavailable
kept() { [ "$(poll "$t" | field position)" = "$before" ]; }
check "a poll is answered with the place as last known" kept
put_off() { [ "$(poll "$t" | field code)" = queue_unavailable ]; }
wait_for 40 "and is put off after replica_keep" put_off
says() { room "$1" | grep -q "$2"; }
wait_for 20 "the page asks for a moment" says en 'One moment'
check "it does not say that the line is full" eval '! room en | grep -qi "line is full"'
check "in Chinese, too" says zh '请稍候'
# shellcheck disable=SC2086
kill -CONT $nodes
can_join() { [ "$(joins .state)" = waiting ]; }
wait_for 20 "nodes are back: people can join" can_join
wait_for 20 "places are kept" kept
