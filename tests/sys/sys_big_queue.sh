#!/bin/bash
# A crowd of simulated players (tests/bench/swarm) in small segments: some leave, some
# vanish, some come back late; hand-overs and merges all the time. Everybody is served in
# order, no place grows, nobody is admitted twice, no ticket is lost. Nobody is let in before
# there is something to merge: on a slow machine the crowd comes no faster than it goes.
. "$(dirname "$0")/lib.sh"

[ -x "$BIN/swarm" ] || give_up "no swarm beside the other programs"
up --routers 2 --seg-nodes 2 --capacity 500 --release-per-s 250 --segments-per-node 500 \
    --set state=paused --set poll_max=5s
admin_token | tr -d '\n' >"$DIR/token"
crowd --router "$R2" --players "${BIG_PLAYERS:-12000}" --arrive-s 8 --leave-share 0.55 \
    --vanish-share 0.05 --reconnect 0.01 --conns 64 --until-admitted --max-s 600 \
    --admin "$A" --admin-token-file "$DIR/token"
merged() { [ "$(metric 1 segq_manager_moves_committed_total)" -gt 0 ]; }
wait_for 60 "segments are merged meanwhile" merged
admin POST /v1/admin/queues/login/resume >/dev/null
judge_crowd "all were served in time"
wait_for 130 "the line is empty at the end" waiting_is 0
