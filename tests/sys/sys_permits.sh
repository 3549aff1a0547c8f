#!/bin/bash
# Permits over real processes: a ticket in the words of tasks; its pass opens one method, one path,
# once: exactly one of many verifies over two routers, also while the segment node is killed; what
# was used stays used after a kill, a drain to another node, a restart of the router; without its
# segment a pass that is good once opens nothing.
. "$(dirname "$0")/lib.sh"

up --routers 2 --seg-nodes 2 --task-nodes 0 --release-per-s 100 --set away=0 --set pass_ttl=10m --set claim=5m \
    --set router.trusted_proxies=127.0.0.1/32

permit() { # [more members] -> its token; let in
    local t
    t=$(http -d "{\"kind\":\"permit\",\"htm\":\"POST\",\"htu\":\"/api/images\"${1-,\"use\":\"once\"}}" "$R/v1/queues/login/tasks" | field task)
    [ "${#t}" = 55 ] || give_up "no permit is given"
    wait_quiet is_in "$t"
    echo "$t"
}
wait_quiet() { # command...: asks every 50 ms, 20 s
    local i
    for ((i = 0; i < 400; i++)); do "$@" && return; sleep 0.05; done
    give_up "never: $*"
}
is_in() { [ "$(http "$R/v1/tasks/$1" | field state)" = admitted ]; }
pass_of() { http "$R/v1/tasks/$1" | field pass; }
says() { cut -d. -f2 <<<"$1" | tr '_-' '/+' | sed 's/$/==/' | base64 -d 2>/dev/null | jq -c "$2"; }
told=(-H 'X-Original-Method: POST' -H 'X-Original-URI: /api/images/7?size=2')
verify() { status_of -H "Authorization: Bearer $1" "${@:3}" "$2/v1/verify?queue=login"; } # pass, router, fields
code_of() { http -H "Authorization: Bearer $1" "${told[@]}" "$2/v1/verify?queue=login" | field code; }
race() { # pass: eight verifies at once over two routers; how many let it in
    local i
    for i in 1 2 3 4; do printf 'url = "%s/v1/verify?queue=login&n=%s"\noutput = /dev/null\n' "$R" $i "$R2" $i; done >"$DIR/race.conf"
    curl -s -Z --parallel-immediate --parallel-max 8 --max-time 20 -H "Authorization: Bearer $1" "${told[@]}" \
        -w '%{http_code}\n' -K "$DIR/race.conf" | tee "$DIR/race" | grep -c '^204$'
}

# ---- a ticket in the words of tasks
T=$(permit)
P=$(pass_of "$T")
check_eq "the pass says what it is bound to" "$(says "$P" '[.aud, .htm, .htu, .use]')" '["login","POST","/api/images","once"]'
check_eq "it is the same as of a ticket's poll" "$(poll "$T" | field pass)" "$P"
check_eq "another method is refused" "$(verify "$P" "$R" -H 'X-Original-Method: GET' -H 'X-Original-URI: /api/images')" 403
check_eq "another path is refused" "$(verify "$P" "$R" -H 'X-Original-Method: POST' -H 'X-Original-URI: /api/keys')" 403
check_eq "a gate that does not tell is refused" "$(verify "$P" "$R")" 403
check_eq "it opens what it is for" "$(verify "$P" "$R" "${told[@]}")" 204
check_eq "once: $(code_of "$P" "$R")" "$(verify "$P" "$R" "${told[@]}")" 403
check_eq "  also at the other router: $(code_of "$P" "$R2")" "$(verify "$P" "$R2" "${told[@]}")" 403
M=$(pass_of "$(permit '')")
check_eq "without use it opens more than once" "$(verify "$M" "$R" "${told[@]}") $(verify "$M" "$R2" "${told[@]}")" "204 204"
L=$(permit)
check_eq "it leaves by its token" "$(http -X DELETE "$R/v1/tasks/$L" | jq -c '[.kind, .state]')" '["permit","finished"]'

# ---- many at once
n=0
for i in 1 2 3 4; do n="$n $(race "$(pass_of "$(permit)")")"; done
check_eq "of eight verifies over two routers exactly one opens, four times" "$n" "0 1 1 1 1"

# ---- kill -9 of the segment node
kill_segments() { # both: the one that has the ticket is among them
    pids="$(pid_of segment.0) $(pid_of segment.1)"
    kill -KILL $pids
}
back() { [ "$(poll "$1" | field state)" = admitted ] && [ "$(poll "$1" "$R2" | field state)" = admitted ]; }
n=""
for i in 1 2; do
    T2=$(permit)
    P2=$(pass_of "$T2")
    (sleep "0.0$i"; kill_segments) &
    first=$(race "$P2")
    wait $!
    wait_quiet back "$T2"
    again=$(race "$P2")
    n="$n $((first + again))"
    [ $((first + again)) -le 1 ] || fail "it opened $first times under the kill, $again times after it"
done
check "under a kill a pass opens at most once:$n" test "${n//[^2-9]/}" = ""
check_eq "what was used before the kill stays used" "$(code_of "$P" "$R2")" pass_used
pid=$(pid_of router.1)
kill -KILL "$pid"
wait_for 20 "a router comes back that remembers nothing" restarted router.1 "$pid"
serves() { [ "$(verify "$M" "$R2" "${told[@]}")" = 204 ]; }
wait_for 20 "  and serves" serves
check_eq "  it asks the segment" "$(code_of "$P" "$R2")" pass_used

# ---- without its segment
T3=$(permit)
P3=$(pass_of "$T3")
stopped="$(pid_of segment.0) $(pid_of segment.1)"
kill -STOP $stopped
check_eq "while its segment cannot be asked a pass that is good once opens nothing" "$(verify "$P3" "$R" "${told[@]}")" 503
check_eq "  another one does" "$(verify "$M" "$R" "${told[@]}")" 204
kill -CONT $stopped
opened() { [ "$(poll "$T3" | field state)" = admitted ]; }
wait_for 10 "it goes on" opened
race "$P3" >/dev/null
check "  and the pass opens at most once" test "$(race "$P3")" = 0

# ---- to another node
T4=$(permit)
P4=$(pass_of "$T4")
check_eq "a pass is used" "$(verify "$P4" "$R" "${told[@]}")" 204
segment=$(poll "$T4" | field segment)
N=$(segments | awk -v s="$segment" '$1 == s { print $4 }')
check "its node is drained: $N" "$BIN/segqctl" --dir "$C" drain "$N"
empty() { [ "$(segments | awk -v n="$N" '$4 == n' | wc -l)" = 0 ]; }
wait_for 30 "  until it is empty" empty
wait_quiet is_in "$T4"
check_eq "at its new node it is used, says the router that did not see it" "$(code_of "$P4" "$R2")" pass_used
check_eq "  and is bound as before" "$(says "$(pass_of "$T4")" '[.htm, .htu, .use]')" '["POST","/api/images","once"]'
