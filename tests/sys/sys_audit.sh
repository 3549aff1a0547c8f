#!/bin/bash
# The audit trail and `segqctl why`: real people in every way in and out; each event is one line,
# the lines are as many as the metrics say; across a merge, a full disk, midnight, kill -9.
. "$(dirname "$0")/lib.sh"

shim=$(dirname "$BIN")/chaos/shim.so
mkdir -p "$DIR/shim"
trail=$DIR/trail
was=${LD_PRELOAD:-} shimmed=
if [ -f "$shim" ] && [[ $BIN != *asan* ]]; then # a sanitizer wants to be the first library
    export SEGQ_SHIM=$DIR/shim LD_PRELOAD=$shim
    shimmed=yes
fi
up --set away=0 --capacity 20 --seg-nodes 2 --release-per-s 100 --set state=paused --set claim=10m --set grace=10m \
    --set pass_ttl=1h --set idle.browser=10m --set idle.game=10m --set idle.mobile=2s \
    --set poll_min=500ms --set poll_max=1s \
    --set segment.audit_dir="$trail" --set segment.audit_subject=plain --set segment.audit_keep_days=9
unset LD_PRELOAD SEGQ_SHIM
[ -z "$was" ] || export LD_PRELOAD=$was

lines() { cat "$trail"/*/*.jsonl 2>/dev/null; }
events() { lines | jq -r --arg e "$1" 'select(.event == $e) | .ticket'; }  # event -> tickets
n_events() { events "$1" | wc -l; }
story() { lines | jq -r --arg t "$1" 'select(.ticket == $t) | .event' | tr '\n' ' '; }
why() { "$BIN/segqctl" --dir "$C" --json why "$1"; }
state_of() { why "$1" | jq -r .state; }
told() { why "$1" | jq -r '.events[].event' | tr '\n' ' '; }
is() { [ "$("${@:2}")" = "$1" ]; } # value command...
has_told() { [[ " $(told "$1")" == *" $2 "* ]]; }
id_of() { why "$1" | jq -r .ticket; }
person() { # name [client]
    join_queue "$R" login "{\"client\":\"${2:-browser}\",\"subject\":\"$1\"}" | token_in
}

# ---- who waits ----
ann=$(person ann) bob=$(person bob) cy=$(person cy) dan=$(person dan) eve=$(person eve mobile)
check_eq "ann waits" "$(state_of "$ann")" waiting
check_eq "  behind nobody" "$(why "$ann" | jq -r '.position, .queue, .lane' | tr '\n' ' ')" "1 login default "
check_eq "  by her id, too" "$(why "$(id_of "$ann")" | jq -r .state)" waiting
check_eq "  bob is behind one" "$(why "$bob" | jq -r .because)" "it waits; 1 before it in its lane"
wait_for 5 "  her join is in the trail" is "joined " told "$ann"
check_eq "  with her name" "$(lines | jq -r 'select(.event == "joined") | .subject' | head -n 1)" ann
"$BIN/segqctl" --dir "$C" why "$ann" >"$DIR/out" 2>&1
check "  as text" grep -qE '^state +waiting$' "$DIR/out"
check "  with her line" grep -qE '^  20[0-9-]+T[0-9:.]+Z  joined .*client=browser' "$DIR/out"
forged=${ann%?????}AAAAA
check "a forged token is nobody's" grep -q 'ticket_unknown' <("$BIN/segqctl" --dir "$C" --json why "$forged" 2>&1)
check "so is nonsense" grep -q 'ticket_unknown' <("$BIN/segqctl" --dir "$C" --json why '17-5x' 2>&1)
annies=$(id_of "$ann")
check_eq "a number that nobody has got yet" "$(why "${annies%-*}-99999" | jq -r .because)" \
    "its number is not known: it was never given, or lost with its node"
check_eq "an id that is nobody's" "$(why 999999-1 | jq -r .state)" unknown
check_eq "without the admin token: 401" "$(status_of "$A/v1/admin/tickets/$ann")" 401

# ---- who goes, who is silent ----
http -X DELETE "$R/v1/tickets/$dan" >/dev/null
check_eq "dan leaves" "$(why "$dan" | jq -r '.state, .reason' | tr '\n' ' ')" "gone left "
wait_for 5 "  so says the trail" is "joined left " told "$dan"
wait_for 15 "eve is silent, and expires" is gone state_of "$eve"
wait_for 5 "  so says the trail" is "joined expired " told "$eve"

# ---- who gets in, who does not come ----
let_in() { admin POST "/v1/admin/queues/login/release?n=$1" >/dev/null; }
let_in 1
inside() { [ "$(poll "$1" | field state)" = admitted ]; }
wait_for 10 "ann is let in" inside "$ann"
wait_for 5 "  and her story says so" is "joined released admitted " told "$ann"
check_eq "  the trail names the tick" "$(why "$ann" | jq -r '.events[1] | (.tick > 0)')" true
check_eq "  and her pass" "$(why "$ann" | jq -r '.events[2].ticket')" "$(id_of "$ann")"
admin PATCH /v1/admin/queues/login '{"claim":"1s","grace":"1s"}' >/dev/null
let_in 2
wait_for 30 "bob does not come" has_told "$bob" no_show
poll "$bob" >/dev/null
wait_for 15 "cy does not come at all" is "joined released no_show lapsed " told "$cy"
check_eq "  gone for that" "$(why "$cy" | jq -r .reason)" no_show
http -X DELETE "$R/v1/tickets/$ann" >/dev/null
wait_for 5 "ann ends her session" is "joined released admitted left " told "$ann"

# ---- a merge: later events carry the ticket's own id ----
all_join 60
jq -rs 'group_by(.segment)[] | .[:3][].token' "$DIR"/j/* >"$DIR/stay" # three of each segment
grep -vxFf "$DIR/stay" "$DIR/tokens" >"$DIR/leave"
leave_many "$DIR/leave"
merged() { [ -n "$(lines | jq -r 'select(.event == "absorbed") | .from')" ]; }
moved() { # token: it is in another segment than its own now
    local v
    v=$(why "$1" | jq -r '"\(.ticket) \(.segment)"')
    [ "${v%%-*}" != "${v##* }" ]
}
late=
find_moved() { local t; for t in $(cat "$DIR/stay"); do moved "$t" && late=$t && return; done; return 1; }
wait_for 60 "segments are merged" merged
wait_for 30 "somebody was moved" find_moved
http -X DELETE "$R/v1/tickets/$late" >/dev/null
wait_for 5 "  his story is whole, over both" is "joined left " told "$late"

# ---- a line per event ----
all_there() { # event metric...: of both nodes
    local m sum=0
    for m in "${@:2}"; do sum=$((sum + $(metric 70 "$m") + $(metric 71 "$m"))); done
    [ "$(n_events "$1")" = "$sum" ]
}
for pair in joined:joined released:released admitted:admitted no_show:no_shows returned:returned expired:expired; do
    wait_for 5 "as many lines '${pair%:*}' as the metric says" all_there "${pair%:*}" "segq_segment_${pair#*:}_total"
done
waiting_left() { lines | jq -r 'select(.event == "left" and .state == "waiting") | .ticket' | wc -l; }
left_there() { [ "$(waiting_left)" = $(($(metric 70 segq_segment_left_total) + $(metric 71 segq_segment_left_total))) ]; }
wait_for 5 "who left the line, too" left_there
all_json() { # when nothing is being written
    lines >"$DIR/lines"
    [ "$(jq -c . "$DIR/lines" 2>&1 | wc -l)" = "$(wc -l <"$DIR/lines")" ]
}
wait_for 5 "each line is JSON" all_json
check_eq "nobody joined twice" "$(events joined | sort | uniq -d)" ""
check_eq "nothing was left out" "$(($(metric 70 segq_segment_audit_dropped_lines_total) + $(metric 71 segq_segment_audit_dropped_lines_total)))" 0

# ---- a node without its trail's disk: people notice nothing ----
node=$(segments | tail -n 1 | awk '{ print $4 }')
port=$((70 + ${node#*.}))
today=$(find "$trail/$node" -name 'audit-*.jsonl' | sort | tail -n 1)
mv "$today" "${today%/*}/before.jsonl"
ln -s /dev/full "$today"
failing() { person "full$RANDOM" >/dev/null; [ "$(metric "$port" segq_segment_audit_failing)" = 1 ]; }
wait_for 20 "its disk is full" failing
fay=$(person fay)
check_eq "fay joins all the same" "$(poll "$fay" | field state)" waiting
check_eq "segqctl why: from what is known" "$(state_of "$fay")" waiting
wait_for 5 "the log says so" grep -q 'event=trail_failed trail=audit error="No space left' "$C/logs/$node.log"
rm "$today"
wait_for 20 "it goes on by itself" test -s "$today"
wait_for 20 "and nothing was left out" is "joined " told "$fay"

# ---- midnight ----
if [ -n "$shimmed" ]; then
    echo 86400 >"$DIR/shim/clock"
    gus=$(person gus)
    tomorrow=$(date -u -d @$(($(date +%s) + 86400)) +%Y-%m-%d)
    in_tomorrow() { grep -qs '"subject":"gus"' "$trail"/*/"audit-$tomorrow.jsonl"; }
    wait_for 10 "a day later: another file" in_tomorrow
    check_eq "  why looks into all of them" "$(told "$gus")" "joined "
    touch "$trail/$node/audit-2020-01-01.jsonl"
    echo 172800 >"$DIR/shim/clock"
    cleaned() { [ ! -e "$trail/$node/audit-2020-01-01.jsonl" ]; }
    wait_for 10 "  the next day: old files go" cleaned
    rm "$DIR/shim/clock"
fi

# ---- kill -9: the trail goes on, and nothing is torn ----
hal=$(person hal)
wait_for 5 "hal is in the trail" is "joined " told "$hal"
kill -KILL "$(pid_of segment.0)" "$(pid_of segment.1)"
back() { [ "$(poll "$hal" | field state)" = waiting ]; }
wait_for 30 "after kill -9 hal waits" back
wait_for 20 "  why knows him" is waiting state_of "$hal"
check_eq "  his line is still there, once" "$(story "$(id_of "$hal")")" "joined "
starts() { [ "$(lines | jq -r 'select(.event == "started") | .node' | sort | uniq -c | awk '$1 < 2' | wc -l)" = 0 ]; }
wait_for 20 "  both nodes say that they started again" starts
wait_for 5 "  each line is JSON" all_json
