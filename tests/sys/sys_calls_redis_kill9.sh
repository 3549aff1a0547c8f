#!/bin/bash
# What sys_calls_kill9 claims holds with the tasks in Redis (store: redis), too: the same story.
export STORE=redis
. "$(dirname "$0")/sys_calls_kill9.sh"
