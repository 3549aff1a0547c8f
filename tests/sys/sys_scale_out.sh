#!/bin/bash
# The cluster grows while people join and poll: one more rt_cluster and one more
# seg_cluster are started; the new router serves, the new node gets segments.
. "$(dirname "$0")/lib.sh"

up --capacity 50 --seg-nodes 1 --release-per-s 5 --set idle.game=10m

traffic() { # joins and polls all the time; a line per answer
    local t n=0
    while [ ! -e "$DIR/stop" ]; do
        http -X POST -w '\njoin %{http_code}\n' "$R/v1/queues/login/tickets" >"$DIR/answer"
        tail -1 "$DIR/answer" >>"$DIR/traffic"
        t=$(head -1 "$DIR/answer" | token_in)
        n=$((n + 1))
        [ -z "$t" ] || http -o /dev/null -w 'poll %{http_code}\n' "$R/v1/tickets/$t" >>"$DIR/traffic"
    done
}
traffic &
helpers+=($!)
busy() { [ "$(grep -c poll "$DIR/traffic" 2>/dev/null)" -ge "$1" ]; }
wait_for 30 "people join and poll" busy 20

another_node
helper "$BIN/rt_cluster" --set name=router2 --set "listen=127.0.0.1:$((PORT + 20))" \
    --set "admin=127.0.0.1:$((PORT + 40))" --set "state_dir=$DIR/more" --set "log_dir=$DIR/more" \
    --set fork=always --set "managers=127.0.0.1:$PORT" --set "set=secret_file=$C/secrets/cluster.secret"
N=http://127.0.0.1:$((PORT + 20))
wait_for 20 "the new router is ready" has_status 200 "$N/readyz"
t=$(join_queue "$N" | token_in)
check_eq "a ticket from the new router is known to the old one" "$(status_of "$R/v1/tickets/$t")" 200
t=$(join_queue | token_in)
check_eq "and the other way round" "$(status_of "$N/v1/tickets/$t")" 200
all_join 300
on_new() { segments | awk '$4 == "more.0"' | grep -q .; }
wait_for 20 "the new node gets segments" on_new
poll_many "$DIR/tokens" "$DIR/polls"
check_eq "all 300 poll well" "$(jq -r .state "$DIR/polls" | grep -cE 'waiting|admitted')" 300
seen=$(grep -c poll "$DIR/traffic")
wait_for 30 "people go on joining and polling" busy $((seen + 20))
touch "$DIR/stop"
check_eq "no join and no poll failed all the while" "$(grep -vcE 'join 201|poll 200' "$DIR/traffic")" 0
