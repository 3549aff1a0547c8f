#!/bin/bash
# proto/openapi.yaml as a client generator would take it at its word: every operation is asked
# with good and bad parameters and bodies drawn from the schemas, and every answer is one that
# is described (openapi_fuzz.py; sys_readme.sh asks each operation for each of its statuses).
#   EXAMPLES=N per operation, SEED=N for others
. "$(dirname "$0")/lib.sh"

up --routers 1 --seg-nodes 2 --set away=0 --set router.join_groups=true \
    --set router.aws_events='[{event_id: Sample, queue: login}]' --set idle.browser=1h
"$BIN/../deploy/yaml2json" "$root/proto/openapi.yaml" >"$DIR/openapi.json"
pids_of_all() { for p in queuemng router.0 segment.0 segment.1; do pid_of $p; done; }
before=$(pids_of_all)
export HYPOTHESIS_STORAGE_DIRECTORY=$DIR
check "every answer is as described" eval \
    "timeout 600 '$here/openapi_fuzz.py' '$DIR/openapi.json' '$R' '$A' '$C/secrets/admin.token' ${EXAMPLES:-25} \
    >'$DIR/out' 2>&1 || ! tail -c 6000 '$DIR/out'"
check "many were asked" grep -qE '^[0-9]{3,} requests, 0 disagree$' "$DIR/out"
check_eq "no process died of it" "$(pids_of_all)" "$before"
