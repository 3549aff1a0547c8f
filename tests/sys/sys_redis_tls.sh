#!/bin/bash
# Redis with TLS and certificates on both sides: two managers by a sentinel, task nodes by a list of
# servers. The master is killed, and its replica is made master; the leader is killed; certificates
# are changed, bad ones are refused by -t, by HUP and by the other side; each time somebody leads
# again, and nobody loses a place. What the loopback carries, captured in a network namespace of its
# own, has no password of Redis and no name of who joins.
if [ -z "${SEGQ_TLS_INSIDE:-}" ]; then
    [ "$(id -u)" = 0 ] && how=-n || how=-rn
    SEGQ_TLS_INSIDE=1 exec unshare $how bash "$0" "$@"
fi
export REDIS_TLS=1
. "$(dirname "$0")/lib.sh"
. "$here/managers.sh"
ip link set lo up || give_up "a network of our own"

choose_password
MASTER=$((PORT + 7)) REPLICA=$((PORT + 8)) SENTINEL=$((PORT + 9))
redis_node one $MASTER 'appendonly yes'
master=$H
redis_node two $REPLICA "replicaof 127.0.0.1 $MASTER
appendonly yes"
wait_for 30 "the replica follows" follows $REPLICA
authority next
cat "$CERTS/next.crt" "$CERTS/redis_ca.crt" >"$CERTS/both.crt"
redis_ca=both
redis_sentinel $SENTINEL $MASTER 2000

# ---- what others could read
captured() { grep -aqF -- "$1" "$DIR/wire"; }
helper python3 "$here/capture.py" "$DIR/wire" $((PORT + 6)) $MASTER $REPLICA $SENTINEL
began() { [ -e "$DIR/wire" ]; }
wait_for 10 "packets from and to Redis are captured" began
plain_ping() { REDISCLI_AUTH=$PW redis-cli -p $((PORT + 6)) PING; }

mapfile -t tls < <(redis_tls_keys queuemng; redis_tls_keys task)
up --set away=0 --managers 2 --routers 1 --seg-nodes 1 --task-nodes 1 --task-store redis --capacity 2000 \
    --release-per-s 10 --set queuemng.redis= --set "queuemng.redis_sentinels=127.0.0.1:$SENTINEL" \
    --set "task.redis=127.0.0.1:$MASTER,127.0.0.1:$REPLICA" --set idle.game=15m --set claim=15m \
    --set pass_ttl=20m --set grace=77s "${tls[@]}"
wait_for 60 "by the sentinel's word one leads, at the master" redis_is $MASTER
all_join 400
check_eq "a definition is changed" "$(admin PATCH /v1/admin/queues/login '{"grace": "88s"}' | jq -r .grace)" 88s
releases_go_on "with TLS"
put_one() { status_of --max-time 8 -H "Authorization: Bearer $(task_token)" -d '{"payload":"anna-who-waits"}' "$R/v1/queues/side/tasks"; }
puts() { [ "$(put_one)" = 201 ]; }
wait_for 20 "a task is taken in" puts
has_task() { [ "$(at "$1" --scan --pattern 'segq:*:log' | wc -l)" -gt 0 ]; }
check "which is in Redis" has_task $MASTER
seen() { [ "$(stat -c %s "$DIR/wire")" -gt 10000 ]; }
check "there was something to see" seen
check "no password could be read" bash -c "! grep -aqF '$PW' '$DIR/wire'"
check "nor a task, nor the store" bash -c "! grep -aqE 'anna-who-waits|\{segq\}:kv' '$DIR/wire'"
check_eq "without TLS" "$(plain_ping)" PONG
wait_for 10 "it could" captured "$PW"

# ---- faults are what they are without it
redis_killed() { kill -KILL "$1" && wait_for 10 "redis-server is killed" is_gone "$1"; }
redis_killed "$master"
wait_for 120 "the master is killed: one leads at the replica" redis_is $REPLICA
releases_go_on "the master was killed"
wait_for 30 "a task is taken in" puts
helper redis-server "$DIR/one/conf" --replicaof 127.0.0.1 $REPLICA
wait_for 60 "the old master is a replica" follows $MASTER
find_leader
before=$(epoch) p=$(pid_of $LNAME)
kill -KILL "$p"
next_leads() { find_leader && [ "$(epoch)" -gt "$before" ]; }
wait_for 60 "the leader is killed: one leads under a higher epoch" next_leads
wait_for 20 "it is started again" restarted "$([ "$p" = "$(pid_of queuemng)" ] && echo queuemng2 || echo queuemng)" "$p"
releases_go_on "the leader was killed"
wait_for 5 "the definition is as it was" grace_is 88s

# ---- files
cp "$CERTS/segq.crt" "$CERTS/segq.good"
says() { grep -q "$1" "$C"/logs/queuemng.0.log; }
tries() { # "claim" PATTERN PROGRAM: with the files as they are
    mapfile -t sets < <(redis_tls_keys "$3" | sed "s/^$3\.//")
    "$BIN/$3" -t -c "$C/config/$3.yaml" "${sets[@]}" >"$DIR/t" 2>&1
    check_eq "-t of $3 refuses $1" "$?" 2
    check "  and says so" grep -q "$2" "$DIR/t"
}
chmod 644 "$CERTS/segq.key"
tries "a key that others may read" 'redis_tls_key: .*segq.key' queuemng
tries "a key that others may read" 'redis_tls_key: .*segq.key' task
kill -HUP "$(pid_of queuemng)"
wait_for 10 "HUP refuses it, too" says 'event=reload_refused.*redis_tls_key'
chmod 600 "$CERTS/segq.key"
cp "$CERTS/redis.crt" "$CERTS/segq.crt"
tries "a certificate of another key" 'redis_tls_key: .*not the private key' queuemng
cp "$CERTS/segq.good" "$CERTS/segq.crt"
releases_go_on "bad files were refused"

# ---- another authority, first at Redis. The sentinel keeps its files, so it shall not look.
check_eq "the sentinel is told to be patient" "$(sentinel set mymaster down-after-milliseconds 900000)" OK
redis_takes() { # CERT CA, at all of them
    local p
    for p in $MASTER $REPLICA; do
        at "$p" CONFIG SET tls-cert-file "$CERTS/$1.crt" tls-key-file "$CERTS/$1.key" tls-ca-cert-file "$CERTS/$2.crt" |
            grep -qx OK || return 1
        at "$p" CLIENT KILL TYPE normal SKIPME yes >/dev/null
    done
}
issue wrong_name next 2 DNS:elsewhere
issue late next 0 IP:127.0.0.1
issue redis2 next 2 IP:127.0.0.1
issue operator next 2 DNS:operator
hup_all() { for n in queuemng queuemng2 task.0; do kill -HUP "$(pid_of $n)"; done; }
told() { cat "$C"/logs/queuemng*.log | grep -q "kind=tls .*$1"; }
away() { # "what" PATTERN
    wait_for 40 "$1: the log says it" told "$2"
    wait_for 40 "$1: nobody leads" nobody_leads
    check_eq "$1: people join" "$(status_of -X POST "$R/v1/queues/login/tickets")" 201
}
redis_cli=(redis-cli --tls --insecure --cert "$CERTS/segq.good" --key "$CERTS/segq.key")
check "Redis gets a certificate of another authority" redis_takes redis2 both
away "another authority" 'self-signed'
redis_cli=(redis-cli --tls --insecure --cert "$CERTS/operator.crt" --key "$CERTS/operator.key")
check "it is counted" test "$(redis_errors tls)" -gt 0
cp "$CERTS/redis_ca.crt" "$CERTS/old.crt"
cp "$CERTS/both.crt" "$CERTS/redis_ca.crt"
hup_all
releases_go_on "both authorities are read at HUP"
wait_for 30 "a task is taken in" puts
check "Redis gets one of another name" redis_takes wrong_name both
away "another name" 'not for 127.0.0.1'
check "Redis has its own again: the next fault is a new one, and said at once" redis_takes redis2 both
releases_go_on "its name is right"
check "Redis gets one that has lapsed" redis_takes late both
away "a certificate that has lapsed" 'certificate has expired'
check "Redis has a good one again" redis_takes redis2 both
releases_go_on "a good one again"
check "Redis does not take ours any more" redis_takes redis2 next
away "our certificate" 'alert'
issue segq next 2 DNS:segq
hup_all
releases_go_on "ours is of the new authority, read at HUP"
wait_for 30 "a task is taken in" puts
check_eq "the password is in no log" "$(grep -lF "$PW" "$C"/logs/*.log)" ""
check "and in no packet but that one" test "$(grep -aoF "$PW" "$DIR/wire" | wc -l)" -eq 1
nobody_lost "at the end"
