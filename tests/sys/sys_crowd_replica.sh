#!/bin/bash
# A segment node is killed and its journal deleted, while 20 000 wait and releases go on; and
# then the other one, which stays away so that its segments are given to the first. The
# people who poll bring everything back: nobody loses a place, nobody is let in twice or
# before his turn, and the admitted keep their pass.
#   PLAYERS=N   how many (20000; 4000 in a sanitizer build)
. "$(dirname "$0")/lib.sh"

N=${PLAYERS:-$(under_asan && echo 4000 || echo 20000)}
up --routers 2 --seg-nodes 2 --capacity $((N / 8)) --release-per-s $((N / 80)) \
    --set queuemng.lost_after=4s --set idle.game=15s --set idle.mobile=15s \
    --set idle.browser=15s --set claim=5m --set pass_ttl=30m --set poll_min=3s --set poll_max=4s --set poll_budget_per_s=20000
journal() { echo "$C/state/journal/segment.$1"; }
figure() { metric 1 "segq_manager_$1"; }
waits() { [ "$(queue_field waiting)" -"$1" "$2" ]; }
away() { segments | n_of " (lost|rebuilding) "; }
some_away() { [ "$(away)" -gt 0 ]; }
none_away() { [ "$(away)" = 0 ]; }

inside=$(join_queue | token_in)
wait_for 10 "the first one is let in" is_admitted "$inside"
pass=$(poll "$inside" | field pass)
admin POST /v1/admin/queues/login/pause >/dev/null # until they are there, however slowly

crowd --router "$R2" --players "$N" --arrive-s 8 --until-admitted --max-s 840
: >"$DIR/mine" # some who only look now and then, in segments of both nodes
for share in 2 3 4 5 6 7; do
    wait_for 40 "$((share * 10)) % of $N people wait" waits gt $((N * share / 10))
    join_queue | token_in >>"$DIR/mine"
done
admin POST /v1/admin/queues/login/resume >/dev/null

# ---- one node loses everything, and is back at once -----------------------------------

lose() { # node
    kill -STOP "$(pid_of seg_cluster)"
    kill -KILL "$(pid_of "segment.$1")"
    rm -rf "$(journal "$1")"
}
# The one that holds the head, so that there is nobody in front who could be let in.
head_node=$(segments | sed -n '1s/.* segment\.//p')
before=$(figure released_total)
lose "$head_node"
kill -CONT "$(pid_of seg_cluster)"
wait_for 20 "it is back, and has nothing: its segments are being rebuilt" some_away
recovering() { admin GET /v1/admin/cluster | jq -e '.queues[0].limited_by == "recovery"' >/dev/null; }
null_place() {
    poll_many "$DIR/mine" "$DIR/mine.out"
    jq -r '"\(.state) \(.position)"' "$DIR/mine.out" | grep -qx 'waiting null'
}
said=0 unknown=0 # one of them may be over before the other begins
seen() {
    recovering && said=1
    null_place && unknown=1
    [ $said$unknown = 11 ]
}
wait_for 40 "releases go only up to what is certain, and say so; places are not known" seen
wait_for 40 "then they are whole" none_away
check "segments were rebuilt: $(figure segments_rebuilt_total)" test "$(figure segments_rebuilt_total)" -gt 0
goes_on() { [ "$(figure released_total)" -gt $((before + N / 20)) ]; }
wait_for 40 "releases go on" goes_on
check_eq "the first one's pass is the same" "$(poll "$inside" | field pass)" "$pass"

# ---- the other one, and it stays away -------------------------------------------------

lose $((1 - head_node))
wait_for 30 "its segments are given to the first" some_away
wait_for 40 "and are whole" none_away
kill -CONT "$(pid_of seg_cluster)"
check "the rest is let in four times faster" "$BIN/segqctl" --dir "$C" queue set login release_per_s=$((N / 20))
wait_for 200 "everybody has been let in" crowd_is_over
judge_crowd
check_eq "all of them, each once" "$(jq .admitted "$DIR/swarm.json")" "$N"
check "places were not known meanwhile" test "$(jq .null_positions "$DIR/swarm.json")" -gt 0
check_eq "nobody is gone" "$(jq '.lost_tickets' "$DIR/swarm.json")" 0
