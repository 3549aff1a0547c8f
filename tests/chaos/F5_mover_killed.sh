#!/bin/bash
# F5: kill -9 of the giver or the taker amid merges and drains. Before the commit the move is
# undone, after it it is finished; each person is in exactly one segment afterwards.
. "$(dirname "$0")/lib.sh"
. "$chaos/procs.sh"

machines "m0 s0 s1 r0 r1"
cluster_up --capacity 30 --release-per-s 8 --set queuemng.skip_after=60s
observe --first 250 --per-s 15 --leave-share 0.3
wait_for 60 "people are answered" answered poll 200 300
started() { metric m0 segq_manager_moves_started_total; }
moving() { [ "$(started)" -gt "$1" ] 2>/dev/null; }
has_people() { segments | awk -v n="$1.0" '$4 == n && $3 > 0 { k++ } END { exit k < 2 }'; }
committed() { metric m0 segq_manager_moves_committed_total; }
committed_more() { [ "$(committed)" -gt "$1" ] 2>/dev/null; }

# Nobody dies: a drain is no cut, and positions agree all the time.
phase emptied
for s in s0 s1; do
    wait_for 60 "people wait in two segments of $s" has_people $s
    was=$(committed)
    admin POST /v1/admin/nodes/$s.0/drain >/dev/null
    wait_for 60 "$s is emptied" committed_more "$was"
    nobody_there() { ! has_people "$s"; }
    wait_for 60 "its people are elsewhere" nobody_there
    admin POST /v1/admin/nodes/$s.0/undrain >/dev/null
done

phase moving
for i in 1 2 3; do
    for s in s0 s1; do
        other=s$((1 - ${s#s}))
        victim=$([ $((i % 2)) = 1 ] && echo $s || echo $other) # who gives, who takes
        wait_for 60 "people wait in two segments of $s" has_people $s
        n=$(registrations "$victim.0") was=$(started)
        admin POST /v1/admin/nodes/$s.0/drain >/dev/null
        wait_for 60 "$s is emptied, $i: something moves" moving "$was"
        a_moment 100
        kill_now "$victim.0"
        wait_for 60 "$victim registers again" registered "$victim.0" $((n + 1))
        admin POST /v1/admin/nodes/$s.0/undrain >/dev/null
    done
done
was=$(committed)
admin POST /v1/admin/nodes/s0.0/drain >/dev/null
wait_for 60 "moves are finished all the same" committed_more "$was"
admin POST /v1/admin/nodes/s0.0/undrain >/dev/null
wait_for 60 "routers reach all segment nodes" ready r0 r1
settle "everybody hears what is ahead of them"

phase healed
wait_for 60 "people are answered" answered poll 200 300
wait_for 60 "people join" answered join 201 10
observe_end --rate 8 --apart-s 1 --stale moving --stale settling --slowest moving:8000 \
    --gap moving:30 --served moving:100 --served healed:300
