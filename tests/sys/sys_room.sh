#!/bin/bash
# A slip: all nodes are drained, and the queue is flushed, and another one is made meanwhile.
# Joins are put off; when a drain is taken back people can join, without any other order.
. "$(dirname "$0")/lib.sh"

up --capacity 50 --seg-nodes 2 --release-per-s 1 --set idle.game=15m
check_eq "people can join" "$(status_of -X POST "$R/v1/queues/login/tickets")" 201
for n in segment.0 segment.1; do
    admin POST "/v1/admin/nodes/$n/drain" >/dev/null
done
admin POST /v1/admin/queues/login/flush >/dev/null
admin PUT /v1/admin/queues/late '{"state": "paused"}' >/dev/null
joins() { [ "$(status_of -X POST "$R/v1/queues/$1/tickets")" = "$2" ]; }
wait_for 10 "there is no room" joins login 503
wait_for 10 "nor for a new queue" joins late 503
admin POST /v1/admin/nodes/segment.1/undrain >/dev/null
wait_for 3 "people can join again" joins login 201
wait_for 3 "the new queue as well" joins late 201

# And another slip is undone: nobody has lost anything.
t=$(join_queue "$R" late | token_in)
late_waits() { [ "$(admin GET /v1/admin/cluster | jq '[.queues[] | select(.queue == "late") | .lanes[].waiting] | add')" = "$1" ]; }
wait_for 5 "two wait" late_waits 2
admin DELETE /v1/admin/queues/late >"$DIR/deleted"
check_eq "the answer says how many wait" "$(jq .waiting "$DIR/deleted")" 2
check_eq "so does the cluster" "$(admin GET /v1/admin/cluster | jq '.deleted[0].waiting')" 2
wait_for 5 "nobody can join a deleted queue" joins late 403
check_eq "its people keep their places" "$(poll "$t" | field state)" waiting
admin POST /v1/admin/queues/late/restore >/dev/null
wait_for 5 "it is back" joins late 201
check_eq "with its people" "$(poll "$t" | field state)" waiting

# A shadow: everybody goes in at once, and the line is played beside it.
admin PUT /v1/admin/queues/shadow '{"release_per_s": 1, "shadow": true}' >/dev/null
shadow() { admin GET /v1/admin/cluster | jq -e ".queues[] | select(.queue == \"shadow\") | .shadow | $1" >/dev/null; }
wait_for 5 "it has a line of its own" shadow '.waiting == 0'
tokens=$(for _ in $(seq 20); do join_queue "$R" shadow | token_in; done)
all_in() { for t in $tokens; do [ "$(poll "$t" | field state)" = admitted ] || return 1; done; }
wait_for 5 "all twenty are let in" all_in
check "and most of them would wait" shadow '.joined == 20 and .waiting >= 10 and .wait_s > 0 and .limited_by == "fixed"'
check_eq "the status says so" "$("$BIN/segqctl" --dir "$DIR/c" status shadow | grep -c 'shadow, everybody goes in at once: .* would wait, up to [0-9]')" 1
check_eq "and the metrics" "$(curl -s "$A/metrics" | sed -n 's/^segq_queue_shadow_joined_total{queue="shadow"} //p')" 20
check_eq "it is confirmed first: all who wait go in" "$("$BIN/segqctl" --dir "$DIR/c" queue set late shadow=true </dev/null 2>&1 | grep -c 'All of them go in at once')" 1
