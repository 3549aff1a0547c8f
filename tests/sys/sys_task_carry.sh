#!/bin/bash
# Tasks are carried to a new pool: exported in order as lines of JSON, imported; an import that is killed
# amid is run again, and neither doubles nor loses a task; what cannot be read says so.
. "$(dirname "$0")/lib.sh"

up --routers 1 --seg-nodes 1 --task-nodes 1 --set 'queuemng.endpoints=[{name: gen, url: "http://127.0.0.1:1/x", paused: true}]' \
    --set 'queuemng.pools=[{match: "ride/*", partitions: 2, max_attempts: 5}, {match: gen, endpoint: gen}]'
task_call() { http -H "Authorization: Bearer $(task_token)" "$@"; }
ctl() { "$BIN/segqctl" --dir "$C" "$@" >"$DIR/out" 2>"$DIR/err" </dev/null; }
says() { grep -qE -- "$1" "$DIR/out"; }
complains() { grep -qE -- "$1" "$DIR/err"; }
takes_tasks() { [ "$(status_of -H "Authorization: Bearer $(task_token)" -d '{"payload":0,"name":"up"}' "$R/v1/queues/ride/0/tasks")" = 201 ]; }
wait_for 10 "the pool has a task node" takes_tasks
take() { task_call -d "$2" "$R/v1/queues/$1/tasks/take" | jq -c "${3:-.tasks[]}"; }

# ---- what there is: two queues of 500, and one task of each kind
Q=$R/v1/queues/ride/1/tasks
batch() { jq -nc --arg q "$1" --argjson from "$2" '[range($from; $from + 100) | {key: "t\(. % 3)", priority: (. % 2), payload: {q: $q, n: .}}]'; }
for q in 1 2; do for i in 0 1 2 3 4; do
    batch $q $((100 * i)) | task_call -d @- "$R/v1/queues/ride/$q/tasks/batch" >/dev/null
done; done
task_call -d '{"payload":{"t":1},"cost":7,"labels":["a","b"],"order":-5,"group":"g1","ttl":"2h","retry":{"min":"3s"},"then":{"queue":"ride/9","payload":{"r":{"$result":"/x"}}}}' "$R/v1/queues/ride/3/tasks" >/dev/null
task_call -d '{"payload":"late","delay":"1h"}' "$R/v1/queues/ride/3/tasks" >/dev/null
task_call -d '{"payload":1.0,"name":"mine"}' "$R/v1/queues/ride/4/tasks" >/dev/null
read -r T L < <(take ride/4 '{"n":1}' '.tasks[] | "\(.task) \(.lease_id)"' | tr -d '"')
task_call -d "{\"lease_id\":\"$L\",\"delay\":\"1h\"}" "$R/v1/tasks/$T/nack" >/dev/null
take ride/0 '{"n":1,"lease":"5m"}' >/dev/null

# ---- export
ctl task export 'ride/*'
check "the pool goes on: that is said" complains 'not paused'
ctl task pause 'ride/*'
ctl task export 'ride/*' && mv "$DIR/out" "$DIR/tasks"
check "once it is paused it is not" test "$(grep -c paused "$DIR/err")" = 0
check "names are hashes: that is said" complains '^segqctl: 1 tasks have names'
check_eq "all but the one that runs" "$(tail -1 "$DIR/tasks")" '{"end":true,"tasks":1003}'
row() { jq -c "select($1) | .submit | del(.idempotency_key)" "$DIR/tasks"; }
check_eq "a task has all that it was submitted with" "$(row '.submit.group == "g1"')" \
    '{"order":-5,"group":"g1","ttl":"7200000ms","retry":{"min":"3000ms"},"cost":7,"labels":["a","b"],"payload":{"t":1},"then":{"queue":"ride/9","payload":{"r":{"$result":"/x"}}}}'
check_eq "a delay is a moment" "$(row '.state == "scheduled"' | jq -c '[.payload, (.at - now | . > 3500 and . < 3601)]')" '["late",true]'
check_eq "one that was given back has the attempts that are left" "$(row '.state == "retrying"' | jq -c '[.max_attempts, (.at - now | . > 3500)]')" '[4,true]'
check "its payload is the text that it was" grep -q '"payload":1.0}' "$DIR/tasks"
order() { jq -c 'select(.submit.payload | objects | has("n")) | .submit.payload' "$1"; }
check_eq "in order" "$(order "$DIR/tasks" | md5sum)" "$(for q in 1 2; do for n in $(seq 0 499); do echo "{\"q\":\"$q\",\"n\":$n}"; done; done | md5sum)"
ctl task export 'ride/*' --running && mv "$DIR/out" "$DIR/more"
check_eq "with --running also that one" "$(tail -1 "$DIR/more")" '{"end":true,"tasks":1004}'

check_eq "who has read payloads is in the operators' log" \
    "$(admin GET '/v1/admin/audit?n=100' | jq '[.entries[] | select(.path == "/v1/admin/task-queues/export")] | length > 2')" true

# ---- calls
CALL='{"path":"/a?b=1","method":"PUT","headers":{"x-a":"1"},"body_base64":"AAH/","then":{"queue":"gen","path":"/next","body_json":{"r":{"$result":""}}}}'
call_taken() { task_call -d "$CALL" "$R/v1/queues/gen/tasks" | jq -e .task >/dev/null; }
wait_for 10 "a call is submitted" call_taken
ctl task export gen && mv "$DIR/out" "$DIR/calls"
check_eq "a call has its request" "$(jq -cS 'select(.submit) | .submit | del(.idempotency_key)' "$DIR/calls")" \
    "$(jq -cS '.then.method = "POST" | .then.headers = {"content-type": "application/json"}' <<<"$CALL")"
ctl task import gen "$DIR/calls" --ids
check "and is one again" complains '^1 tasks are new'
check_eq "  whose id is printed once it is there" "$(cat "$DIR/out")" "$(jq -r 'select(.submit) | .id' "$DIR/calls")"
mv "$DIR/out" "$DIR/ids"
ctl task cancel --file "$DIR/ids" --yes
check "so that it goes where it was" says '^1 tasks are cancelled, 0 run their last attempt, 0 were'
ctl task cancel --file "$DIR/ids" --yes
check "  once" says '^0 tasks are cancelled, 0 run .*, 1 were over'
check_eq "  and is at the new place alone" "$(task_call "$R/v1/queues/gen/tasks" | jq .waiting)" 1
ctl task cancel
check "a cancel names a task, or a file" complains 'task cancel --file FILE'

# ---- a new pool
ctl pool delete 'ride/*' final --yes
ctl pool add 'ride/*' partitions=3
takes_again() { [ "$(task_call "$Q" | jq .waiting)" = 0 ]; }
wait_for 20 "the pool is new, and empty" takes_again
ctl task import 'ride/*' "$DIR/tasks" --dry-run
check "a dry run says what would be" says '^1003 tasks would be submitted, 0 lines are refused'
check_eq "  and does nothing" "$(task_call "$Q" | jq .waiting)" 0
mkfifo "$DIR/pipe"
exec 9<>"$DIR/pipe"
"$BIN/segqctl" --dir "$C" task import 'ride/*' <"$DIR/pipe" >"$DIR/out" 2>&1 &
P=$!
head -400 "$DIR/tasks" >&9
some() { [ "$(task_call "$Q" | jq .waiting)" -gt 100 ]; }
wait_for 10 "an import has begun" some
kill -KILL "$P"
wait "$P" 2>/dev/null
exec 9>&-
N=$(task_call "$Q" | jq .waiting)
check "it was killed amid ($N)" test "$N" -lt 500
ctl task import 'ride/*' "$DIR/tasks"
check "run again it goes on, and doubles nothing" says "^$((1003 - N)) tasks are new, $N were there already, 0 lines were refused"
ctl task import 'ride/*' "$DIR/tasks"
check "and again" says '^0 tasks are new, 1003 were there already'
ctl task export 'ride/*' && mv "$DIR/out" "$DIR/again"
same() { jq -c 'select(.submit) | [.queue, (.submit | del(.idempotency_key, .max_attempts))]' "$1" | sort; }
check_eq "all is there as it was" "$(same "$DIR/again" | md5sum)" "$(same "$DIR/tasks" | md5sum)"
check_eq "in order" "$(order "$DIR/again" | md5sum)" "$(order "$DIR/tasks" | md5sum)"
task_call -d '{"n":500}' "$R/v1/queues/ride/1/tasks/take" | jq -c '.tasks[] | select(.key == "t1") | .payload.n' >"$DIR/taken"
check_eq "a key's tasks start in their order" "$(grep -c . "$DIR/taken")" "$(awk '{ ok += NR == 1 || $1 % 2 != last % 2 || $1 > last; last = $1 } END { print ok }' "$DIR/taken")"

# ---- what is wrong
sed '3s/"queue":"[^"]*"/"queue":"other"/; 5s/$/x/; 7s/"priority":1/"priority":9/' "$DIR/tasks" >"$DIR/bad"
ctl task import 'ride/*' "$DIR/bad"
check "a bad line ends it, and says which" complains "bad:3: its queue is none of this pool"
ctl task import 'ride/*' "$DIR/bad" --keep-going
check "or it goes on behind it" says '1000 were there already, 3 lines were refused'
check "  each with its reason" eval 'complains "bad:5: that is no JSON object" && complains "bad:7: .*priority"'
head -500 "$DIR/tasks" >"$DIR/cut"
ctl task import 'ride/*' "$DIR/cut"
check "a file that is cut is noticed" complains 'it is cut'
sed 500,509d "$DIR/tasks" >"$DIR/short"
ctl task import 'ride/*' "$DIR/short"
check "and one that lacks lines amid" complains 'says 1003 tasks, and it has 993'
ctl task import 'ride/*' "$0"
check "and what is none at all" complains 'no file of task export'

# ---- a payload of several lines
ctl pool add lines
put_lines() { [ "$(printf '{"payload":{\n"a":[\n{"id":"1-1","queue":"lines","submit":{}}\n]}}' | status_of -H "Authorization: Bearer $(task_token)" --data-binary @- "$R/v1/queues/lines/tasks")" = 201 ]; }
wait_for 10 "its pool has a task node" put_lines
ctl task export lines && mv "$DIR/out" "$DIR/lines"
check_eq "is one line of the file" "$(grep -c . "$DIR/lines")" 3
ctl task import lines "$DIR/lines"
check "which is imported" says '^1 tasks are new, 0 were there already, 0 lines'
check_eq "  byte for byte" "$(task_call -d '{"n":5}' "$R/v1/queues/lines/tasks/take" | grep -c '^{"id":"1-1","queue":"lines","submit":{}}$')" 2
