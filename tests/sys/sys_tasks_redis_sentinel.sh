#!/bin/bash
# Tasks in a Redis with a replica and a sentinel, which must confirm each write
# (redis_wait_replicas: 1): the replica stands still, and nothing is answered that it does not have;
# the master is killed, and the task nodes go on at the replica with all that was acknowledged.
# Submitters and workers go on meanwhile (tests/tasks/judge.py).
#   TASKS=N   (1200; 600 in a sanitizer build)
. "$(dirname "$0")/lib.sh"
. "$here/redis.sh"

choose_password
N=${TASKS:-$(under_asan && echo 600 || echo 1200)}
MASTER=$((PORT + 6)) REPLICA=$((PORT + 8))
redis_node replica $REPLICA "replicaof 127.0.0.1 $MASTER
appendonly yes"
replica=$H
redis_sentinel $((PORT + 7)) $MASTER 1000
up --routers 1 --seg-nodes 1 --task-nodes 2 --task-store redis --set queuemng.redis= \
    --set task.redis= --set "task.redis_sentinels=127.0.0.1:$((PORT + 7))" --set task.redis_wait_replicas=1 \
    --set task.redis_timeout=400ms
at $MASTER CONFIG SET repl-diskless-sync-delay 0 >/dev/null
wait_for 30 "the replica follows" follows $REPLICA
wait_for 40 "the sentinel knows it" sentinel_knows $REPLICA
drive_tasks "$N" --rate $((N / 8)) --lease 3 --looks 200 --seed sentinel
tasks_go_on "calm"

# ---- a replica that is cut off
put_one() { status_of --max-time 8 -H "Authorization: Bearer $(task_token)" -d '{"payload":1}' "$R/v1/queues/side/tasks"; }
put_off() { [ "$(put_one)" = 503 ]; }
check_eq "a task is taken in" "$(put_one)" 201
kill -STOP "$replica"
wait_for 10 "the replica stands still: nothing is acknowledged that it does not have" put_off
kill -CONT "$replica"
tasks_go_on "the replica is back"

# ---- a failover
redis_kill
wait_for 30 "the master is killed: the replica is master" is_master $REPLICA
check "  alone it confirms nothing" put_off
redis_start --masterauth "$PW" --replicaof 127.0.0.1 $REPLICA
wait_for 40 "the old master comes back as its replica" follows $MASTER
tasks_go_on "after the failover"
judge_tasks --tasks $((N * 8 / 10)) --done $((N * 6 / 10))
