#!/bin/bash
# The page of `make demo-calls` in Chromium: demo.js against a cluster and the demo's own target.
#   e2e_demo.sh [BIN [SCENARIO...]]
. "$(dirname "$0")/../sys/lib.sh"
. "$(dirname "$0")/browser.sh"

browser_install
up --seg-nodes 1 --task-nodes 1
[ $# -gt 0 ] && shift
helper env RUN_DIR="$C" CALLS=6000 "$root/deploy/demo-calls.sh"
demo=$H
wait_for 20 "the demo says where to look" grep -q '^Watch it: http' "$DIR/helper.log"
DEMO_URL=$(sed -n 's/^Watch it: //p' "$DIR/helper.log")
export DEMO_URL
browser_run demo.js "$@"
check "its terminal counts them" grep -qE '^ +[0-9]+ s  [0-9]+ wait, [0-9]+ are at the target, [0-9]+/s finish' "$DIR/helper.log"
check "  and says that all have finished" grep -qE '^ +[0-9]+ s  all 6000 have finished' "$DIR/helper.log"
kill -TERM "$demo"
wait_for 20 "the demo ends" is_gone "$demo"
check_eq "  and leaves nothing behind" \
    "$(http -H "Authorization: Bearer $(admin_token)" "$A/v1/admin/endpoints/demo-calls" | field code)" endpoint_not_found
helper env RUN_DIR="$C" CALLS=50000000 "$root/deploy/demo-calls.sh"
submits() { http -H "Authorization: Bearer $(admin_token)" "$A/v1/admin/task-queues" | jq -e '.pools[] | select(.pool == "demo-calls").waiting > 1000' >/dev/null; }
wait_for 20 "another one, of more calls than it can submit" submits
kill -TERM "$H"
wait_for 20 "  ends all the same" is_gone "$H"
