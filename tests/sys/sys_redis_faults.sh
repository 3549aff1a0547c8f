#!/bin/bash
# Everything that a Redis can do to two managers, with a real one: away at the start,
# killed, standing still, hung in a script, loading, a replica, unable to write its disk,
# out of memory, of another password, without rights, with somebody else's keys, emptied,
# its connections cut; and something else in its place. Each time: people join and poll, the
# fault is counted by its kind, the log says what can be done, and when it is over releases
# go on by themselves: in order, in one stream, never faster than allowed.
. "$(dirname "$0")/lib.sh"
. "$here/managers.sh"

N=3000 RATE=10
up --set away=0 --managers 2 --routers 1 --seg-nodes 1 --capacity 5000 --release-per-s $RATE --set state=paused \
    --set pass_ttl=20m --set claim=15m --set idle.game=15m --set grace=77s
PW=$(redis_password)
wait_for 40 "one of them leads" somebody_leads
all_join $N # before anybody is let in: places are the order
admin POST /v1/admin/queues/login/resume >/dev/null

# ---- a fault, and its end --------------------------------------------------------------

serves() { # "when"
    check_eq "$1: people join" "$(status_of -X POST "$R/v1/queues/login/tickets")" 201
    check_eq "$1: and poll" "$(status_of "$R/v1/tickets/$(tail -1 "$DIR/tokens")")" 200
}
logs() { cat "$C/logs/queuemng.0.log" "$C/logs/queuemng2.0.log"; }
begin() { # KIND...: what is expected to be counted and logged from here on
    kinds=$*
    before=$(for k in $kinds; do redis_errors "$k"; done | awk '{ n += $1 } END { print n }')
}
counted() {
    [ "$(for k in $kinds; do redis_errors "$k"; done | awk '{ n += $1 } END { print n }')" -gt "$before" ]
}
told() { # a manager that was told lately says it again after a minute: the log has it anyway
    logs | grep -E "kind=(${kinds// /|}) " | grep -q 'do="..*"'
}
away() { # "when": it is noticed, nobody leads, people notice nothing
    wait_for 40 "$1: it is counted as ${kinds// /, or }" counted
    check "$1: the log says what to do" told
    wait_for 40 "$1: nobody leads" nobody_leads
    serves "$1"
}
well() { # "what is over": somebody leads, and releases go on
    local t0
    t0=$(now_ms)
    wait_for 60 "$1: one leads" somebody_leads
    still=0
    wait_for 60 "$1: releases go on" lets_in $RATE
    echo "     $1: $(($(now_ms) - t0)) ms until $RATE people were let in"
    wait_for 5 "$1: the definition is as it was" grace_is 77s
}

well "at the start"

# ---- away -------------------------------------------------------------------------------

# The managers are started anew while there is none.
begin connect gone
redis_kill
pids="$(pid_of queuemng) $(pid_of queuemng2)"
kill -KILL $pids
new_ones() { restarted queuemng "${pids% *}" && restarted queuemng2 "${pids#* }"; }
wait_for 40 "both managers are started again without Redis" new_ones
before=0 # they count from the start
unwell() { has_status 503 "http://127.0.0.1:$((PORT + 1))/healthz"; }
wait_for 40 "and say that they are not well" unwell
away "no Redis at the start"
check "and that it is Redis" bash -c "curl -s 'http://127.0.0.1:$((PORT + 1))/healthz' | grep -q Redis"
redis_start
well "Redis is there"

begin gone connect
redis_kill
away "Redis is killed"
redis_start
well "Redis is back"

begin gone
rcli CLIENT KILL TYPE normal >/dev/null
wait_for 40 "connections are cut: counted" counted
well "connections are cut"

# ---- slow ---------------------------------------------------------------------------------

begin timeout
kill -STOP "$(cat "$C/state/redis.pid")"
away "Redis stands still"
kill -CONT "$(cat "$C/state/redis.pid")"
well "Redis goes on"

begin busy timeout
rcli CONFIG SET busy-reply-threshold 100 >/dev/null
helper env REDISCLI_AUTH="$PW" redis-cli -p $((PORT + 6)) EVAL 'while true do end' 0
away "a script hangs"
rcli SCRIPT KILL >/dev/null
well "the script is ended"

begin loading
rcli EVAL 'for i = 1, 60000 do redis.call("SET", "other" .. i, i) end' 0 >/dev/null
redis_kill
redis_start --key-load-delay 1000 # a minute, if it were let
away "Redis loads"
redis_kill
redis_start
redis_loaded() { rcli INFO persistence | grep -q '^loading:0'; }
wait_for 60 "it has loaded" redis_loaded
well "Redis has loaded"
rcli EVAL 'for i = 1, 60000 do redis.call("DEL", "other" .. i) end' 0 >/dev/null

# ---- it answers, but ------------------------------------------------------------------------

begin readonly not_master
rcli REPLICAOF 127.0.0.1 1 >/dev/null
away "Redis is made a replica"
rcli REPLICAOF NO ONE >/dev/null
well "it is the master again"

begin misconf
mkdir "$C/state/redis/dump.rdb" # in the way of its snapshot
rcli CONFIG SET save '3600 1' >/dev/null
save_is() { rcli INFO persistence | tr -d '\r' | grep -q "^rdb_last_bgsave_status:$1"; }
rcli BGSAVE >/dev/null
wait_for 40 "Redis cannot write its disk" save_is err
away "the disk does not work"
rmdir "$C/state/redis/dump.rdb"
saved() { rcli BGSAVE >/dev/null; save_is ok; }
wait_for 40 "its disk works again" saved
rcli CONFIG SET save '' >/dev/null
well "the disk works"

begin oom
rcli CONFIG SET maxmemory 1 >/dev/null
away "out of memory"
rcli CONFIG SET maxmemory 0 >/dev/null
well "there is memory"

begin type
rcli RENAME '{segq}:kv' '{segq}:aside' >/dev/null
rcli SET '{segq}:kv' mine >/dev/null
away "somebody else's keys"
rcli RENAME '{segq}:aside' '{segq}:kv' >/dev/null
well "the keys are ours"

begin none
rcli DEL '{segq}:kv' >/dev/null
put_back() { [ "$(rcli EXISTS '{segq}:kv')" = 1 ]; }
wait_for 40 "what was evicted is put back" put_back
well "evicted"
rcli FLUSHALL >/dev/null
wait_for 40 "so is everything" put_back
well "emptied"

# ---- it does not know us ----------------------------------------------------------------------

begin auth
rcli ACL SETUSER default -eval >/dev/null
away "no right to run scripts"
rcli ACL SETUSER default +eval >/dev/null
well "the right is given"

begin auth
rcli CONFIG SET requirepass another >/dev/null
PW=another rcli CLIENT KILL TYPE normal >/dev/null
away "another password"
PW=another rcli CONFIG SET requirepass "$PW" >/dev/null
well "the password is right"

begin protocol
redis_kill
helper "$root/tests/sys/not_redis.py" $((PORT + 6))
away "something else has its port"
end_pid "$H"
redis_start
well "it is Redis again"

# ---- what people have seen ----------------------------------------------------------------------

check_eq "the password is in no log" "$(grep -lF "$PW" "$C"/logs/*.log)" ""
admin POST /v1/admin/queues/login/pause >/dev/null
paused() { [ "$(queue_field state)" = paused ]; }
wait_for 40 "the queue is paused" paused
nobody_lost "at the end"
released_at "$DIR/polls" >"$DIR/times"
n=$(wc -l <"$DIR/times")
places_in "$DIR"/j/* >"$DIR/then"
check "$n were let in" test "$n" -gt $((RATE * 15))
check_eq "in the order of their places" "$(released_in_order "$DIR/then" "$DIR/polls")" "$n 0"
check "nobody behind them was" test "$(released_by_place "$DIR/then" "$DIR/polls" | tail -1 | cut -d' ' -f2)" -le "$n"
most=$(fullest 5 <"$DIR/times")
check "one stream: $most in the fullest five seconds, at $RATE/s" test "$most" -le $((RATE * 6))
