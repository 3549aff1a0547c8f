#!/bin/bash
# Answers of targets that are longer than max_result, over real processes: up to max_answer of their
# endpoint they pass whole, byte for byte, in line and later, also after a kill -9 of the task node; a
# client that stops reading costs nothing but its connection; where there is no room, above max_answer,
# and when their partition has moved, they are cut, and say so; they go with their tasks.
. "$(dirname "$0")/lib.sh"
. "$here/calls.sh"

up --routers 1 --seg-nodes 1 --task-nodes 2 --task-store journal --set task.answers_max_bytes=20m --set router.body_timeout=5s
T=$((PORT + 90))
helper "$here/target.py" $T "$DIR/seen"
wait_for 10 "the target listens" has_status 200 "http://127.0.0.1:$T/echo"
token=$(task_token)
MIB=1048576
BIG=$((5 * MIB))
Q=$R/v1/queues/gen/tasks
CALL=$R/v1/call/gen
admin() { http -H "Authorization: Bearer $(admin_token)" "$@"; }
call() { http -H "segq-token: $token" -H "Prefer: whole" -D "$DIR/head" -o "$DIR/body" -w '%{http_code}' "$@"; }
said() { tr -d '\r' <"$DIR/head" | sed -n "s/^$1: //pi"; }
noise() { python3 -c "import random,sys; sys.stdout.buffer.write(random.Random($1).randbytes($1))" >"$DIR/noise"; }
define() { admin -o "$DIR/out" -w '%{http_code}' -X PUT -d "$2" "$A/v1/admin/$1"; }
E=127.0.0.0/8
check_eq "an endpoint with a pool is defined" \
    "$(define endpoints/gen "{\"url\":\"http://127.0.0.1:$T/api\",\"allow\":[\"$E\"]}")" 201
ready() { [ "$(call "$CALL/echo")" = 200 ]; }
wait_for 15 "its queue takes calls" ready
noise $BIG

# ---- whole
check_eq "an answer of 5 MiB comes in line" "$(call "$CALL/bytes/$BIG")" 200
check "  byte for byte" cmp "$DIR/body" "$DIR/noise"
check_eq "  with its length and type" "$(said content-length) $(said content-type)" "$BIG image/png"
check_eq "  and is not cut" "$(said segq-truncated)" ""
check_eq "  its hash is said" "$(said segq-sha256)" "$(sha256sum <"$DIR/noise" | cut -d' ' -f1)"
LATER=$R$(said segq-location)
look() { http "$LATER" | jq -c '[.status,.result_length,.result_truncated,.result]'; }
check_eq "a look says how long it is" "$(look)" "[200,$BIG,false,null]"
check_eq "it is read later, too" "$(call "$LATER/result") $(said content-length)" "200 $BIG"
check "  byte for byte" cmp "$DIR/body" "$DIR/noise"
check "  asked for its head it says less" grep -qi '^segq-truncated: true' <(http -I "$LATER/result")

owner=0
[ "$(metric 47 segq_task_answers)" = 1 ] || owner=1
OWNER=$((47 + owner))
OTHER=$((48 - owner))

# ---- over a kill -9 of the node, also under a client who reads
reader() { # PATH FILE: slowly, until $DIR/go is there; ends as its connection does
    python3 - "$R" "$1" "$2" "$DIR/go" <<'END'
import http.client, os, sys, time, urllib.parse
c = http.client.HTTPConnection(urllib.parse.urlsplit(sys.argv[1]).netloc, timeout=60)
c.request("GET", sys.argv[2])
a = c.getresponse()
with open(sys.argv[3], "wb") as f:
    while not os.path.exists(sys.argv[4]):
        piece = a.read1(16384)
        if not piece:
            break
        f.write(piece)
        f.flush()
        time.sleep(0.1)
    f.write(a.read())
END
}
helper reader "${LATER#"$R"}/result" "$DIR/slow"
READER=$H
begins() { [ "$(stat -c %s "$DIR/slow" 2>/dev/null || echo 0)" -gt 100000 ]; }
wait_for 10 "somebody reads it slowly" begins
old=$(pid_of task.$owner)
kill -9 "$old"
wait_for 20 "the node is killed, and comes back" restarted task.$owner "$old"
whole_again() { [ "$(call "$LATER/result") $(said content-length)" = "200 $BIG" ]; }
wait_for 20 "  the answer is there" whole_again
check "  byte for byte" cmp "$DIR/body" "$DIR/noise"
touch "$DIR/go"
wait_for 20 "  who read it reads on" is_gone "$READER"
check "  up to its end" cmp "$DIR/slow" "$DIR/noise"

# ---- a client that takes nothing
submit() { http -H "segq-token: $token" -H "Authorization: Bearer $token" -d "{\"method\":\"GET\",\"path\":\"$1\"}" "$Q" | jq -r .task; }
is_done() { [ "$(http "$R/v1/tasks/$1" | field state)" = succeeded ]; }
one=$(submit /bytes/8000000)
wait_for 10 "an answer of 8 MB is kept" is_done "$one"
dropped=$(metric 30 segq_router_http_closed_slow_reader_total)
exec 7<>"/dev/tcp/127.0.0.1/${R##*:}"
printf 'GET /v1/tasks/%s/result HTTP/1.1\r\nHost: x\r\n\r\n' "$one" >&7
is_dropped() { [ "$(metric 30 segq_router_http_closed_slow_reader_total)" -gt "$dropped" ]; }
wait_for 20 "a client that takes nothing of it is dropped" is_dropped
exec 7<&-

# ---- what is cut says so
over=$((9 * MIB))
check_eq "an answer beyond max_answer is cut" "$(call "$CALL/long/$over") $(stat -c %s "$DIR/body")" "200 65536"
check_eq "  and says so" "$(said segq-length) $(said segq-truncated)" "$over true"
two=$(submit /bytes/7999999)
wait_for 10 "another one is kept" is_done "$two"
check_eq "  for it one went that was read" "$(metric $OWNER segq_task_answers_made_room_total)" 1
check_eq "  which is cut now" "$(call "$LATER/result") $(stat -c %s "$DIR/body") $(said segq-truncated)" "200 65536 true"
check_eq "  and a look says it" "$(http "$LATER" | jq .result_truncated)" true
three=$(submit /bytes/7999998)
wait_for 10 "one for which there is no room is done" is_done "$three"
check_eq "  and cut" "$(http "$R/v1/tasks/$three" | jq -c '[.result_length,.result_truncated]')" "[7999998,true]"
check "  which is counted" grep -q '^segq_task_answers_cut_total{why="room"} 1' <(http "http://127.0.0.1:$((PORT + OWNER))/metrics")

# ---- it goes with its task
noise 7999999
check_eq "one is read with ack=1" "$(call "$R/v1/tasks/$two/result?ack=1")" 200
check "  whole" cmp "$DIR/body" "$DIR/noise"
kept_is() { [ "$(metric $OWNER segq_task_answers_bytes)" = "$1" ] && [ "$(find "$C"/state/bodies -path '*answers/*' -type f | wc -l)" = "$2" ]; }
wait_for 10 "its bytes go with it" kept_is 8000000 1

# ---- nor does it go along with its partition
check "its node is drained" "$BIN/segqctl" --dir "$C" drain "task.$owner"
moved() { [ "$(http "$R/v1/tasks/$one" | jq -c '[.result_length,.result_truncated]')" = "[8000000,true]" ]; }
wait_for 20 "  the new one says that the rest is not there" moved
check_eq "  and has the first bytes" "$(call "$R/v1/tasks/$one/result") $(stat -c %s "$DIR/body") $(said segq-truncated)" "200 65536 true"
wait_for 10 "  the old one has nothing of it" kept_is 0 0
check_eq "    and counts it" "$(metric $OWNER segq_task_answers_left_total)" 1
check_eq "  new ones are whole there" "$(call "$CALL/bytes/70001") $(said content-length) $(metric $OTHER segq_task_answers)" "200 70001 1"

check_eq "an endpoint without max_answer" "$(define endpoints/gen "{\"url\":\"http://127.0.0.1:$T/api\",\"allow\":[\"$E\"],\"max_answer\":0}")" 200
off() { call "$CALL/bytes/70000" >/dev/null && [ "$(said segq-truncated)" = true ]; }
wait_for 10 "  keeps no long answers" off

# ---- a drain under calls
admin -X POST "$A/v1/admin/nodes/task.$owner/undrain" >/dev/null
drained_with_calls $T
