#!/bin/bash
# A task node dies at each point between what it decides, writes and answers, once, while submitters
# and workers go on over HTTP; its disk fails, for journal and bodies; it dies amid a snapshot.
# Nothing that was acknowledged is lost, begins early, out of order or twice (tests/tasks/judge.py).
# Only test builds (asan) have the points.
. "$(dirname "$0")/lib.sh"

has_points || { check "a build for use has no failpoints" bash -c "! grep -q SEGQ_FAILPOINTS '$BIN/task'"; exit; }

export SEGQ_FAILPOINTS=$DIR/points
mkdir -p "$SEGQ_FAILPOINTS"
up --routers 1 --seg-nodes 1 --task-nodes 1 --set task.journal=fsync --set task.journal_snapshot=8k \
    --set task_cluster.restart_max=200ms
ctl() { "$BIN/segqctl" --dir "$C" --yes "$@" >>"$DIR/ctl.log" 2>&1; }
call() { http -H "Authorization: Bearer $(task_token)" "$@"; }
short=$R/v1/queues/short/tasks
side=$R/v1/queues/side/tasks

serves() { [ "$(call -o /dev/null -w '%{http_code}' --max-time 2 -d '{"payload":0}' "$short")" = 201 ]; }
die_at() { # POINT [what]: armed, met, and back in service
    arm "$@"
    wait_for 25 "$1 is met" fired "$1"
    wait_for 40 "$1: tasks are taken in again" serves
}

# Beside the judged ones: tasks that come to every other end, by the clock, by the caller, by an
# operator. Each loop makes its records some times a second, so no point waits long to be met.
check "a pool of short lives" ctl pool add short max_attempts=1 task_ttl=1s dead_ttl=1s result_ttl=1s dedup=1s
check "  one of orders by number" ctl pool add side order=number
check "  and one whose dead ones wait again" ctl pool add again max_attempts=1
ask() { call --max-time 2 "$@"; }
order() { admin POST "/v1/admin/$1" >/dev/null; }
new_task() { ask -d "$2" "$R/v1/queues/$1/tasks" | jq -r '.task // empty'; }
lives() { # they are dead and gone by the clock; one is put off
    local t
    ask -d '{"payload":1}' "$short" >/dev/null
    ask -d '{"n":1,"lease":"100ms"}' "$short/take" >/dev/null
    t=$(new_task short '{"payload":2,"delay":"5s"}')
    [ -z "$t" ] || ask -X PATCH -d '{"delay":"200ms"}' "$R/v1/tasks/$t" >/dev/null
}
changes() { # one that waits is changed, and is run at once
    local t
    t=$(new_task side '{"payload":3,"max_attempts":2,"delay":"1m"}')
    [ -n "$t" ] || return
    ask -X PATCH -d '{"order":7,"priority":1}' "$R/v1/tasks/$t" >/dev/null
    order "tasks/$t/run"
}
ends() { # one that runs is stopped; one is done, and read
    local taken t lease
    taken=$(ask -d '{"n":2}' "$side/take" | jq -r '.tasks[]? | "\(.task) \(.lease_id)"')
    while read -r t lease; do
        [ -z "$t" ] || [ $((RANDOM % 2)) = 0 ] || ask -X DELETE "$R/v1/tasks/$t" >/dev/null
        ask -d "{\"lease_id\":\"$lease\",\"result\":1}" "$R/v1/tasks/$t/ack" >/dev/null
        ask "$R/v1/tasks/$t/result" >/dev/null
    done <<<"$taken"
}
deaths() { # all that are dead wait again
    local t lease
    new_task again '{"payload":4}' >/dev/null
    while read -r t lease; do
        ask -d "{\"lease_id\":\"$lease\"}" "$R/v1/tasks/$t/nack" >/dev/null
    done < <(ask -d '{"n":3}' "$R/v1/queues/again/tasks/take" | jq -r '.tasks[]? | "\(.task) \(.lease_id)"')
    order task-queues/again/tasks/redrive
}
pauses() {
    local paused
    for paused in true false; do admin PATCH /v1/admin/pools/short "{\"paused\":$paused}" >/dev/null; done
}
again() { while sleep 0.1; do "$1"; done; }
beside=()
for loop in lives changes ends deaths pauses; do helper again $loop; beside+=("$H"); done
drive_tasks 100000 --rate 25 --lease 2 --named 0.3 --extended 0.3 --nacked 0.2 --lapsed 0.1 --patience 300 --looks 1000 --seed points
tasks_go_on "at first"

for record in ACCEPT START EXTEND RETRY DONE CANCEL STOP ORDER READ RUN PART; do # that somebody waits for
    die_at $record.before_write
    die_at $record.after_write
done
for record in NAME ENTER DEAD EXPIRE DELAY GONE OWN PRIORITY REDRIVING REDRIVE; do
    die_at $record.after_write
done
# A write or a sync fails, once, of the journal and of the bodies: nothing of that turn is believed.
for point in disk.write disk.sync bodies.write bodies.sync; do
    die_at $point error
    die_at $point 'after 3 error'
done
check "a failed write is not believed" grep -q event=journal_holding "$C"/logs/task.0.log
for step in before_rename after_rename; do
    die_at snapshot.$step
done
for pid in "${beside[@]}"; do end_pid "$pid"; done # all points were met
kill -USR1 "$driver" # no new ones: those that are there come to their end
judge_tasks --tasks 500 --done 200
