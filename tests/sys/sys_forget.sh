#!/bin/bash
# A node is taken away as docs/operations.md says: drained, stopped. Nothing asks for it any more, and it is
# forgotten; when it comes back it is a new one, with nobody in its old journal.
. "$(dirname "$0")/lib.sh"

up --capacity 30 --seg-nodes 1 --set state=paused --set idle.game=15m --set queuemng.forget_after=8s
node() { admin GET /v1/admin/cluster | jq -e "[.nodes[] | select(.name == \"more.0\")] | $1" >/dev/null; }
is_target() { admin GET /v1/admin/targets | jq -e '[.[].labels.node] | index("more.0")' >/dev/null; }
no_target() { admin GET /v1/admin/targets | jq -e '[.[].labels.node] | index("more.0") | not' >/dev/null; }
status_of_forget() { http -o "$DIR/said" -w '%{http_code}' -X POST \
    -H "Authorization: Bearer $(admin_token)" "$A/v1/admin/nodes/more.0/forget$1"; }

another_node
wait_for 20 "the new node is up" node '.[0].up'
all_join 200
on_more() { [ "$(segments | n_of ' more.0$')" != 0 ]; }
wait_for 10 "it has segments" on_more
check_eq "who is up is not forgotten" "$(status_of_forget '?force=true')" 409
admin POST /v1/admin/nodes/more.0/drain >/dev/null
wait_for 40 "it is empty" node '.[0].segments == 0'
check "Prometheus is still told of it" is_target
end_pid "$H"
wait_for 20 "it is retired" node '.[0].retired'
check "Prometheus is not told of it any more" no_target
wait_for 20 "it is forgotten" node 'length == 0'
check_eq "forgotten is forgotten" "$(status_of_forget '')" 404
poll_many "$DIR/tokens" "$DIR/polls"
check_eq "everybody waits" "$(jq -r .state "$DIR/polls" | grep -c waiting)" 200
another_node
wait_for 20 "it comes back as a new one" node '.[0].up and (.[0].draining | not)'
check "Prometheus is told of it" is_target
poll_many "$DIR/tokens" "$DIR/polls"
check_eq "everybody waits, once" "$(jq -r .state "$DIR/polls" | grep -c waiting)" 200
wait_for 10 "nobody came back twice" waiting_is 200
