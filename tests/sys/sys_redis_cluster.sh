#!/bin/bash
# A Redis cluster of two masters: the managers are told of the one that does not have their
# keys, and are sent to the other (MOVED); then the slot is moved while they lead (ASK, then
# MOVED): they follow, nothing is lost.
. "$(dirname "$0")/lib.sh"
. "$here/managers.sh"

choose_password
mapfile -t tls < <(redis_tls_keys queuemng)
P1=$((PORT + 7)) P2=$((PORT + 8))
redis_cluster_node one $P1 $((PORT + 9)) 5000
redis_cluster_node two $P2 $((PORT + 12)) 5000
at $P1 CLUSTER ADDSLOTSRANGE 0 8191 >/dev/null
at $P2 CLUSTER ADDSLOTSRANGE 8192 16383 >/dev/null
at $P1 CLUSTER MEET 127.0.0.1 $P2 $((PORT + 12)) >/dev/null
wait_for 60 "a Redis cluster of two" redis_cluster_is_whole $P1 $P2
slot=$(at $P1 CLUSTER KEYSLOT '{segq}:lease')
if [ "$slot" -le 8191 ]; then has=$P1 other=$P2; else has=$P2 other=$P1; fi

up --set away=0 --managers 2 --routers 1 --seg-nodes 1 --capacity 2000 --release-per-s 10 \
    --set "queuemng.redis=127.0.0.1:$other" --set idle.game=15m --set claim=15m --set pass_ttl=20m --set grace=77s \
    "${tls[@]}"
wait_for 60 "sent to the node that has their keys, one leads" redis_is "$has"
check "the log says that it was sent" grep -q 'kind=moved' "$C"/logs/queuemng*.log
check "and it is counted" test "$(redis_errors moved)" -gt 0
all_join 400
check_eq "a definition is changed" "$(admin PATCH /v1/admin/queues/login '{"grace": "88s"}' | jq -r .grace)" 88s

# ---- the slot moves ------------------------------------------------------------------------

from=$(at "$has" CLUSTER MYID) to=$(at "$other" CLUSTER MYID)
asked() { [ "$(redis_errors ask)" -gt 0 ]; }
check_eq "the slot is to come" "$(at "$other" CLUSTER SETSLOT "$slot" IMPORTING "$from")" OK
check_eq "and to go" "$(at "$has" CLUSTER SETSLOT "$slot" MIGRATING "$to")" OK
# the lease alone may have run out meanwhile: MIGRATE takes what there is
check_eq "its keys go" "$(at "$has" MIGRATE 127.0.0.1 "$other" '' 0 5000 AUTH "$PW" \
    KEYS '{segq}:lease' '{segq}:head' '{segq}:kv')" OK
wait_for 20 "half moved, the managers hear ASK" asked
check_eq "people join meanwhile" "$(status_of -X POST "$R/v1/queues/login/tickets")" 201
check_eq "the slot is the other's" "$(at "$other" CLUSTER SETSLOT "$slot" NODE "$to")" OK
check_eq "and no longer here" "$(at "$has" CLUSTER SETSLOT "$slot" NODE "$to")" OK
wait_for 60 "one leads there" redis_is "$other"
releases_go_on "the slot has moved"
wait_for 5 "the definition is as it was" grace_is 88s
nobody_lost "at the end"
