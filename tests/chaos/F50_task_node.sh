#!/bin/bash
# F50: a task node is killed, and cut off from a router, then from the manager, while submitters and
# workers go on at both routers: what was acknowledged is not lost, begins in its order, never early,
# once under each number; a cut of one router is nothing to the other one.
. "$(dirname "$0")/lib.sh"
machines "m0 s0 t0 r0 r1"
cluster_up --release-per-s 15

call() { http -H "Authorization: Bearer $(task_token)" "$@"; }
submits() { [ "$(call -o /dev/null -w '%{http_code}' -d '{"payload":1}' "$1/v1/queues/others/tasks")" = "$2" ]; }
wait_for 30 "both routers take tasks in" submits "$R" 201
drive_tasks 100000 --rate 100 --lease 4 --patience 120 --seed chaos
tasks_go_on "calm"

kill9 t0.0
tasks_go_on "the task node is killed"
cut r0 t0
wait_for 30 "cut off from r0: it puts off what it cannot ask" submits "$R" 503
wait_for 30 "  and the other router takes tasks in" submits "$R2" 201
tasks_go_on "cut off from r0"
heal
wait_for 30 "healed: r0 takes tasks in" submits "$R" 201
cut_oneway t0 r1
wait_for 30 "r1 hears nothing: it puts off" submits "$R2" 503
heal
wait_for 30 "healed: r1 takes tasks in" submits "$R2" 201
cut m0 t0
tasks_go_on "cut off from the manager"
heal
kill9 t0.0
tasks_go_on "killed again"
kill -USR1 "$driver" # no new ones: those that are there come to their end
judge_tasks --tasks 200 --done 100
