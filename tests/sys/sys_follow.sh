#!/bin/bash
# Answers that are read along by the result, and places that are told in line, over real processes: several
# readers of one call, one from before it begins and one amid it, all whole and alike; who reads changes nothing;
# a target that dies is a broken transfer and another attempt, read from its first byte; a kill -9 of the task node
# amid one never looks whole. A caller in line hears comments, then the target's events, or an event `error`.
. "$(dirname "$0")/lib.sh"

up --routers 1 --seg-nodes 1 --task-nodes 1 --task-store journal
T=$((PORT + 90))
S=$DIR/said
mkdir -p "$S"
: >"$S/seen"
target() { helper python3 "$here/stream_target.py" $T "$S"; TARGET=$H; }
target
token=$(task_token)
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$T") 2>/dev/null; }
wait_for 10 "the target listens" listens
endpoint() { admin PUT "/v1/admin/endpoints/$1" "{\"url\":\"http://127.0.0.1:$T/\",\"allow\":[\"127.0.0.0/8\"],\"deadline\":\"60s\"${2:-}}" >/dev/null; }
endpoint gen
endpoint narrow ',"max_concurrent":1'
admin PATCH /v1/admin/pools/gen '{"retry":{"min":"1s","jitter":0}}' >/dev/null
ready() { [ "$(status_of -H "segq-token: $token" "$R/v1/call/$1/sized/3")" = 200 ]; }
wait_for 15 "its queue takes calls" ready gen
wait_for 15 "  and that of another endpoint" ready narrow

bg() { # NAME URL [more of curl]: in the background; head in $S/NAME.head, bytes in $S/NAME.body
    rm -f "$S/$1.exit" "$S/$1.body" "$S/$1.head"
    (curl -sN --max-time 120 -D "$S/$1.head" -o "$S/$1.body" "${@:3}" "$2" & echo $! >"$S/$1.pid"; wait $!; echo $? >"$S/$1.exit") &
    helpers+=($!)
}
send() { # NAME [ENDPOINT]: a call for which nobody waits; its result is $(result NAME)
    http -H "segq-token: $token" -H 'Prefer: wait=0' -D - -o "$S/sent" "$R/v1/call/${2:-gen}/$1" | tr -d '\r' | sed -n 's/^location: //pi' >"$S/$1.task"
}
result() { echo "$R$(cat "$S/$1.task")/result"; }
follow() { bg "$1" "$(result "$2")?follow=1&wait=30"; } # READER NAME
has() { grep -qs "$2" "$S/$1"; }
says() { touch "$S/$1"; }
ends() { [ -s "$S/$1.exit" ]; }
exit_of() { cat "$S/$1.exit"; }
look() { http "$R$(cat "$S/$1.task")" | jq -r "$2"; }
is_so() { [ "$(look "$1" "$2")" = "$3" ]; } # NAME FILTER VALUE

# ---- several readers
send a
wait_for 10 "a call is made for which nobody waits" grep -qx a "$S/seen"
follow one a
follow two a
says a.1
wait_for 10 "a reader hears its first line" has one.body "^data: 1"
wait_for 10 "  another one, too" has two.body "^data: 1"
check_eq "  with the target's head" "$(tr -d '\r' <"$S/one.head" | sed -n '1s/ OK//p; s/^content-type: //pi' | paste -sd ' ')" "HTTP/1.1 200 text/event-stream"
kill "$(cat "$S/two.pid")"
says a.2
wait_for 10 "one leaves, and the call goes on" has one.body "^data: 2"
follow late a
wait_for 10 "one who comes amid it has all of it" has late.body "^data: 2"
says a.end
wait_for 10 "they end with it" ends one
wait_for 10 "  both" ends late
check_eq "  cleanly" "$(exit_of one) $(exit_of late) $(look a .state)" "0 0 succeeded"
http -o "$S/kept" "$(result a)"
check "  and have what is kept" cmp "$S/one.body" "$S/kept"
check "  alike" cmp "$S/late.body" "$S/kept"

# ---- in line
send h narrow
wait_for 10 "a call has the only slot" grep -qx h "$S/seen"
send b narrow
check_eq "a reader of one in line waits as long as it said" "$(status_of "$(result b)?follow=1&wait=1")" 202
follow early b
bg line "$R/v1/call/narrow/c" -H "segq-token: $token" -H 'Prefer: wait=60' -H 'Accept: text/event-stream' -H 'segq-progress: 1'
wait_for 10 "a caller in line hears its place" has line.body '^: segq place=2'
bg odd "$R/v1/call/narrow/sized/7" -H "segq-token: $token" -H 'Prefer: wait=60' -H 'Accept: text/event-stream' -H 'segq-progress: events'
wait_for 10 "  another one as an event" has odd.body '"position":3'
check_eq "  in an event stream" "$(tr -d '\r' <"$S/line.head" | sed -n '1s/ OK//p; s/^content-type: //pi' | paste -sd ' ')" "HTTP/1.1 200 text/event-stream"
says b.1
says b.end
says h.end
wait_for 10 "the slot is free: the reader hears the next one" ends early
check_eq "  whole" "$(exit_of early) $(cat "$S/early.body")" "0 data: 1"
says c.1
wait_for 10 "the caller hears the target's events in the same answer" has line.body '^data: 1'
says c.end
wait_for 10 "  to their end" ends line
check_eq "  cleanly" "$(exit_of line)" 0
wait_for 10 "what is no event stream is an event" ends odd
check_eq "  that says so" "$(sed -n '/^event: error/{n;s/^data: //p}' "$S/odd.body" | jq -c '[.status, .content_type, .error.type]')" '[200,"image/png","endpoint_answer"]'

# ---- the target dies
send t
follow x t
says t.1
wait_for 10 "the target is killed amid an answer" has x.body "^data: 1"
kill -9 "$TARGET"
wait_for 10 "  its reader sees the transfer end" ends x
check "  broken ($(exit_of x))" test "$(exit_of x)" != 0
check_eq "  and the task is not dead of it" "$(look t .state | grep -c dead)" 0
target
wait_for 10 "the target is back" listens
follow y t
says t.2
says t.end
wait_for 20 "the next attempt is read from its first byte" ends y
check_eq "  whole" "$(exit_of y) $(paste -sd ' ' <"$S/y.body")" "0 data: 1  data: 2 "

# ---- kill -9 of the task node
send n
follow z n
bg w "$R/v1/call/narrow/hold" -H "segq-token: $token" -H 'Prefer: wait=60' -H 'Accept: text/event-stream' -H 'segq-progress: 1'
wait_for 10 "a call has the slot" grep -qx hold "$S/seen"
bg q "$R/v1/call/narrow/q" -H "segq-token: $token" -H 'Prefer: wait=60' -H 'Accept: text/event-stream' -H 'segq-progress: 1'
says n.1
wait_for 10 "a reader hears a line" has z.body "^data: 1"
wait_for 10 "  and a caller its place" has q.body '^: segq place=1'
old=$(pid_of task.0)
kill -9 "$old"
wait_for 10 "the task node is killed: the reader sees the transfer end" ends z
check "  broken ($(exit_of z))" test "$(exit_of z)" != 0
check_eq "  what came is a prefix" "$(cat "$S/z.body")" "data: 1"
wait_for 20 "it comes back" restarted task.0 "$old"
runs() { [ "$(look n .state)" = running ]; }
wait_for 10 "  the call is not said to be over" runs
told() { [ "$(grep -c '^: segq place=1' "$S/q.body")" -gt 1 ]; }
wait_for 10 "  and the caller in line is told its place again" told
check "  in the same answer" test ! -s "$S/q.exit"
