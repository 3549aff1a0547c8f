#!/bin/bash
# kill -9 of the task node, of a router, of the manager, while submitters and workers go on over
# HTTP: no task that was acknowledged is lost, begins early, out of order, after a cancel, or twice
# under one number; results are those of the workers (tests/tasks/judge.py).
#   TASKS=N   (6000; 2000 in a sanitizer build)
. "$(dirname "$0")/lib.sh"

N=${TASKS:-$(under_asan && echo 2000 || echo 6000)}
up --routers 2 --seg-nodes 1 --task-nodes 1
drive_tasks "$N" --rate $((N / 20)) --lease 4 --seed kills

acked() { cat "$DIR"/history/worker*.jsonl 2>/dev/null | grep -c '"settle",[^"]*"ack"'; }
killed=0
kill_one() { # NAME: and it comes back, and work goes on
    local pid n
    pid=$(pid_of "$1")
    kill -KILL "$pid"
    killed=$((killed + 1))
    wait_for 20 "$1 is killed, and comes back" restarted "$1" "$pid"
    n=$(acked)
    more() { [ "$(acked)" -gt $((n + 20)) ] || tasks_are_done; }
    wait_for 30 "  and tasks are done" more
}
begun() { [ "$(acked)" -gt 20 ]; }
wait_for 30 "tasks are done" begun
for who in task.0 router.0 queuemng task.0 router.1 task.0; do
    tasks_are_done || kill_one $who
done
check "all of that fell into the work ($killed kills)" test $killed -ge 4
judge_tasks --tasks $((N * 8 / 10)) --done $((N * 6 / 10))
