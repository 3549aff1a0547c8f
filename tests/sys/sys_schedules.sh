#!/bin/bash
# Schedules: defined, refused, looked at, changed, deleted; a task each second while the task node is
# killed (kill -9) and the partition moves: no tick is lost, none makes two tasks.
. "$(dirname "$0")/lib.sh"

up --routers 2 --seg-nodes 1 --task-nodes 1 --task-store "${STORE:-journal}"
S=$R/v1/schedules/beat
R2=$(router_urls | tail -n 1)
task_call() { http -H "Authorization: Bearer $(task_token)" "$@"; }
call_status() { status_of -H "Authorization: Bearer $(task_token)" "$@"; }
put() { # NAME DEFINITION: status and detail
    task_call -X PUT -H 'Content-Type: application/json' -d "$2" -w ' %{http_code}' "$S/$1" |
        sed 's/.*"detail":"\([^"]*\)".*} /\1 /; s/^{.*} //'
}

# ---- a task each second, from here to the end
check_eq "without a token nobody defines a schedule" "$(status_of -X PUT -d '{}' "$S/tick")" 401
first=$(($(date +%s) + 2))
tick="{\"every\":\"1s\",\"from\":$first,\"catch_up\":\"all\",\"catch_up_max\":100,\"paused\":false,\"task\":{\"payload\":1}}"
check_eq "a schedule is defined" "$(put tick "$tick")" 201
check_eq "  its next times are told" "$(task_call "$S/tick" | jq -c '.next[0:2]')" "[$first,$((first + 1))]"
check_eq "the same again changes nothing" "$(put tick "$tick")" 200
newest() { task_call "$R2/v1/schedules/beat/tick" | jq '.task.tick // 0'; }
beats() { [ "$(newest)" -ge "$1" ]; }
wait_for 10 "it fires; another router says so, too" beats $((first + 1))

# ---- meanwhile: others
check_eq "what is wrong is said by its field" "$(put bad '{"cron":"61 * * * *","task":{"payload":1}}')" \
    "cron: minute: 61 is not in 0-59 400"
check_eq "  and an unknown zone" "$(put bad '{"cron":"@daily","zone":"Mars/Base","task":{"payload":1}}')" \
    "zone: this one is not known: is tzdata installed where task nodes run? 400"
check_eq "  and a task's name" "$(put bad '{"cron":"@daily","task":{"payload":1,"name":"x"}}')" "task: unknown member name 400"
check_eq "  and two kinds of times" "$(put bad '{"cron":"@daily","every":"1s","task":{"payload":1}}')" \
    "a schedule needs cron or every, and not both 400"
check_eq "  and no queue" "$(call_status -X PUT -d '{"every":"1s","task":{"payload":1}}' "$R/v1/schedules/x")" 404
check_eq "none of them is there" "$(call_status "$S/bad")" 404
nightly='{"cron": "30 2 * * *", "zone": "Europe/Berlin", "paused": true, "task": {"payload": 1}}'
check_eq "one that is paused" "$(put nightly "$nightly")" 201
check_eq "  is as it was written, and has no next times" \
    "$(task_call "$S/nightly" | sed 's/.*"definition"://')" "$nightly}"
check_eq "  goes on" "$(put nightly "${nightly/true/false}")" 200
shown() { task_call "$S/nightly" | jq -r '.next[]' | while read -r t; do TZ=Europe/Berlin date -d "@$t" +%H:%M; done; }
check "  at the zone's time" test "$(shown | sort -u | grep -c '^0[23]:')" -ge 1
check_eq "  five times are told" "$(shown | wc -l)" 5
check_eq "both are listed" "$(task_call "$S/" | jq -c '[.schedules[].schedule]')" '["tick","nightly"]'
check "  operators see them, too" eval '"$BIN/segqctl" --dir "$C" task schedules beat | grep -q "^tick .* fired "'
check_eq "one is deleted" "$(call_status -X DELETE "$S/nightly")" 204
check_eq "  and is gone" "$(call_status -X DELETE "$S/nightly") $(task_call "$S/" | jq '.schedules | length')" "404 1"

# ---- now, by hand
S=$R/v1/schedules/now
check_eq "one for once a year" "$(put yearly '{"cron":"@yearly","task":{"payload":1}}')" 201
next_of() { task_call "$S/yearly" | jq '.next[0]'; }
next=$(next_of)
run_now() { task_call -X POST "$@" "$S/yearly/run"; }
check_eq "  is run now" "$(run_now -H 'Idempotency-Key: once' | jq -r .outcome)" fired
once=$(run_now -H 'Idempotency-Key: once')
check_eq "  the same again makes no other task" "$(jq -r .outcome <<<"$once")" same
check_eq "  which is this one" "$(http "$R/v1/tasks/$(jq -r .task <<<"$once")" | field queue)" now
check_eq "  its next tick stays" "$(next_of)" "$next"
check_eq "  without a token nobody runs it" "$(status_of -X POST "$S/yearly/run")" 401
check "  operators run it, too" eval '"$BIN/segqctl" --dir "$C" task schedules run now yearly | grep -qx "ok: 1 task"'
check "  which their log has" grep -q 'now/tasks/schedules/yearly/run' <("$BIN/segqctl" --dir "$C" --json audit)
check_eq "  to operators one that is not there is said" \
    "$(admin POST /v1/admin/task-queues/now/tasks/schedules/none/run | field code)" schedule_unknown
check_eq "  and to callers" "$(call_status -X POST "$S/none/run")" 404
check_eq "  two tasks came of it" "$(task_call -d '{"n":9}' "$R/v1/queues/now/tasks/take" | jq '.tasks | length')" 2
S=$R/v1/schedules/beat

# ---- a more specific pool takes the queue
everywhere() { "$BIN/segqctl" --dir "$C" task schedules late | grep -c '^hourly '; }
S=$R/v1/schedules/late
hourly='{"every":"1h","paused":true,"task":{"payload":1}}'
check_eq "a schedule of another queue" "$(put hourly "$hourly")" 201
admin PUT /v1/admin/pools/late '{}' >/dev/null
moved() { [ "$(call_status "$S/hourly")" = 404 ]; }
wait_for 10 "  which gets a pool of its own, and is asked there" moved
check_eq "one that is refused leaves the older one alone" "$(put hourly '{"cron":"@daily","zone":"Mars/Base","task":{"payload":1}}' | tail -c 3) $(everywhere)" "400 1"
check_eq "one that is taken has its place" "$(put hourly "$hourly") $(everywhere)" "201 1"
check_eq "  and is gone everywhere when it is deleted" "$(call_status -X DELETE "$S/hourly") $(everywhere)" "204 0"
check_eq "a pool with a schedule" "$(put hourly "$hourly")" 201
figure() { [ "$(admin GET /v1/admin/task-queues | jq '.pools[] | select(.pool == "late") | .schedules')" = "$1" ]; }
wait_for 10 "  shows how many it has" figure 1
check "  is not deleted without a word" eval \
    '"$BIN/segqctl" --dir "$C" pool delete late 2>&1 | grep -q "0 run; 1 schedules. With final=true"'
check_eq "  is kept with it" "$(call_status "$S/hourly")" 200
check_eq "  without it" "$(call_status -X DELETE "$S/hourly")" 204
wait_for 10 "    it knows that" figure 0
check "    it is deleted" "$BIN/segqctl" --dir "$C" pool delete late
S=$R/v1/schedules/beat

# ---- kill -9
for _ in 1 2; do
    pid=$(pid_of task.0)
    at=$(newest)
    kill -KILL "$pid"
    wait_for 20 "the task node is killed, and comes back" restarted task.0 "$pid"
    wait_for 20 "  ticks go on" beats $((at + 3))
done

# ---- the end: what has been made is what had to be
check_eq "it is paused" "$(put tick "${tick/false/true}")" 200
last=$(newest)
taken=$(task_call -d '{"n":1000}' "$R/v1/queues/beat/tasks/take" | jq '.tasks | length')
check_eq "each tick made one task, and no more" "$taken" $((last - first + 1))
check "  over both kills" test "$last" -ge $((first + 6))
