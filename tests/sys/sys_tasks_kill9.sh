#!/bin/bash
# kill -9 of the task node, of a router, of the manager, while submitters and workers go on over
# HTTP: no task that was acknowledged is lost, begins early, out of order, after a cancel, or twice
# under one number; results are those of the workers (tests/tasks/judge.py).
. "$(dirname "$0")/lib.sh"

up --routers 2 --seg-nodes 1 --task-nodes 1 --task-store "${STORE:-journal}"
drive_tasks 100000 --rate "$(under_asan && echo 200 || echo 300)" --lease 4 --looks 1000 --seed kills

kill_one() { # NAME: and it comes back, and work goes on
    local pid
    pid=$(pid_of "$1")
    kill -KILL "$pid"
    wait_for 20 "$1 is killed, and comes back" restarted "$1" "$pid"
    tasks_go_on "  then"
}
tasks_go_on "at first"
for who in task.0 router.0 queuemng task.0 router.1 task.0; do
    kill_one $who
done
kill -USR1 "$driver" # no new ones: those that are there come to their end
judge_tasks --tasks 500 --done 300
