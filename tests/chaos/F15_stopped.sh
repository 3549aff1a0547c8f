#!/bin/bash
# F15: a process is stopped (SIGSTOP) for longer than a heartbeat, and than the time after which
# a silent user is gone. When it goes on nobody has been expired for that; a manager that slept
# finds another one leading, and its orders refused.
. "$(dirname "$0")/lib.sh"

IDLE=8
machines "d0 m0 m1 s0 s1 r0 r1"
cluster_up --capacity 100 --release-per-s 10 --set queuemng.skip_after=60s --set idle.game=${IDLE}s \
    --set queuemng.heartbeat=500ms --set router.heartbeat=500ms --set segment.heartbeat=500ms
observe --timeout-s 3 --leave-share 0
wait_for 60 "people are answered" answered poll 200 300

sleeps() { # process: longer than the idle time-out
    stop "$1"
    hold $((IDLE + 4))
    cont "$1"
}
phase segment
sleeps s0.0
wait_for 60 "s0 is back" ready r0 r1
wait_for 60 "at the manager, too" registered s0.0 2
settle "and hears what is ahead of it"

phase router
sleeps r0.0
wait_for 60 "r0 is back" ready r0

phase manager
role() { admin_of "$1" | jq -r .role; }
admin_of() { http -H "Authorization: Bearer $(cat "$C/secrets/admin.token")" "http://$(addr "$1"):7071/v1/admin/manager"; }
leads() { [ "$(role "$1")" = leader ]; }
standby() { [ "$(role "$1")" = standby ]; }
old=m0 new=m1
leads m1 && old=m1 new=m0
check "$old leads" leads $old
stop $old.0
wait_for 60 "$new leads" leads $new
hold $((IDLE + 4))
cont $old.0
wait_for 60 "$old stands by" standby $old
check "$new still leads" leads $new
settle "everybody hears what is ahead of them"

phase after
wait_for 60 "people are answered" answered poll 200 300
wait_for 60 "people join" answered join 201 20
hold 3
observe_end --rate 10 --idle-s $IDLE --apart-s 1 --stale segment --stale settling \
    --slowest segment:8000 --slowest manager:8000 \
    --gap segment:40 --gap router:25 --gap manager:25 --served segment:200 --served router:300 \
    --served manager:300 --served after:300
