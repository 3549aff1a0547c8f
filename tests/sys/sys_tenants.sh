#!/bin/bash
# Tenants over real processes: a token's line maps to a key, a priority, endpoints and paths; the provider
# sees our key and never theirs, and no file of ours has it; two tenants with one Idempotency-Key; a token
# that is revoked amid a call; files that are refused; a secret that changes; the task node is killed.
. "$(dirname "$0")/lib.sh"

umask 077
printf 'sk-ours-of-the-provider\n' >"$DIR/paid.key"
up --routers 2 --seg-nodes 1 --task-nodes 1 --task-store journal
T=$((PORT + 90))
helper "$here/target.py" $T "$DIR/seen"
wait_for 10 "the target listens" has_status 200 "http://127.0.0.1:$T/echo"
F=$C/secrets/task_tokens
hash() { printf %s "$1" | sha256sum | cut -d ' ' -f 1; }
K7=tenant7-token-0123456789 K7B=tenant7-second-token-0123 K8=tenant8-token-0123456789
cp "$F" "$DIR/plain"
admin PUT /v1/admin/endpoints/paid "{\"url\":\"http://127.0.0.1:$T/api\",\"allow\":[\"127.0.0.0/8\"],\"auth\":{\"secret_file\":\"$DIR/paid.key\"}}" >/dev/null
tokens() { # lines behind the cluster's own; read by both routers
    (cat "$DIR/plain"; printf '%s\n' "$@") >"$F"
    kill -HUP "$(pid_of router.0)" "$(pid_of router.1)"
}
mapfile -t RS < <(router_urls)
tokens "$(hash $K7) submit paid key=tenant7 priority=2 paths=/v1/*,/echo*,/slow/*" \
    "$(hash $K7B) submit,read paid key=tenant7" "$(hash $K8) submit paid key=tenant8 wait=2"
call() { # TOKEN PATH [more of curl]
    http -H "Authorization: Bearer $1" "${@:3}" "$R/v1/call/paid$2"
}
call_status() { call "$1" "$2" -o /dev/null -w '%{http_code}' "${@:3}"; }
calls() { [ "$(call_status "$1" "$2")" = "$3" ]; }
for r in "${RS[@]}"; do
    R=$r
    wait_for 20 "$r knows the tenant" calls $K7 /echo/0 200
done
R=${RS[0]}
seen() { jq -c "select(.path == \"/api$1\") | $2" "$DIR/seen"; }

# ---- base URL and key, and nothing else
check_eq "a call is answered as by the provider" \
    "$(call $K7 /v1/chat/completions -H 'Content-Type: application/json' -d '{"model":"m"}')" '{"model":"m"}'
check_eq "  which sees our key" "$(seen /v1/chat/completions .headers.authorization)" '"Bearer sk-ours-of-the-provider"'
task=$(call $K7 /echo/head -o /dev/null -D - | tr -d '\r' | sed -n 's/^segq-location: //pi')
check_eq "  the task is the tenant's" "$(http "$R$task" | jq -c '[.key,.priority]')" '["tenant7",2]'
check_eq "another token of the tenant" "$(call_status $K7B /echo/b)" 200
check_eq "  which may ask how many wait" "$(http -H "Authorization: Bearer $K7B" "$R/v1/queues/paid/tasks" | jq -r .queue)" paid
for k in $K7 $K8; do
    check_eq "one Idempotency-Key of two tenants: ${k%%-*}" "$(call $k /echo/i -H 'Idempotency-Key: once' -d "${k%%-*}")" "${k%%-*}"
done
check_eq "  again: the same answer" "$(R=${RS[1]} call $K7 /echo/i -H 'Idempotency-Key: once' -d tenant7)" tenant7
check_eq "  the target saw two calls" "$(seen /echo/i .method | wc -l)" 2

# ---- refusals
error() { jq -c '[.status, .code, .error.type, .error.code]'; }
check_eq "no such token" "$(call nobody-has-this-token /echo/1 | error)" '[401,"unauthorized","authentication_error","unauthorized"]'
check_eq "a path that is not its own" "$(call $K7 /admin | error)" '[403,"not_eligible","permission_error","not_eligible"]'
check "  and the right that is needed is named" grep -q 'paths=' <(call $K7 /admin)
check_eq "another tenant's key" "$(http -H "Authorization: Bearer $K8" -d '{"path":"/x","key":"tenant7"}' "$R/v1/queues/paid/tasks" | jq -r .code)" not_eligible
check_eq "a queue of others" "$(status_of -H "Authorization: Bearer $K7" -d '{"payload":1}' "$R/v1/queues/images/tasks")" 403
check_eq "taking" "$(status_of -H "Authorization: Bearer $K7" -d '{}' "$R/v1/queues/paid/tasks/take")" 403
check_eq "no such endpoint" "$(http -H "Authorization: Bearer $K7" "$R/v1/call/nobody/v1/x" | error)" '[404,"endpoint_unknown","invalid_request_error","endpoint_unknown"]'
admin POST /v1/admin/endpoints/paid/pause >/dev/null
check_eq "a wait that is over is no answer" "$(call $K8 /echo/late | error)" '[504,"wait_over","server_error","wait_over"]'
admin POST /v1/admin/endpoints/paid/resume >/dev/null
wait_for 20 "calls go again" calls $K7 /echo/again 200
check_eq "  without it: it was withdrawn" "$(seen /echo/late .method | wc -l)" 0

# ---- a token is revoked amid a call; files that are refused
call_status $K7 /slow/4000 >"$DIR/slow" &
helpers+=($!)
is_seen() { [ -n "$(seen "$1" .method)" ]; }
wait_for 20 "a call is at the target" is_seen /slow/4000
tokens "$(hash $K8) submit paid key=tenant8"
wait_for 20 "the token is gone: 401" calls $K7 /echo/2 401
slow_is_over() { [ "$(cat "$DIR/slow")" = 200 ]; }
wait_for 60 "  its call ends as it would have" slow_is_over
says() { grep -qsE "$1" "$C/logs/$2"; }
bad() { # CLAIM PATTERN LINE...
    tokens "${@:3}"
    wait_for 20 "refused: $1" says "event=reload_refused.*task_tokens: $F: $2" router.0.log
    check_eq "  -t says it, too" "$("$BIN/router" -t -c "$C/config/router.yaml" 2>&1 | grep -cE "$F: $2")" 1
    check_eq "  the file of before counts" "$(call_status $K8 /echo/3)" 200
    check "  /healthz says it" grep -qE "$2" <(http "http://127.0.0.1:$((PORT + 30))/healthz" | jq -r .warning)
}
bad "a word that is none" 'line 2: behind the queues key=' "$(hash $K8) submit paid keys=tenant8"
bad "a tenant that takes" 'line 3: a tenant .key=. can neither take nor look' '# two' "$(hash $K8) submit,take paid key=tenant8"
bad "one token of two lines" 'line 3: this token has another line' "$(hash $K8) submit paid" "$(hash $K8) submit paid key=tenant8"
tokens "$(hash $K7) submit paid key=tenant7" "$(hash $K8) submit paid key=tenant8"
wait_for 20 "a good one is taken" calls $K7 /echo/4 200

# ---- the provider's key
printf 'sk-second-of-the-provider' >"$DIR/paid.key"
has_second() { call $K7 /echo/key >/dev/null; [ "$(seen /echo/key .headers.authorization | tail -n 1)" = '"Bearer sk-second-of-the-provider"' ]; }
wait_for 30 "a new key counts" has_second
old=$(pid_of task.0)
kill -9 "$old"
wait_for 60 "the task node is killed, and back" restarted task.0 "$old"
again() { calls $K7 /echo/back 200; }
wait_for 60 "  calls go on" again
check_eq "  with our key" "$(seen /echo/back .headers.authorization | tail -n 1)" '"Bearer sk-second-of-the-provider"'
chmod 644 "$DIR/paid.key"
admin PATCH /v1/admin/endpoints/paid '{"deadline":"29s"}' >/dev/null
wait_for 30 "a key that others may read makes it unusable" says 'event=endpoint_unusable endpoint=paid .*others may read' task.0.log
check_eq "none of our files has the provider's key" "$(grep -rl 'of-the-provider' "$C" | wc -l)" 0
check_eq "  nor a token of a tenant" "$(grep -rlE "$K7|$K7B|$K8" "$C" | wc -l)" 0
