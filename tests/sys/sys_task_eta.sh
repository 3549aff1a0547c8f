#!/bin/bash
# An operator's own service for waits (eta_url): callers are told what it says, of their place, and our own estimate
# where it is late, wrong, no JSON, too long, elsewhere, dead, or in a network that nobody allowed; also behind a kill -9
# of the node that asks. It is asked once in eta_every, about what somebody looks at.
. "$(dirname "$0")/lib.sh"

T=$((PORT + 90))
echo right >"$DIR/mode"
: >"$DIR/asked"
service() { helper python3 "$here/eta_service.py" $T "$DIR/asked" "$DIR/mode"; }
service
up --routers 1 --seg-nodes 1 --task-nodes 1 --set 'queuemng.pools=[{match: images}]'
task_call() { http -H "Authorization: Bearer $(task_token)" "$@"; }
ctl() { "$BIN/segqctl" --dir "$C" "$@" >"$DIR/out" 2>"$DIR/err" </dev/null; }
complains() { grep -qE -- "$1" "$DIR/err"; }
submit() { task_call -d '{"payload":1}' "$R/v1/queues/images/tasks" | field task; }
take() { task_call -d '{"n":'"$1"',"lease":"1h"}' "$R/v1/queues/images/tasks/take" | jq '.tasks | length'; }
told() { [ "$(http "$R/v1/tasks/$last" | field eta_reason)" = service ]; }
ours() { ! told; }
questions() { wc -l <"$DIR/asked"; }
ended() { metric 47 "segq_task_eta_questions_total{ended=\"$1\"}"; }
mode() { # MODE: how questions end then
    echo "$1" >"$DIR/mode"
    local was
    was=$(ended "$2")
    rises() { http "$R/v1/tasks/$last" >"$DIR/look" && [ "$(ended "$1")" -gt "$2" ]; }
    wait_for 10 "  of a service that is $1 the question is $2" rises "$2" "$was"
}
there() { [ "$(task_call -o /dev/null -w '%{http_code}' "$R/v1/queues/images/tasks")" = 200 ]; }
wait_for 20 "the pool has a task node" there

# ---- what an operator says
for bad in eta_url=ftp://a eta_url=http://me@a/ eta_url=http://a/?x eta_every=999ms eta_timeout=11s 'eta_allow=["10.0.0.1/8"]' "eta_every=1s eta_timeout=2s"; do
    # shellcheck disable=SC2086
    ctl pool set images $bad
    check "$bad is refused by name" complains "${bad%%=*}|eta_timeout"
done
for _ in 1 2 3; do last=$(submit); done
ctl pool set images eta_url=http://127.0.0.1:$T/eta eta_every=1s eta_timeout=500ms
check "segqctl says that the service may not be asked" complains "pool images: 127.0.0.1 is not public, and not in \`eta_allow\`: .* segqctl pool set 'images' eta_allow='\[\"127.0.0.1\"\]'"
looked_in_vain() { http "$R/v1/tasks/$last" >"$DIR/look" && [ "$(ended failed)" -ge 1 ]; }
wait_for 10 "a service on a machine of ours is not asked" looked_in_vain
check_eq "  if nobody allowed it" "$(questions)" 0
check "  so our own estimate is told" ours
check "  and a log says why" grep -q "event=eta_service_bad .*eta_url" "$C"/logs/task*.log
ctl pool set images eta_allow=127.0.0.1
check "a text in place of a list is told how one is written" complains 'a list of texts such as \["a", "b"\]'
ctl pool set images 'eta_allow=["127.0.0.1"]'
check "  and then nothing more" [ ! -s "$DIR/err" ]
wait_for 10 "an allowed one is heard" told
check_eq "  of the third place" "$(http "$R/v1/tasks/$last" | field eta_s)" 6
check_eq "  and of one that comes now" "$(task_call "$R/v1/queues/images/tasks" | jq -c '[.waiting, .eta_s, .eta_reason]')" '[3,8,"service"]'
check_eq "  it was asked with the line as it is" "$(jq -c '[.path, .question.queue, .question.waiting]' "$DIR/asked" | sort -u)" '["/eta","images",3]'
last=$(submit)

# ---- what does not count
for m in "late late" "wrong wrong" "garbage wrong" "long wrong" "moved failed" "error failed"; do
    # shellcheck disable=SC2086
    mode $m
done
wait_for 10 "  and ours is told" ours
check_eq "  nobody followed it elsewhere" "$(jq -r .path "$DIR/asked" | sort -u)" /eta
echo right >"$DIR/mode"
wait_for 10 "a service that is well again is heard" told
kill "$H"
wait_for 10 "of a dead one ours is told" ours
service
wait_for 10 "  until it is there again" told

# ---- kill -9 of the node that asks
p=$(pid_of task.0) && kill -9 "$p"
wait_for 20 "the task node is killed" restarted task.0 "$p"
heard_again() { [ "$(http "$R/v1/tasks/$last" | field state)" = waiting ] && told; }
wait_for 20 "  and asks again" heard_again
last=$(submit)
check "a task that comes is told at once what counts" told
check_eq "all are there" "$(take 10)" 5
by() { metric 47 "segq_task_eta_error_seconds_count{by=\"$1\"}"; }
check_eq "its estimates are compared with what came true" "$(by service)" 1
check_eq "it was asked at most once a second" "$(jq -s '[.[].at] | . as $a | [range(1; length) | $a[.] - $a[. - 1]] | map(select(. < 0.9)) | length <= 2' "$DIR/asked")" true
n=$(questions)
ctl pool set images eta_url=
check "without an url" ours
check "  it is not asked" [ "$(questions)" -le $((n + 1)) ]
