#!/bin/bash
# F64, the managers: one in each of three regions, each with a Redis and a sentinel, TLS, as in
# docs/regions.md. The leader is killed; Redis fails over by order; the region with Redis' master is
# cut off, with the leader if it is there, and comes back: one leads at a time, nobody loses a place.
. "$(dirname "$0")/lib.sh"
command -v redis-server >/dev/null || give_up "redis-server is not installed"
. "$here/certs.sh"

machines "m0@eu s0@eu s1@eu r0@eu m1@us s2@us r1@us m2@ap r2@ap"
calm_sea() {
    sea "eu us" "delay=80 jitter=8"
    sea "eu ap" "delay=150 jitter=15"
    sea "us ap" "delay=120 jitter=12"
}
calm_sea
authority ca
issue redis ca 2 DNS:redis.segq
MANAGERS="m0 m1 m2"

serve() { # machine NAME PORT 'more configuration' [--sentinel]
    mkdir -p "$DIR/$2.$1"
    printf '%s\n' 'port 0' "tls-port $3" "tls-cert-file $CERTS/redis.crt" "tls-key-file $CERTS/redis.key" \
        "tls-ca-cert-file $CERTS/ca.crt" 'tls-replication yes' 'tls-auth-clients no' 'protected-mode no' \
        "bind $(addr "$1")" "dir $DIR/$2.$1" "logfile $DIR/$2.$1/log" "$4" >"$DIR/$2.$1/conf"
    helper_on "$1" redis-server "$DIR/$2.$1/conf" ${5:+"$5"}
}
said() { # machine port command...
    on "$1" redis-cli --tls --insecure -h "$(addr "$1")" -p "$2" "${@:3}" 2>/dev/null
}
is_master() { [ "$(said "$1" 6379 ROLE | head -1)" = master ]; }
follow() { local m; for m in m1 m2; do said $m 6379 INFO replication | grep -q link_status:up || return 1; done; }
acquainted() {
    local m
    for m in $MANAGERS; do [ "$(said $m 26379 SENTINEL sentinels mymaster | grep -c ^runid)" = 2 ] || return 1; done
}
for m in $MANAGERS; do
    serve $m redis 6379 "appendonly yes
repl-diskless-sync-delay 0
min-replicas-to-write 1
min-replicas-max-lag 3$([ $m = m0 ] || printf '\nreplicaof %s 6379' "$(addr m0)")"
done
wait_for 60 "both replicas follow" follow
for m in $MANAGERS; do
    serve $m sentinel 26379 "sentinel monitor mymaster $(addr m0) 6379 2
sentinel down-after-milliseconds mymaster 5000
sentinel failover-timeout mymaster 5000" --sentinel
done
wait_for 60 "the sentinels know each other" acquainted
sentinels=$(for m in $MANAGERS; do printf '%s:26379,' "$(addr $m)"; done)
cluster_up --capacity 150 --release-per-s 8 --set poll_min=1s --set poll_max=1s --set idle.game=3m \
    --set "queuemng.redis_sentinels=${sentinels%,}" --set queuemng.redis_tls=true \
    --set "queuemng.redis_tls_ca=$CERTS/ca.crt" --set queuemng.redis_tls_name=redis.segq \
    --set queuemng.lease=6s --set queuemng.redis_timeout=2s --set queuemng.redis_wait_replicas=1 \
    --set queuemng.skip_after=2m --set queuemng.lost_after=2m \
    --set queuemng.heartbeat=2s --set router.heartbeat=2s --set segment.heartbeat=2s

leads() {
    [ "$(http --max-time 2 -H "Authorization: Bearer $(admin_token)" \
        "http://$(addr "$1"):7071/v1/admin/manager" | jq -r .role 2>/dev/null)" = leader ]
}
one_leads() { # but for MACHINE; it is $leader
    local m
    leader=
    for m in $MANAGERS; do
        [ $m != "${1:-}" ] && leads $m || continue
        [ -z "$leader" ] || return 1
        leader=$m
    done
    [ -n "$leader" ]
}
are_let_in() {
    jq -r --argjson t "$(tail -1 "$DIR/phases.jsonl" | jq .t)" 'select(.t0 >= $t and .state == "admitted") | .who' \
        "$HISTORY" 2>/dev/null | sort -u | awk 'END { exit NR < 5 }'
}
goes_on() { # when [but for MACHINE]
    wait_for 120 "$1: one leads" one_leads ${2:+"$2"}
    echo "     $1: $(($(now_ms) - t0)) ms, $leader"
}

wait_for 60 "one leads" one_leads
observe --first 150 --per-s 6 --subject-share 0 --leave-share 0 --timeout-s 8
wait_for 90 "people are answered" answered poll 200 300

phase killed
t0=$(now_ms)
kill9 $leader.0
goes_on "the leader is killed"
wait_for 60 "people are let in" are_let_in
settle "everybody hears what is ahead of them"

phase ordered
t0=$(now_ms)
ordered() { said m1 26379 SENTINEL failover mymaster | grep -q OK; }
wait_for 90 "Redis fails over by order" ordered
moved() { ! is_master m0; }
wait_for 90 "the master is elsewhere" moved
goes_on "Redis has failed over"
wait_for 60 "people are let in" are_let_in
wait_for 60 "the replicas follow it, and one leads" one_leads
settle "everybody hears what is ahead of them"

phase away
for m in $MANAGERS; do is_master $m && master=$m; done
there=$(region_of $master)
t0=$(now_ms)
for r in $REGIONS; do [ "$r" = "$there" ] || sea "$there $r" cut; done
new_master() { local m; for m in $MANAGERS; do [ $m != $master ] && is_master $m && return 0; done; return 1; }
wait_for 120 "$there is cut off: a new master elsewhere" new_master
goes_on "$there is cut off" $master
hold 20
check "and nobody leads in $there" eval "! leads $master"
calm_sea
phase back
t0=$(now_ms)
demoted() { ! is_master $master; }
wait_for 90 "the old master is a replica" demoted
goes_on "$there is back"
wait_for 90 "people are let in" are_let_in
wait_for 60 "all routers are ready" ready r0 r1 r2
settle "everybody hears what is ahead of them"
observe_end --rate 8 --slack-s 0.8 --apart-s 6 --stale killed --stale ordered --stale away --stale back \
    --stale settling --slowest away:20000 --slowest back:20000 --gap away:60 --gap back:60
