#!/bin/bash
# A person who asks on the waiting page to be told, in Chromium: the button subscribes to Web Push (whose service is
# made up), the worker shows what is sent, the field works without scripts; the endpoint gets both.
#   e2e_tell.sh [BIN [SCENARIO...]]
. "$(dirname "$0")/../sys/lib.sh"
. "$(dirname "$0")/browser.sh"

browser_install
up --task-nodes 1 --set away=0 --release-per-s 0.0001 --set poll_min=500ms --set poll_max=1s --set idle.game=10m --set idle.browser=10m
T=$((PORT + 90))
export SEEN=$DIR/seen
touch "$SEEN"
helper "$root/tests/sys/target.py" $T "$SEEN"
wait_for 10 "the receiver listens" has_status 200 "http://127.0.0.1:$T/echo"
admin PUT /v1/admin/endpoints/hook "{\"url\":\"http://127.0.0.1:$T/told\",\"allow\":[\"127.0.0.0/8\"]}" >/dev/null
[ $# -gt 0 ] && shift
browser_run page_tell.js "$@"
