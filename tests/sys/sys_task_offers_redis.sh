#!/bin/bash
# What sys_task_offers claims holds with the tasks in Redis (store: redis), too: the same story.
export STORE=redis
. "$(dirname "$0")/sys_task_offers.sh"
