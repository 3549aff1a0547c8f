#!/bin/bash
# Whatever dies or stands still at the very opening: nobody who comes after it draws among
# the early ones, and everybody was told the truth about that when he joined.
. "$(dirname "$0")/lib.sh"

up --set away=0 --routers 1 --seg-nodes 2 --release-per-s 0.0001 --set idle.game=30m --set idle.browser=30m \
    --set claim=30m --set pass_ttl=30m
ctl() { "$BIN/segqctl" --dir "$C" "$@"; }
state_is() { [ "$(http "$R/v1/queues/$1" | jq -r .state)" = "$2" ]; }
judged() { timeout 120 python3 "$here/late.py" judge "$R" "$1" "$opens" "$DIR/$1"; }
processes() { pid_of queuemng; pid_of segment.0; pid_of segment.1; [ "$1" != all ] || pid_of router.0; }
# reached "claim" MS: the moment is there, however far away a slow machine has put it. wait_for asks too seldom.
reached() {
    local left=$(($2 - $(now_ms)))
    [ "$left" -le 0 ] || pause "$((left / 1000)).$(printf %03d $((left % 1000)))"
    ok "$1"
}

# opening QUEUE: it opens in some seconds (5 on a free machine: those who come need to start, and
# have to come before it), and people come from now on
opening() {
    opens=$((($(date +%s) + 5 * $(slowness) / 10) * 1000))
    ctl queue add "$1" state=paused prequeue=60m opens_at="$(date -u -d @$((opens / 1000)) +%FT%TZ)" \
        >/dev/null || give_up "no queue $1"
    wait_for 5 "$1: people may come" state_is "$1" prequeue
    helper python3 "$here/late.py" join "$R" "$1" "$opens" "$DIR/$1"
    joins=$H
}
done_with() { # QUEUE
    wait_for 60 "$1: they have come" is_gone "$joins"
    check "$1: who draws came before the opening, and was told so" judged "$1"
}

opening all-killed
all=$(processes all)
reached "it opens in a moment" $((opens - 60))
# shellcheck disable=SC2086
kill -KILL $all
done_with all-killed

opening node-stopped
pids="$(pid_of segment.0) $(pid_of segment.1)"
reached "it opens in a moment" $((opens - 300))
# shellcheck disable=SC2086
kill -STOP $pids
reached "and has opened" $((opens + 1200))
# shellcheck disable=SC2086
kill -CONT $pids
done_with node-stopped

opening manager-killed
mng=$(pid_of queuemng)
reached "it opens in a moment" $((opens - 60))
kill -KILL "$mng"
done_with manager-killed

opening manager-stopped
mng=$(pid_of queuemng)
reached "it opens in a moment" $((opens - 300))
kill -STOP "$mng"
reached "and has opened" $((opens + 2500))
kill -CONT "$mng"
done_with manager-stopped
