#!/bin/bash
# F13: packets are lost in one direction only, or the other end is gone without a word. Whoever
# hears nothing for three heartbeats closes the link, at either end, and dials again; it does
# not wait for TCP, which would take a quarter of an hour.
. "$(dirname "$0")/lib.sh"

BEAT=500
SOON=6000 # three beats are 1500 ms; the rest is for machines that are slow
machines "m0 s0 s1 r0 r1"
cluster_up --capacity 100 --release-per-s 12 --set queuemng.skip_after=60s \
    --set queuemng.heartbeat=${BEAT}ms --set router.heartbeat=${BEAT}ms --set segment.heartbeat=${BEAT}ms
observe
wait_for 60 "people are answered" answered poll 200 300

silences() { # node peer: for how long it had heard nothing when it closed, a line each
    sed -n "s/.*rpc event=link_down peer=$2 .*why=\"silent for \([0-9]*\) ms\".*/\1/p" "$C/logs/$1.log"
}
count_silences() { silences "$1" "$2" | grep -c .; }
ups() { grep -c "rpc event=link_up peer=$2 " "$C/logs/$1.log"; }
more_silences() { [ "$(count_silences "$1" "$2")" -gt "$3" ]; }
more_ups() { [ "$(ups "$1" "$2")" -gt "$3" ]; }

# deaf HEARER SENDER: the hearer's machine gets nothing from the sender's any more
deaf() {
    local n u took
    n=$(count_silences "$1.0" "$2.0") u=$(ups "$1.0" "$2.0")
    settle "everybody knows what is ahead"
    phase "$2-$1"
    cut_oneway "$2" "$1"
    wait_for 40 "$1 hears nothing of $2 and closes the link" more_silences "$1.0" "$2.0" "$n"
    took=$(silences "$1.0" "$2.0" | tail -1)
    check "after $took ms: three heartbeats of $BEAT ms are meant" test "$took" -ge $((2 * BEAT)) -a "$took" -le $SOON
    wait_for 40 "people are answered" answered poll 200 100
    heal
    wait_for 60 "and they find one another again" more_ups "$1.0" "$2.0" "$u"
}
deaf r0 s0
deaf s0 r0
deaf m0 s0
deaf s0 m0
deaf m0 r0
deaf r0 m0
wait_for 60 "everybody reaches everybody" ready r0 r1

# The machine of s1 is gone amid everything: no FIN, no RST, as after a power cut.
phase gone
n=$(count_silences r0.0 s1.0) m=$(count_silences m0.0 s1.0)
for x in m0 r0 r1; do cut s1 $x; done
kill9 s1
kill9 s1.0
wait_for 40 "r0 notices" more_silences r0.0 s1.0 "$n"
wait_for 40 "so does the manager" more_silences m0.0 s1.0 "$m"
heal
boot s1
wait_for 60 "it is back" ready r0 r1

wait_for 60 "at the manager, too" registered s1.0 2
settle "everybody hears what is ahead of them"

phase healed
wait_for 60 "people are answered" answered poll 200 300
observe_end --rate 12 --apart-s 1 --stale s0-m0 --stale m0-s0 --stale gone --stale settling \
    --slowest s0-r0:8000 --slowest r0-s0:8000 --slowest gone:8000 \
    --gap s0-r0:25 --gap gone:60 --served healed:300
