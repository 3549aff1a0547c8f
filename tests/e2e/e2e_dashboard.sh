#!/bin/bash
# The dashboard in Chromium: dashboard.js and dashboard_more.js against a cluster whose chain has several segments.
#   e2e_dashboard.sh [BIN [SCENARIO...]]
. "$(dirname "$0")/../sys/lib.sh"
. "$(dirname "$0")/browser.sh"

browser_install
for t in viewer operator; do # tokens of those who may do less
    export "TOKEN_${t^^}=$("$BIN/segqctl" token add "$DIR/tokens.yaml" "the-$t" --role "$t" \
        $([ "$t" = viewer ] || echo --queues login) 2>/dev/null)"
done
"$BIN/segqctl" token add "$DIR/tokens.yaml" night --role operator --group ops >/dev/null 2>&1
up --set "queuemng.admin_tokens_file=$DIR/tokens.yaml" --set queuemng.admin_trusted_proxies=127.0.0.1 --set queuemng.lost_after=10s --set away=0 --seg-nodes 2 --capacity 20 --set release_per_s=0.0001 --set merge=false --set idle.game=10m \
    --set idle.browser=10m --set poll_min=500ms --set poll_max=1s
[ $# -gt 0 ] && shift
SEGMENT_PID=$(pid_of segment.1)
SEG_CLUSTER_PID=$(pid_of seg_cluster)
AUDIT_FILE=$(find "$C/state" -type d -name store -printf '%h/audit.jsonl\n' | head -1)
export SEGMENT_PID SEG_CLUSTER_PID AUDIT_FILE BIN
browser_run dashboard_more.js "$@"
browser_run dashboard.js "$@"
