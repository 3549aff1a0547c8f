#!/bin/bash
# kill -9 of a router, a segment node, the queuemng: each is started again by its
# supervisor. kill -9 of the supervisors: their children go on, new ones adopt them.
. "$(dirname "$0")/lib.sh"

up --routers 2 --seg-nodes 2 --release-per-s 50 --set idle.game=15m

t=$(join_queue | token_in)
old=$(pid_of router.0)
kill -KILL "$old"
check "its token is good on the other router at once" has_status 200 "$R2/v1/tickets/$t"
wait_for 10 "router.0 is started again" restarted router.0 "$old"
wait_for 10 "and serves" has_status 200 "$R/v1/tickets/$t"

old=$(pid_of queuemng)
t=$(join_queue | token_in)
kill -KILL "$old"
check_eq "without queuemng people still join" "$(status_of -X POST "$R/v1/queues/login/tickets")" 201
t0=$(now_ms)
answers() { [ "$(admin GET /v1/admin/manager 2>/dev/null | field role)" = leader ]; }
wait_for 30 "queuemng leads again" answers
in_time "without Redis, soon after its death" $(($(now_ms) - t0)) 5000
wait_for 10 "queuemng is started again" restarted queuemng "$old"
wait_for 15 "and releases go on" is_admitted "$t"

admin POST /v1/admin/queues/login/pause >/dev/null
t=$(join_queue | token_in)
waits() { [ "$(poll "$t" | field state)" = waiting ]; }
wait_for 5 "somebody waits" waits
for n in 0 1; do
    old=$(pid_of "segment.$n")
    kill -KILL "$old"
    wait_for 10 "segment.$n is started again" restarted "segment.$n" "$old"
done
wait_for 10 "and who waited still waits" waits
admin POST /v1/admin/queues/login/resume >/dev/null
wait_for 15 "and is let in" is_admitted "$t"
joins() { [ "$(status_of -X POST "$R/v1/queues/login/tickets")" = 201 ]; }
wait_for 20 "and people join" joins

# The supervisors die; nobody notices.
"$root/deploy/local.sh" status --dir "$C" --bin "$BIN" >/dev/null
pids() { jq -c '.pids | del(.mng_cluster, .rt_cluster, .seg_cluster)' "$C/cluster.json"; }
before=$(pids)
for b in mng_cluster rt_cluster seg_cluster; do
    old=$(jq ".pids.$b" "$C/cluster.json")
    kill -KILL "$old"
    wait_for 10 "the supervisor $b is killed" is_gone "$old"
done
check_eq "without supervisors people join" "$(status_of -X POST "$R/v1/queues/login/tickets")" 201
for b in mng_cluster rt_cluster seg_cluster; do
    setsid "$BIN/$b" -c "$C/config/$b.yaml" </dev/null >>"$C/logs/$b.log" 2>&1 &
    helpers+=($!)
done
adopted() { [ "$(grep -h 'event=adopted' "$C"/logs/*_cluster.log | wc -l)" -ge 5 ]; }
wait_for 10 "new supervisors adopt all five children" adopted
the_same() { # as the new supervisors write it down
    "$root/deploy/local.sh" status --dir "$C" --bin "$BIN" >/dev/null
    [ "$(pids)" = "$before" ]
}
wait_for 5 "the children are the same processes" the_same
named() { local b; for b in mng_cluster rt_cluster seg_cluster; do runs "$(pid_of $b)" || return 1; done; }
wait_for 5 "the supervisors themselves stand in their status files, though nothing happens" named
old=$(pid_of router.1)
kill -KILL "$old"
wait_for 10 "an adopted child is watched: started again" restarted router.1 "$old"
"$BIN/rt_cluster" -c "$C/config/rt_cluster.yaml" 2>"$DIR/second"
check_eq "a second supervisor of the same name is refused" $? 1
check "and says why" grep -q 'another supervisor' "$DIR/second"
