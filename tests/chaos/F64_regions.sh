#!/bin/bash
# F64: one line, three regions with an ocean between them (80, 150 and 120 ms one way, jitter): polls
# are answered in each from what its router knows, joins cost a way there and back. Then a region is
# away for a while, an ocean lets nothing through one way, and a region is gone for ever: nobody loses
# a place, and its segments come back by its people's polls elsewhere.
# F64_wide.sh is the same with wider seas: EU_US, EU_AP, US_AP (ms), LOSS (share), AWAY (s), SLACK (s
# of the rate that come at once: a late tick, and one, and from a far head what is earned on the way there
# and back, jitter and all; test_mng_pop has the same bound).
. "$(dirname "$0")/lib.sh"

machines "m0@eu s0@eu r0@eu s1@us r1@us r2@ap"
calm_sea() {
    sea "eu us" "delay=${EU_US:=80} jitter=$((EU_US / 10)) loss=${LOSS:=0}"
    sea "eu ap" "delay=${EU_AP:=150} jitter=$((EU_AP / 10)) loss=$LOSS"
    sea "us ap" "delay=${US_AP:=120} jitter=$((US_AP / 10)) loss=$LOSS"
}
calm_sea
cluster_up --capacity 150 --release-per-s 12 --set poll_min=1s --set poll_max=1s --set idle.game=25s \
    --set queuemng.lost_after=12s --set queuemng.skip_after=60s
T=$(admin_token)
placed() { # region/zone of everybody, as operators see it
    [ "$(curl -sf -m 5 -H "Authorization: Bearer $T" "$A/v1/admin/cluster" |
        jq -r '[.nodes[], .routers[] | .region] | sort | join(" ")')" = "ap eu eu us us" ]
}
wait_for 20 "the manager knows where everybody is" placed

# Most people join in us for a moment: segments are opened there from then on.
for _ in $(seq 40); do http "http://$(addr r1):8080/v1/queues/login/tickets" -X POST >/dev/null; done
prefers() { grep -q "event=region_preferred region=us" "$C/logs/m0.0.log"; }
wait_for 20 "the manager prefers the region in which most join" prefers

observe --first 300 --per-s 14 --subject-share 0 --leave-share 0 --timeout-s 6
wait_for 60 "people are answered" answered poll 200 600

phase steady
wait_for 60 "and join" answered join 201 60

# Polls that a router answered so, since it started
by() { # router WHAT -> polls
    http "http://$(addr "$1"):7100/metrics" |
        awk -v n="segq_router_polls_by_total{by=\"$2\"}" '$1 == n { print $2 }'
}
known=$(by r2 replica) old=$(($(by r2 stale) + $(by r2 pace)))
check "over the ocean its router answers by itself: $known polls, and asks since it knows nothing new: $old" \
    test "$known" -gt "$old"
# Milliseconds of the middle one of OP at router INDEX, in this phase
middle() { # op router state
    jq -r --arg op "$1" --argjson r "$2" --arg st "$3" --argjson t "$(tail -1 "$DIR/phases.jsonl" | jq .t)" \
        'select(.op == $op and .router == $r and .state == $st and .t0 > $t) | (.t1 - .t0) * 1000' \
        "$HISTORY" 2>/dev/null | sort -n | awk '{ v[NR] = $1 } END { printf "%d\n", v[int((NR + 1) / 2)] }'
}
near=$(middle poll 1 waiting) far=$(middle poll 2 waiting) join=$(middle join 2 waiting) by_tail=$(middle join 1 waiting)
check "a poll of who waits takes $far ms far away, $near ms beside the line: no way over the ocean" test "$far" -lt "$US_AP"
check "a join takes a way there and back: $join ms of $((2 * US_AP))" test "$join" -ge $((2 * US_AP)) -a "$join" -lt $((2 * US_AP + 300))
check "and none where the tail is, since most join there: $by_tail ms" test "$by_tail" -lt $((2 * EU_US - 10))

phase away # the third region sees nobody, and its people go to other routers
sea "ap eu" cut
sea "ap us" cut
wait_for 60 "people are answered" answered poll 200 200
hold ${AWAY:=12}
calm_sea
wait_for 60 "it is back" ready r2
settle "everybody hears what is ahead of them"

phase oneway # what the third region says is heard in eu; it hears nothing from there
sea_oneway "eu ap" cut
wait_for 60 "people are answered" answered poll 200 200
hold 8
calm_sea
wait_for 60 "both ways are good again" ready r0 r1 r2
settle "everybody hears what is ahead of them"

# A region is gone for ever, with the journal of its node.
has_part() { segments | grep -q "s1.0$"; }
wait_for 60 "its node has a part of the line" has_part
# In the moment of the end routers differ by what moved in the way of a message: nothing shall.
order() { curl -sf -m 5 -o /dev/null -X POST -H "Authorization: Bearer $T" "$A/v1/admin/queues/login/$1"; }
check "releases pause for a moment" order pause
settle "everybody hears what is ahead of them"
phase gone
for p in s1 s1.0 r1 r1.0; do kill9 $p; done
sea "us eu" cut
sea "us ap" cut
check "and go on" order resume
given_up() { [ "$(metric m0 segq_manager_segments_lost_total)" -gt 0 ]; }
wait_for 60 "its segments are given up, and opened elsewhere" given_up
wait_for 60 "people are answered" answered poll 200 400
hold 5
: "${SLACK:=$(awk -v ms="$EU_US" 'BEGIN { print 0.3 + 2.2 * ms / 1000 }')}"
observe_end --rate 12 --slack-s "$SLACK" --apart-s 3 --stale away --stale oneway --stale settling --stale gone \
    --slowest away:15000 --slowest oneway:15000 --slowest gone:20000 --gap away:$((AWAY + 13)) --gap oneway:25 --gap gone:60
