#!/bin/bash
# Two workers take from three queues at two task nodes, in one request each: what is there is divided,
# nothing is taken twice, nothing is taken that is too much; they wait for all three at the same time.
. "$(dirname "$0")/lib.sh"

up --routers 2 --seg-nodes 1 --task-nodes 2 \
    --set 'queuemng.pools=[{match: images}, {match: "ride/*", partitions: 8}]'
QUEUES=(images ride/1 ride/2)
ALL='"queues":["images","ride/1","ride/2"]'
task_call() { http -H "Authorization: Bearer $(task_token)" "$@"; }
submit() { task_call -d "{\"payload\":$2}" "$R/v1/queues/$1/tasks" | jq -r .task; } # QUEUE PAYLOAD
take() { task_call -d "{$ALL,\"lease\":\"5m\"$1}" "${2:-$R}/v1/tasks/take"; } # MEMBERS [ROUTER]
attempts() { http "$R/v1/tasks/$1" | field attempts; }

takes_tasks() { for q in "${QUEUES[@]}"; do [ "$(status_of -H "Authorization: Bearer $(task_token)" -d '{}' "$R/v1/queues/$q/tasks/take")" = 200 ] || return 1; done; }
wait_for 20 "the pools have their nodes" takes_tasks
both() { [ "$(admin GET /v1/admin/task-queues | jq '[.nodes[] | select(.up and .partitions > 0)] | length')" = 2 ]; }
wait_for 20 "both nodes have partitions" both

# ---- what is there is divided
for i in 1 2 3 4 5 6; do for q in "${QUEUES[@]}"; do submit "$q" "$i" >>"$DIR/submitted"; done; done
six=$(take ',"n":6')
check_eq "six tasks: two of each queue" "$(jq -c '[.tasks[].queue] | group_by(.) | map(length)' <<<"$six")" '[2,2,2]'
check_eq "  in the order of each" "$(jq -c '[.tasks[] | select(.queue == "ride/1") | .payload]' <<<"$six")" '[1,2]'
jq -r '.tasks[].task' <<<"$six" >>"$DIR/taken"
worker() { # ROUTER: one at a time, until nothing comes for two seconds
    while t=$(take ',"wait":"2s"' "$1" | jq -r '.tasks[0] | select(. != null) | "\(.task) \(.lease_id)"') && [ -n "$t" ]; do
        echo "${t% *}" >>"$DIR/taken"
        task_call -o /dev/null -d "{\"lease_id\":\"${t#* }\"}" "$1/v1/tasks/${t% *}/ack"
    done
}
worker "$R" &
one=$!
worker "${R2:-$R}" &
two=$!
helpers+=("$one" "$two")
wait "$one" "$two"
check_eq "two workers take all" "$(sort "$DIR/taken" | tr '\n' ' ')" "$(sort "$DIR/submitted" | tr '\n' ' ')"

# ---- they wait for all of them
take ',"wait":"30s"' >"$DIR/waited" &
waiter=$!
helpers+=("$waiter")
waits() { [ "$(($(metric 47 segq_task_waiting_calls) + $(metric 48 segq_task_waiting_calls)))" -ge 3 ]; }
wait_for 10 "a worker waits at three queues" waits
T=$(submit ride/2 7)
wait "$waiter"
check_eq "the one that has a task answers" "$(jq -r '.tasks[0] | "\(.task) \(.queue)"' "$DIR/waited")" "$T ride/2"
nobody() { [ "$(($(metric 47 segq_task_waiting_calls) + $(metric 48 segq_task_waiting_calls)))" = 0 ]; }
wait_for 10 "  and nothing waits at the others" nobody
T=$(submit images 8)
check_eq "  so the next one is not given to nobody" "$(http "$R/v1/tasks/$T" | field state)" waiting
check_eq "it is there for who comes, in its first attempt" "$(take '' | jq -r '.tasks[0] | "\(.task) \(.attempt)"')" "$T 1"
check_eq "a token is judged for each queue" \
    "$(status_of -H "Authorization: Bearer none" -d "{$ALL}" "$R/v1/tasks/take")" 401

# ---- a pool that comes while tasks are in line: they are taken before those who come after it
one=$(submit ride/1 '"before"')
"$BIN/segqctl" --dir "$C" pool add 'ride/1*' rollout=100 >/dev/null
in_the_new_pool() { # its tasks have another partition's number in their tokens
    two=$(submit ride/1 '"after"')
    [ "${two:0:8}" != "${one:0:8}" ] || ! cancelled "$two"
}
cancelled() { task_call -X DELETE "$R/v1/tasks/$1" >/dev/null; }
wait_for 20 "the new pool takes what comes" in_the_new_pool
first=$(task_call -d '{}' "$R/v1/queues/ride/1/tasks/take")
check_eq "who was in line before goes first" "$(jq -r '.tasks[0].task' <<<"$first")" "$one"
comes() { [ "$(task_call -d '{}' "$R/v1/queues/ride/1/tasks/take" | jq -r '.tasks[0].task')" = "$two" ]; }
wait_for 10 "then who came later" comes
