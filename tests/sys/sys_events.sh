#!/bin/bash
# GET /v1/tickets/{token}/events with real processes: places and releases are told, long before a
# poll would have been due; who listens does not time out; a router that stops says when to come
# back.
. "$(dirname "$0")/lib.sh"

up --routers 2 --release-per-s 0.0001 --set away=0 --set poll_min=5s --set poll_max=6s \
    --set idle.game=15m --set idle.browser=15m
release() { admin POST "/v1/admin/queues/login/release?n=$1" >/dev/null; }
listen() { # FILE TOKEN [router]
    curl -sN --max-time 300 "${3:-$R}/v1/tickets/$2/events" >"$DIR/$1" &
    L=$!
    helpers+=("$L")
}
told() { grep -q "$2" "$DIR/$1"; }

join_many 4 "$DIR/before"
t=$(join_queue | token_in)
listen one "$t"
one=$L
wait_for 20 "the first event is the place" told one '^data: .*"position":5,'
wait_for 20 "queuemng knows of them" waiting_is 5
release 2
wait_for 20 "a place that has moved is told" told one '^id: 3$'
release 3
wait_for 20 "who is let in is told the pass" told one '"state":"admitted".*"pass":"'
check "and the connection ends" wait "$one"

python3 "$here/listen.py" "$R" 50 >"$DIR/fifty" 2>&1 &
fifty=$!
helpers+=("$fifty")
wait_for 60 "fifty listen" told fifty 'listening 50'
check_eq "the router counts them" "$(metric 30 segq_router_listeners)" 50
wait_for 20 "queuemng knows of them, too" waiting_is 50
release 50
check "all are told" wait "$fifty"
late=$(sed -n 's/^late //p' "$DIR/fifty")
in_time "long before a poll was due" "${late:-999999}" 150

admin PATCH /v1/admin/queues/login '{"idle":{"game":"2s","browser":"2s"}}' >/dev/null
t=$(join_queue | token_in)
listen quiet "$t"
wait_for 20 "one listens" told quiet '^data: '
# A beat comes after 5 or 15 s without an event: longer than what was told and the idle time-out.
wait_for 60 "who listens does not time out" eval '[ "$(grep -c "^event: beat" "$DIR/quiet")" -ge 2 ]'
check_eq "and has its place" "$(poll "$t" | field state)" waiting
end_pid "$(pid_of router.0)"
wait_for 20 "a router that stops says when to come back" told quiet '^data: {"poll_after_ms":'
check_eq "elsewhere the place is kept" "$(poll "$t" "$R2" | field state)" waiting
