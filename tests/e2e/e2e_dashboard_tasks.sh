#!/bin/bash
# The dashboard's page of task queues in Chromium: dashboard_tasks.js against a cluster with two
# task nodes, whose first pool is defined by the scenario.
#   e2e_dashboard_tasks.sh [BIN [SCENARIO...]]
. "$(dirname "$0")/../sys/lib.sh"
. "$(dirname "$0")/browser.sh"

browser_install
up --seg-nodes 1 --task-nodes 2
[ $# -gt 0 ] && shift
TASK_TOKEN=$(task_token)
TASK_PID=$(pid_of task.1)
export TASK_TOKEN TASK_PID
browser_run dashboard_tasks.js "$@"
