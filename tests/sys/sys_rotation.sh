#!/bin/bash
# Both keys are replaced while players wait: the cluster's secret in three steps (old first,
# new first, new alone), the pass key in two (old first, new first), process by process.
. "$(dirname "$0")/lib.sh"

up --release-per-s 50 --seg-nodes 2
S=$C/secrets
new_key() { head -c 32 /dev/urandom | base64; }
put() { (umask 077 && cat >"$1.new") && mv "$1.new" "$1"; }
jwks() { http "$R/.well-known/jwks.json" | jq -r '.keys[].kid' | sort; }
kid_of() { # of a ticket's pass
    local h
    h=$(field pass | cut -d. -f1 | tr '_-' '/+')
    while [ $((${#h} % 4)) -ne 0 ]; do h="$h="; done
    base64 -d <<<"$h" | jq -r .kid
}
admitted() { poll "$1" >"$DIR/ticket"; [ "$(field state <"$DIR/ticket")" = admitted ]; }

first=$(join_queue | token_in)
wait_for 10 "a player is admitted" admitted "$first"
old_kid=$(kid_of <"$DIR/ticket")
check_eq "the pass names the published key" "$(jwks)" "$old_kid"
admin POST /v1/admin/queues/login/pause >/dev/null
joined() { token=$(join_queue | token_in); [ -n "$token" ]; } # sets it
wait_for 10 "another one waits" joined
t=$token

lost=0
still_waits() { # nothing but an answer that says so, or 503
    local s
    s=$(status_of "$R/v1/tickets/$1")
    case $s in 200 | 503 | 000) ;; *) lost=$((lost + 1)) ;; esac
    [ "$s" = 200 ] && [ "$(poll "$1" | field state)" = waiting ]
}
restart() { # each process alone, the next one when players are served again
    local n p
    for n in router.0 segment.0 segment.1 queuemng; do
        p=$(pid_of $n)
        kill -TERM "$p"
        another() { still_waits "$t"; restarted $n "$p"; }
        wait_for 20 "$1: $n is restarted" another
        wait_for 20 "$1: the player still waits" still_waits "$t"
    done
    wait_for 10 "$1: the router is ready" has_status 200 "$R/readyz"
}

old=$(cat "$S/cluster.secret") new=$(new_key)
old_pass=$(cat "$S/pass.key") new_pass=$(new_key)
printf '%s\n%s\n' "$old" "$new" | put "$S/cluster.secret"
printf '%s\n%s\n' "$old_pass" "$new_pass" | put "$S/pass.key"
restart "old first"
two_keys() { [ "$(jwks | grep -c .)" = 2 ]; }
wait_for 10 "the next pass key is published before it signs" two_keys
new_kid=$(jwks | grep -v "$old_kid")

printf '%s\n%s\n' "$new" "$old" | put "$S/cluster.secret"
printf '%s\n%s\n' "$new_pass" "$old_pass" | put "$S/pass.key"
restart "new first"
wait_for 10 "people join" joined
young=$token
wait_for 10 "the old pass key is published still" two_keys
admin POST /v1/admin/queues/login/resume >/dev/null
wait_for 10 "a ticket of the old secret is admitted" admitted "$t"
check_eq "its pass is signed by the new key" "$(kid_of <"$DIR/ticket")" "$new_kid"
wait_for 10 "so is a ticket of the new one" admitted "$young"
admin POST /v1/admin/queues/login/pause >/dev/null
wait_for 10 "and another one waits" joined
t=$token

printf '%s\n' "$new" | put "$S/cluster.secret"
printf '%s\n' "$new_pass" | put "$S/pass.key"
restart "new alone"
check_eq "nobody's ticket was refused meanwhile" "$lost" 0
one_key() { [ "$(jwks)" = "$new_kid" ]; }
wait_for 10 "the old pass key is gone" one_key
check_eq "what the old secret wrote is no ticket any more" "$(status_of "$R/v1/tickets/$first")" 404
