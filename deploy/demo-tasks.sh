#!/bin/bash
# demo-tasks.sh: a million tasks of a thousand tenants through the cluster that `make run` started:
# two submitters, four workers, and a kill -9 of the task node when half of them are done. Ends
# with the judge's report: what was promised of each task, and whether it was kept.
#   TASKS=N  TENANTS=N  WORKERS=N  RUN_DIR=DIR  BIN=DIR
set -u
cd "$(dirname "$0")/.." || exit 1
dir=${RUN_DIR:-run}
bin=${BIN:-build/rel/bin}
tasks=${TASKS:-1000000}
die() { echo "demo-tasks: $*" >&2; exit 1; }

[ -f "$dir/cluster.json" ] || die "no cluster here ($dir/cluster.json): start one with 'make run' in another shell"
[ -f "$dir/secrets/task.token" ] || die "no $dir/secrets/task.token: was this cluster started with 'make run'?"
flat=$(tr -d '\n ' <"$dir/cluster.json")
routers=$(sed 's/.*"router":\[\([^]]*\)\].*/\1/' <<<"$flat" | tr -d '"' | tr ',' '\n' | sed 's/^/--router /')
history=$dir/demo-tasks
rm -rf "$history"
mkdir -p "$history"
driver=
trap '[ -z "$driver" ] || kill "$driver" 2>/dev/null' EXIT
trap 'exit 130' INT TERM

node_pid() {
    deploy/local.sh status --dir "$dir" --bin "$bin" | awk '$1 == "task.0" && $3 == "up" { print $2 }'
}
done_so_far() { cat "$history"/worker*.jsonl 2>/dev/null | grep -c '"settle",[^"]*"ack"'; }

admin=$(sed 's/.*"admin":"\([^"]*\)".*/\1/' <<<"$flat")
token=$(sed 's/.*"admin_token":"\([^"]*\)".*/\1/' <<<"$flat")
begun=$(date +%s)
grouped() { sed -E ':a; s/([0-9])([0-9]{3})($| )/\1 \2\3/; ta' <<<"$1"; } # 78175 -> 78 175
counts() { # tasks of all pools that wait, that run
    "$bin/segqctl" --dir "$dir" --timeout 1 --json task list 2>/dev/null | /usr/bin/python3 -c '
import json, sys
p = json.load(sys.stdin)["pools"]
print(sum(x.get("waiting", 0) + x.get("scheduled", 0) for x in p), sum(x.get("running", 0) for x in p))' 2>/dev/null
}
second() { # what is so now, in words; batches done
    local waiting running
    read -r waiting running < <(counts)
    [ -n "${running:-}" ] || { say "the task node does not answer"; return; }
    if [ $(($1 * 500)) -ge "$tasks" ] && [ "$running" = 0 ]; then
        say "nothing runs any more: the histories are read, and some tasks are asked about"
    else
        say "$(grouped "$waiting") wait, $(grouped "$running") run, about $(grouped $(($1 * 500 < tasks ? $1 * 500 : tasks))) done"
    fi
}
say() { printf '%4d s  %s\n' $(($(date +%s) - begun)) "$*"; }
echo "the dashboard  $admin/#token=$token"
echo "$tasks tasks of ${TENANTS:-1000} tenants, ${WORKERS:-4} workers; Ctrl-C ends it."
# shellcheck disable=SC2086
/usr/bin/python3 tests/tasks/driver.py "$history" $routers --token "$dir/secrets/task.token" \
    --queue demo --tasks "$tasks" --submitters 2 --workers "${WORKERS:-4}" --keys "${TENANTS:-1000}" --below 0 \
    --idem 1 --batch 1000 --batched 1 --take 500 --settle-rows --lease 10 --lapsed 0.0005 --nacked 0.005 \
    --extended 0.005 --named 0 --repeated 0.02 --cancelled 0 --delayed 0.02 --urgent 0.1 --looks 2000 --quiet &
driver=$!
half=$((tasks / 500 / 2)) killed=
while kill -0 $driver 2>/dev/null; do
    sleep 1
    so_far=$(done_so_far)
    second "$so_far"
    if [ -z "$killed" ] && [ "$so_far" -ge $half ]; then
        killed=$(node_pid)
        [ -n "$killed" ] && kill -KILL "$killed" && say "half of them are done: kill -9 of the task node (pid $killed)"
    fi
done
wait $driver
rc=$?
driver=
say "the judge reads the histories of $(grouped "$tasks") tasks: a minute or two, more on a busy machine"
/usr/bin/python3 tests/tasks/judge.py "$history" --tasks "$tasks" --done $((tasks * 9 / 10)) || rc=1
exit $rc
