#!/bin/bash
# demo-calls.sh: 10 000 calls to a target that bears 300 a second and 64 at once, shown on a page of
# the dashboard's port, with buttons that make the target slow, fail, or say 429. Uses the cluster that
# `make run` started, or starts one. Ctrl-C ends it; then the endpoint, its pool and their tasks go.
#   CALLS=N  RUN_DIR=DIR  BIN=DIR
. "$(dirname "$0")/demo-cluster.sh"
echo "Watch it: $admin/dashboard/demo.html#token=$token"
echo "Ctrl-C ends it."
/usr/bin/python3 deploy/demo_calls.py "$dir/cluster.json" "$dir/secrets/task.token" "${CALLS:-10000}" &
demo=$!
wait "$demo"
