#!/bin/bash
# Calls over real processes, at a target that is somebody else's: an endpoint is defined, its tasks are
# sent when their turn comes; what the target said is the result; requests are passed on as they are
# (/v1/call); the limits of the endpoint hold; pause, resume, delete; what a stranger may not say.
. "$(dirname "$0")/lib.sh"

up --routers 1 --seg-nodes 1 --task-nodes 2 --task-store journal --set router.trusted_proxies=127.0.0.1
T=$((PORT + 90))
helper "$here/target.py" $T "$DIR/seen"
wait_for 10 "the target listens" has_status 200 "http://127.0.0.1:$T/echo"
token=$(task_token)
Q=$R/v1/queues/gen/tasks
admin() { http -H "Authorization: Bearer $(admin_token)" "$@"; }
admin_status() { status_of -H "Authorization: Bearer $(admin_token)" "$@"; }
submit() { http -H "Authorization: Bearer $token" -d "$@" "$Q"; }
submit_status() { status_of -H "Authorization: Bearer $token" -d "$@" "$Q"; }
E=$A/v1/admin/endpoints
seen() { jq -c "select(.path == \"$1\") | $2" "$DIR/seen"; }
def() { echo "{\"url\":\"http://127.0.0.1:$T/api\",\"allow\":[\"127.0.0.0/8\"],\"max_concurrent\":4${1:-}}"; }

# ---- the definition
check_eq "an url must be one" "$(admin -X PUT -d '{"url":"ftp://x"}' "$E/gen" | jq -r .detail)" \
    "endpoint gen: url must begin with http:// or https://"
check_eq "a pool cannot name one that is not there" \
    "$(admin_status -X PUT -d '{"endpoint":"gen"}' "$A/v1/admin/pools/img")" 400
check_eq "it is defined" "$(admin_status -X PUT -d "$(def)" "$E/gen")" 201
check_eq "  with a pool of its own name" "$(admin "$A/v1/admin/pools/gen" | jq -r .endpoint)" gen
check_eq "  which keeps being one of calls" \
    "$(admin_status -X PATCH -d '{"endpoint":""}' "$A/v1/admin/pools/gen")" 409
ready() { [ "$(submit_status '{"path":"/echo/0"}')" = 201 ]; }
wait_for 15 "its queue takes tasks" ready

# ---- a callback
made=$(submit '{"path":"/echo/img?size=2","headers":{"X-Tenant":"seven"},"body_json":{"prompt":  "a cat"},"key":"tenant7"}')
K=$(jq -r .task <<<"$made")
is_done() { [ "$(http "$R/v1/tasks/$1" | field state)" = succeeded ]; }
wait_for 10 "it is sent, and done" is_done "$K"
check_eq "the target got method and path" "$(seen '/api/echo/img?size=2' '[.method]')" '["POST"]'
check_eq "  the headers, and ours" "$(seen '/api/echo/img?size=2' '[.headers["x-tenant"], .headers["content-type"], .headers["segq-queue"], .headers["segq-attempt"]]')" \
    '["seven","application/json","gen","1"]'
check_eq "  the body byte for byte" "$(seen '/api/echo/img?size=2' '.body' | tr -d '"' | base64 -d)" '{"prompt":  "a cat"}'
check_eq "no token of ours went there" "$(grep -c -F -e "$token" "$DIR/seen")" 0
look=$(http "$R/v1/tasks/$K")
check_eq "a look says what it was" "$(jq -c '[.kind, .endpoint, .status, .content_type, .result]' <<<"$look")" \
    '["callback","gen",200,"application/json",{"prompt":"a cat"}]'
http -D "$DIR/head" -o "$DIR/body" "$R/v1/tasks/$K/result"
check_eq "the result is the target's bytes" "$(cat "$DIR/body")" '{"prompt":  "a cat"}'
check "  under its type and status" grep -qi '^segq-status: 200' "$DIR/head"
lives_on() { [ "$(http "$R/v1/tasks/$K" | jq '.expires_at - now | . > 200 and . < 301')" = true ]; }
wait_for 10 "once read, it is kept for result_ttl_read" lives_on
check_eq "  read with ack=1" "$(http "$R/v1/tasks/$K/result?ack=1")" '{"prompt":  "a cat"}'
is_gone() { [ "$(status_of "$R/v1/tasks/$K")" = 410 ]; }
wait_for 10 "  it goes" is_gone

# ---- what comes from a stranger's server is no page of ours
P=$(submit '{"path":"/page","method":"GET"}' | jq -r .task)
wait_for 10 "a page is fetched" is_done "$P"
http -D "$DIR/head" -o "$DIR/body" "$R/v1/tasks/$P/result"
check "its type is kept" grep -qi '^Content-Type: text/html; charset=utf-8' "$DIR/head"
check "  nothing of it runs" grep -qi "^Content-Security-Policy: sandbox; default-src 'none'" "$DIR/head"
check "  it is not shown" grep -qi '^Content-Disposition: attachment' "$DIR/head"
check "  nor guessed at" grep -qi '^X-Content-Type-Options: nosniff' "$DIR/head"
check_eq "a look has no bytes that are no JSON" "$(http "$R/v1/tasks/$P" | jq .result)" null

# ---- what may not be said
says() { submit "$1" | jq -r '.detail'; }
check_eq "a payload is for workers" "$(says '{"payload":1}')" \
    "path is missing: the tasks of this queue are calls to its endpoint"
check_eq "a path stays below the endpoint's" "$(says '{"path":"/../admin"}')" "path has a part that is . or .."
check_eq "a header of the connection is named" "$(says '{"path":"/x","headers":{"Transfer_Encoding":"chunked"}}')" \
    "headers: Transfer_Encoding is not passed on"
check_eq "two bodies are one too many" "$(says '{"path":"/x","body":"a","body_base64":"YQ=="}')" \
    "body, body_json and body_base64 exclude each other"
check_eq "no worker takes them" "$(http -H "Authorization: Bearer $token" -d '{"n":1}' "$Q/take" | jq -c '[.status,.code]')" \
    '[409,"queue_has_endpoint"]'
check_eq "a call is no payload" "$(status_of -H "Authorization: Bearer $token" -d '{"path":"/x"}' "$R/v1/queues/images/tasks")" 400

# ---- the request itself
CALL=$R/v1/call/gen
call() { http -H "segq-token: $token" "$@"; }
check_eq "without a token nobody calls" "$(status_of "$CALL/echo/9")" 401
TRACE=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
check_eq "a request is answered as by the target" \
    "$(call -D "$DIR/head" -X PUT -H 'Content-Type: text/plain' -H 'Authorization: Basic eA==' -H "traceparent: $TRACE" -H 'tracestate: a=1' --data-binary $'a\x01b' "$CALL/echo/call?q=1%202")" \
    $'a\x01b'
check "  with its type" grep -qi '^Content-Type: text/plain' "$DIR/head"
check_eq "  the caller's Authorization is the target's" \
    "$(seen '/api/echo/call?q=1%202' '[.method, .headers.authorization, .headers["segq-token"]]')" '["PUT","Basic eA==",null]'
check_eq "  a trace goes on" "$(seen '/api/echo/call?q=1%202' '[.headers.traceparent, .headers.tracestate]')" "[\"$TRACE\",\"a=1\"]"
check_eq "a bearer of ours is not passed on" \
    "$(http -H "Authorization: Bearer $token" "$CALL/echo/mine" >/dev/null; seen /api/echo/mine '.headers.authorization')" null
check_eq "what takes longer is looked at later" \
    "$(call -D "$DIR/head" -o "$DIR/body" -w '%{http_code}' -H 'Prefer: wait=0' "$CALL/slow/1000")" 202
LATER=$(sed -n 's/^Location: \([^\r]*\).*/\1/pi' "$DIR/head")
wait_for 10 "  and is there then" is_done "${LATER##*/}"
again() { call -o "$DIR/body" -w '%{http_code}' -X POST -H 'Idempotency-Key: once' -H "x-request-id: $1" --data "$2" "$CALL/echo/once"; }
check_eq "a call with an Idempotency-Key" "$(again 1 x)" 200
check_eq "  again, with another trace: the same task" "$(again 2 x)" 200
check_eq "  with another body: another payload" "$(again 3 y)" 422
check_eq "an endpoint that is not there" "$(call "$R/v1/call/none/x" | field code)" endpoint_unknown
check_eq "one that fails for good is passed on" "$(call -H 'Prefer: whole' -D "$DIR/head" -w ' %{http_code}' "$CALL/status/404")" "status 404 404"
check "  and said to be dead" grep -qi '^segq-state: dead' "$DIR/head"
D=$(sed -n 's/^segq-location: [^ ]*tasks.\([^\r]*\).*/\1/pi' "$DIR/head")
http -D "$DIR/head" -o "$DIR/body" "$R/v1/tasks/$D/result?ack=1"
check_eq "  its task has the answer" "$(cat "$DIR/body") $(sed -n 's/^segq-status: \([0-9]*\).*/\1/pi' "$DIR/head")" "status 404 404"
check_eq "  as long as it is kept for operators" "$(http "$R/v1/tasks/$D" | jq -c '[.state,.status,.result_length]')" '["dead",404,10]'
fields() { tr -d '\r' <"$DIR/head" | sed -n "s/^\($1\): *//pi" | paste -sd' '; }
check_eq "what it says of its answer comes with it" "$(call -D "$DIR/head" -o /dev/null -w '%{http_code}' "$CALL/made")" 201
check_eq "  where the new thing is, through us" "$(fields location)" /v1/call/gen/made/7
check_eq "  its tag, but no links, which a browser would follow" "$(fields 'etag\|link')" '"7"'
check_eq "  no cookie, no order to a proxy, nothing of its connection" "$(fields 'set-cookie\|x-accel-redirect\|x-hop')" ""
call -o /dev/null -D "$DIR/again" "$(sed -n 's/^segq-location: //pi' "$DIR/head" | tr -d '\r' | sed "s|^|$R|")/result"
check "  also of the result, later" grep -qi '^etag: "7"' "$DIR/again"
check_eq "a redirect to the endpoint leads back through us" "$(call -o /dev/null -D "$DIR/head" -w '%{http_code}' "$CALL/moved") $(fields location)" "302 /v1/call/gen/echo/there"
check_eq "  and can be followed" "$(call -L -o "$DIR/body" -w '%{http_code}' "$CALL/moved") $(seen /api/echo/there .method)" '200 "GET"'
check_eq "a condition of a change is the target's" "$(call -o /dev/null -X PUT -H 'If-Match: "7"' "$CALL/echo/change"; seen /api/echo/change '.headers["if-match"]')" '"\"7\""'
check_eq "  that of a look is not, since answers are kept" "$(call -o /dev/null -H 'If-None-Match: "7"' "$CALL/echo/read"; seen /api/echo/read '.headers["if-none-match"]')" null
check_eq "a redirect that does not say where to goes nowhere" "$(call "$CALL/status/302" | jq -c '[.status,.code]')" '[502,"endpoint_failed"]'
check_eq "an answer beyond max_result is whole" "$(call -D "$DIR/head" -o "$DIR/body" -w '%{http_code}' "$CALL/long/70000") $(stat -c %s "$DIR/body")" "200 70000"
check_eq "  and not cut" "$(tr -d '\r' <"$DIR/head" | grep -i '^\(content-length\|segq-truncated\)' | sort | paste -sd' ')" "Content-Length: 70000"

# ---- a delay queue: orders that are not paid are closed
order() { submit "{\"name\":\"$1\",\"delay\":\"$2\",\"path\":\"$3\",\"body_json\":{\"order\":\"$1\"},\"retry\":{\"min\":\"300ms\",\"max\":\"1m\",\"jitter\":0}}"; }
named() { http -H "Authorization: Bearer $token" "$@"; }
order paid 2s /echo/close >/dev/null
check_eq "an order's closure is looked up by its name" "$(named "$Q/paid" | field state)" scheduled
check_eq "  the same again is the same" "$(order paid 2s /echo/close | field state)" scheduled
check_eq "  paid: it is cancelled by name" "$(named -X DELETE "$Q/paid" | field state)" cancelled
order unpaid 2s /echo/close >/dev/null
order failing 100ms '/status/503?times=3' >/dev/null
is_closed() { [ "$(named "$Q/$1" | field state)" = succeeded ]; }
wait_for 20 "unpaid: the shop is told" is_closed unpaid
check_eq "  of this one alone" "$(seen /api/echo/close .body | tr -d '"' | base64 -d)" '{"order":"unpaid"}'
wait_for 20 "a closure that fails is tried again" is_closed failing
grows() { jq -se '[.[] | select(.path == "/api/status/503?times=3").at] | length == 4 and .[3] - .[2] > .[2] - .[1] and .[2] - .[1] > .[1] - .[0]' "$DIR/seen" >/dev/null; }
check "  each time later" grows

# ---- in the words of other API queues
classic() { http -H "Authorization: Bearer $token" -d "$2" "$R/compat/v1/$1"; }
url=http://127.0.0.1:$T/api
check_eq "a target that nobody has defined" \
    "$(classic submitTask '{"target_url":"http://127.0.0.1:1/x"}' | field code)" endpoint_unknown
O=$(classic submitTask "{\"target_url\":\"$url/echo/classic?a=1\",\"http_method\":\"PUT\",\"body\":{\"n\":1},\"timestamp\":$(date +%s),\"task_type\":\"offline\"}" | jq -r .task_id)
asked() { http "$R/compat/v1/queryTask?task_id=$1"; }
completed() { [ "$(asked "$O" | field task_status)" = completed ]; }
wait_for 10 "an offline task of the classic kind is done" completed
check_eq "  with the target's answer" "$(asked "$O" | jq -c '[.task_type, .task_result, .wait_num, (.ended_at | type)]')" '["offline","{\"n\":1}",0,"string"]'
check_eq "  to the call that it said" "$(seen '/api/echo/classic?a=1' '[.method]')" '["PUT"]'
admin -X PUT -d '{"release_per_s":1000}' "$A/v1/admin/queues/gen" >/dev/null
online() { N=$(classic submitTask "{\"target_url\":\"$url/img/7\",\"http_method\":\"GET\",\"task_type\":\"online\"}"); [ "$(field task_type <<<"$N")" = online ]; }
wait_for 15 "an online task stands in the line of people of that name" online
N=$(jq -r .task_id <<<"$N")
turn() { [ "$(asked "$N" | field task_status)" = processing ]; }
wait_for 10 "  until its turn" turn
pass=$(asked "$N" | jq -r '.task_result | fromjson.pass')
verify() { http -o "$DIR/verify" -w "%{http_code}" "$R/v1/verify?queue=gen" -H "Authorization: Bearer $pass" -H 'X-Original-Method: GET' -H "X-Original-URI: $1"; }
check_eq "  its pass is not good for another path" "$(verify /api/img/8)" 403
check_eq "  it is for its own" "$(verify /api/img/7; cat "$DIR/verify")" 204
check_eq "  once" "$(verify /api/img/7)" 403
check_eq "  and then it may be given back" "$(classic cancelTask "{\"task_id\":\"$N\"}" | field task_status)" failed

# ---- retry, limits
S=$(submit '{"path":"/status/503?times=2","retry":{"min":"100ms"}}' | jq -r .task)
wait_for 20 "an endpoint that fails is tried again" is_done "$S"
check_eq "  until it does not" "$(http "$R/v1/tasks/$S" | field attempts)" 3
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do submit "{\"path\":\"/slow/300?$i\"}" >/dev/null; done
called() { [ "$(jq -s '[.[] | select(.path | startswith("/api/slow/300"))] | length' "$DIR/seen")" = 12 ]; }
wait_for 20 "a crowd is called" called
most=$(jq -s '[.[] | select(.path | startswith("/api/slow/300")) | .at] as $t | [$t[] as $a | [$t[] | select(. >= $a and . < $a + 0.25)] | length] | max' "$DIR/seen")
check "  never more than 4 at once: $most" test "$most" -le 4

# ---- two nodes: whoever has the work has the slots
check_eq "a pool over two partitions" "$(admin_status -X PUT -d '{"endpoint":"gen","partitions":2}' "$A/v1/admin/pools/spread.*")" 201
S=$R/v1/queues/spread.1/tasks
crowd() { http -H "Authorization: Bearer $token" -d "[$(printf '{"path":"/slow/400?s"},%.0s' {1..39}){\"path\":\"/slow/400?s\"}]" "$S/batch"; }
taken_in() { crowd | grep -q '"task"'; }
wait_for 15 "  takes a crowd in one queue" taken_in
three() { [ "$(jq -s '[.[] | select(.path == "/api/slow/400?s") | .at] as $t | [$t[] as $a | [$t[] | select(. >= $a and . < $a + 0.3)] | length] | max // 0' "$DIR/seen")" -ge 3 ]; }
wait_for 15 "  its node has three of the four slots" three

# ---- one budget with people
B=$A/v1/admin/budgets
check_eq "a budget must be of something" "$(admin -X PUT -d '{}' "$B/gpu" | field detail)" \
    "budget gpu: it needs rate_per_s, limits, max_active or rates"
check_eq "nobody names one that is not there" "$(admin -X PATCH -d '{"budget":"gpu"}' "$E/gen" | field detail)" \
    "endpoint gen: there is no budget gpu"
check_eq "a budget is made" "$(admin_status -X PUT -d '{"rate_per_s":50,"max_active":3}' "$B/gpu")" 201
check_eq "  people who are not counted cannot share it" \
    "$(admin_status -X PATCH -d '{"budget":"gpu"}' "$A/v1/admin/queues/login")" 400
check_eq "  those who are, can" \
    "$(admin_status -X PATCH -d '{"budget":"gpu","mode":"slots","max_active":9,"no_show_boost":1}' "$A/v1/admin/queues/login")" 200
check_eq "  calls, too" "$(admin_status -X PATCH -d '{"budget":"gpu"}' "$E/gen")" 200
used() { "$BIN/segqctl" --dir "$C" budget list | grep -q "$1"; }
wait_for 10 "  each has its part" used '^gpu *endpoint gen *1 .* 0 of 1'
join() { http -d '{"client":"game"}' "$R/v1/queues/login/tickets" >/dev/null; }
join; join; join
wait_for 10 "nobody calls: people have all but one" used '^gpu *queue login *1 .* 2 of 2'
why_login() { [ "$(admin "$A/v1/admin/cluster" | jq -r '.queues[] | select(.queue == "login") | .limited_by')" = budget:gpu ]; }
wait_for 10 "  the third waits for the budget" why_login
submit '{"path":"/slow/6000"}' >/dev/null
K=$(submit '{"path":"/echo/budget"}' | jq -r .task)
says_budget() { [ "$(http "$R/v1/tasks/$K" | field limited_by)" = budget:gpu ]; }
wait_for 10 "the second call does, too" says_budget
check_eq "  nothing went" "$(seen /api/echo/budget .method)" ""
check "metrics have parts" grep -q '^segq_budget_used_active{budget="gpu",queue="login"} 2' <(http "$A/metrics")
check_eq "a budget with members stays" "$(admin_status -X DELETE "$B/gpu")" 409
admin -X PATCH -d '{"max_active":20}' "$B/gpu" >/dev/null
wait_for 15 "a larger one lets it go" is_done "$K"
admin -X PATCH -d '{"budget":""}' "$E/gen" >/dev/null
admin -X PATCH -d '{"budget":""}' "$A/v1/admin/queues/login" >/dev/null
check_eq "  without them it goes" "$(admin_status -X DELETE "$B/gpu")" 200

# ---- cancelled while it is at the target
F=$(submit '{"path":"/slow/20000"}' | jq -r .task)
at_target() { [ -n "$(seen /api/slow/20000 .method)" ]; }
wait_for 10 "a slow one is at the target" at_target
check_eq "its cancel lets it run out" "$(http -X DELETE "$R/v1/tasks/$F" | jq -c '[.state,.stopping]')" '["running",true]'
check_eq "by force it ends" "$(http -X DELETE "$R/v1/tasks/$F?force=1" | jq -c '[.state,.maybe_executed]')" '["cancelled",true]'
check_eq "  which a look says, too" "$(http "$R/v1/tasks/$F" | jq -c '[.state,.maybe_executed,.history[-1].end]')" '["cancelled",true,"cancelled"]'
is_cut() { [ $(($(metric 47 segq_task_calls_cut_total) + $(metric 48 segq_task_calls_cut_total))) = 1 ]; }
wait_for 10 "  its connection is closed" is_cut
check_eq "again it is as it was" "$(http -X DELETE "$R/v1/tasks/$F?force=1" | field state)" cancelled
check_eq "force is 1" "$(status_of -X DELETE "$R/v1/tasks/$F?force=yes")" 400

# ---- operators
check_eq "it is paused" "$("$BIN/segqctl" --dir "$C" endpoint pause gen >/dev/null && admin "$E/gen" | jq .paused)" true
H1=$(submit '{"path":"/echo/later"}' | jq -r .task)
check "the list says so" grep -q '^gen *paused' <("$BIN/segqctl" --dir "$C" endpoint list)
check_eq "  why it waits, too" "$(admin "$A/v1/admin/tasks/$H1" | jq -r '"\(.state): \(.because)"')" \
    "waiting: endpoint gen is paused: no call of it begins"
held() { grep -q '^gen .* its endpoint ([0-9]*)$' <("$BIN/segqctl" --dir "$C" task list); }
wait_for 10 "  and what holds up the pool" held
check_eq "  nothing goes" "$(seen /api/echo/later .method)" ""
cancelled() { admin "$A/v1/admin/task-queues/gen/tasks?state=cancelled&n=1000" | jq '.tasks | length'; }
before=$(cancelled)
call --max-time 1 -o "$DIR/body" "$CALL/echo/left" || true
call --max-time 1 -o "$DIR/body" -H 'Idempotency-Key: back' "$CALL/echo/back" || true
has_left() { [ "$(cancelled)" = $((before + 1)) ]; }
wait_for 10 "a call whose client goes is cancelled" has_left
check_eq "it is resumed" "$(admin_status -X POST "$E/gen/resume")" 200
wait_for 20 "  and goes on" is_done "$H1"
comes_back() { [ -n "$(seen /api/echo/back .method)" ]; }
wait_for 20 "  one with an Idempotency-Key, too: its client comes back" comes_back
check_eq "  what was cancelled is not called" "$(seen /api/echo/left .method)" ""

# ---- tripped: its breaker is open until an operator closes it
ctl() { "$BIN/segqctl" --dir "$C" "$@"; }
ctl endpoint trip gen >/dev/null
check "it is tripped" grep -q '^gen *tripped' <(ctl endpoint list)
H3=$(submit '{"path":"/echo/tripped"}' | jq -r .task)
says_tripped() { [ "$(http "$R/v1/tasks/$H3" | field eta_reason)" = endpoint_tripped ]; }
wait_for 10 "  a caller hears so" says_tripped
check_eq "  why it waits, too" "$(admin "$A/v1/admin/tasks/$H3" | jq -r .because)" \
    "endpoint gen was tripped by an operator: no call begins until \`segqctl endpoint reset gen\`"
check_eq "  another definition does not end that" \
    "$(admin_status -X PATCH -d '{"burst":2}' "$E/gen") $(admin "$E/gen/probe" | jq -c '[.tripped,.probe]')" '200 [true,[]]'
kill_one() { # NAME
    local pid
    pid=$(pid_of "$1")
    kill -9 "$pid"
    wait_for 20 "  $1 dies, and is started again" restarted "$1" "$pid"
}
kill_one queuemng
again_tripped() { grep -q '^gen *tripped' <(ctl endpoint list); }
wait_for 20 "  nor does another manager" again_tripped
kill_one task.0
kill_one task.1
wait_for 20 "  nor do nodes that begin anew" says_tripped
both_know() { for p in 47 48; do http "http://127.0.0.1:$((PORT + p))/metrics" | grep -q 'endpoint="gen"' || return 1; done; }
wait_for 20 "  both of which know it" both_know
check_eq "  nothing went" "$(seen /api/echo/tripped .method)" ""
ctl endpoint probe gen >"$DIR/probe"
check_eq "a probe sends it" "$(seen /api/echo/tripped .method)" '"POST"'
check_eq "  and says what came, and of the other node why it sent none" \
    "$(sed 1d "$DIR/probe" | sed 's|^task[.][01] *[-0-9]* *||' | sort)" "$(printf 'no task waits that may start: nothing was sent\nsucceeded')"
check "  it stays tripped" again_tripped
H4=$(submit '{"path":"/echo/reset"}' | jq -r .task)
ctl endpoint reset gen >/dev/null
wait_for 20 "a reset lets its calls go" is_done "$H4"
check_eq "  what is up needs no probe" "$(ctl endpoint probe gen | grep -c 'is not down: calls go')" 2
check "  operators' log has both" grep -q 'gen.*tripped false -> true' <(ctl audit)
check_eq "  who has no token trips nothing" "$(status_of -X POST "$E/gen/trip")" 401

check "it is up" grep -q '^gen *up ' <("$BIN/segqctl" --dir "$C" endpoint list)
shows() { "$BIN/segqctl" --dir "$C" endpoint show gen | jq -c "$1"; }
check_eq "segqctl shows how it does, too" "$(shows '[.url != null, .now.open, .now.in_flight >= 0, .now.adaptive]')" '[true,0,true,0]'
"$BIN/segqctl" --dir "$C" endpoint set gen adaptive.min=2 adaptive.max=4 >/dev/null
bears() { [ "$(shows .now.adaptive)" = "$1" ]; }
wait_for 10 "how many calls it bears is found out" bears 2
"$BIN/segqctl" --dir "$C" endpoint set gen adaptive.min=1 adaptive.max=0 >/dev/null
wait_for 10 "  until nobody asks for it" bears 0
ctl endpoint set gen remaining='[{"header":"x-left","reset":"x-reset"}]' >/dev/null
says_left() { grep -qE "(^| )$1 requests until a reset in" <(ctl endpoint list); }
is_heard() { submit '{"path":"/left/50/9s"}' >/dev/null; says_left '[345][0-9]'; }
wait_for 15 "what its answers say is left is shown" is_heard
submit '{"path":"/left/0/4s"}' >/dev/null
wait_for 10 "  nothing is" says_left 0
L=$(submit '{"path":"/echo/left"}' | jq -r .task)
check "  so calls wait" grep -q "or since the target said so (Retry-After, or what it says is left" \
    <(admin "$A/v1/admin/tasks/$L" | jq -r .because)
wait_for 15 "  until its reset" is_done "$L"
late=$(($(seen /api/echo/left '.at * 1000 | floor') - $(seen /api/left/0/4s '.at * 1000 | floor')))
check "  and no sooner" [ "$late" -ge 3900 ]
ctl endpoint set gen remaining='[]' >/dev/null
admin -X PATCH -d "{\"sign\":{\"secret_file\":\"$DIR/none\"}}" "$E/gen" >/dev/null
unusable() { grep -q "^gen is unusable: $DIR/none: No such file" <("$BIN/segqctl" --dir "$C" endpoint list); }
wait_for 10 "one that cannot be used says why" unusable
H2=$(submit '{"path":"/echo/unusable"}' | jq -r .task)
check_eq "  its tasks, too" "$(admin "$A/v1/admin/tasks/$H2" | jq -r .because)" \
    "endpoint gen is down, or cannot be used: \`segqctl endpoint list\`"
admin -X PATCH -d '{"sign":{"secret_file":""}}' "$E/gen" >/dev/null
wait_for 20 "  until it can" is_done "$H2"
"$BIN/segqctl" --dir "$C" endpoint set gen allow='[]' >/dev/null 2>"$DIR/hint"
check "segqctl says that its address may not be called" \
    grep -qF "gen: 127.0.0.1 is not public, and not in \`allow\`: no call is made" "$DIR/hint"
closed() { grep -q '^gen is unusable: 127.0.0.1 is not public' <("$BIN/segqctl" --dir "$C" endpoint list); }
wait_for 10 "  and so does the list" closed
H2=$(submit '{"path":"/echo/closed"}' | jq -r .task)
check_eq "  its tasks wait" "$(admin "$A/v1/admin/tasks/$H2" | jq -r .because)" \
    "endpoint gen is down, or cannot be used: \`segqctl endpoint list\`"
"$BIN/segqctl" --dir "$C" endpoint set gen allow='["127.0.0.0/8"]' >/dev/null 2>"$DIR/hint"
check_eq "  without a word where it may" "$(wc -c <"$DIR/hint")" 0
wait_for 20 "  and its tasks go" is_done "$H2"
check_eq "a change has its version" "$(admin_status -X PATCH -H 'If-Match: "1"' -d '{"burst":2}' "$E/gen")" 412
check "operators' log has it" grep -q 'gen.*paused false -> true' <("$BIN/segqctl" --dir "$C" audit)
admin -X PUT -d '{"endpoint":"gen"}' "$A/v1/admin/pools/img" >/dev/null
check_eq "it stays while a pool has it" "$(admin_status -X DELETE "$E/gen")" 409
check_eq "  unless that may go, too" "$(admin_status -X DELETE "$E/gen?final=true")" 200
check_eq "  with its pools" "$(admin "$A/v1/admin/pools/img" | field code)" pool_not_found
