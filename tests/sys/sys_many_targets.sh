#!/bin/bash
# An endpoint with three targets, real processes, and two task nodes: calls go to all three, never more than
# each one's slots; one is killed amid calls, its breaker alone opens, and the others have all the work; it
# comes back; one is drained; the list changes amid calls; all are dead, and the tasks lose nothing; the task
# nodes are killed. Bad definitions are refused, with what is to be done.
. "$(dirname "$0")/lib.sh"

up --routers 1 --seg-nodes 1 --task-nodes 2 --set 'queuemng.pools=[{match: "gen/*", endpoint: gen, partitions: 8}]' \
    --set "queuemng.endpoints=[{name: gen, url: \"http://127.0.0.1:9/\", paused: true}]"
ctl() { "$BIN/segqctl" --dir "$C" --yes "$@"; }
T=$((PORT + 80))
url() { echo "http://127.0.0.1:$((T + $1))/api"; }
target() { helper "$here/target.py" $((T + $1)) "$DIR/seen$1"; pid[$1]=$H; }
row() { echo "{\"url\":\"$(url "$1")\",\"max_concurrent\":2${2:+,$2}}"; }
for i in 1 2 3; do
    target $i
    wait_for 10 "target $i listens" has_status 200 "http://127.0.0.1:$((T + i))/echo"
    : >"$DIR/seen$i"
done
token=$(task_token)
submit() { http -H "Authorization: Bearer $token" -d "{\"path\":\"$2\"}" "$R/v1/queues/gen/$1/tasks" | jq -e .task >/dev/null; }
came() { cat "$DIR/seen$1" | grep -c "$2"; }
figures() { admin GET /v1/admin/task-queues | jq -r "$1"; }
pool() { figures ".pools[] | select(.pool == \"gen/*\") | .$1"; }
sent=0
many() { for ((n = 0; n < $1; n++)); do wait_for 20 "" submit $((n % 16)) "/slow/$2?$sent" >/dev/null; sent=$((sent + 1)); done; }
done_is() { [ "$(pool succeeded)" = "$1" ]; }
state_of() { admin GET /v1/admin/endpoints/gen/targets | jq -r ".targets[] | select(.url == \"$(url "$1")\") | .state"; }
is_state() { [ "$(state_of "$1")" = "$2" ]; }
at_once() { # TARGET MS: the most calls of that length that were there together
    python3 - "$DIR/seen$1" "$2" <<'END'
import json, sys
at = sorted(json.loads(x)["at"] for x in open(sys.argv[1]) if "/slow/%s?" % sys.argv[2] in x)
print(max([sum(1 for b in at if a - int(sys.argv[2]) / 1000 < b <= a) for a in at] or [0]))
END
}

# ---- definitions
says() { ctl endpoint set gen "$@" 2>&1; }
list="[$(row 1),$(row 2 '"weight":2'),$(row 3)]"
check "url and targets: one of the two" grep -q 'one of the two' <<<"$(says "targets=$list")"
check "  and not none" grep -q 'url is missing, or targets' <<<"$(says url=)"
check "  none twice" grep -q 'targets.1.url: .* is there twice' <<<"$(says url= "targets=[$(row 1),$(row 1)]")"
check "  a url of each" grep -q 'targets.0.url must begin with http' <<<"$(says url= 'targets=[{"url":"ftp://a/"}]')"
check "an endpoint with a url has no target to drain" grep -q 'pause it instead' <<<"$(ctl endpoint drain gen "$(url 1)" 2>&1)"
check "three targets in place of the url" ctl endpoint set gen url= "targets=$list" 'allow=["127.0.0.0/8"]' paused=false deadline=10s breaker.open=1s
check "  one that \`allow\` leaves out is told" grep -qF "127.0.0.1 is not public, and not in \`allow\`: no call is made" \
    <<<"$(ctl endpoint set gen allow='[]' 2>&1)"
check "  and may be called again" ctl endpoint set gen 'allow=["127.0.0.0/8"]'
check "a url that is mistyped" grep -qF "did you mean $(url 1)?" <<<"$(ctl endpoint drain gen "$(url 1)x" 2>&1)"
check "no target of this url" grep -q 'has no target of this url' <<<"$(ctl endpoint drain gen http://a/ 2>&1)"
ctl export >"$DIR/all.yaml"
check "they are exported" grep -q "$(url 3)" "$DIR/all.yaml"
check "  and applied: nothing changes" ctl apply "$DIR/all.yaml"
check_eq "  all three are there" "$(admin GET /v1/admin/endpoints/gen/targets | jq '.targets | length')" 3

# ---- all three have calls
wait_for 20 "the pool takes tasks" submit 0 /echo/0
both() { [ "$(figures '[.nodes[] | select(.up and .partitions > 0)] | length')" = 2 ]; }
wait_for 20 "both nodes have partitions" both
wait_for 20 "  the first is done" done_is 1
many 60 200
wait_for 60 "sixty calls are made" done_is 61
for i in 1 2 3; do
    check "  target $i had some" [ "$(came $i /slow/200)" -gt 0 ]
    check "  and never more than its two slots" [ "$(at_once $i 200)" -le 2 ]
done
check_eq "  each was made once" "$(cat "$DIR"/seen? | grep -o '/slow/200?[0-9]*' | sort | uniq -d | wc -l)" 0

# ---- calls of one key
check "calls of one key go to one target" ctl endpoint set gen affinity=key
check "  which is for targets alone" grep -q 'affinity chooses among targets' <<<"$(says "url=$(url 1)" targets=[])"
keyed() { http -H "Authorization: Bearer $token" -d "{\"path\":\"/echo/k?$1\",\"key\":\"tenant7\"}" "$R/v1/queues/gen/$1/tasks" | jq -e .task >/dev/null; }
for ((n = 0; n < 12; n++)); do
    wait_for 20 "" keyed $n >/dev/null
    sent=$((sent + 1))
    wait_for 20 "" done_is $((sent + 1)) >/dev/null
done
check_eq "  of both nodes" "$(grep -l '/echo/k?' "$DIR"/seen? | wc -l)" 1
affine() { [ "$(admin GET /v1/admin/endpoints/gen/targets | jq '[.targets[].affine] | add')" = 12 ]; }
wait_for 10 "  and are counted" affine
check "  segqctl shows it" grep -qE 'AFFINE +ASTRAY' <<<"$(ctl endpoint targets gen)"
check "  and no more" ctl endpoint set gen affinity=none

# ---- one dies amid calls
many 40 300
some() { [ "$(came 1 /slow/300)" -gt 0 ]; }
wait_for 20 "target 1 has calls" some
before=$(came 1 /slow/300)
kill -KILL "${pid[1]}"
many 40 301
opens() { # on a slow machine the others have made all before: more come until it has
    is_state 1 down || is_state 1 half-open || { many 1 301; false; }
}
wait_for 20 "  it is killed: its breaker opens" opens
wait_for 90 "  and all are made by the others" done_is $((sent + 1))
check_eq "  the endpoint is not down" "$(figures '.endpoints[] | select(.name == "gen") | .open')" 0
check_eq "  none of those that came later was made twice" "$(cat "$DIR"/seen? | grep -o '/slow/301?[0-9]*' | sort | uniq -d | wc -l)" 0
check "  but for those that were there, none of the others" [ "$(cat "$DIR"/seen? | grep -o '/slow/300?[0-9]*' | sort | uniq -d | wc -l)" -le 2 ]
check "  what could not be sent spent no attempt" [ "$(cat "$DIR"/seen? | grep -c '/slow/301.*"segq-attempt": "[2-9]')" = 0 ]
check "  segqctl shows it" grep -qE "^$(url 1) *(down|half-open)" <<<"$(ctl endpoint targets gen)"
target 1
wait_for 20 "it is back" has_status 200 "http://127.0.0.1:$((T + 1))/echo"
again() { submit 1 "/slow/10?$sent" && sent=$((sent + 1)) && [ "$(came 1 /slow/10)" -gt 0 ]; }
wait_for 40 "  and has calls again" again

# ---- one is drained
wait_for 20 "all is done" done_is $((sent + 1))
many 20 400
many 20 401
busy() { [ "$(came 2 /slow/400)" -gt 0 ]; }
wait_for 20 "target 2 has calls" busy
check "it is drained" ctl endpoint drain gen "$(url 2)"
wait_for 20 "  until it is empty" is_state 2 drained
before=$(came 2 .)
wait_for 60 "  the others go on" done_is $((sent + 1))
check_eq "  no call of it began" "$(came 2 .)" "$before"
check "  /metrics says so, at both nodes" [ $(($(metric 47 segq_task_target_draining) + $(metric 48 segq_task_target_draining))) = 2 ]
check "  and back" ctl endpoint undrain gen "$(url 2)"
again2() { submit 1 "/slow/11?$sent" && sent=$((sent + 1)) && [ "$(came 2 /slow/11)" -gt 0 ]; }
wait_for 30 "  it has calls again" again2

# ---- the list changes amid calls; the nodes are killed
wait_for 30 "all is done" done_is $((sent + 1))
many 30 500
wait_for 20 "target 3 has calls" grep -q /slow/500 "$DIR/seen3"
check "target 3 is removed amid them" ctl endpoint set gen "targets=[$(row 1),$(row 2)]"
gone() { [ "$(admin GET /v1/admin/endpoints/gen/targets | jq '.targets | length')" = 2 ]; }
wait_for 30 "  it is gone when they have ended" gone
check "  it comes back" ctl endpoint set gen "targets=$list"
wait_for 60 "  all are done" done_is $((sent + 1))
check_eq "  each was made once" "$(cat "$DIR"/seen? | grep -o '/slow/500?[0-9]*' | sort | uniq -d | wc -l)" 0
many 30 700
wait_for 20 "calls are under way" grep -q /slow/700 "$DIR/seen2"
for who in task.0 task.1; do
    old=$(pid_of $who)
    kill -KILL "$old"
    wait_for 30 "  $who is killed, and comes back" restarted $who "$old"
done
all_made() { [ "$(cat "$DIR"/seen? | grep -o '/slow/700?[0-9]*' | sort -u | wc -l)" = 30 ]; }
wait_for 90 "  all are made" all_made
for i in 1 2 3; do
    check "  never more than two at target $i" [ "$(at_once $i 700)" -le 2 ]
done

# ---- all are dead
idle() { [ "$(pool waiting) $(pool running)" = "0 0" ]; }
wait_for 60 "all is done" idle
for i in 1 2 3; do kill -KILL "${pid[$i]}"; done
for i in 1 2 3; do wait_for 10 "target $i has gone" is_gone "${pid[$i]}"; done # it took a call as it died, which is an attempt
task=$(http -H "Authorization: Bearer $token" -d '{"path":"/echo/last","max_attempts":1}' "$R/v1/queues/gen/1/tasks" | jq -r .task)
for ((n = 0; n < 30; n++)); do submit $n /echo/$n; done
downs() { [ "$(admin GET /v1/admin/endpoints/gen/targets | jq '[.targets[] | select(.state == "down")] | length')" = 3 ]; }
wait_for 60 "all targets are down" downs
why() { grep -q 'each target of endpoint gen is down' <<<"$(ctl task why "$task")"; }
wait_for 30 "  segqctl task why says so" why
for i in 1 2 3; do target $i; done
well() { [ "$(http "$R/v1/tasks/$task" | field state)" = succeeded ]; }
wait_for 90 "  they are back: a task with one attempt is done" well
