#!/bin/bash
# A pool with `notify`: the end of each of its tasks is told to an endpoint, once per end, signed as its
# calls are (and with `notify_on` each start); while the receiver is down tasks go on, and it hears of them later; nothing is lost and
# nothing told twice while task nodes, routers and the manager are killed (kill -9) and partitions move.
#   STORE=redis   the same with the tasks in Redis
. "$(dirname "$0")/lib.sh"

up --routers 2 --seg-nodes 1 --task-nodes 2 --task-store "${STORE:-journal}"
T=$((PORT + 90))
N=$DIR/seen
touch "$N"
helper "$here/target.py" $T "$N"
wait_for 10 "the receiver listens" has_status 200 "http://127.0.0.1:$T/echo"
auth="Authorization: Bearer $(task_token)"
answers() { admin PUT "/v1/admin/$1" "$2" | jq -r '.detail // ""'; } # PATH JSON
detail() { check_eq "$1" "$(answers "$2" "$3")" "$4"; }              # "claim" PATH JSON DETAIL

# ---- the definition
detail "only an endpoint's queue can be told" pools/jobs '{"notify":"hook"}' \
    "pool jobs: notify: the tasks of queue hook are not calls: pool * has no endpoint"
(umask 077 && head -c 32 /dev/urandom | base64 | sed 's/^/whsec_/' >"$DIR/sign")
hook() { echo "{\"url\":\"http://127.0.0.1:$T$1\",\"allow\":[\"127.0.0.0/8\"],\"sign\":{\"secret_file\":\"$DIR/sign\"},\"breaker\":{\"open\":\"1s\"}}"; }
detail "the receiver is defined" endpoints/hook "$(hook /told)" ""
detail "  with short waits" pools/hook '{"endpoint":"hook","retry":{"min":"200ms","max":"500ms"},"max_attempts":60}' ""
detail "  and somebody to be called" endpoints/gen "{\"url\":\"http://127.0.0.1:$T/api\",\"allow\":[\"127.0.0.0/8\"]}" ""
detail "calls tell their ends" pools/gen%2F* '{"match":"gen/*","endpoint":"gen","notify":"hook","retry":{"min":"100ms"}}' ""
detail "starts are not told without ends" pools/jobs '{"notify":"hook","notify_on":["start"]}' \
    "pool jobs: notify_on: [end], or [start, end]"
detail "  and so do tasks of workers, and their starts" pools/jobs '{"notify":"hook","notify_on":["start","end"],"max_attempts":1}' ""
detail "a queue that is told may tell, too" pools/hook '{"endpoint":"hook","notify":"hook","retry":{"min":"200ms","max":"500ms"},"max_attempts":60}' ""

submit() { http -H "$auth" -d "$2" "$R/v1/queues/$1/tasks"; }
taken_in() { submit gen/0 '{"path":"/echo"}' | jq -e .task >/dev/null && submit jobs '{"payload":0}' | jq -e .task >/dev/null; }
wait_for 15 "queues take tasks" taken_in
all_notices() { jq -r 'select(.path == "/told/notices") | .body | @base64d' "$N"; }
notices() { all_notices | jq -c 'select(.type != "task.started")'; }
starts() { all_notices | jq -c "select(.type == \"task.started\" and .data.task == \"$1\") | [.data.state, .data.queue, .data.attempts]"; }
told() { notices | jq -c "select(.data.task == \"$1\") | $2"; } # TASK FILTER
is_told() { [ -n "$(told "$1" .type)" ]; }

# ---- each kind of end
K=$(submit jobs '{"payload":1,"labels":["order-7"],"key":"tenant7/user42"}' | field task)
http -X DELETE -H "$auth" "$R/v1/tasks/$K" >/dev/null
wait_for 10 "a cancel is told" is_told "$K"
check_eq "  how it ended, and whose it was" \
    "$(told "$K" '[.type, .data.state, .data.queue, .data.key, .data.labels, .data.attempts]')" \
    '["task.cancelled","cancelled","jobs","tenant7/user42",["order-7"],0]'
check_eq "  its id is the task's, too" "$(told "$K" .data.id | tr -d '"')" \
    "$("$BIN/segqctl" --dir "$C" --json task why "$K" | jq -r .id)"
check "  at a moment" eval 'told "$K" .timestamp | grep -qE "^\"20[0-9-]+T[0-9:.]+Z\"$"'
check "  with a signature" eval 'jq -r "select(.path == \"/told/notices\") | .headers[\"webhook-signature\"]" "$N" | grep -q "^v1,"'
worker() { http -H "$auth" -d "$2" "$R/v1/$1"; }
take() { worker queues/jobs/tasks/take '{"n":1,"wait":"5s"}' | jq -r '.tasks[0] | "\(.task) \(.lease_id)"'; }
read -r K lease <<<"$(take)" # the one that was submitted first, while the queue was awaited
is_started() { [ -n "$(starts "$1")" ]; }
wait_for 10 "a start is told" is_started "$K"
check_eq "  as such, before its end" "$(starts "$K") $(told "$K" .type)" '["running","jobs",1] '
worker "tasks/$K/ack" "{\"lease_id\":\"$lease\"}" >/dev/null
wait_for 10 "a worker's success is told" is_told "$K"
check_eq "  as such" "$(told "$K" '[.type, .data.attempts]')" '["task.succeeded",1]'
submit jobs '{"payload":2}' >/dev/null
read -r K lease <<<"$(take)"
worker "tasks/$K/nack" "{\"lease_id\":\"$lease\"}" >/dev/null
wait_for 10 "a death is told" is_told "$K"
check_eq "  as such" "$(told "$K" .type)" '"task.dead"'
"$BIN/segqctl" --dir "$C" task redrive "$K" >/dev/null
read -r K lease <<<"$(take)"
worker "tasks/$K/ack" "{\"lease_id\":\"$lease\"}" >/dev/null
succeeded_now() { told "$K" .type | grep -q succeeded; }
wait_for 10 "what was dead, and is done after all, is told again" succeeded_now
both_starts() { [ "$(starts "$K" | wc -l)" = 2 ]; }
wait_for 10 "  and so was its second start" both_starts
K=$(submit jobs '{"payload":3,"ttl":"500ms"}' | field task)
wait_for 15 "what waited for too long is told" is_told "$K"
check_eq "  as such" "$(told "$K" .type)" '"task.expired"'
K=$(submit gen/0 '{"path":"/status/404"}' | field task)
wait_for 10 "a call's end is told" is_told "$K"
check_eq "  with what the target said" "$(told "$K" '[.type, .data.http_status]')" '["task.dead",404]'
K=$(submit hook '{"path":"/echo"}' | field task)
wait_for 10 "the end of the receiver's own task is told" is_told "$K"
of_hook() { notices | jq -r 'select(.data.queue == "hook") | .type' | wc -l; }
check_eq "  the end of a notice is not" "$(of_hook)" 1

# ---- the receiver is down
detail "the receiver is broken" endpoints/hook "$(hook /status/503)" ""
down_seen() { submit jobs '{"payload":4,"ttl":"1ms"}' >/dev/null; jq -e 'select(.path == "/status/503/notices")' "$N" >/dev/null; }
wait_for 15 "it says 503 to a notice" down_seen
first=$(submit gen/1 '{"path":"/echo/a"}' | field task)
state_is() { [ "$(http "$R/v1/tasks/$1" | field state)" = "$2" ]; }
wait_for 10 "calls go on all the same" state_is "$first" succeeded
check_eq "  and nobody was told" "$(told "$first" .type)" ""
detail "the receiver is well" endpoints/hook "$(hook /told)" ""
wait_for 30 "  and hears of it" is_told "$first"

# ---- kills
n=0
for q in 1 2 3 4 5 6; do
    rows=$(seq 50 | sed 's/.*/{"path":"\/slow\/20"}/' | paste -sd,)
    http -H "$auth" -d "[$rows]" "$R/v1/queues/gen/$q/tasks/batch" | jq -r '.[].task' >>"$DIR/tasks"
    n=$((n + 50))
done
check_eq "all are taken" "$(grep -c . "$DIR/tasks")" $n
ended() { notices | jq -r .data.task | sort -u | comm -12 - <(sort -u "$DIR/tasks") | wc -l; }
some_told() { [ "$(ended)" -gt $((told_before + 20)) ] || [ "$(ended)" = $n ]; }
kill_one() { # NAME
    local pid
    told_before=$(ended)
    pid=$(pid_of "$1")
    kill -KILL "$pid"
    wait_for 20 "$1 is killed, and comes back" restarted "$1" "$pid"
    wait_for 30 "  ends are told" some_told
}
kill_one task.0
kill_one router.0
kill_one task.1
kill_one queuemng
drains() { admin POST /v1/admin/nodes/task.1/drain | jq -e '.code == null' >/dev/null; } # a manager that begins says 503
wait_for 20 "a node is to be drained" drains
drained() { [ "$(admin GET /v1/admin/task-queues | jq '.nodes[] | select(.name == "task.1") | .partitions + .moving')" = 0 ]; }
wait_for 30 "its partitions move" drained
all_told() { [ "$(ended)" = $n ]; }
wait_for 60 "every end was told" all_told
check_eq "  as one task each, however often that was tried" \
    "$(jq -r 'select(.path == "/told/notices") | .headers["segq-task"] + " " + (.body | @base64d | fromjson | .data.task)' "$N" | sort -u | cut -d' ' -f2 | sort | uniq -d | comm -12 - <(sort -u "$DIR/tasks") | wc -l)" 0
gone() { [ "$(metric 47 segq_task_notices)" = 0 ]; }
wait_for 20 "none waits any more" gone
check_eq "  and none was dropped" "$(metric 47 segq_task_notices_dropped_total)" 0
