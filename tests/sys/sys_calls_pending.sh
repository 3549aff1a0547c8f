#!/bin/bash
# A target says later how a call ended (segq-command: pending): by the right of its attempt alone, with
# more time if it asks for it; the same again is the same, what comes too late is refused; silence is a
# failed attempt; kill -9 of the task nodes, and moves, change nothing.
. "$(dirname "$0")/lib.sh"

up --routers 1 --seg-nodes 1 --task-nodes 2 --task-store "${STORE:-journal}"
T=$((PORT + 90))
helper "$here/target.py" $T "$DIR/seen"
wait_for 10 "the target listens" has_status 200 "http://127.0.0.1:$T/echo"
token=$(task_token)
submit() { http -H "Authorization: Bearer $token" -d "$@" "$R/v1/queues/gen/tasks"; }
http -H "Authorization: Bearer $(admin_token)" -X PUT -o /dev/null \
    -d "{\"url\":\"http://127.0.0.1:$T/api\",\"allow\":[\"127.0.0.0/8\"],\"max_concurrent\":4}" "$A/v1/admin/endpoints/gen"
ready() { submit '{"path":"/echo/0"}' | grep -q '"task"'; }
wait_for 15 "its queue takes tasks" ready

right_of() { # path, attempt: what it may say so by
    jq -r "select(.path == \"/api$1\" and .headers[\"segq-attempt\"] == \"$2\") | .headers[\"segq-complete-url\"]" "$DIR/seen"
}
is_running() { [ "$(http "$R/v1/tasks/$1" | field state)" = running ]; }
says() { http -X POST "${@:2}" "$R$1" | jq -c '[.state, .code]'; }
W=$(submit '{"path":"/pending/600"}' | jq -r .task)
seen_right() { C_URL=$(right_of "$1" "$2"); [ -n "$C_URL" ]; }
wait_for 10 "a target answers that it goes on" seen_right /pending/600 1
check "  without the routers' address its right is a path" grep -q '^/v1/tasks/.*/complete$' <<<"$C_URL"
check "  the task goes on" is_running "$W"
check_eq "it needs more time" "$(says "${C_URL%complete}extend" -d '{"lease":"20m"}')" '["running",null]'
C1=$C_URL
forged=$(sed -E 's,[^A]/complete$,A/complete,; t; s,A/complete$,B/complete,' <<<"$C_URL")
check_eq "a right that is not ours is none" "$(says "$forged" -d '{"outcome":"dead"}')" '[null,"task_unknown"]'
check_eq "it says that this has failed" "$(says "$C_URL" -d '{"outcome":"failed","status":503,"reason":"no paper","delay":"0s"}')" '["retrying",null]'
check_eq "  again: the same" "$(says "$C_URL" -d '{"outcome":"failed","status":503,"reason":"no paper","delay":"0s"}' | grep -c '"code"\|conflict')" 0
wait_for 10 "  and is asked once more" seen_right /pending/600 2
check_eq "the right of before is none now" "$(says "$C1" -d '{"outcome":"succeeded"}')" '[null,"conflict"]'
check_eq "it has done it" "$(says "$C_URL" -d '{"outcome":"succeeded","status":201,"result":{"url":  "cat.png"}}')" '["succeeded",null]'
check_eq "  again: the same" "$(says "$C_URL" -d '{"outcome":"succeeded","status":201,"result":{"url":  "cat.png"}}')" '["succeeded",null]'
check_eq "  otherwise: too late" "$(says "$C_URL" -d '{"outcome":"dead"}')" '[null,"conflict"]'
check_eq "the result is what it said" "$(http -D "$DIR/head" "$R/v1/tasks/$W/result")" '{"url":  "cat.png"}'
check "  with its status" grep -qi '^segq-status: 201' "$DIR/head"
W=$(submit '{"path":"/pending/1/600","retry":{"min":"0s","max":"0s"}}' | jq -r .task) # its second right lasts
wait_for 10 "one that says nothing in its time is asked again" seen_right /pending/1/600 2
check_eq "  that was a failed attempt" "$(http "$R/v1/tasks/$W" | jq -c '.history[0] | [.attempt, .end]')" '[1,"lease_lapsed"]'
check_eq "it says that it never will" "$(says "$C_URL" -d '{"outcome":"dead","body":"never"}')" '["dead",null]'
check_eq "  which is the answer" "$(http -D "$DIR/head" "$R/v1/tasks/$W/result") $(sed -n 's/^segq-status: \([0-9]*\).*/\1/pi' "$DIR/head")" "never 500"
W=$(submit '{"path":"/pending/601"}' | jq -r .task)
wait_for 10 "another goes on" seen_right /pending/601 1
# What nobody hears the end of: its request is at the target for nearly all of its deadline, which
# outlasts the nodes' coming back, however slow the machine is.
deadline=$((6 * $(slowness) / 10))
http -H "Authorization: Bearer $(admin_token)" -X PUT -o /dev/null \
    -d "{\"url\":\"http://127.0.0.1:$T/api\",\"allow\":[\"127.0.0.0/8\"],\"max_concurrent\":4,\"deadline\":\"${deadline}s\"}" \
    "$A/v1/admin/endpoints/short"
ready() { http -H "Authorization: Bearer $token" -d "{\"path\":\"/slow/${deadline}000\"}" "$R/v1/queues/short/tasks" | grep -q '"task"'; }
wait_for 15 "an endpoint of $deadline seconds takes tasks" ready
at_target() { grep -q "/api/slow/${deadline}000" "$DIR/seen"; }
wait_for 10 "  one is at its target" at_target
held() { http -H "Authorization: Bearer $(admin_token)" "$A/v1/admin/task-queues" | jq -c "[.endpoints[] | select(.name == \"$1\") | .held]"; }
is_held() { [ "$(held "$1")" = "[$2]" ]; }
pid0=$(pid_of task.0) pid1=$(pid_of task.1)
kill -KILL "$pid0" "$pid1"
wait_for 20 "  task.0 is killed, and comes back" restarted task.0 "$pid0"
wait_for 20 "  so does task.1" restarted task.1 "$pid1"
wait_for 20 "  and its task goes on" is_running "$W"
wait_for 10 "  its slot is held" is_held gen 1
wait_for 10 "  so is that of the call whose end nobody knows" is_held short 1
says_held() { grep -q '^short: 1 of its slots is held until a lease ends' <("$BIN/segqctl" --dir "$C" endpoint list); }
check "  segqctl says so, and why" says_held
wait_for $((deadline + 30)) "  it comes back when its lease ends" is_held short 0
check_eq "  the other one stays" "$(held gen)" "[1]"
drained() { [ "$(admin GET /v1/admin/task-queues | jq ".nodes[] | select(.name == \"$1\") | .partitions + .moving")" = 0 ]; }
for who in task.0 task.1; do
    admin POST "/v1/admin/nodes/$who/drain" >/dev/null
    wait_for 20 "  $who is drained" drained $who
    admin POST "/v1/admin/nodes/$who/undrain" >/dev/null
done
check "  the call moves with its partition" is_running "$W"
check_eq "  and gets more time there" "$(says "${C_URL%complete}extend" -d '{"lease":"20m"}')" '["running",null]'
check_eq "  and ends when the target says so" "$(says "$C_URL" -d '{"outcome":"succeeded","body":"done"}')" '["succeeded",null]'
check_eq "  with what it said" "$(http "$R/v1/tasks/$W/result")" "done"
