#!/bin/bash
# F10: kill -9 of all supervisors. Their children go on; a child that dies meanwhile stays dead;
# new supervisors take over what runs, and start what does not; a second one of the same name is
# refused. A child that cannot be started at all is tried again ever more seldom.
. "$(dirname "$0")/lib.sh"
. "$chaos/procs.sh"

machines "m0 s0 s1 r0 r1"
cluster_up --capacity 100 --release-per-s 12 --set queuemng.skip_after=60s
observe
wait_for 60 "people are answered" answered poll 200 300
children() { local m; for m in m0 s1 r0 r1; do pid_of $m.0; done; }

phase orphans
before=$(children) s0=$(pid_of s0.0)
bosses=$(for m in m0 s0 s1 r0 r1; do pid_of $m; done)
# shellcheck disable=SC2086
kill -KILL $bosses
# shellcheck disable=SC2086
wait_for 40 "all supervisors are dead" gone_all $bosses
wait_for 60 "people are answered" answered poll 200 200
wait_for 60 "people join" answered join 201 10
# shellcheck disable=SC2086
runs_all() { local p; for p in $before; do runs "$p" || return 1; done; }
check "their children run" runs_all
kill -KILL "$s0"
wait_for 40 "one of them dies" is_gone "$s0"
hold 3
check "nobody starts it again" is_gone "$(pid_of s0.0)"

phase adopted
boot m0 s0 s1 r0 r1
adoptions() { cat "$C"/logs/{m0,s1,r0,r1}.log | grep -c event=adopted; }
four() { [ "$(adoptions)" -ge 4 ]; }
wait_for 60 "new supervisors take over the four that run" four
wait_for 60 "and the fifth is started again" another s0.0 "$s0"
same() { [ "$(children)" = "$before" ]; }
wait_for 60 "the four are the same processes" same
wait_for 60 "routers reach all segment nodes" ready r0 r1
on r0 "$BIN/rt_cluster" -c "$C/config/r0.yaml" 2>"$DIR/second"
check_eq "a second supervisor of the same name is refused" $? 1
check "and says why" grep -q 'another supervisor' "$DIR/second"
kill_now r0.0
wait_for 60 "an adopted child that dies is started again" ready r0
settle "everybody hears what is ahead of them"

phase loop
# It says that it would start: else the change is refused beforehand.
printf '#!/bin/sh\nfor a; do [ "$a" != -t ] || exit 0; done\necho try >>%s\nexit 1\n' "$DIR/tries" >"$DIR/broken"
chmod +x "$DIR/broken"
cp "$C/config/r1.yaml" "$DIR/r1.good"
sed -i "s|^program: .*|program: '$DIR/broken'|" "$C/config/r1.yaml"
kill -HUP "$(pid_of r1)"
tried() { [ "$(wc -l <"$DIR/tries" 2>/dev/null || echo 0)" -ge "$1" ]; }
wait_for 60 "r1's program cannot be started any more: it is tried" tried 2
hold 10
n=$(wc -l <"$DIR/tries")
check "again ever more seldom: $n times in more than ten seconds" test "$n" -le 12
wait_for 60 "people are answered by r0" answered poll 200 200
cp "$DIR/r1.good" "$C/config/r1.yaml"
kill -HUP "$(pid_of r1)"
wait_for 60 "with the good program it runs" ready r1

phase healed
wait_for 60 "people are answered" answered poll 200 300
observe_end --rate 12 --apart-s 1 --stale orphans --stale adopted --stale settling \
    --gap orphans:30 --gap adopted:30 --gap loop:30 --served orphans:200 --served loop:200 \
    --served healed:300
