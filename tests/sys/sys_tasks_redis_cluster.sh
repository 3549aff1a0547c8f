#!/bin/bash
# Tasks in a Redis cluster of two masters and a replica (store: redis): the keys of a partition have a
# hash tag, so each partition is on one of them, and the task nodes, told of the first one, are sent
# to the other (MOVED). Meanwhile submitters and workers go on: a slot moves (ASK), the replica
# becomes the master by order, a task node is lost (tests/tasks/judge.py).
#   TASKS=N   (1200; 600 in a sanitizer build)
. "$(dirname "$0")/lib.sh"
. "$here/redis.sh"

choose_password
N=${TASKS:-$(under_asan && echo 600 || echo 1200)}
P1=$((PORT + 7)) P2=$((PORT + 8)) P3=$((PORT + 9))
redis_cluster_node one $P1 $((PORT + 20)) 1000
redis_cluster_node two $P2 $((PORT + 21)) 1000
redis_cluster_node three $P3 $((PORT + 22)) 1000
at $P1 CLUSTER ADDSLOTSRANGE 0 8191 >/dev/null
at $P2 CLUSTER ADDSLOTSRANGE 8192 16383 >/dev/null
for i in 1 2; do at $P3 CLUSTER MEET 127.0.0.1 $((PORT + 6 + i)) $((PORT + 19 + i)) >/dev/null; done
wait_for 60 "a Redis cluster" redis_cluster_is_whole $P1 $P2 $P3
is_replicate() { [ "$(at $P3 CLUSTER REPLICATE "$(at $P2 CLUSTER MYID)")" = OK ]; }
wait_for 20 "with a replica" is_replicate
wait_for 20 "  that follows" follows $P3

up --routers 1 --seg-nodes 1 --task-nodes 2 --task-store redis --set queuemng.redis= \
    --set "task.redis=127.0.0.1:$P1"
drive_tasks "$N" --rate $((N / 8)) --lease 3 --looks 200 --seed cluster
tasks_go_on "calm"
at_both() { [ "$(at $P1 DBSIZE)" -gt 0 ] && [ "$(at $P2 DBSIZE)" -gt 0 ]; }
wait_for 10 "partitions are at both masters" at_both
task_faults() { # KIND: that both nodes have counted
    local p
    for p in 47 48; do http "http://127.0.0.1:$((PORT + p))/metrics"; done |
        awk -v k="{kind=\"$1\"}" '/^segq_redis_errors_total/ && index($0, k) { n += $2 } END { print n + 0 }'
}
check "the task nodes were sent there" test "$(task_faults moved)" -gt 0

# ---- the slot of the busiest partition moves
commands_at() { # PORT -> "commands port key" of each partition that is there
    local key
    for key in $(at "$1" --scan --pattern 'segq:*:epoch'); do echo "$(at "$1" HGET "$key" n) $1 $key"; done
}
read -r _ from key < <({ commands_at $P1; commands_at $P2; } | sort -nr)
to=$((from == P1 ? P2 : P1))
slot=$(at $from CLUSTER KEYSLOT "$key")
check_eq "the slot of $key is to come" "$(at $to CLUSTER SETSLOT "$slot" IMPORTING "$(at $from CLUSTER MYID)")" OK
check_eq "  and to go" "$(at $from CLUSTER SETSLOT "$slot" MIGRATING "$(at $to CLUSTER MYID)")" OK
keys_go() { # those that are there; true: none is left
    local keys
    [ "$(at $from CLUSTER COUNTKEYSINSLOT "$slot")" -gt 0 ] || return 0
    mapfile -t keys < <(at $from CLUSTER GETKEYSINSLOT "$slot" 100)
    at $from MIGRATE 127.0.0.1 $to '' 0 5000 AUTH "$PW" KEYS "${keys[@]}" >/dev/null
    return 1
}
wait_for 10 "  its keys go" keys_go
asked() { [ "$(task_faults ask)" -gt 0 ]; }
wait_for 10 "  the task node hears ASK" asked
for p in $to $from; do at $p CLUSTER SETSLOT "$slot" NODE "$(at $to CLUSTER MYID)" >/dev/null; done
tasks_go_on "the slot has moved"

# ---- a failover by order, and a node that is lost right then
check_eq "the replica is told to be master" "$(at $P3 CLUSTER FAILOVER)" OK
kill -KILL "$(pid_of task.0)"
wait_for 20 "  it is, and a task node was killed meanwhile" is_master $P3
tasks_go_on "after the failover"
judge_tasks --tasks $((N * 8 / 10)) --done $((N * 6 / 10))
