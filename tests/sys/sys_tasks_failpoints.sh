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

# Beside the judged ones: tasks that come to every other end, by the clock and by the caller.
check "a pool of short lives" ctl pool add short max_attempts=1 task_ttl=1s dead_ttl=1s result_ttl=1s dedup=1s
check "  and one of orders by number" ctl pool add side order=number
others() {
    local t
    while sleep 0.1; do
        call -d '{"payload":1}' "$short" >/dev/null
        call -d '{"n":1,"lease":"100ms"}' "$short/take" >/dev/null
        t=$(call -d '{"payload":2,"delay":"5s"}' "$short" | jq -r '.task // empty')
        [ -z "$t" ] || call -X PATCH -d '{"delay":"200ms"}' "$R/v1/tasks/$t" >/dev/null
        settled
    done
}
settled() { # one that waits is changed; one that runs is stopped; one is done, and read
    local taken t
    t=$(call -d '{"payload":3,"max_attempts":2}' "$side" | jq -r '.task // empty')
    [ -z "$t" ] || call -X PATCH -d '{"order":7,"priority":1}' "$R/v1/tasks/$t" >/dev/null
    taken=$(call -d '{"n":2}' "$side/take" | jq -r '.tasks[]? | "\(.task) \(.lease_id)"')
    while read -r t lease; do
        [ -z "$t" ] || [ $((RANDOM % 2)) = 0 ] || call -X DELETE "$R/v1/tasks/$t" >/dev/null
        call -d "{\"lease_id\":\"$lease\",\"result\":1}" "$R/v1/tasks/$t/ack" >/dev/null
        call "$R/v1/tasks/$t/result" >/dev/null
    done <<<"$taken"
}
orders() { # an operator's: a task goes first, dead ones wait again, a pool is paused
    local t
    while sleep 0.2; do
        t=$(call -d '{"payload":4,"delay":"1m"}' "$side" | jq -r '.task // empty')
        [ -z "$t" ] || ctl task run "$t"
        ctl task redrive-all short
        ctl task pause short
        ctl task resume short
    done
}
helper others
helper orders
drive_tasks 100000 --rate 100 --lease 2 --named 0.3 --extended 0.3 --nacked 0.2 --lapsed 0.1 --patience 300 --looks 1000 --seed points
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
kill -USR1 "$driver" # no new ones: those that are there come to their end
judge_tasks --tasks 500 --done 200
