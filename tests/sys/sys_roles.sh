#!/bin/bash
# Who may do what: three people and two queues, at two managers with a file of tokens each. Each does what
# is theirs, by segqctl and by the API, and is refused the rest; a token ends while it is used, one is
# revoked (HUP), a file is refused (the tokens from before stay); the leader is killed, and the next one
# knows the same people. No token stands in a log or in a file.
. "$(dirname "$0")/lib.sh"
. "$here/managers.sh"

F=$DIR/tokens.yaml
install -m 600 /dev/null "$F" # an empty file is good enough to begin with
ctl() { "$BIN/segqctl" "$@"; }
make_token() { # NAME options...
    (umask 077 && ctl token add "$F" "$@" >"$DIR/$1.token" 2>>"$DIR/err")
}
make_token vera --role viewer
make_token otto --role operator --queues login
make_token ada --role admin
for n in a1 a2 a3 a4 a5 a6 a7 a8; do make_token $n --role viewer & adding="${adding-} $!"; done
wait $adding
check_eq "tokens that are added at the same time are all there" "$(ctl --json token list "$F" | jq '.tokens | length')" 11
check "an end that is over is none" eval '! ctl token add "$F" late --role viewer --until 2020-01-01T00:00:00Z 2>"$DIR/out" && grep -q "over already" "$DIR/out"'
check "the file is its owner's alone" test "$(stat -c %a "$F")" = 600
check "and has no token in it" eval '! grep -qF -f <(cat "$DIR"/*.token) "$F"'

up --set away=0 --managers 2 --routers 1 --seg-nodes 1 --set "queuemng.admin_tokens_file=$F"
wait_for 20 "one of them leads" somebody_leads
as() { # NAME METHOD PATH [json]: prints the status; the answer is in $DIR/answer
    http -o "$DIR/answer" -w '%{http_code}' -X "$2" -H "Authorization: Bearer $(cat "$DIR/$1.token")" \
        -H 'X-Segq-Operator: somebody' ${4:+-d "$4"} "http://127.0.0.1:$((PORT + L))/v1/admin/$3"
}
told() { jq -r "$1" "$DIR/answer"; }
as_is() { [ "$(as "${@:2}")" = "$1" ]; } # STATUS NAME METHOD PATH [json]
by() { ctl --admin "$A" --token-file "$DIR/$1.token" --yes "${@:2}" >"$DIR/out" 2>&1; }
refused() { by "$@" && return 1; grep -q "the role .* is needed" "$DIR/out"; }

# ---- three people, two queues ----------------------------------------------------------

check "an admin makes a second queue" by ada queue add shop release_per_s=5
check_eq "a viewer sees both" "$(by vera --json queue list; jq '.queues | length' "$DIR/out")" 2
check "and pauses none" refused vera pause login
check "an operator pauses the queue that is theirs" by otto pause login
check "and changes its rate and message" by otto rate login 7
check "but not another one" refused otto pause shop
check_eq "nor is told whether there is one" "$(as otto POST queues/none/pause; told .detail)" \
    "403$(as otto POST queues/shop/pause >/dev/null; told .detail)"
check_eq "and sees one" "$(as otto GET queues >/dev/null; told '.queues | length')" 1
check "nor flushes theirs" refused otto flush login
check "nor changes its lanes" refused otto queue set login 'lanes=[{"name":"a"},{"name":"b"}]'
check "nor drains a node" refused otto drain segment-0
check_eq "whoami" "$(as otto GET whoami >/dev/null; told '"\(.name) \(.role) \(.queues[0]) \(.pools | length) \(.all)"')" \
    "otto operator login 0 false"
check "an admin flushes" by ada flush login
check "and resumes" by ada resume login
check_eq "the log of changes has person and role, not what a header says" \
    "$(as vera GET audit >/dev/null; told '[.entries[] | "\(.who)/\(.role)"] | unique | join(" ")')" "ada/admin otto/operator"
check "a refused call is in the log" grep -rqs 'event=admin_refused token=otto role=operator needs=operator' "$C/logs"
token=$(join_queue | token_in)
check "a viewer looks at a ticket" as_is 200 vera GET "tickets/$token"
check "an operator of its queue, too" as_is 200 otto GET "tickets/$token"

# ---- tokens that end, files that are refused ----------------------------------------------

hup_all() { # one may have been killed a moment ago
    local p
    for p in queuemng queuemng2; do kill -HUP "$(pid_of $p)" 2>/dev/null; done
    true
}
make_token cleo --role viewer --until "$(date -u -d '+12 seconds' +%FT%TZ)"
hup_all
wait_for 10 "a new token is good after HUP" as_is 200 cleo GET live
wait_for 30 "it ends while it is used" as_is 401 cleo GET live
check "and the answer says so" grep -q 'the token cleo has ended' "$DIR/answer"
ctl token revoke "$F" otto >/dev/null
hup_all
wait_for 10 "a token that was revoked is refused after HUP" as_is 401 otto GET live
chmod 644 "$F"
hup_all
health() { http "http://127.0.0.1:$((PORT + L))/healthz" | jq -r "$1"; }
says_wrong() { health .warning | grep -q 'chmod 600'; }
wait_for 10 "a file that others may read is refused: /healthz says so" says_wrong
check_eq "and is well all the same" "$(health .status)" ok
check "the log says so" grep -rqs 'event=tokens_refused why=.*chmod 600' "$C/logs"
check "the picture, too" eval 'as vera GET live >/dev/null; told .tokens_wrong | grep -q "chmod 600"'
check "the tokens from before stay" as_is 200 ada GET live
chmod 600 "$F"
check "segqctl has it read again" by ada token reload
check_eq "and all is well" "$(health .warning)" null
printf 'tokens:\n  - {name: vera, role: boss, hash: x, queues: [], pools: []}\n' >"$DIR/bad.yaml"
chmod 600 "$DIR/bad.yaml"
check "queuemng -t finds a bad file" eval '"$BIN/queuemng" -t -c "$C/config/queuemng.yaml" --set "admin_tokens_file=$DIR/bad.yaml" 2>&1 |
    grep -q "bad.yaml:2: tokens\[0\].role"'

# ---- the leader dies ---------------------------------------------------------------------

hup_all
# A session of the dashboard: a cookie in exchange for the token, which the next leader knows, too.
jar=$DIR/cookies
session() { # METHOD PATH [curl options]
    http -o "$DIR/answer" -w '%{http_code}' -b "$jar" -c "$jar" -X "$1" "${@:3}" "http://127.0.0.1:$((PORT + L))/v1/admin/$2"
}
check_eq "a token is exchanged for a session" "$(session POST session -H "Authorization: Bearer $(cat "$DIR/ada.token")")" 200
check_eq "the cookie alone is who it was" "$(session GET whoami >/dev/null; told .name)" ada
check_eq "a call that another site may have sent is refused" "$(session POST queues/login/pause)" 403
check_eq "one of the dashboard is not" "$(session POST queues/login/resume -H 'X-Segq-Dashboard: 1')" 200
before=$(epoch) was=$L
kill -9 "$(pid_of "$LNAME")"
next_leads() { find_leader && [ "$(epoch)" -gt "$before" ]; }
wait_for 30 "another term begins" next_leads
wait_for 10 "the people are the same: an admin" as_is 200 ada POST queues/login/pause
check_eq "the session goes on" "$(session GET whoami >/dev/null; told .name)" ada
ctl token revoke "$F" ada >/dev/null
hup_all
session_is() { [ "$(session GET whoami)" = "$1" ]; }
wait_for 10 "and ends when its token is revoked" session_is 401
check "a viewer" as_is 403 vera POST queues/login/resume
check "one who was revoked" as_is 401 otto GET live
standby_knows() {
    local p=1
    [ "$L" = 1 ] && p=3
    [ "$(status_of -X POST -H "Authorization: Bearer $(cat "$DIR/vera.token")" \
        "http://127.0.0.1:$((PORT + p))/v1/admin/queues/login/resume")" = 403 ]
}
wait_for 20 "a standby refuses, too" standby_knows
check "no token stands in a log" eval '! grep -rqF -f <(cat "$DIR"/*.token) "$C/logs" "$C/state"'
