#!/bin/bash
# Routes of calls over real processes: a word of the body chooses the endpoint; the next one gets the call while
# the first is paused, tripped, down, or its line too long; tokens that may go one way only; the manager and the
# task node are killed; definitions by API, segqctl and file.
. "$(dirname "$0")/lib.sh"

up --routers 2 --seg-nodes 1 --task-nodes 1 --task-store journal
T=$((PORT + 90))
helper "$here/target.py" $T "$DIR/seen"
wait_for 10 "the target listens" has_status 200 "http://127.0.0.1:$T/echo"
token=$(task_token)
mapfile -t RS < <(router_urls)
def() { echo "{\"url\":\"http://127.0.0.1:$T/$1\",\"allow\":[\"127.0.0.0/8\"]}"; }
status_by() { # METHOD PATH JSON
    status_of -X "$1" -H "Authorization: Bearer $(admin_token)" -d "$3" "$A/v1/admin/$2"
}
ctl() { "$BIN/segqctl" --dir "$C" "$@"; }

# ---- definitions
RULES='[{"match":["big-*"],"endpoints":["paid","gen"],"max_wait":"5s"},{"match":["small"],"endpoints":["gen"]}]'
check_eq "an endpoint that it names must be there" "$(status_by PUT routes/llm "{\"rules\":$RULES}")" 400
for e in paid gen; do check_eq "endpoint $e" "$(status_by PUT endpoints/$e "$(def $e)")" 201; done
check "segqctl makes one" ctl route add llm rules="$RULES"
check_eq "  and lists its rules" "$(ctl route list | awk '$1 == "llm" { print $3, $4, $5 }' | tr '\n' ';')" 'big-* paid,gen 5s;small gen any;'
check_eq "its endpoint stays" "$(status_by DELETE 'endpoints/gen?final=true' '')" 409
check_eq "a rule that hides others is refused" "$(status_by PATCH routes/llm '{"rules":[{"endpoints":["gen"]},{"endpoints":["paid"]}]}')" 400
check "export has it" grep -q '^routes:' <(ctl export)

# ---- the word says the way
call() { # PATH BODY [more of curl]
    http -H "Authorization: Bearer $token" -d "$2" "${@:3}" "$R/v1/route/llm$1"
}
calls() { [ "$(call "$1" "$2" -o /dev/null -w '%{http_code}')" = "$3" ]; }
seen() { jq -r "select(.path | endswith(\"$1\")) | .path" "$DIR/seen"; }
for r in "${RS[@]}"; do
    R=$r
    wait_for 20 "$r knows the way" calls /echo/ready '{"model":"small"}' 200
done
R=${RS[0]}
check_eq "big goes to paid" "$(call /echo/1 '{"model":"big-9"}')" '{"model":"big-9"}'
check_eq "  that is" "$(seen /echo/1)" /paid/echo/1
check_eq "small goes to gen" "$(call /echo/2?q=1 '{"x":{"model":"big-1"},"model":"small"}')" '{"x":{"model":"big-1"},"model":"small"}'
check_eq "  that is" "$(seen '/echo/2?q=1')" '/gen/echo/2?q=1'
code() { jq -r '.code + " " + .error.code'; }
check_eq "another word: no way" "$(call /echo/3 '{"model":"huge"}' | code)" 'no_route no_route'
check_eq "twice the word" "$(call /echo/3 '{"model":"small","model":"big-1"}' | code)" 'bad_request bad_request'
check_eq "no such route" "$(http -H "Authorization: Bearer $token" "$R/v1/route/nobody/x" | code)" 'route_unknown route_unknown'
check_eq "a stranger" "$(status_of -d '{"model":"small"}' "$R/v1/route/llm/echo/3")" 401
check_eq "  none of these came to a target" "$(seen /echo/3)" ''

# ---- the next way
goes() { # BEHIND PATH: a call of big arrives there; one that went where nothing answers is not waited for
    call "$2" '{"model":"big-1"}' -H 'Prefer: wait=1' >/dev/null
    [ "$(seen "$2" | tail -n 1)" = "/$1$2" ]
}
admin POST /v1/admin/endpoints/paid/pause >/dev/null
wait_for 20 "paused: to gen" goes gen /echo/paused
admin POST /v1/admin/endpoints/paid/resume >/dev/null
wait_for 20 "  resumed: to paid" goes paid /echo/resumed
admin POST /v1/admin/endpoints/paid/trip >/dev/null
wait_for 20 "tripped: to gen" goes gen /echo/tripped
admin POST /v1/admin/endpoints/paid/reset >/dev/null
wait_for 20 "  reset: to paid" goes paid /echo/reset
status_by PATCH endpoints/paid '{"url":"http://127.0.0.1:1/"}' >/dev/null
falls() { # calls that are lost there open the breaker
    call /echo/lost '{"model":"big-1"}' -H 'Prefer: wait=0' -o /dev/null
    goes gen /echo/fallen
}
wait_for 60 "down: to gen" falls
status_by PATCH endpoints/paid "{\"url\":\"http://127.0.0.1:$T/paid\"}" >/dev/null
wait_for 90 "  it is back: to paid" goes paid /echo/back
status_by PATCH endpoints/paid '{"rate_per_s":0.2}' >/dev/null
crowded() { # a call each 5 s, and some in line
    for i in 1 2 3 4; do call "/echo/crowd$i" '{"model":"big-1"}' -H 'Prefer: wait=0' -o /dev/null; done
    [ -n "$(seen /echo/crowd4 | grep /gen/)" ]
}
wait_for 60 "a line that is too long: to gen" crowded
status_by PATCH endpoints/paid '{"rate_per_s":0}' >/dev/null
status_by PATCH endpoints/gen '{"paused":true}' >/dev/null
admin POST /v1/admin/endpoints/paid/pause >/dev/null
waits() { [ "$(call /echo/waits '{"model":"big-1"}' -H 'Prefer: wait=1' | field state)" = waiting ]; }
wait_for 20 "all of them are paused: it waits at the last one" waits
status_by PATCH endpoints/gen '{"paused":false}' >/dev/null
admin POST /v1/admin/endpoints/paid/resume >/dev/null
wait_for 30 "  and goes there" grep -q /gen/echo/waits "$DIR/seen"

# ---- tokens
hash() { printf %s "$1" | sha256sum | cut -d ' ' -f 1; }
K=tenant7-token-0123456789
printf '%s\n' "$(hash $K) submit gen key=tenant7 paths=/echo/*" >>"$C/secrets/task_tokens"
kill -HUP "$(pid_of router.0)" "$(pid_of router.1)"
own=$token token=$K
wait_for 20 "a tenant goes the way that it may" goes gen /echo/tenant
check_eq "  and no other path" "$(call /other '{"model":"big-1"}' | code)" 'not_eligible not_eligible'
token=$own

# ---- killed
old=$(pid_of queuemng)
kill -9 "$old"
wait_for 60 "the manager is killed, and back" restarted queuemng "$old"
old=$(pid_of task.0)
kill -9 "$old"
wait_for 60 "  the task node, too" restarted task.0 "$old"
wait_for 60 "routes are there" goes paid /echo/after
has_rules() { ctl route show llm | grep -q 'big-'; }
wait_for 30 "  and shown" has_rules

# ---- a file of the manager
printf 'routes:\n  - {name: filed, pointer: /kind, rules: [{endpoints: [gen]}]}\n' >>"$C/config/queuemng.yaml"
kill -HUP "$(pid_of queuemng)"
filed() { [ "$(status_of -H "Authorization: Bearer $token" "$R/v1/route/filed/echo/f")" = 200 ]; }
wait_for 30 "one of the file" filed
sed -i 's/endpoints: \[gen\]/endpoints: [gen, gen]/' "$C/config/queuemng.yaml"
kill -HUP "$(pid_of queuemng)"
refused() { grep -qs 'event=reload_refused.*endpoint gen is there twice' "$C/logs/"queuemng*.log; }
wait_for 30 "  a bad file is refused" refused
check "  and counts as before" filed
check "a route goes" ctl --yes route delete llm
gone() { calls /echo/4 '{"model":"small"}' 404; }
wait_for 20 "  for routers, too" gone
