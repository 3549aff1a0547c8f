#!/bin/bash
# Tasks in Redis (store: redis): a task node that is lost for good is followed by another one in less
# than five seconds; one that stood still finds that it is fenced; a drain empties one, which is then
# stopped; Redis is killed and comes back with what it acknowledged. Submitters and workers go on
# meanwhile, and no task is lost, begins early, out of order, after a cancel, or twice under one
# number (tests/tasks/judge.py).
#   TASKS=N   (2400; 1200 in a sanitizer build)
. "$(dirname "$0")/lib.sh"
. "$here/redis.sh"

N=${TASKS:-$(under_asan && echo 1200 || echo 2400)}
up --routers 2 --seg-nodes 1 --task-nodes 2 --task-store redis
drive_tasks "$N" --rate $((N / 14)) --lease 3 --looks 300 --seed redis

has() { metric $((47 + $1)) segq_task_partitions; } # that task node $1 has
has_all() { [ "$(has "$1")" = 16 ]; }
share_alike() { [ "$(has 0)" = 8 ] && [ "$(has 1)" = 8 ]; }
one_has() { for one in 0 1; do [ "$(has $one)" -ge 8 ] && return; done; return 1; }
boss=$(pid_of task_cluster)
wait_for 10 "tasks have their partitions" one_has
other=$((1 - one))
tasks_go_on "calm"

# ---- lost for good
kill -STOP "$boss" # nobody starts it again
t0=$(now_ms)
kill -KILL "$(pid_of task.$one)"
wait_for 10 "a task node is lost: the other one has all" has_all $other
in_time "  soon" $(($(now_ms) - t0)) 5000
tasks_go_on "a node is lost"
kill -CONT "$boss"
wait_for 20 "it is started again, and has its share" share_alike

# ---- stood still
p=$(pid_of task.$other)
kill -STOP "$boss" "$p"
t0=$(now_ms)
wait_for 10 "the other one stands still: the first one has all" has_all $one
in_time "  soon" $(($(now_ms) - t0)) 5000
tasks_go_on "a node stands still"
kill -CONT "$p" "$boss"
wait_for 20 "it wakes, gives up what it had, and has its share again" share_alike
tasks_go_on "it has woken"

# ---- drained, and stopped
seen_at() { # NODE FIELD: as the manager sees it
    admin GET /v1/admin/task-queues | jq -r ".nodes[] | select(.name == \"task.$1\") | .$2"
}
"$BIN/segqctl" --dir "$C" drain "task.$one" >"$DIR/drained"
check "a drain says what happens" grep -q '[1-9][0-9]* partitions will move to other nodes' "$DIR/drained"
wait_for 20 "  the other one has all" has_all $other
is_empty() { [ "$(seen_at $one partitions)" = 0 ] && [ "$(seen_at $one moving)" = 0 ]; }
wait_for 20 "  and the manager says that it is empty" is_empty
kill -STOP "$boss"
end_pid "$(pid_of task.$one)"
is_down() { [ "$(seen_at $one up)" = false ]; }
wait_for 10 "it is stopped" is_down
tasks_go_on "without it"
kill -CONT "$boss"

# ---- Redis
redis_kill
refused() {
    http -D "$DIR/head" -o "$DIR/why" -H "Authorization: Bearer $(task_token)" -d '{"payload":1}' \
        "$R/v1/queues/images/tasks"
    grep -q '^HTTP/1.1 503' "$DIR/head"
}
wait_for 10 "without Redis nothing is taken" refused
check "  and it is said when to ask again" grep -qi '^retry-after: *[0-9]' "$DIR/head"
why() { jq -r '.code + ": " + .detail' "$DIR/why"; }
# Or, in the moment in which its link to the router is closed over it, that no node has the queue.
check "  and why" grep -xE 'queue_unavailable: (nothing can be written now; nothing was done, ask again|no task node has this queue now; nothing was done)' <(why)
redis_start
tasks_go_on "Redis is back"
judge_tasks --tasks $((N * 8 / 10)) --done $((N * 6 / 10))
