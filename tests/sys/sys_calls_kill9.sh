#!/bin/bash
# Calls to a target that hangs, drips, resets, says 429, 503 and too much, while the task node, a
# router and the manager are killed (kill -9), and a node's partitions move: judged by what the target
# saw (tests/tasks/call_judge.py): nothing is sent twice, early, or beyond what was allowed.
. "$(dirname "$0")/lib.sh"

up --routers 2 --seg-nodes 1 --task-nodes 2 --task-store "${STORE:-journal}"
T=$((PORT + 90))
mkdir -p "$DIR/history"
helper "$root/tests/tasks/hostile_target.py" $T "$DIR/history"
wait_for 10 "the target listens" has_status 500 -X POST "http://127.0.0.1:$T/-1/0/500"
define() { # endpoints/NAME, pools/NAME; JSON
    check_eq "$1 is defined" "$(admin PUT "/v1/admin/$1" "$2" | jq -r '.detail // ""')" ""
}
define endpoints/away "{\"url\":\"http://127.0.0.2:$T\",\"allow\":[\"127.0.0.1/32\"]}"
define endpoints/gen "{\"url\":\"http://127.0.0.1:$T/api\",\"allow\":[\"127.0.0.1/32\"],\"rate_per_s\":400,\"burst\":20,
    \"max_concurrent\":32,\"deadline\":\"2s\",\"connect_timeout\":\"1s\",\"breaker\":{\"min\":20,\"open\":\"1s\"}}"
define pools/load%2F* '{"match":"load/*","endpoint":"gen","max_attempts":8,
    "keys":[{"match":"*","max_concurrent":4}],"retry":{"min":"300ms","max":"1s"}}'
submit() { http -H "Authorization: Bearer $(task_token)" -d "$2" "$R/v1/queues/$1/tasks"; }
taken_in() { # a task of none of the driver's, in each
    submit away '{"path":"/-1/1/ok"}' | jq -e .task >/dev/null && submit load/0 '{"path":"/-1/2/ok"}' | jq -e .task >/dev/null
}
wait_for 15 "its queues take tasks" taken_in
note() { echo "[\"$1\",$2,$(date +%s.%N)]" >>"$DIR/history/story.jsonl"; }
calls_done() { grep -c '"said"' "$DIR/history/target.jsonl"; }
more_done() { [ "$(calls_done)" -gt $((done + 50)) ]; }
calls_go_on() { # "when"
    done=$(calls_done)
    wait_for 20 "$1: calls go on" more_done
}

drive_calls 100000 --run kills --rate 45 --submitters 4 --queue load/ \
    --batched 0.1 --batch 5 --cancelled 0.3 --delayed 0.1 --looks 300
calls_go_on "at first"

# ---- each call fails, for a while
touch "$DIR/history/storm"
is_down() { admin GET /v1/admin/task-queues | jq -e '.endpoints[] | select(.name == "gen") | .open + .half_open == 2' >/dev/null; }
wait_for 10 "a target that fails is left alone" is_down
t=$(date +%s.%N)
# Those that had begun before may arrive yet: for SETTLE seconds they are not counted.
SETTLE=0.5
tried() { jq -se "any(.[]; .[0] == \"arrive\" and .[1] > $t + $SETTLE)" "$DIR/history/target.jsonl" >/dev/null; }
wait_for 10 "  and tried again" tried
note storm "$t" # while each call fails still: the next probe may find it well, and calls follow at once
rm "$DIR/history/storm"
calls_go_on "when it is well"

# ---- processes die, partitions move
fault() { # "what" COMMAND...: until calls go on
    local t what=$1
    shift
    t=$(date +%s.%N)
    "$@"
    calls_go_on "$what"
    note fault "$t"
}
kill_one() { # NAME
    local pid
    pid=$(pid_of "$1")
    kill -KILL "$pid"
    wait_for 20 "$1 is killed, and comes back" restarted "$1" "$pid"
}
drained() { [ "$(admin GET /v1/admin/task-queues | jq '.nodes[] | select(.name == "task.1") | .partitions + .moving')" = 0 ]; }
drain() {
    admin POST /v1/admin/nodes/task.1/drain >/dev/null
    wait_for 20 "a node's partitions move" drained
    admin POST /v1/admin/nodes/task.1/undrain >/dev/null
}
# Those first that leave calls of which nobody knows the end.
fault "partitions have moved" drain
fault "a task node was killed" kill_one task.0
fault "the manager was killed" kill_one queuemng
fault "a router was killed" kill_one router.0
kill -USR1 "$driver"
judge_calls --run kills --nodes 2 --slots 32 --key-slots 4 --rate 400 --burst 20 --deadline-s 2 --attempts 8 \
    --retry-s 0.3 --open-s 1 --settle-s $SETTLE --tasks 300 --done 200
