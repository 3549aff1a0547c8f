#!/bin/bash
# demo-calls.sh: 10 000 calls to a target that bears 300 a second and 64 at once, shown on a page of
# the dashboard's port, with buttons that make the target slow, fail, or say 429. Uses the cluster that
# `make run` started, or starts one. Ctrl-C ends it; then the endpoint, its pool and their tasks go.
#   CALLS=N  RUN_DIR=DIR  BIN=DIR
set -u
cd "$(dirname "$0")/.." || exit 1
dir=${RUN_DIR:-run}
die() { echo "demo-calls: $*" >&2; exit 1; }
run='' demo=''
end() {
    trap '' INT TERM
    [ -z "$demo" ] || { kill -TERM "$demo" 2>/dev/null; wait "$demo"; }
    [ -z "$run" ] || { kill -TERM "$run" 2>/dev/null; wait "$run"; }
}
trap end EXIT
trap 'exit 130' INT TERM

admin_of() { tr -d '\n ' <"$dir/cluster.json" 2>/dev/null | sed 's/.*"admin":"\([^"]*\)".*/\1/'; }
answers() { [ -f "$dir/cluster.json" ] && curl -sf -o /dev/null --max-time 2 "$(admin_of)/healthz"; }
if ! answers; then
    echo "No cluster answers here ($dir): starting one."
    mkdir -p -m 700 "$dir"
    deploy/run.sh >"$dir/run.log" 2>&1 &
    run=$!
    until answers; do
        kill -0 "$run" 2>/dev/null || die "$(tail -n 1 "$dir/run.log")"
        sleep 0.2
    done
fi
[ -f "$dir/secrets/task.token" ] || die "no $dir/secrets/task.token: was this cluster started with 'make run'?"
token=$(tr -d '\n ' <"$dir/cluster.json" | sed 's/.*"admin_token":"\([^"]*\)".*/\1/')
echo "Watch it: $(admin_of)/dashboard/demo.html#token=$token"
echo "Ctrl-C ends it."
/usr/bin/python3 deploy/demo_calls.py "$dir/cluster.json" "$dir/secrets/task.token" "${CALLS:-10000}" &
demo=$!
wait "$demo"
