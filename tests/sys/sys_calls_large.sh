#!/bin/bash
# Large bodies of calls, over real processes: they pass whole, sized or chunked, in the first attempt and in the
# next; a kill -9 of the task node leaves them; who goes amid one leaves nothing; what is too long is refused
# before it is sent; where there is no room, that is said; they go with their tasks, and along with their partition.
. "$(dirname "$0")/lib.sh"

up --routers 1 --seg-nodes 1 --task-nodes 2 --task-store journal --set task.large_bodies_max_bytes=38m
T=$((PORT + 90))
helper "$here/target.py" $T "$DIR/seen"
wait_for 10 "the target listens" has_status 200 "http://127.0.0.1:$T/echo"
token=$(task_token)
MIB=1048576
CALL=$R/v1/call/gen
admin() { http -H "Authorization: Bearer $(admin_token)" "$@"; }
call() { http -H "segq-token: $token" -o "$DIR/body" -D "$DIR/head" -w '%{http_code}' "$@"; }
said() { tr -d '\r' <"$DIR/head" | sed -n "s/^$1: //pi"; }
define() { admin -o "$DIR/out" -w '%{http_code}' -X PUT -d "$2" "$A/v1/admin/$1"; }
check_eq "an endpoint is defined" \
    "$(define endpoints/gen "{\"url\":\"http://127.0.0.1:$T/api\",\"allow\":[\"127.0.0.0/8\"]}")" 201
check_eq "  and a pool that takes 32 MiB" \
    "$(define pools/gen '{"match":"gen","endpoint":"gen","max_body":"32m","retry":{"min":"100ms"}}')" 200
check_eq "  one of workers does not" "$(define pools/work '{"match":"work","max_body":"1m"}')" 400
ready() { [ "$(call "$CALL/echo")" = 200 ]; }
wait_for 15 "its queue takes calls" ready
python3 -c "import random,sys; sys.stdout.buffer.write(random.Random(1).randbytes(32 << 20))" >"$DIR/32m"
sum_of() { echo "$(stat -c %s "$1") $(sha256sum <"$1" | cut -d' ' -f1)"; }
head -c 300000 "$DIR/32m" >"$DIR/300k"
head -c $((5 * MIB)) "$DIR/32m" >"$DIR/5m"

# ---- whole
check_eq "32 MiB pass" "$(call --data-binary "@$DIR/32m" "$CALL/sum")" 200
check_eq "  byte for byte" "$(cat "$DIR/body")" "$(sum_of "$DIR/32m")"
check_eq "chunked, too" "$(call -H 'Transfer-Encoding: chunked' --data-binary "@$DIR/5m" "$CALL/sum")" 200
check_eq "  byte for byte" "$(cat "$DIR/body")" "$(sum_of "$DIR/5m")"
check_eq "a little above what is kept with its task" "$(call --data-binary "@$DIR/300k" "$CALL/echo") $(cmp "$DIR/body" "$DIR/300k")" "200 "
check_eq "again after an attempt that failed" "$(call --data-binary "@$DIR/5m" "$CALL/sum?times=1")" 200
check_eq "  byte for byte" "$(cat "$DIR/body")" "$(sum_of "$DIR/5m")"
check_eq "a target that answers before it has it" "$(call --data-binary "@$DIR/32m" "$CALL/early")" 200
check_eq "  is passed on" "$(cat "$DIR/body")" "enough"
rss_of() { awk '/VmHWM/ {print int($2 / 1024)}' "/proc/$(pid_of "$1")/status"; }
under_asan || check "  no process has had one in memory" [ $(($(rss_of router.0) + $(rss_of task.0))) -lt 120 ] # asan keeps what is freed
owner=0
[ "$(metric 47 segq_task_large_bodies_kept_total)" -gt 0 ] || owner=1
OWNER=$((47 + owner))
OTHER=$((48 - owner))
large_is() { [ "$(metric "$1" segq_task_large_bodies)" = "$2" ] && [ "$(find "$C"/state/bodies -path "*task.$(($1 - 47))/large/*" -type f | wc -l)" = "$2" ]; }
wait_for 30 "they go with their calls" large_is $OWNER 0

# ---- refused before it is sent
refused() { # DETAIL ARGUMENTS...: status, and how many bytes of the body curl has sent
    local detail=$1
    shift
    call "$@" -w '%{http_code} %{size_upload}'
    grep -q "$detail" "$DIR/body" || echo " but: $(cat "$DIR/body")"
}
cat "$DIR/32m" "$DIR/300k" >"$DIR/more"
check_eq "more than its pool allows" "$(refused 'at most 33554432 bytes' -H 'Expect: 100-continue' --data-binary "@$DIR/more" "$CALL/sum")" "413 0"
check_eq "an endpoint that is none" "$(refused 'no such endpoint' -H 'Expect: 100-continue' --data-binary "@$DIR/5m" "$R/v1/call/nobody/sum")" "404 0"
check_eq "without a token" "$(http -o "$DIR/body" -w '%{http_code} %{size_upload}' -H 'Expect: 100-continue' --data-binary "@$DIR/5m" "$CALL/sum")" "401 0"
check_eq "an expectation that is none" "$(call -H 'Expect: tea' --data-binary "@$DIR/5m" "$CALL/sum")" 417
check_eq "chunked, more than its pool allows" "$(call -H 'Transfer-Encoding: chunked' --data-binary "@$DIR/more" "$CALL/sum")" 413
check_eq "with a 100 in between it passes" "$(call -H 'Expect: 100-continue' --data-binary "@$DIR/5m" "$CALL/sum") $(head -1 "$DIR/head" | cut -d' ' -f2)" "200 100"

# ---- a client that goes amid it
python3 - "$R" "$token" <<'END'
import socket, sys, urllib.parse
u = urllib.parse.urlsplit(sys.argv[1])
s = socket.create_connection((u.hostname, u.port))
s.sendall(b"POST /v1/call/gen/sum?gone HTTP/1.1\r\nHost: x\r\nsegq-token: %s\r\nContent-Length: 9000000\r\n\r\n" % sys.argv[2].encode())
s.sendall(b"x" * 4000000)
END
given_up() { [ "$(metric 30 segq_router_task_uploads_given_up_total)" -ge "$1" ]; }
wait_for 10 "a client goes amid its body" given_up 1
wait_for 30 "  and leaves nothing" large_is $OWNER 0
check_eq "  no call was made of it" "$(grep -c 'sum?gone' "$DIR/seen")" 0

# ---- over a kill -9, and to another node
check_eq "the endpoint is paused" "$(admin -o /dev/null -w '%{http_code}' -X POST "$A/v1/admin/endpoints/gen/pause")" 200
asks() { call -H 'Expect:' -H 'Prefer: respond-async, wait=0' "$@"; }
check_eq "a call waits" "$(asks -H 'Idempotency-Key: one' --data-binary "@$DIR/5m" "$CALL/sum?first")" 202
LATER=$R$(said location)
check_eq "  the same again is the same" "$(asks -H 'Idempotency-Key: one' --data-binary "@$DIR/5m" "$CALL/sum?first") $R$(said location)" "202 $LATER"
check_eq "  with another body it is another" "$(asks -H 'Idempotency-Key: one' --data-binary "@$DIR/300k" "$CALL/sum?first")" 422
check_eq "a second one of 32 MiB waits" "$(asks --data-binary "@$DIR/32m" "$CALL/sum?second")" 202
check_eq "for a third one there is no room" "$(asks --data-binary "@$DIR/32m" "$CALL/sum?third") $(jq -r .code "$DIR/body")" "503 queue_full"
old=$(pid_of task.$owner)
kill -9 "$old"
wait_for 20 "their node is killed, and comes back" restarted task.$owner "$old"
wait_for 30 "  it has the files of both, and no other" large_is $OWNER 2
check "it is drained" "$BIN/segqctl" --dir "$C" drain "task.$owner"
wait_for 40 "  both go along with their partition" large_is $OTHER 2
wait_for 40 "  and nothing stays behind" large_is $OWNER 0
check_eq "the endpoint goes on" "$(admin -o /dev/null -w '%{http_code}' -X POST "$A/v1/admin/endpoints/gen/resume")" 200
is_done() { [ "$(http "$LATER" | field state)" = succeeded ]; }
wait_for 20 "  the call is made" is_done
check_eq "  of all of its body" "$(http "$LATER/result")" "$(sum_of "$DIR/5m")"
wait_for 30 "  and the files go" large_is $OTHER 0
