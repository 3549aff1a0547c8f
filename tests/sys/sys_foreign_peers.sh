#!/bin/bash
# Strangers at the internal ports, and insiders who say hostile things: without the key, in
# a role that has no business there, or with a proof heard earlier nobody gets in (T10); and
# no text of theirs becomes a log line, a label or markup (T15).
. "$(dirname "$0")/lib.sh"

up --release-per-s 10 --set router.tls=accept --set segment.tls=accept --set queuemng.tls=accept # peer.py is plain
peer() { timeout 200 python3 "$here/peer.py" "$@" 2>>"$DIR/peer.err"; }
M=127.0.0.1:$PORT G=127.0.0.1:$((PORT + 50)) K=$C/secrets/cluster.secret

check_eq "a peer made by hand from PROTOCOL.md gets in" "$(peer "$M" "$K" router good)" up
check_eq "not without the key" "$(peer "$M" - router bad)" closed
check_eq "not at a segment node either" "$(peer "$G" - router bad)" closed
check_eq "a manager does not dial a manager" "$(peer "$M" "$K" manager rival)" closed
check_eq "and gives no orders to a segment node by dialling it" "$(peer "$G" "$K" manager rival)" closed
check_eq "a proof that was heard proves nothing" "$(peer "$M" "$K" router twice replay)" closed
check_eq "the name of the other end is refused" "$(peer "$G" "$K" segment segment.0)" closed
check_eq "a name with a line break is no name" "$(peer "$M" "$K" router $'a\nb')" closed
said() { grep -q 'does not know the link key' "$C/logs/queuemng.0.log"; }
wait_for 5 "each is one line in the log that says why" said

helper python3 "$here/peer.py" "$M" "$K" segment 'n"\{},=<b>' register
ended() { grep -q ended "$DIR/helper.log"; }
wait_for 10 "a node that registers with hostile texts is cut off" ended
clean() { ! grep -qE 'FORGED' "$@"; }
admin GET /v1/admin/cluster >"$DIR/cluster"
check "its addresses are nowhere" clean "$DIR/cluster" "$C"/logs/*.log "$C"/state/*.json
check "the cluster's view is JSON all the same" jq -e . "$DIR/cluster" -c -M >/dev/null
http "$A/metrics" >"$DIR/metrics"
sample='^([a-zA-Z_][a-zA-Z0-9_]*)(\{([a-z_]+="([^"\\]|\\["\\n])*",?)*\})? [0-9.eE+-]+(Inf|NaN)?$'
check "every metric is well formed" bash -c "! grep -vE '$sample' '$DIR/metrics' | grep -v '^# ' | grep -q ."
t=$(join_queue | token_in)
wait_for 10 "players are served meanwhile" is_admitted "$t"
