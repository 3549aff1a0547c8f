#!/bin/bash
# A Redis that comes back with an older state, while nothing is written to it: who asks for
# more of the lease finds that nobody has it, before any write could be refused. The leader's
# own copy is all that is left (the standby stands still), and it is exact: it must not be
# replaced by what is there. Nobody loses a place.
. "$(dirname "$0")/lib.sh"
. "$here/managers.sh"

N=300
up --set away=0 --managers 2 --routers 1 --seg-nodes 1 --capacity 100 --release-per-s 20 \
    --set pass_ttl=20m --set claim=15m --set idle.game=15m --set grace=77s
PW=$(redis_password)
wait_for 40 "one of them leads" somebody_leads
admin POST /v1/admin/queues/login/pause >/dev/null
all_join $N
find_leader
standby=$(pid_of "$SNAME")
kill -STOP "$standby"

older="redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[2], 'rev', '1')
for _, k in ipairs(redis.call('HKEYS', KEYS[3])) do
if k ~= 'meta' then redis.call('HDEL', KEYS[3], k) end end return 1"
pairs_are_back() { [ "$(rcli HLEN '{segq}:kv')" -gt 2 ]; }
wait_for 40 "all of them wait" waiting_is $N
for i in 1 2 3; do
    check_eq "an older state, $i" "$(rcli EVAL "$older" 3 '{segq}:lease' '{segq}:head' '{segq}:kv')" 1
    wait_for 60 "what is missing is put back" pairs_are_back
    wait_for 60 "with the definition as it was" grace_is 77s
    wait_for 60 "all of them wait" waiting_is $N
    check_eq "the first polls" "$(status_of "$R/v1/tickets/$(head -1 "$DIR/tokens")")" 200
    check_eq "and the last" "$(status_of "$R/v1/tickets/$(tail -1 "$DIR/tokens")")" 200
done
kill -CONT "$standby"
wait_for 60 "one leads" somebody_leads
admin POST /v1/admin/queues/login/resume >/dev/null
wait_for 90 "then all of them are let in" waiting_is 0
