#!/bin/bash
# F25: the Redis of two managers is killed, stands still, is made a replica, comes back empty,
# amid a crowd: joins and polls go on, releases pause as soon as the lease is not certain, and go
# on by themselves, in order and at the rate. (Every other fault of a Redis: sys_redis_*.)
. "$(dirname "$0")/lib.sh"
. "$chaos/procs.sh"

machines "d0 m0 m1 s0 s1 r0 r1"
cluster_up --capacity 600 --release-per-s 12 --set queuemng.skip_after=60s
observe
wait_for 60 "people are answered" answered poll 200 300
rcli() {
    REDISCLI_AUTH=$(cat "$C/secrets/redis.password") on d0 redis-cli -h "$(addr d0)" "$@" 2>/dev/null
}
leads() {
    [ "$(http --max-time 2 -H "Authorization: Bearer $(admin_token)" \
        "http://$(addr "$1"):7071/v1/admin/manager" | jq -r .role 2>/dev/null)" = leader ]
}
somebody_leads() { leads m0 || leads m1; }
nobody_leads() { ! somebody_leads; }
is_let_in() { jq -r --argjson t "$(tail -1 "$DIR/phases.jsonl" | jq .t)" \
    'select(.t0 >= $t and .state == "admitted") | .who' "$HISTORY" 2>/dev/null | sort -u | awk 'END { exit NR < 20 }'; }

away() { # phase: Redis does not serve any more
    wait_for 60 "$1: nobody leads" nobody_leads
    wait_for 60 "$1: people join" answered join 201 10
    wait_for 60 "$1: people are answered" answered poll 200 200
}
well() { # phase
    phase "after-$1"
    wait_for 60 "$1 is over: one leads" somebody_leads
    wait_for 60 "$1 is over: people are let in" is_let_in
}
phase killed
old=$(pid_of d0)
kill -KILL "$old"
wait_for 40 "Redis is killed" is_gone "$old"
away killed
boot d0
well killed

phase still
stop d0
away still
cont d0
well still

phase readonly
rcli REPLICAOF 127.0.0.1 1 >/dev/null
away readonly
rcli REPLICAOF NO ONE >/dev/null
well readonly

phase emptied
rcli FLUSHALL >/dev/null
put_back() { [ "$(rcli EXISTS '{segq}:kv')" = 1 ]; }
wait_for 60 "emptied: what it knew is put back" put_back
well emptied
observe_end --rate 12 --p99 killed:6000 --p99 still:6000 --p99 readonly:6000 \
    --gap killed:20 --gap still:20 --served killed:200 --served still:200 --served readonly:200 \
    --served after-emptied:50
