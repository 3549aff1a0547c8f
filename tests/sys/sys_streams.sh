#!/bin/bash
# Answers of targets while they come, over real processes: head and lines arrive as the target says
# them, one by one; a kill -9 of the target, the task node or the router amid one is a broken transfer for
# its caller, never a clean end, and no other attempt follows; who hangs up ends the call, unless he comes
# back; a slow reader gets all of it, and holds nobody up; the connection goes on behind it.
. "$(dirname "$0")/lib.sh"

up --routers 1 --seg-nodes 1 --task-nodes 1 --task-store journal
T=$((PORT + 90))
S=$DIR/said
mkdir -p "$S"
: >"$S/seen"
target() { helper python3 "$here/stream_target.py" $T "$S"; TARGET=$H; }
target
token=$(task_token)
CALL=$R/v1/call/gen
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$T") 2>/dev/null; }
wait_for 10 "the target listens" listens
admin PUT /v1/admin/endpoints/gen "{\"url\":\"http://127.0.0.1:$T/\",\"allow\":[\"127.0.0.0/8\"],\"deadline\":\"60s\"}" >/dev/null
admin PUT /v1/admin/endpoints/short "{\"url\":\"http://127.0.0.1:$T/\",\"allow\":[\"127.0.0.0/8\"],\"deadline\":\"8s\"}" >/dev/null
ready() { [ "$(status_of -H "segq-token: $token" "$R/v1/call/$1/sized/3")" = 200 ]; }
wait_for 15 "its queue takes calls" ready gen
wait_for 15 "  and that of another endpoint" ready short

hear() { # NAME [ENDPOINT [more of curl]]: in the background; head in $S/NAME.head, bytes in $S/NAME.body
    rm -f "$S/$1.exit"
    (curl -sN --max-time 120 -H "segq-token: $token" -H 'Prefer: wait=60' -D "$S/$1.head" -o "$S/$1.body" "${@:3}" \
        "$R/v1/call/${2:-gen}/$1" & echo $! >"$S/$1.pid"; wait $!; echo $? >"$S/$1.exit") &
    helpers+=($!)
}
has() { grep -qs "$2" "$S/$1"; }
says() { touch "$S/$1"; }
ends() { [ -s "$S/$1.exit" ]; }
exit_of() { cat "$S/$1.exit"; }
task_of() { tr -d '\r' <"$S/$1.head" | sed -n 's/^segq-location: //pi'; }
look() { http "$R$(task_of "$1")" | jq -r "$2"; }
is_so() { [ "$(look "$1" "$2")" = "$3" ]; } # NAME FILTER VALUE
times() { grep -cx "$1" "$S/seen"; }

# ---- as it comes
hear a
wait_for 10 "the head is there before any byte" has a.head '^HTTP/1.1 200'
check_eq "  which is of a stream" "$(tr -d '\r' <"$S/a.head" | sed -n 's/^content-type: //pi') $(cat "$S/a.body" 2>/dev/null)" "text/event-stream "
check "  and names the task as its target knows it" grep -qiE '^segq-task: [0-9]+-[0-9]+' "$S/a.head"
check_eq "  it runs" "$(look a .state)" running
for k in 1 2 3 4 5; do
    says a.$k
    wait_for 10 "line $k is there before the next one is said" has a.body "^data: $k"
done
check "  and the answer is not over" test ! -s "$S/a.exit"
says a.end
wait_for 10 "it ends with the target" ends a
check_eq "  cleanly" "$(exit_of a) $(grep -c data "$S/a.body")" "0 5"
wait_for 10 "its task has succeeded" is_so a .state succeeded
http -o "$S/later" "$R$(task_of a)/result"
check "  and has the same bytes later" cmp "$S/a.body" "$S/later"
check_eq "a connection goes on behind one" "$(http -H "segq-token: $token" -o "$S/x" -o "$S/y" -w '%{http_code} %{num_connects} ' "$CALL/sized/300000" "$CALL/sized/300001")" "200 1 200 0 "
check_eq "  whole" "$(stat -c %s "$S/x" "$S/y" | paste -sd ' ')" "300000 300001"

# ---- a slow reader
N=30000000
python3 -c "import random,sys; sys.stdout.buffer.write(random.Random($N).randbytes($N))" >"$S/noise"
slow() {
    python3 - "${R##*/}" "$token" $N "$S" <<'END'
import http.client, os, sys, time
c = http.client.HTTPConnection(sys.argv[1], timeout=100)
c.request("GET", "/v1/call/gen/sized/" + sys.argv[3], headers={"segq-token": sys.argv[2]})
a = c.getresponse()
with open(sys.argv[4] + "/slow.body", "wb") as f:
    f.write(a.read(1000))
    f.flush()
    while not os.path.exists(sys.argv[4] + "/slow.go"):
        f.write(a.read(20000))
        time.sleep(0.02)
    f.write(a.read())
END
}
helper slow
SLOW=$H
wait_for 10 "somebody reads slowly" test -s "$S/slow.body"
quick() { http -H "segq-token: $token" -o "$S/z" "$CALL/sized/5000000" && [ "$(stat -c %s "$S/z")" = 5000000 ]; }
check "  another one is quick" quick
wait_for 10 "  the slow one is amid it" test "$(metric 30 segq_router_task_passing_answers)" = 1
check "  and what it has not taken is bounded" test "$(metric 30 segq_router_task_passed_answers_bytes_total)" -lt $((N + 5600000))
says slow.go
wait_for 60 "  it gets all of it" is_gone "$SLOW"
check "  byte for byte" cmp "$S/slow.body" "$S/noise"

# ---- who hangs up
hear leaves
says leaves.1
wait_for 10 "one hears a line" has leaves.body "^data: 1"
kill "$(cat "$S/leaves.pid")"
wait_for 10 "  and hangs up: the target's connection is closed" test -e "$S/leaves.closed"
wait_for 10 "  the task is cancelled" is_so leaves .state cancelled
check_eq "  and says why" "$(look leaves '.history[-1] | "\(.end) \(.reason)"')" "interrupted 9 bytes were passed on: its caller left"
hear stays gen -H 'Idempotency-Key: k1'
says stays.1
wait_for 10 "one who will come back hears a line" has stays.body "^data: 1"
kill "$(cat "$S/stays.pid")"
says stays.2
says stays.end
wait_for 10 "  and hangs up: the call goes on to its end" is_so stays .state succeeded
check_eq "  whole" "$(http "$R$(task_of stays)/result" | grep -c data) $(test -e "$S/stays.closed"; echo $?)" "2 1"

# ---- kill -9
broken() { # NAME WHAT
    wait_for 20 "  its caller sees the transfer end" ends "$1"
    check "  broken ($(exit_of "$1"))" test "$(exit_of "$1")" != 0
    check_eq "  what came is a prefix" "$(cat "$S/$1.body")" "data: 1"
}
hear t
says t.1
wait_for 10 "the target is killed amid an answer" has t.body "^data: 1"
kill -9 "$TARGET"
broken t
wait_for 10 "  the task is dead" is_so t .state dead
check_eq "  and says why" "$(look t '.history[-1] | "\(.end) \(.reason)"' | cut -d: -f1)" "interrupted 9 bytes were passed on"
target
wait_for 10 "the target is back" listens
check_eq "  and is not asked again" "$(times t)" 1
reset() { admin POST /v1/admin/endpoints/gen/reset '' >/dev/null; ready gen; }
wait_for 20 "  but for others" reset

hear r
says r.1
wait_for 10 "the router is killed amid an answer" has r.body "^data: 1"
old=$(pid_of router.0)
kill -9 "$old"
broken r
wait_for 20 "  it comes back" restarted router.0 "$old"
wait_for 15 "  the call was ended with its reader" test -e "$S/r.closed"
wait_for 20 "  its task says so" is_so r '.history[-1].end' interrupted

wait_for 20 "its queue takes calls" ready short
hear n short
says n.1
wait_for 10 "the task node is killed amid an answer" has n.body "^data: 1"
old=$(pid_of task.0)
kill -9 "$old"
broken n
wait_for 20 "  it comes back" restarted task.0 "$old"
wait_for 40 "  when the lease is over the task is dead" is_so n .state dead
check_eq "  interrupted" "$(look n '.history[-1].end')" interrupted
wait_for 20 "  others are called" ready short
check_eq "  it is not called again" "$(times n)" 1
