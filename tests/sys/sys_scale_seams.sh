#!/bin/bash
# Segments of fifty under a fast crowd, a hand-over several times a second (F32): meanwhile a
# node is added, gets segments, an old one is emptied and used again, the new one emptied and
# taken away. Order holds over every seam; nobody's place grows, nobody is lost or let in twice.
. "$(dirname "$0")/lib.sh"

PLAYERS=4000
up --routers 2 --seg-nodes 2 --capacity 50 --release-per-s 60 --set poll_max=3s
admin_token | tr -d '\n' >"$DIR/token"
crowd --router "$R2" --players $PLAYERS --arrive-s 16 --leave-share 0.2 --conns 64 \
    --until-admitted --max-s 280 --admin "$A" --admin-token-file "$DIR/token"
seams() { [ "$(n_sealed)" -ge "$1" ]; }
wait_for 20 "many segments are full" seams 5

another_node
more=$H
on() { segments | awk -v n="$1" '$4 == n' | grep -c .; }
has_some() { [ "$(on "$1")" -gt 0 ]; }
has_none() { [ "$(on "$1")" = 0 ]; }
node() { admin POST "/v1/admin/nodes/$1" >/dev/null; }
wait_for 20 "a node is added: it gets segments" has_some more.0
check "while people join and are let in" runs "$swarm"
node segment.0/drain
wait_for 30 "an old node is emptied" has_none segment.0
node segment.0/undrain
node more.0/drain
wait_for 30 "the new one, too" has_none more.0
end_pid "$more"
check "and taken away" is_gone "$more"
admin PATCH /v1/admin/queues/login '{"release_per_s": 400}' >/dev/null
wait_for 56 "all have been served" crowd_is_over
judge_crowd
opened=$(grep -c 'event=segment_opened' "$C/logs/queuemng.0.log")
check "over $opened segments" test "$opened" -ge $((PLAYERS / 50))
check "with moves ($(metric 1 segq_manager_moves_committed_total))" \
    test "$(metric 1 segq_manager_moves_committed_total)" -gt 0
