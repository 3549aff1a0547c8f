#!/bin/bash
# `make demo-gpu`, smaller, in front of real processes: all promises are kept while a server dies and
# another one comes; its page in Chromium; nothing is left behind.   e2e_demo_gpu.sh [BIN]
. "$(dirname "$0")/../sys/lib.sh"
. "$(dirname "$0")/browser.sh"

browser_install
up --routers 2 --seg-nodes 1 --task-nodes 2
before=$(cat "$C/secrets/task_tokens")
helper env RUN_DIR="$C" STAY=1 TENANTS=40 FLOOD=60 FLOOD_TOKENS=60 TOKENS=20 SLOTS=4 "$root/deploy/demo-gpu.sh"
demo=$H
wait_for 60 "the demo says where to look" grep -q '^Watch it: http' "$DIR/helper.log"
DEMO_URL=$(sed -n 's/^Watch it: //p' "$DIR/helper.log")
export DEMO_URL
browser_run demo_gpu.js
wait_for 120 "it comes to its judgement" grep -q '^judge: ' "$DIR/helper.log"
grep -E '^  (yes|NO) |^time to' "$DIR/helper.log"
check "  and all promises are kept" grep -qE '^judge: [0-9]+ passed, 0 failed$' "$DIR/helper.log"
check "  over a server's death" grep -qE '^ +[0-9]+ s  kill -9 of server 2' "$DIR/helper.log"
check "  and another one's coming" grep -qE '^ +[0-9]+ s  server 4 comes' "$DIR/helper.log"
kill -TERM "$demo"
wait_for 20 "the demo ends" is_gone "$demo"
check_eq "  and leaves no endpoint behind" \
    "$(http -H "Authorization: Bearer $(admin_token)" "$A/v1/admin/endpoints/demo-gpu" | field code)" endpoint_not_found
check_eq "  and no tenant" "$(cat "$C/secrets/task_tokens")" "$before"
