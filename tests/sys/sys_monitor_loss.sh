#!/bin/bash
# The monitor fails in every way it can: the queue falls back to its fallback rate, says so
# in the log and the metrics, and recovers by itself.
. "$(dirname "$0")/lib.sh"

page="$DIR/page"
put() { printf '%s\n' "$*" >"$page.new"; mv "$page.new" "$page"; }
put backend_load 10
helper python3 "$here/page.py" $((PORT + 5)) "$page"
server=$H
up --set "queuemng.metrics=[{name: load, kind: page, url: 'http://127.0.0.1:$((PORT + 5))/metrics', query: backend_load, interval: 200ms, timeout: 500ms, stale: 2s}]" \
    --set 'limits=[{metric: load, tiers: [{below: 50, rate_per_s: 200}]}]' --set fallback_per_s=7
wait_for 10 "with a monitor: 200 a second" rate_is 200
for what in 'backend_load NaN' 'backend_load +Inf' 'backend_load -5' 'backend_load 1e300' \
    'status 500' 'something_else 1' 'hang' '<html>' 'status 302'; do
    put "$what"
    wait_for 25 "$what: the fallback" rate_is 7
    put backend_load 10
    wait_for 25 "$what: and back" rate_is 200
done
kill -KILL "$server"
wait_for 25 "the monitor is dead: the fallback" rate_is 7
check "the log says so" grep -qiE ' (error|warn) .*load' "$C/logs/queuemng.0.log"
check "so do the metrics" test "$(metric 1 segq_manager_monitor_failures_total)" -gt 0
check_eq "joins go on" "$(status_of -X POST "$R/v1/queues/login/tickets")" 201
helper python3 "$here/page.py" $((PORT + 5)) "$page"
wait_for 25 "a new monitor: 200 again" rate_is 200
