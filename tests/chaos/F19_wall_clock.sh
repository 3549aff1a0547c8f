#!/bin/bash
# F19: the wall clock of the manager's, a segment node's, a router's machine jumps: a day ahead,
# a day back, an hour back; and those of all machines differ by minutes. Nobody is expired for
# it, nobody is let in early or twice, positions fall as ever, and every router accepts every pass
# for its life, also those of a manager that is started with a wrong clock. (shim.c: only CLOCK_REALTIME.)
. "$(dirname "$0")/lib.sh"
. "$chaos/procs.sh"

DAY=86400
machines "m0 s0 s1 r0 r1"
shim m0 s0 s1 r0
# After a restart the wall clock alone says how old a pass is: it lives for longer than clocks
# are wrong here.
TTL=7200
cluster_up --capacity 80 --release-per-s 10 --set pass_ttl=${TTL}s
observe --first 200 --present
wait_for 60 "people are answered" answered poll 200 300
same_processes() { [ "$(for m in m0 s0 s1 r0 r1; do pid_of $m.0; done)" = "$pids" ]; }
pids=$(for m in m0 s0 s1 r0 r1; do pid_of $m.0; done)
is_let_in() { jq -r --argjson t "$(tail -1 "$DIR/phases.jsonl" | jq .t)" \
    'select(.t0 >= $t and .state == "admitted") | .who' "$HISTORY" 2>/dev/null | sort -u | awk 'END { exit NR < 5 }'; }

jump() { # phase machine seconds...: one after the other
    local by
    for by in "${@:3}"; do
        phase "$1$by"
        shim_set "$2" clock $by
        wait_for 60 "$1 by $by s: people are answered" answered poll 200 100
        wait_for 60 "and let in" is_let_in
    done
}
jump manager m0 7 $DAY 0 -3600 -7 0
jump segment s0 7 $DAY 0 -3600 0
jump router r0 -7 $DAY 0 -$DAY 0
shim_set m0 clock 300
shim_set s0 clock -300
shim_set s1 clock 120

phase apart
wait_for 60 "clocks are minutes apart: people are answered" answered poll 200 300
wait_for 60 "people join" answered join 201 10
for s in s0 s1; do kill_now $s.0; done
wait_for 60 "both nodes are killed, and back" ready r0 r1
phase restarted
for m in m0 r1; do kill_now $m.0; done
wait_for 60 "the manager and a router are killed while clocks are apart, and back" ready r0 r1
wait_for 60 "and people are let in" is_let_in
pids=$(for m in m0 s0 s1 r0 r1; do pid_of $m.0; done)
settle "everybody hears what is ahead of them"

phase healed
for m in m0 s0 s1 r0; do shim_set $m clock 0; done
wait_for 60 "people are answered" answered poll 200 300
check "nothing died of it" same_processes
observe_end --rate 10 --no-stamps --pass-ttl-s $TTL --apart-s 1 --stale apart --stale restarted --stale settling \
    --accepted 500 --p99 manager$DAY:6000 --p99 segment$DAY:6000 --served apart:100 --served healed:300
