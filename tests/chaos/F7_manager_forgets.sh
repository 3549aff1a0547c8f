#!/bin/bash
# F7: the manager is started again with an empty memory, several times: from its store and the
# nodes' reports it has the same chain in the same order, and gives nobody's segment away. Then
# its store is lost, too: the nodes stay away from the new one, which gives no orders and says
# so; joins and polls go on, nobody is let in; with a copy of the store it goes on.
. "$(dirname "$0")/lib.sh"
. "$chaos/procs.sh"

machines "m0 s0 s1 r0 r1"
cluster_up --capacity 60 --release-per-s 6
observe --first 250
wait_for 60 "people are answered" answered poll 200 300
ids() { segments | awk '{ print $1 }'; }
# those that were there and are still there, in the order of before and of now
same_order() {
    ids >"$DIR/ids.now"
    [ -s "$DIR/ids.now" ] && diff <(grep -xFf "$DIR/ids.now" "$DIR/ids") <(grep -xFf "$DIR/ids" "$DIR/ids.now") >/dev/null
}
is_let_in() { jq -r --argjson t "$(tail -1 "$DIR/phases.jsonl" | jq .t)" \
    'select(.t0 >= $t and .state == "admitted") | .who' "$HISTORY" 2>/dev/null | sort -u | awk 'END { exit NR < 20 }'; }

phase restarts
for i in 1 2 3 4; do
    ids >"$DIR/ids"
    n=$(registrations s0.0) m=$(registrations s1.0)
    kill_now m0.0
    wait_for 60 "s0 registers, $i" registered s0.0 $((n + 1))
    wait_for 60 "so does s1" registered s1.0 $((m + 1))
    wait_for 60 "the chain is in the same order" same_order
done
check_eq "nothing was taken for lost" "$(metric m0 segq_manager_segments_lost_total)" 0
wait_for 60 "people are let in" is_let_in

phase lost
store=$C/state/queuemng
stop m0
old=$(pid_of m0.0)
kill9 m0.0
wait_for 40 "the manager is gone" is_gone "$old"
mv "$store" "$store.copy"
mkdir "$store"
cont m0
foreign() { [ "$(metric m0 segq_manager_nodes_foreign)" = 2 ]; }
wait_for 60 "without its store: both nodes are not its own" foreign
check "it says that it is not well" has_status 503 "$A/healthz"
hold 3
wait_for 60 "people are answered" answered poll 200 50
wait_for 60 "people join" answered join 201 3

stop m0
old=$(pid_of m0.0)
kill9 m0.0
wait_for 40 "it is ended" is_gone "$old"
rm -rf "$store"
mv "$store.copy" "$store"
cont m0
native() { [ "$(metric m0 segq_manager_nodes_foreign)" = 0 ] && [ "$(metric m0 segq_manager_nodes_up)" = 2 ]; }
wait_for 60 "with a copy of the store the nodes are its own" native
phase healed
wait_for 60 "people are let in again" is_let_in
observe_end --rate 6 --gap restarts:25 --gap lost:30 --slowest lost:8000 \
    --served restarts:100 --served lost:50 --served healed:100
