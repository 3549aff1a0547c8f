#!/bin/bash
# Segments of fifty under a fast crowd, a hand-over several times a second (F32): meanwhile a
# node is added, gets segments, an old one is emptied and used again, the new one emptied and
# taken away. Order holds over every seam; nobody's place grows, nobody is lost or let in twice.
. "$(dirname "$0")/lib.sh"

PLAYERS=4000
up --routers 2 --seg-nodes 2 --capacity 50 --release-per-s 150 --set poll_max=3s
admin_token | tr -d '\n' >"$DIR/token"
"$BIN/swarm" --router "$R" --router "$R2" --players $PLAYERS --arrive-s 16 --leave-share 0.2 \
    --conns 64 --until-admitted --max-s 280 --admin "$A" \
    --admin-token-file "$DIR/token" --json "$DIR/report.json" --quiet >"$DIR/swarm.log" 2>&1 &
swarm=$!
helpers+=("$swarm")
seams() { [ "$(n_sealed)" -ge "$1" ]; }
wait_for 20 "many segments are full" seams 5

mkdir -p "$DIR/more"
helper "$BIN/seg_cluster" --set name=more --set "listen=127.0.0.1:$((PORT + 60))" \
    --set "admin=127.0.0.1:$((PORT + 80))" --set "state_dir=$DIR/more" --set "log_dir=$DIR/more" \
    --set fork=always --set "managers=127.0.0.1:$PORT" \
    --set "set=secret_file=$C/secrets/cluster.secret,pass_key_file=$C/secrets/pass.key,journal_dir=$DIR/more/journal"
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
over() { ! runs "$swarm"; }
wait_for 56 "all have been served" over
wait "$swarm"
rc=$?
[ $rc -eq 0 ] || tail -30 "$DIR/swarm.log"
check_eq "no violation: $(grep -h 'order violations' "$DIR/swarm.log" | head -1)" $rc 0
opened=$(grep -c 'event=segment_opened' "$C/logs/queuemng.0.log")
check "over $opened segments" test "$opened" -ge $((PLAYERS / 50))
check "with moves ($(metric 1 segq_manager_moves_committed_total))" \
    test "$(metric 1 segq_manager_moves_committed_total)" -gt 0
