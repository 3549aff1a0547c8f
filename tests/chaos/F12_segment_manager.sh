#!/bin/bash
# F12: a segment node and the manager cannot reach one another; routers reach both. The node
# goes on serving the polls of those who wait there, is not taken for empty or lost, and
# afterwards has the same segments under the same epoch. Nobody is let in past those whom the
# manager cannot reach (skip_after is long here), joins go to a fresh tail. Meanwhile those on s0
# are shown what is ahead of them as it was; it does not fall for them.
. "$(dirname "$0")/lib.sh"

machines "m0 s0 s1 r0 r1"
# no merges: what is on s0 stays there, so that it can be found again
cluster_up --capacity 150 --release-per-s 12 --set merge=false --set queuemng.skip_after=60s \
    --set queuemng.heartbeat=500ms --set segment.heartbeat=500ms
observe --first 200
wait_for 60 "people are answered" answered poll 200 300
on_s0() { segments | awk '$4 == "s0.0" { print $1 }' | sort -n; }
epoch() { grep -o 'epoch=[0-9]* was' "$C/logs/s0.0.log" | tail -1; }
# one who waits on s0, far from the head: the node alone can answer for it
waits_on_s0() { # -> token, empty if nobody
    local ids
    ids=$(on_s0 | jq -s .)
    tail -n 3000 "$HISTORY" | jq -r --argjson ids "$ids" 'select(.op == "poll" and
        .state == "waiting" and (.segment as $s | $ids | index($s))) | "\(.position) \(.token)"' 2>/dev/null |
        sort -n | tail -1 | awk '{ print $2 }'
}
somebody() { [ -n "$(waits_on_s0)" ]; }
wait_for 60 "somebody waits on s0" somebody
had=$(segments | awk '$4 == "s0.0" && $3 > 0 { print $1 }') # an unused one may go
was=$(epoch)

phase cut
cut m0 s0
silent() { grep -q 'peer=s0.0 role=segment.*why="silent' "$C/logs/m0.0.log"; }
wait_for 30 "the manager misses s0" silent
hold 8
# Who waited there may have gone in just before the cut: whoever waits there now is asked for.
answered_on_s0() { # router's address
    local t
    t=$(waits_on_s0)
    [ -n "$t" ] && [ "$(poll "$t" "$1" | field token)" = "$t" ]
}
wait_for 10 "by r0 somebody on s0 is answered" answered_on_s0 "$R"
wait_for 10 "by r1, too" answered_on_s0 "$R2"
check_eq "the manager has taken nothing for lost" "$(metric m0 segq_manager_segments_lost_total)" 0
check "people join all the same" answered join 201 10

heal
wait_for 60 "s0 registers again" registered s0.0 2
settle "and hears what is ahead of it"

phase healed
wait_for 30 "people are answered" answered poll 200 300
stays() { local s; for s in $had; do on_s0 | grep -qx "$s" || return 1; done; }
check "segments of s0 are there under their ids" stays
check_eq "the epoch is the same" "$(epoch)" "$was"
hold 4
# Joins that are a moment apart may meet the old tail by one router and the fresh one by the
# other, until both have heard of it.
observe_end --rate 12 --apart-s 1 --stale cut --stale settling --slowest cut:8000 --p99 cut:3000 --gap cut:25 \
    --served cut:300 --served healed:200
