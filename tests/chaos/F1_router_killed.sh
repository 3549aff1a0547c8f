#!/bin/bash
# F1: kill -9 of routers, one after the other, amid joins and polls. Whoever was connected asks
# another one and is answered there at once, with the same token; a join that is asked again
# because its answer was lost has one effect, for those who name themselves.
. "$(dirname "$0")/lib.sh"
. "$chaos/procs.sh"

machines "m0 s0 s1 r0 r1"
cluster_up --capacity 100 --release-per-s 12
observe --timeout-s 4 --subject-share 0.7
wait_for 60 "people are answered" answered poll 200 300
t=$(join_queue "$R" | token_in)

phase killed
for r in r0 r1 r0 r1 r0 r1; do
    other=r$((1 - ${r#r}))
    a_moment 500
    old=$(pid_of $r.0)
    kill -KILL "$old"
    check_eq "$r is killed: its token is good at $other at once" \
        "$(poll "$t" "$(router_url $other)" | field token)" "$t"
    wait_for 40 "$r is started again" another $r.0 "$old"
    wait_for 60 "and serves" ready $r
done

phase healed
wait_for 60 "people are answered" answered poll 200 300
wait_for 60 "people join" answered join 201 10
observe_end --rate 12 --slowest killed:8000 --gap killed:25 --served killed:100 --served healed:300
