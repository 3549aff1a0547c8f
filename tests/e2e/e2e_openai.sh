#!/bin/bash
# The client `openai` of npm through a router: base URL and key are changed, and nothing else. Plain, streamed,
# cancelled, 429, wrong key, in line with its place told: answers and errors are what that client's classes expect.
#   e2e_openai.sh [BIN]
. "$(dirname "$0")/../sys/lib.sh"
. "$(dirname "$0")/browser.sh"

browser_install
umask 077
printf 'sk-ours\n' >"$DIR/paid.key"
up --routers 1 --seg-nodes 1 --task-nodes 1 --task-store journal
T=$((PORT + 90))
: >"$DIR/log"
helper python3 "$e2e/provider.py" $T "$DIR/log"
wait_for 20 "the provider listens" has_status 200 "http://127.0.0.1:$T/v1/models"
hash() { printf %s "$1" | sha256sum | cut -d ' ' -f 1; }
export KEY=sk-tenant7-of-the-tests KEY_OF_CHAT=sk-tenant8-of-the-tests
printf '%s\n' "$(hash $KEY) submit paid,slow,narrow key=tenant7" "$(hash $KEY_OF_CHAT) submit paid key=tenant8 paths=/v1/chat/*" \
    >>"$C/secrets/task_tokens"
kill -HUP "$(pid_of router.0)"
for e in paid slow narrow; do
    admin PUT /v1/admin/endpoints/$e "{\"url\":\"http://127.0.0.1:$T\",\"allow\":[\"127.0.0.0/8\"],\"auth\":{\"secret_file\":\"$DIR/paid.key\"}}" >/dev/null
done
admin PATCH /v1/admin/endpoints/slow '{"rate_per_s":1,"max_concurrent":1}' >/dev/null
admin PATCH /v1/admin/endpoints/narrow '{"max_concurrent":1}' >/dev/null
admin PATCH /v1/admin/pools/slow '{"max_wait":"2s"}' >/dev/null
calls() { [ "$(status_of -H "Authorization: Bearer $KEY" "$R/v1/call/$1/v1/models")" = 200 ]; }
wait_for 30 "calls go" calls paid
wait_for 30 "  to another endpoint, too" calls slow
wait_for 30 "  and to a third one" calls narrow
export ROUTER=$R PROVIDER=http://127.0.0.1:$T LOG=$DIR/log
node_run openai.js
