#!/bin/bash
# By mistake there are two managers without a common store: the second one has its own
# folder, and the nodes and routers are told of both. Nodes stay with the one whose people
# they hold, however often the second is started again (its epoch goes above the first's
# meanwhile) and also after a restart of theirs; routers keep its map, also one that meets
# the second alone; nobody loses a place, there is one release stream, and everybody
# concerned says what is wrong.
. "$(dirname "$0")/lib.sh"

N=1000 RATE=5 # so that somebody waits to the end, also on a slow machine
both=127.0.0.1:$PORT,127.0.0.1:$((PORT + 2))
up --set away=0 --routers 1 --seg-nodes 2 --capacity 200 --release-per-s $RATE --set state=paused --set idle.game=15m \
    --set claim=10m --set pass_ttl=20m --set "router.managers=$both" --set "segment.managers=$both"
all_join $N # before anybody is let in: places are the order
admin POST /v1/admin/queues/login/resume >/dev/null

sed "s|state/queuemng|state/second|" "$C/config/queuemng.yaml" >"$C/config/second.yaml"
mkdir -p "$C/state/second"
second() {
    helper "$BIN/queuemng" -c "$C/config/second.yaml" --set node=second \
        --set "listen=127.0.0.1:$((PORT + 2))" --set "admin=127.0.0.1:$((PORT + 3))"
    second=$H
}
foreign() { [ "$(metric 3 segq_manager_nodes_foreign)" = "$1" ]; }
all_is_well() { # "when"
    nobody_lost "$1"
    check_eq "$1: people join" "$(status_of -X POST "$R/v1/queues/login/tickets")" 201
}
still=0
goes_on() { # the first manager lets people in
    local w
    w=$(queue_field waiting)
    [ "${w:-null}" != null ] || return 1
    [ "$w" -le $still ] || still=$w
    [ "$w" -le $((still - 3)) ]
}

# ---- again and again -------------------------------------------------------------------

for i in 1 2 3; do
    second
    wait_for 30 "second manager, start $i: both nodes are not its own" foreign 2
    end_pid "$second"
done
second
wait_for 30 "the fourth time, too" foreign 2
check "its epoch is above the first one's" test "$(metric 3 segq_manager_epoch)" -gt "$(metric 1 segq_manager_epoch)"
all_is_well "two managers"
wait_for 30 "the first one goes on letting people in" goes_on
check "the second says that it is not well" has_status 503 "http://127.0.0.1:$((PORT + 3))/healthz"
check "and why" bash -c "curl -s 'http://127.0.0.1:$((PORT + 3))/healthz' | grep -q 'another store'"
check "its log says what to do" grep -q 'event=foreign_node.*do="' "$DIR/helper.log"
check "it let nobody in" test "$(metric 3 segq_manager_released_total)" = 0
check "logs stay small ($(cat "$C"/logs/*.log "$DIR/helper.log" | wc -l) lines)" \
    test "$(cat "$C"/logs/*.log "$DIR/helper.log" | wc -l)" -lt 2000

# ---- nodes and routers start again --------------------------------------------------------

kill -KILL "$(pid_of segment.0)" "$(pid_of segment.1)" "$(pid_of router.0)"
serves() { [ "$(status_of "$R/v1/tickets/$(tail -1 "$DIR/tokens")")" = 200 ]; }
wait_for 60 "all killed: the last one is served again" serves
wait_for 60 "they know whose they are" foreign 2
all_is_well "after a restart"
still=0
wait_for 60 "people are let in" goes_on

# ---- the first one is away ------------------------------------------------------------------

kill -STOP "$(pid_of mng_cluster)"
kill -KILL "$(pid_of queuemng)"
kill -KILL "$(pid_of router.0)" # a new one meets the second manager alone
up_again() { has_status 200 "http://127.0.0.1:$((PORT + 30))/metrics"; }
wait_for 60 "a new router, and the second manager alone" up_again
not_gone() { ! poll "$(tail -1 "$DIR/tokens")" | grep -q '"gone"\|ticket_unknown'; }
check "nobody is told that his place is gone" not_gone
kill -CONT "$(pid_of mng_cluster)"
wait_for 60 "the first one is back: the last one is served" serves
all_is_well "at the end"
still=0
wait_for 60 "and people are let in" goes_on
poll_many "$DIR/tokens" "$DIR/polls"
released_at "$DIR/polls" >"$DIR/times"
places_in "$DIR"/j/* >"$DIR/then"
check_eq "in order: how many, and how many not" "$(released_in_order "$DIR/then" "$DIR/polls")" "$(wc -l <"$DIR/times") 0"
most=$(fullest 1 <"$DIR/times")
check "one stream: $most in the fullest second, at $RATE/s" test "$most" -le $((RATE + 3))
