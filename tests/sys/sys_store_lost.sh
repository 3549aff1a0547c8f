#!/bin/bash
# The only manager loses its folder, with people waiting (F7): segment nodes do not obey the
# empty one that comes back, so that nobody is forgotten; people poll and join on, nobody is
# let in, and everybody concerned says why. With a copy of the folder all goes on.
. "$(dirname "$0")/lib.sh"

N=200
up --set away=0 --release-per-s 100 --set state=paused --set idle.game=15m
all_join $N
wait_for 10 "$N wait" waiting_is $N
folder=$C/state/queuemng
boss=$(pid_of mng_cluster)
restart_with() { # command: while queuemng is dead
    kill -STOP "$boss" # so that it is not started again too early
    kill -KILL "$1"
    wait_for 5 "it is gone" is_gone "$1"
    "${@:2}"
    kill -CONT "$boss"
}
lose() { cp -a "$folder" "$DIR/copy" && rm -r "${folder:?}"/*; }
put_back() { rm -r "${folder:?}"/* && cp -a "$DIR/copy"/. "$folder"; }
places() {
    poll_many "$DIR/tokens" "$DIR/polls"
    jq -r .state "$DIR/polls" | sort | uniq -c | tr -s ' \n' ' '
}
refused() { grep -q 'event=foreign_node' "$C/logs/queuemng.0.log"; }
unwell() { [ "$(status_of "$A/healthz")" = 503 ]; }

old=$(pid_of queuemng)
restart_with "$old" lose
wait_for 10 "it comes back with nothing, and is told of people that are not its own" refused
wait_for 10 "it says that it is not well" unwell
check_eq "all $N have their places" "$(places)" " $N waiting "
check_eq "people join" "$(status_of -X POST "$R/v1/queues/login/tickets")" 201
admin POST /v1/admin/queues/login/resume >/dev/null
check_eq "it lets nobody in" "$(metric 1 segq_manager_released_total)" 0
check_eq "all $N have their places, still" "$(places)" " $N waiting "

restart_with "$(pid_of queuemng)" put_back
well() { [ "$(status_of "$A/healthz")" = 200 ]; }
wait_for 10 "a copy of its folder is put back: it is well" well
wait_for 10 "all wait, and who joined meanwhile" waiting_is $((N + 1))
check_eq "everybody has the place" "$(places)" " $N waiting "
admin POST /v1/admin/queues/login/resume >/dev/null
let_in() { [ "$(places)" = " $N admitted " ]; }
wait_for 20 "and is let in" let_in
