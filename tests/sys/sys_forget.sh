#!/bin/bash
# A node is taken away as README says: drained, stopped. Nothing asks for it any more, and it is
# forgotten; when it comes back it is a new one, with nobody in its old journal.
. "$(dirname "$0")/lib.sh"

up --capacity 30 --seg-nodes 1 --set state=paused --set idle.game=15m --set queuemng.forget_after=3s
mkdir -p "$DIR/more"
more() { # its supervisor is $H
    helper "$BIN/seg_cluster" --set name=more --set "listen=127.0.0.1:$((PORT + 60))" \
        --set "admin=127.0.0.1:$((PORT + 80))" --set "state_dir=$DIR/more" \
        --set "log_dir=$DIR/more" --set fork=always --set "managers=127.0.0.1:$PORT" --set \
        "set=secret_file=$C/secrets/cluster.secret,pass_key_file=$C/secrets/pass.key,journal_dir=$DIR/more/journal,journal=os"
}
node() { admin GET /v1/admin/cluster | jq -e "[.nodes[] | select(.name == \"more.0\")] | $1" >/dev/null; }
is_target() { admin GET /v1/admin/targets | jq -e '[.[].labels.node] | index("more.0")' >/dev/null; }
no_target() { admin GET /v1/admin/targets | jq -e '[.[].labels.node] | index("more.0") | not' >/dev/null; }
status_of_forget() { http -o "$DIR/said" -w '%{http_code}' -X POST \
    -H "Authorization: Bearer $(admin_token)" "$A/v1/admin/nodes/more.0/forget$1"; }

more
wait_for 20 "the new node is up" node '.[0].up'
join_many 200 "$DIR/j"
tokens_of "$DIR/j" >"$DIR/tokens"
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
more
wait_for 20 "it comes back as a new one" node '.[0].up and (.[0].draining | not)'
check "Prometheus is told of it" is_target
poll_many "$DIR/tokens" "$DIR/polls"
check_eq "everybody waits, once" "$(jq -r .state "$DIR/polls" | grep -c waiting)" 200
waits() { [ "$(queue_field waiting)" = "$1" ]; }
wait_for 10 "nobody came back twice" waits 200
