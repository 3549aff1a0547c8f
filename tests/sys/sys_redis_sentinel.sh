#!/bin/bash
# A real sentinel: the master is killed, its replica is made master, and both managers go
# there; the old one comes back as a replica; then the sentinel is told to change them over
# again. What was kept is kept, releases go on each time, nobody loses a place.
. "$(dirname "$0")/lib.sh"
. "$here/managers.sh"

choose_password
MASTER=$((PORT + 6)) SENTINEL=$((PORT + 7)) REPLICA=$((PORT + 8))
redis_node replica $REPLICA "replicaof 127.0.0.1 $MASTER
appendonly yes"
redis_sentinel $SENTINEL $MASTER 3000
sentinel=$H
up --set away=0 --managers 2 --routers 1 --seg-nodes 1 --capacity 2000 --release-per-s 10 \
    --set queuemng.redis= --set "queuemng.redis_sentinels=127.0.0.1:$SENTINEL" \
    --set idle.game=15m --set claim=15m --set pass_ttl=20m --set grace=77s
wait_for 60 "by the sentinel's word one leads, at the master" redis_is $MASTER
all_join 600
check_eq "a definition is changed" "$(admin PATCH /v1/admin/queues/login '{"grace": "88s"}' | jq -r .grace)" 88s
releases_go_on "with a sentinel"
replicated() { follows $REPLICA && at $REPLICA HGETALL '{segq}:kv' | grep -q 88; }
wait_for 30 "the replica has it" replicated
wait_for 40 "the sentinel knows the replica" sentinel_knows $REPLICA

# ---- the master is killed ----------------------------------------------------------------

redis_kill
t0=$(now_ms)
check_eq "without a master people join" "$(status_of -X POST "$R/v1/queues/login/tickets")" 201
wait_for 120 "the replica is master, and one leads there" redis_is $REPLICA
echo "     $(($(now_ms) - t0)) ms, of which the sentinel waits 3000"
releases_go_on "the master was killed"
wait_for 5 "the definition is as it was" grace_is 88s

# ---- and comes back ------------------------------------------------------------------------

redis_start --masterauth "$PW"
wait_for 90 "the old master comes back as a replica" follows $MASTER
releases_go_on "the old master is a replica"
wait_for 20 "the leader is where it was" redis_is $REPLICA

# ---- changed over by order ------------------------------------------------------------------

ordered() { sentinel failover mymaster | grep -q OK; } # not while it looks for replicas
wait_for 60 "the sentinel is told to change them over" ordered
wait_for 120 "one leads at the first one again" redis_is $MASTER
releases_go_on "changed over"
end_pid $sentinel
releases_go_on "the sentinel is away, which matters to nobody"
wait_for 5 "the definition is as it was" grace_is 88s
nobody_lost "at the end"
