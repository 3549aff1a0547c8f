#!/bin/bash
# Partitions of tasks move while submitters and workers go on: a second task node gets its half; a
# drain empties a node, which is then stopped and forgotten; kill -9 of the source and of the target
# amid moves. Nothing is lost, done twice or out of order (tests/tasks/judge.py), leases hold, and
# while nobody is killed no caller is refused.
#   TASKS=N   (3000; 1500 in a sanitizer build)
. "$(dirname "$0")/lib.sh"

export SEGQ_FAILPOINTS=$DIR/points
mkdir -p "$SEGQ_FAILPOINTS"
N=${TASKS:-$(under_asan && echo 1500 || echo 3000)}
up --routers 2 --seg-nodes 1 --task-nodes 1
Q=$R/v1/queues/slow/tasks
task_call() { http -H "Authorization: Bearer $(task_token)" "$@"; }
nodes() { admin GET /v1/admin/task-queues | jq -r ".nodes[] | select(.name == \"$1\") | .$2"; }
has() { [ "$(nodes "$1" partitions)" = "$2" ] && [ "$(nodes "$1" moving)" = 0 ]; }

# ---- a lease that runs, and a worker that waits, over all of it
task_call -d '{"payload":"long"}' "$Q" >"$DIR/long"
task_call -d '{"lease":"10m"}' "$Q/take" >"$DIR/lease"
T=$(jq -r .task "$DIR/long")
L=$(jq -r '.tasks[0].lease_id' "$DIR/lease")
drive_tasks "$N" --rate $((N / 10)) --lease 4 --seed moves
tasks_go_on "at first"
many() { # a submitter of its own: what it is told, and after how long, a line each
    while [ ! -e "$DIR/stop" ]; do
        task_call -o /dev/null -w '%{http_code} %{time_total}\n' -d '{"payload":1}' \
            "$R/v1/queues/side$((RANDOM % 40))/tasks" >>"$DIR/many"
    done
}
many &
many=$!
helpers+=("$many")

# ---- scale-out: a second node, another machine as far as segq knows
more() { # the supervisor of one more task node, more.0
    mkdir -p "$DIR/more"
    helper "$BIN/task_cluster" --set name=more --set "listen=127.0.0.1:$((PORT + 60))" \
        --set "admin=127.0.0.1:$((PORT + 80))" --set "state_dir=$DIR/more" \
        --set "log_dir=$DIR/more" --set fork=always --set "managers=127.0.0.1:$PORT" --set \
        "set=secret_file=$C/secrets/cluster.secret,journal_dir=$DIR/more/journal,bodies_dir=$DIR/more/bodies"
    more=$H
}
more_pid() { jq -r '.children[0].pid' "$DIR/more/more.status.json"; }
more
wait_for 30 "a new node gets half of the partitions" has more.0 8
check "  which leaves half to the other one" has task.0 8

# ---- drain
task_call -d '{"wait":"60s","lease":"1m"}' "$R/v1/queues/later/tasks/take" >"$DIR/waited" &
waiter=$!
helpers+=("$waiter")
"$BIN/segqctl" --dir "$C" drain task.0 >"$DIR/drained"
check "segqctl says what happens" grep -q '8 partitions will move to other nodes' "$DIR/drained"
wait_for 30 "a drain empties it" has task.0 0
wait_for 10 "  and all is at the other one" has more.0 16
touch "$DIR/stop"
wait "$many"
check "meanwhile somebody submitted, too" test "$(wc -l <"$DIR/many")" -gt 20
check_eq "  and was never refused" "$(grep -vc '^20[01] ' "$DIR/many")" 0
check "  nor waited for 5 s" awk '$2 > 5 { exit 1 }' "$DIR/many"
task_call -d '{"payload":"awaited"}' "$R/v1/queues/later/tasks" >/dev/null
wait "$waiter"
check_eq "a worker that waited went over" "$(jq -r '.tasks[0].payload' "$DIR/waited")" awaited
check_eq "a task's token stays good" "$(http "$R/v1/tasks/$T" | field state)" running
check_eq "its lease, too" \
    "$(task_call -o /dev/null -w '%{http_code}' -d "{\"lease_id\":\"$L\",\"lease\":\"10m\"}" "$R/v1/tasks/$T/extend")" 200

# ---- kill -9 amid moves: of the target, then of the source
undrain() { admin POST "/v1/admin/nodes/$1/undrain" >/dev/null; }
drain() { admin POST "/v1/admin/nodes/$1/drain" >/dev/null; }
some_left() { [ "$(nodes "$1" partitions)" -lt "$2" ]; }
kill_amid() { # PID POINT NODE N: at this point; without points: when less than N partitions are left
    if under_asan; then
        wait_for 20 "killed at $2" fired "$2"
    else
        wait_for 20 "partitions leave $3" some_left "$3" "$4"
        kill -KILL "$1"
    fi
}
P=$(pid_of task.0)
! under_asan || arm COME.after_write
undrain task.0
kill_amid "$P" COME.after_write more.0 16
wait_for 20 "the target is killed, and comes back" restarted task.0 "$P"
wait_for 40 "  and gets its half" has task.0 8
P=$(more_pid)
! under_asan || arm FENCED.after_write
drain more.0
kill_amid "$P" FENCED.after_write more.0 8
back() { [ "$(more_pid)" != "$P" ] && [ "$(nodes more.0 up)" = true ]; }
wait_for 20 "the source is killed, and comes back" back
wait_for 40 "  and is emptied" has more.0 0
end_pid "$more"
gone() { [ "$(nodes more.0 up)" = false ]; }
wait_for 10 "it is stopped" gone
"$BIN/segqctl" --dir "$C" forget more.0 >"$DIR/forgotten"
check_eq "and forgotten" "$(nodes more.0 up)" ""

check_eq "the long task is done under its first lease" \
    "$(task_call -o /dev/null -w '%{http_code}' -d "{\"lease_id\":\"$L\",\"result\":1}" "$R/v1/tasks/$T/ack")" 200
check_eq "  and has its result" "$(http "$R/v1/tasks/$T/result")" 1
# The clock of a partition stands while its last records are on their way to another node.
stood_s() { # of the partition whose clock stood longest, over all its moves
    python3 - "$C"/logs/task.*.log "$DIR"/more/*.log <<'END'
import datetime, re, sys
lines = sorted(line for f in sys.argv[1:] for line in open(f, errors="replace"))
fenced, stood = {}, {}
for line in lines:
    m = re.match(r"(\S+)Z .*event=partition_(handed_over|copy_received) part=(\d+) ", line)
    if not m:
        continue
    at, part = datetime.datetime.fromisoformat(m[1]).timestamp(), m[3]
    if m[2] == "handed_over":
        fenced[part] = at
    elif part in fenced:
        stood[part] = stood.get(part, 0) + at - fenced.pop(part)
print("%.3f" % max(stood.values(), default=0))
END
}
stood=$(stood_s)
echo "     a partition's clock stood for $stood s at most"
judge_tasks --tasks $((N * 8 / 10)) --done $((N * 6 / 10)) --late-s "$(jq -n "0.1 + $stood")"
