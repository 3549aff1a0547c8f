#!/bin/bash
# Long answers with the tasks in Redis (store: redis), and a folder for them (answers_dir): whole, in
# line and later; when the node that has them is killed the next owner says that they are cut, and new
# ones are whole there; a node that starts again has none of before.
. "$(dirname "$0")/lib.sh"
. "$here/redis.sh"
. "$here/calls.sh"

up --routers 1 --seg-nodes 1 --task-nodes 2 --task-store redis --set "task.answers_dir=$DIR/answers"
T=$((PORT + 90))
helper "$here/target.py" $T "$DIR/seen"
wait_for 10 "the target listens" has_status 200 "http://127.0.0.1:$T/echo"
token=$(task_token)
BIG=3000000
CALL=$R/v1/call/gen
call() { http -H "segq-token: $token" -H "Prefer: whole" -D "$DIR/head" -o "$DIR/body" -w '%{http_code}' "$@"; }
said() { tr -d '\r' <"$DIR/head" | sed -n "s/^$1: //pi"; }
python3 -c "import random,sys; sys.stdout.buffer.write(random.Random($BIG).randbytes($BIG))" >"$DIR/noise"
admin PUT /v1/admin/endpoints/gen "{\"url\":\"http://127.0.0.1:$T/api\",\"allow\":[\"127.0.0.0/8\"]}" >"$DIR/out"
ready() { [ "$(call "$CALL/echo")" = 200 ]; }
wait_for 15 "its queue takes calls" ready
check_eq "an answer of 3 MB comes in line" "$(call "$CALL/bytes/$BIG") $(said content-length)" "200 $BIG"
check "  byte for byte" cmp "$DIR/body" "$DIR/noise"
LATER=$R$(said segq-location)
check_eq "it is read later, too" "$(call "$LATER/result") $(said content-length)" "200 $BIG"
check "  byte for byte" cmp "$DIR/body" "$DIR/noise"
check_eq "  and a look says so" "$(http "$LATER" | jq -c '[.result_length,.result_truncated]')" "[$BIG,false]"
kept() { # by whom
    find "$DIR/answers" -type f -printf '%h\n' | sed 's|.*/||' | sort | uniq -c | awk '{print $2 "=" $1}'
}
owner=$(kept | cut -d= -f1)
kill -9 "$(pid_of "$owner")"
cut_now() { [ "$(http "$LATER" | jq -c '[.result_length,.result_truncated]')" = "[$BIG,true]" ]; }
wait_for 20 "the node is killed: the next one has the first bytes" cut_now
check_eq "  and gives them" "$(call "$LATER/result") $(stat -c %s "$DIR/body") $(said segq-truncated)" "200 65536 true"
is_whole() { [ "$(call "$CALL/bytes/70000") $(said content-length)" = "200 70000" ]; }
wait_for 20 "new ones are whole" is_whole
none_of_before() { ! find "$DIR/answers" -name "*-$BIG-*" | grep -q .; }
wait_for 20 "of the one before nothing is left" none_of_before

# ---- a drain under calls
drained_with_calls $T
