#!/bin/bash
# Operators see and steer task queues: why a task waits, lists, cancel, run, redrive, discard, pause;
# what is refused says why; each order is in the operators' log, without the task's token; a node
# that is away is told.
. "$(dirname "$0")/lib.sh"

up --routers 1 --seg-nodes 1 --task-nodes 1 \
    --set 'queuemng.pools=[{match: images, key: {max_concurrent: 1}, retry: {min: 1ms, max: 1ms}, max_attempts: 2}, {match: "ride/*", partitions: 2, max_attempts: 1}]'
Q=$R/v1/queues/images/tasks
task_call() { http -H "Authorization: Bearer $(task_token)" "$@"; }
ctl() { "$BIN/segqctl" --dir "$C" "$@" >"$DIR/out" 2>"$DIR/err" </dev/null; }
says() { grep -qE -- "$1" "$DIR/out"; }
complains() { grep -qE -- "$1" "$DIR/err"; }
submit() { task_call -d "$1" "${2:-$Q}" | jq -r .task; } # JSON [tasks of a queue] -> its token
take() { task_call -d '{"n":1,"wait":"5s","lease":"5m"}' "${1:-$Q}/take" | jq -r '.tasks[0] | "\(.task) \(.lease_id)"'; }
why() { admin GET "/v1/admin/tasks/$1" | jq -r "$2"; }

takes_tasks() { [ "$(status_of -H "Authorization: Bearer $(task_token)" -d '{"payload":0}' "$R/v1/queues/ride/0/tasks")" = 201 ]; }
wait_for 10 "the pools have a task node" takes_tasks

# ---- what each process uses
loads() { admin GET /v1/admin/cluster | jq -e '[.nodes[0], .routers[0], .tasks.nodes[0]] | map(.load) | all(.rss_bytes > 1000000 and
    .cpu >= 0 and .version != "" and (now - .started_at | . >= 0 and . < 600))' >/dev/null; }
wait_for 10 "each process says what it uses" loads
crowd() {
    join_many 40 "$DIR/j"
    admin GET /v1/admin/cluster | jq -e '.routers[0].load | .answers_per_s > 0 and .p99_us > 0 and .cpu > 0' >/dev/null; }
wait_for 20 "a router that works says so" crowd

# ---- why
one=$(submit '{"key":"t1","payload":"a"}')
two=$(submit '{"key":"t1","payload":"b"}')
late=$(submit '{"key":"t2","payload":"c","delay":"1h"}')
check_eq "nothing stops the first one" "$(why "$one" '"\(.state) \(.position) \(.limits)"')" 'waiting 1 []'
read -r T L < <(take)
check_eq "a worker gets it" "$T" "$one"
check_eq "it runs, until its lease ends" "$(why "$one" '"\(.state) \(.ends_at > .entered_at)"')" 'running true'
check_eq "the second one waits for its key" "$(why "$two" '"\(.limited_by) \(.limits[0])"')" 't1 max_concurrent'
held() { ctl task list; says '^images +open .* max_concurrent of keys \(1\)$'; }
wait_for 10 "what holds it up is counted" held
ctl task why "$two"
check "segqctl says it in words" says 'key t1 has as many tasks running as'
ID=$(why "$two" .id)
check_eq "by its id, too" "$(why "$ID" .task)" "$two"
check_eq "a delay is told" "$(why "$late" .state)" scheduled
check_eq "no task of this cluster: 404" "$(admin GET "/v1/admin/tasks/${one%?????}AAAAA" | field code)" task_unknown
check_eq "one that was never there: 404" "$(admin GET /v1/admin/tasks/1-5 | field code)" task_unknown
check_eq "a partition that is not here: 404" "$(admin GET /v1/admin/tasks/77-5 | field code)" task_unknown

# ---- lists
check "what chooses among tasks is not left out in silence" eval '! ctl task list --since 2026-01-01T00:00:00Z && complains "name the queue"'
ids() { admin GET "/v1/admin/task-queues/$1/tasks?$2" | jq -r '[.tasks[].state] | sort | join(",")'; }
check_eq "all tasks of a queue" "$(ids images '')" 'running,scheduled,waiting'
check_eq "by state" "$(ids images 'state=waiting,scheduled')" 'scheduled,waiting'
check_eq "of a key" "$(ids images 'key=t2')" scheduled
check_eq "another state is refused" "$(admin GET '/v1/admin/task-queues/images/tasks?state=tired' | field code)" bad_request
check_eq "a queue of no pool is refused" "$(admin GET /v1/admin/task-queues/image/tasks | field code)" pool_not_found
page() { admin GET "/v1/admin/task-queues/images/tasks?n=1$1"; }
first=$(page '')
second=$(page "&after=$(jq -r .next <<<"$first")")
check "a cursor goes on" test "$(jq -r '.tasks[0].id' <<<"$first")" != "$(jq -r '.tasks[0].id' <<<"$second")"
first_of() { admin GET "/v1/admin/task-queues/images/tasks?order=start$1"; }
check_eq "in the order of starts, but for a key that is stopped" "$(first_of '' | jq -c '[.startable, .tasks, .next]')" '[0,[],null]'
check_eq "  of no state" "$(first_of '&state=waiting' | field code)" bad_request
check_eq "a cursor of nowhere is refused" "$(page '&after=5' | field code)" bad_request
labelled=$(submit '{"payload":"d","delay":"1h","labels":["spring","batch7"]}')
check_eq "of a label" "$(admin GET '/v1/admin/task-queues/images/tasks?label=batch7' | jq -r '[.tasks[] | .task, .labels[0]] | join(" ")')" "$labelled spring"
ctl task list images --label spring
check "segqctl lists them by label, too" test "$(grep -c scheduled "$DIR/out")" = 1
named=$(submit '{"payload":"e","delay":"1h","name":"order-7"}')
list() { admin GET "/v1/admin/task-queues/images/tasks?$1" | jq -r "$2"; }
check_eq "by its caller's name" "$(list name=order-7 '[.tasks[].task] | join(" ")')" "$named"
check_eq "no other has it" "$(list name=order-8 '.tasks | length') $(list 'name=order-7&state=dead' '.tasks | length')" "0 0"
check_eq "beside a label it would say nothing" "$(list 'name=order-7&label=spring' .status)" 400
came=$(list name=order-7 '.tasks[0].entered_at')
has() { list "$1" "[.tasks[] | select(.task == \"$named\")] | length"; }
check_eq "by the time at which it came" "$(has "since=$came") $(has "until=$came") $(has "until=2100-01-01T00:00:00%2B01:00")" "1 0 1"
check_eq "what is no time" "$(list since=yesterday .detail | grep -c 'date and time with a zone')" 1
ctl task list images --name order-7
check "segqctl finds it by name" test "$(grep -c scheduled "$DIR/out")" = 1
ctl task list images --since "$came" --until 2100-01-01T00:00:00Z
check "  and by time" says scheduled
ctl task cancel "$named" --yes
ctl task discard "$named" --yes
ctl task cancel-all images --label 'a,b' --yes
check "what is no label is refused" complains 'one label'
ctl task discard-all images --label spring --yes
check "  and where no label is meant" complains 'does not take --label'
ctl task list images --task-key t1
check "  nor a key in a list" complains 'task list does not take --task-key'
for bad in "$(printf '%0129d' 0)" 'a b' ''; do
    ctl claim images --task "$bad"
    check "what routers would refuse is not signed: '${bad:0:5}'" complains '--task takes 1 to 128'
done
ctl claim images --task order-1 --task-key a/b/c
check "  nor a key of three levels" complains '--task-key takes a key'
ctl task cancel-all images --label spring --yes
check "all tasks with a label are cancelled" says '^ok: 1 task$'
check_eq "  the others are not" "$(ids images '')" 'cancelled,running,scheduled,waiting'
ctl task discard "$labelled" --yes
ctl task list images waiting
check "segqctl lists them" says "^$ID +waiting +t1 "
ctl task busiest images
check "the busiest queues of a pool" says '^images +1 +1 +0 +-'

# ---- orders
check_eq "run: beyond the limit of its key" "$(admin POST "/v1/admin/tasks/$ID/run" | field state)" waiting
ctl task list images --order start
check "segqctl lists it as the first that would start" says "^$ID +waiting +t1 "
check "  at once" says '^1 of them may start now$'
listed=$(task_call "$Q?order=start&limit=5&payload=1" | jq -r '"\(.startable) \(.tasks[0].task) \(.tasks[0].payload)"')
check_eq "so do routers, with its payload, for who may look" "$listed" "1 $two b"
read -r T2 L2 < <(take)
check_eq "the next worker has it" "$T2" "$two"
check_eq "one that runs is not run again" "$(admin POST "/v1/admin/tasks/$ID/run" | field detail)" 'the task is running: a worker has it'
ctl task run "$late"
check "run: its delay is over" says '^state +waiting'
read -r T3 L3 < <(take)
check_eq "and a worker has it" "$T3" "$late"
nack() { task_call -d "{\"lease_id\":\"$2\",\"delay\":\"0s\"}" "$R/v1/tasks/$1/nack" >"$DIR/nacked"; }
nack "$T3" "$L3"
read -r T3 L3 < <(take)
told=$(task_call -d "{\"lease_id\":\"$L3\",\"reason\":\"kein Papier für \\\"A4\\\"\"}" "$R/v1/tasks/$T3/nack" | field state)
check_eq "after its attempts, the last with a reason, it is $told" "$told" dead
check_eq "its history says how they ended" \
    "$(http "$R/v1/tasks/$late" | jq -c '[.history[] | .attempt, .end, .reason, (.ms >= 0), ((.retry_at // 0) > 1)]')" \
    '[1,"nack",null,true,true,2,"nack","kein Papier für \"A4\"",true,false]'
ctl task why "$late"
check "segqctl, too" says 'attempt 2 .*: nack: kein Papier für "A4"$'
check "  and in one sentence" says 'failed \(the last one: nack\)'
P=$(pid_of task.0)
kill -KILL "$P"
wait_for 20 "its node is killed, and comes back" restarted task.0 "$P"
wait_for 20 "  with its history" eval '[ "$(why "$late" ".history[1].end")" = nack ]'
check_eq "after its attempts it is dead" "$(why "$late" .state)" dead

# ---- payloads, and another task with another one
LID=$(why "$late" .id)
payload() { admin GET "/v1/admin/tasks/$1/payload${2:-}"; }
check_eq "an operator reads its payload" "$(payload "$late" | jq -c '[.payload, .result]')" \
    '[{"length":3,"content_type":"application/json","encoding":"text","data":"\"c\"","truncated":false},null]'
check_eq "  or the begin of it" "$(payload "$late" '?bytes=2' | jq -c '.payload | .data, .length, .truncated')" "$(printf '"\\"c"\n3\ntrue')"
check "  which is noted" eval 'admin GET /v1/admin/audit | jq -e --arg p "/v1/admin/tasks/$LID/payload" ".entries[0] | .path == \$p and .method == \"GET\""'
again() { admin POST "/v1/admin/tasks/$1/redrive" "$2"; }
check_eq "a payload and another one are refused" "$(again "$late" '{"payload":1,"payload_base64":"MQ=="}' | field code)" bad_request
check_eq "  a member that is none, too" "$(again "$late" '{"playload":1}' | field code)" bad_request
check_eq "  and what is no JSON but says so" "$(again "$late" '{"payload_base64":"e30K","content_type":"application/json; x"}' | field state)" waiting
check_eq "  or is too long" "$(jq -n '{payload: ("x" * 300000)}' | http -X POST -H "Authorization: Bearer $(admin_token)" -d @- "$A/v1/admin/tasks/$LID/redrive" | field code)" payload_too_large
echo '{"seats": 12345678901234567890.10}' >"$DIR/new.json"
ctl task redrive "$LID" --payload "$DIR/new.json"
check "another task is made with another payload" says "^state +waiting"
NEW=$(admin GET /v1/admin/audit | jq -r '.entries[0].changes[0] | select(.key == "task") | .to')
check_eq "  which says of which it was made" "$(why "$NEW" '"\(.after) \(.key)"')" "$LID t2"
ctl task payload "$NEW"
check "  with the bytes that were given" says '12345678901234567890.10'
check_eq "  the old one stays" "$(why "$LID" .state)" dead
check_eq "of one that is not over none is made" "$(again "$NEW" '{"payload":1}' | field detail)" \
    'the task is waiting: only of one that is over another one is made; cancel it first'
over() { local t; t=$(submit "$1") && admin POST "/v1/admin/tasks/$t/cancel" >"$DIR/cancelled" && echo "$t"; } # JSON -> a task that is over
member=$(over '{"payload":1,"delay":"1h","group":"batch7"}') large=$(over '{"payload":1,"delay":"1h","cost":50}')
task_call -X POST "$R/v1/groups/images/batch7/seal" >"$DIR/sealed"
check_eq "nor of one whose group is sealed" "$(again "$member" '{"payload":2}' | jq -r '"\(.status) \(.detail)"')" \
    '409 the task is cancelled: its group is sealed, and takes no more'
ctl pool set images max_cost=10
check_eq "nor of one that costs more than a task may now" "$(again "$large" '{"payload":2}' | jq -r '"\(.status) \(.detail)"')" \
    '409 it has 50 units: more than max_cost of pool images'
ctl pool set images max_cost=10000000
for made in "$member" "$large"; do admin POST "/v1/admin/tasks/$made/discard" >"$DIR/discarded"; done
for made in $(admin GET '/v1/admin/task-queues/images/tasks?state=waiting&key=t2' | jq -r '.tasks[].id'); do
    admin POST "/v1/admin/tasks/$made/cancel" >"$DIR/cancelled"
    admin POST "/v1/admin/tasks/$made/discard" >"$DIR/discarded"
done
check_eq "a dead one is redriven" "$(admin POST "/v1/admin/tasks/$late/redrive" | jq -r '"\(.state) \(.attempts)"')" 'waiting 0'
check_eq "only a dead one is; {} is no payload" "$(again "$late" '{}' | field detail)" 'the task is waiting: only a dead one is redriven'
check_eq "one that waits is not discarded" "$(admin POST "/v1/admin/tasks/$late/discard" | field code)" conflict
ctl task cancel "$late"
check "it is cancelled" says '^state +cancelled'
check_eq "what is over is not cancelled" "$(admin POST "/v1/admin/tasks/$late/cancel" | field detail)" 'the task is cancelled: it is over'
check "without a terminal a discard wants --yes" test "$(ctl task discard "$late"; echo $?)" = 2
check "  in one line" test "$(wc -l <"$DIR/err")" = 1
ctl task discard "$late" --yes
check "it is discarded" says '^the task is gone, with its payload and its result$'
check_eq "and gone" "$(why "$late" .code)" task_unknown
check_eq "another order: 404" "$(admin POST "/v1/admin/tasks/$one/kill" | field code)" not_found
check_eq "an order by GET: 405" "$(admin GET "/v1/admin/tasks/$one/cancel" | field code)" method_not_allowed

# ---- many
for k in 1 1 1 2; do submit "{\"key\":\"many$k\",\"payload\":$k}" "$R/v1/queues/ride/7/tasks" >"$DIR/many$k"; done
check_eq "keys, with the most waiting first" "$(admin GET /v1/admin/task-queues/ride/7/tasks/keys | jq -c '[.keys[] | [.key, .waiting]]')" '[["many1",3],["many2",1]]'
check_eq "  of those that are stopped: none" "$(admin GET '/v1/admin/task-queues/ride/7/tasks/keys?by=limited' | jq -c .keys)" '[]'
check_eq "a part of a queue's name may begin with tasks" \
    "$(admin GET /v1/admin/task-queues/ride/tasks-old/tasks/keys | jq -c .keys)" '[]'
ctl task keys ride/7
check "segqctl shows them" says '^many1 +3 +0 +-'
ctl task cancel-all ride/7 many1 --yes
check "all tasks of a key are cancelled" says '^ok: 3 tasks'
check_eq "the others are not" "$(ids ride/7 '')" 'cancelled,cancelled,cancelled,waiting'
# A key that cannot be read is not every key.
LONG=$(printf 'k%.0s' {1..400})
for key in %zz "$LONG"; do
    check_eq "  nor by a key that cannot be read" \
        "$(admin POST "/v1/admin/task-queues/ride/7/tasks/cancel?key=$key" | field detail)" \
        '?key= is too long, or badly encoded'
done
ctl task cancel-all ride/7 "$LONG" --yes
check "  nor by one that is too long" complains 'it is too long'
check_eq "  they wait still" "$(ids ride/7 '')" 'cancelled,cancelled,cancelled,waiting'
fail_next() { # of ride/8: it has no other attempt
    local t l
    read -r t l < <(take "$R/v1/queues/ride/8/tasks")
    nack "$t" "$l"
}
for i in 1 2 3; do
    submit '{"payload":1}' "$R/v1/queues/ride/8/tasks" >"$DIR/dying"
    fail_next
done
check_eq "three are dead" "$(ids ride/8 'state=dead')" 'dead,dead,dead'
ctl task redrive-all ride/8 0.001
check "they are redriven, at a rate" says '^ok: 3 tasks'
some_wait() { [ "$(ids ride/8 '')" = 'dead,dead,waiting' ]; }
wait_for 10 "the first one waits again, the others in their time" some_wait
ctl task redrive-all ride/8 0.3
one_is_dead() { [ "$(ids ride/8 'state=dead')" = dead ]; }
wait_for 10 "a higher rate: one at once, and one in 3.3 s" one_is_dead
ctl task redrive-all ride/8 stop
clock=$(submit '{"payload":1,"delay":"4s"}' "$R/v1/queues/ride/8/tasks")
later() { [ "$(why "$clock" .state)" = waiting ]; }
wait_for 10 "  (4 s later)" later
check "a redrive that is stopped goes no further" one_is_dead
ctl task cancel "$clock"
ctl task discard "$clock" --yes
check_eq "a rate that is none is refused" "$(admin POST '/v1/admin/task-queues/ride/8/tasks/redrive?rate_per_s=fast' | field code)" bad_request
check_eq "what says nothing to an order is refused" "$(admin POST '/v1/admin/task-queues/ride/8/tasks/discard?key=k' | field code)" bad_request
ctl task redrive-all ride/8
all_wait() { [ "$(ids ride/8 '')" = 'waiting,waiting,waiting' ]; }
wait_for 10 "without a rate all wait at once" all_wait
for i in 1 2 3; do fail_next; done
check "a discard of all wants --yes" test "$(ctl task discard-all ride/8; echo $?)" = 2
ctl task discard-all ride/8 --yes
check "they are discarded" says '^ok: 3 tasks'
check_eq "and gone" "$(ids ride/8 '')" ''

# ---- pinned keys
KEYS=/v1/admin/task-queues/ride/9/tasks/keys
for k in gold gold tin; do submit "{\"key\":\"$k\",\"payload\":1}" "$R/v1/queues/ride/9/tasks" >/dev/null; done
ctl key pause ride/9 gold
check "a key is paused" says '^key gold: paused \(was not pinned\)$'
first_key() { task_call -d '{"n":3}' "$R/v1/queues/ride/9/tasks/take" | jq -r '[.tasks[].key] | join(",")'; }
check_eq "  workers get the others" "$(first_key)" tin
check_eq "  one that is not pinned cannot go on: the name may be wrong" "$(ctl key resume ride/9 gould; echo $?)" 1
check "    it says so" complains 'key gould of queue ride/9 is not pinned'
ctl task keys ride/9
check "  it is told" says '^gold +2 +0 +pause +- +pinned$'
P=$(pid_of queuemng)
kill -KILL "$P"
wait_for 20 "the manager is killed, and comes back" restarted queuemng "$P"
knows() { [ "$(admin GET "$KEYS/gold" | field paused)" = true ]; }
wait_for 20 "  and knows it" knows
ctl key set ride/9 gold max_concurrent=1
check "it has the limits of its pool: another one is refused" complains 'inherit: .* must be false'
ctl key set ride/9 gold inherit=false max_concurrent=1
ctl key resume ride/9 gold
goes_on() { [ "$(first_key)" = gold ]; } # its node hears of it by the manager, which has just begun anew
wait_for 10 "it goes on, as it is limited" goes_on
check_eq "  and no more" "$(first_key)" ''
ctl key list
check "segqctl lists it" says '^ride/9 +gold +open +any +1 +1 +any$'
ctl key unpin ride/9 gold
check_eq "without a limit of its own the other one goes" "$(first_key)" gold

# ---- by force
K=$(submit '{"payload":1}' "$R/v1/queues/ride/8/tasks")
read -r K LEASE < <(take "$R/v1/queues/ride/8/tasks")
ctl task cancel "$K"
check_eq "one that runs is cancelled when its attempt ends" "$(why "$K" '"\(.state) \(.stopping)"')" 'running true'
ctl task cancel "$K" --force
check "by force at once" says '^state +cancelled'
check_eq "  it is not discarded while a worker may have it" "$(admin POST "/v1/admin/tasks/$K/discard" | field detail)" \
    'the task is cancelled: a worker may still have it: it is discarded when its lease has ended'
check "  it says that it may have been done" says '^because +cancelled, but an attempt had begun'
check_eq "  its worker is told" "$(task_call -d "{\"lease_id\":\"$LEASE\"}" -o "$DIR/body" -w '%{http_code}' "$R/v1/tasks/$K/ack")" 409
ctl task run "$K" --force
check "  no other order has it" complains 'task run does not take --force'
ctl task cancel-all ride/8 --force --yes
check "a queue's, too" says '^ok: 0 tasks'

# ---- the log of operators
audit() { admin GET /v1/admin/audit?n=100 | jq -r '.entries[] | select(.kind == "task") | "\(.name) \(.path)"'; }
check "orders are in it, by the task's id" grep -qx "$ID /v1/admin/tasks/$ID/run" <(audit)
check "  never by its token" test "$(grep -cF "$late" "$C/state/queuemng/audit.jsonl")" = 0
check_eq "what was refused is not" "$(audit | grep -c "$ID/run")" 1

# ---- pause
ctl task pause imagse
check "a typing error is told" complains 'did you mean images'
ctl key set imagse tenant7 weight=2
check "  of a key's queue, too" complains 'did you mean images'
ctl task pause ride/42
check "a queue of a pattern: its pool is named" complains "segqctl task pause 'ride/\*'"
ctl task pause images
check "a pool is paused" says '^pool images: paused: false -> true$'
held=$(submit '{"payload":"d"}')
check_eq "  nobody gets a task of it" "$(task_call -d '{"n":1,"wait":"1s"}' "$Q/take" | jq '.tasks | length')" 0
check_eq "  and the task says so" "$(why "$held" .because)" 'pool images is paused: no task of it starts'
check_eq "  nor is it run" "$(admin POST "/v1/admin/tasks/$held/run" | field detail)" 'pool images is paused: resume it first'
ctl task resume images
check_eq "it is resumed" "$(take | cut -d' ' -f1)" "$held"
ctl task redirve
check "a verb with a typing error" complains "did you mean 'task redrive'"

# ---- the bytes of what waits
ctl pool set images max_bytes=10
refused() { [ "$(task_call -d '{"payload":"as long as it may not be"}' "$Q" | field code)" = queue_full ]; }
wait_for 10 "payloads have a bound" refused
check_eq "  whoever submits hears which" "$(task_call -d '{"payload":"as long as it may not be"}' "$Q" | jq '.detail | contains("max_bytes")')" true
full() { ctl task list; says '^images +full ' && says '^tasks of images: new ones are refused, payloads .* have max_bytes$'; }
wait_for 10 "  and so does segqctl task list" full
ctl status
check "  and status" says '^tasks of images: new ones are refused'
ctl pool set images max_bytes=0
accepted() { ! refused; }
wait_for 10 "without it they have none" accepted

# ---- more wait than an operator wants to hear nothing of
check_eq "no bound: no trouble" "$(metric 1 segq_tasks_warn_waiting)" 0
for i in 1 2; do submit '{"payload":"e"}' >/dev/null; done
ctl pool set images warn_waiting=1
crowded() { ctl task list; says '^tasks of images: [0-9]+ wait, more than warn_waiting \(1\)$'; }
wait_for 10 "a pool in which more wait is told" crowded
ctl status
check "  by status, too" says '^tasks of images: [0-9]+ wait, more than warn_waiting'
check_eq "  and its metrics, for the alert" "$(metric 1 segq_tasks_warn_waiting)" 1
busy() { http "http://127.0.0.1:$((PORT + 47))/metrics" | grep -q '^segq_task_queue_waiting{queue="images"} [1-9]'; }
wait_for 10 "the task node has metrics of its busiest queues" busy
ctl pool set images warn_waiting=0

# ---- schedules: defined, changed, deleted by operators and by servers
SCHED=/v1/admin/task-queues/ride/9/tasks/schedules
ctl task schedules add ride/9 nightly cron='30 2 * * *' zone=Europe/Berlin task='{"payload":{"n":1.10}}'
check "an operator defines a schedule" says '^task: - -> "22 bytes '
check "  and is told when it fires, by the zone's clocks" says '^fires: 2.*T02:30:00\+0[12]:00, .*T02:30:00\+0[12]:00, '
ctl task schedules add ride/9 nightly every=1h task='{"payload":1}'
check "one of a name that is taken is not made" complains 'exists already; PATCH changes it'
ctl task schedules set ride/9 nightly cron='30 25 * * *'
check "what is wrong is said by its field, with the range" complains 'cron: hour: 25 is not in 0-23'
ctl task schedules set ride/9 nightly task='{"payload":1'
check "  what looks like JSON and is not is no text" complains 'looks like JSON and is not'
ctl task schedules set ride/9 nightly task='{"path":"/x"}'
check "  also of its task" complains 'task: path, method, headers and body are for queues with an endpoint'
server() { task_call "$R/v1/schedules/ride/9/nightly" "$@"; }
check_eq "a server reads the same, byte for byte" "$(server | sed 's/.*"task":{"payload"/{"payload"/')" '{"payload":{"n":1.10}}}}'
patch_at() { http -X PATCH -H "Authorization: Bearer $(admin_token)" -H "If-Match: \"$1\"" -d "$2" "$A$SCHED/nightly"; }
tag=$(admin GET "$SCHED/nightly" | jq .version)
ctl task schedules pause ride/9 nightly
check "a pause: from what to what" says '^paused: - -> true$'
check "  it fires no more, for so long" says '^fires: not while it is paused$'
ctl task schedules ride/9
check "  the list says so in place of the next time" says '^nightly +paused +'
check_eq "whoever looked before that changes nothing" \
    "$(patch_at "$tag" '{"zone":"UTC"}' | field detail)" 'schedule nightly was changed meanwhile: look at it again'
check_eq "a server defines the same name" "$(server -X PUT -H 'Content-Type: application/json' -d '{"every":"1h","task":{"payload":2}}' -o /dev/null -w '%{http_code}')" 200
ctl task schedules set ride/9 nightly every=2h jitter=30s
check "  an operator changes what it said" says '^every: "1h" -> "2h"$'
check_eq "  it says so in the log of operators" "$(admin GET /v1/admin/audit | jq -c '.entries[0] | [.kind, .name, .changes[0]]')" \
    '["schedule","ride/9 nightly",{"key":"every","from":"1h","to":"2h"}]'
ctl task schedules show ride/9 nightly
check "  the rest is as the server had it" says '^task: ."payload":2.$'
ctl task schedules set ride/9 nightly jitter=null
check "null takes a key away" says '^jitter: "30s" -> -$'
check_eq "when one would fire is told before it is made" \
    "$(admin GET '/v1/admin/ticks?cron=30%202%20*%20*%20*&zone=Europe/Berlin' | jq -c '.ticks | length')" 3
check_eq "  where clocks change, at the change" \
    "$(admin GET "/v1/admin/ticks?cron=30%202%20*%20*%20*&zone=Europe/Berlin&from=$(date -ud 2037-03-28 +%s)" | jq -r '[.ticks[].local[5:]] | join(" ")')" \
    '03-28T02:30:00+01:00 03-29T03:00:00+02:00 03-30T02:30:00+02:00'
check_eq "  or why not" "$(admin GET '/v1/admin/ticks?cron=@daily&zone=Mars/Base' | field detail)" 'zone: there is no Mars/Base here'
ctl task schedules delete ride/9 nightly
check "it is deleted, and as it was is told" says '^every: "2h"$'
check "  with what it submitted" says '^task: ."payload":2.$'
ctl task schedules delete ride/9 nightly
check "  once" complains 'queue ride/9 has no schedule nightly'

# ---- a queue that has got a pool of its own: its schedules follow when they are changed
ctl task schedules add ride/8 old every=1h task='{"payload":1}'
ctl task schedules add ride/8 left every=1h task='{"payload":1}'
ctl pool add ride/8 max_attempts=1
check_eq "what the older pool has is shown" "$(admin GET "${SCHED/9/8}/old" | jq -r .definition.every)" 1h
taken() { ctl task schedules add ride/8 new every=1h task='{"payload":1}'; says '^every: - -> "1h"$'; }
wait_for 10 "a new name is taken" taken
ctl task schedules delete ride/8 new
ctl task schedules add ride/8 old every=3h task='{"payload":9}'
check "another of its name is refused" complains 'schedule old exists already'
put_at() { http -X PUT -H "Authorization: Bearer $(admin_token)" -H "If-Match: \"$1\"" -d '{"every":"1h","task":{"payload":3}}' "$A${SCHED/9/8}/$2"; }
check_eq "  and a definition for another version" "$(put_at 77 old | field detail)" 'schedule old was changed meanwhile: look at it again'
check_eq "  or for one that is nowhere" "$(put_at 77 none | field detail | cut -d';' -f1)" 'queue ride/8 has no schedule none any more'
check_eq "  one for what it is there is taken: from what to what" \
    "$(put_at "$(admin GET "${SCHED/9/8}/left" | jq .version)" left | jq -c '[.changes[].key]')" '["task"]'
moved() { ctl task schedules set ride/8 old every=2h; says '^every: "1h" -> "2h"$'; }
wait_for 10 "a change of it: from what to what" moved
check_eq "  it is there once" "$(admin GET "${SCHED/9/8}" | jq -c '[.schedules[].schedule] | sort')" '["left","old"]'
check_eq "  in the queue's own pool, where servers look" "$(task_call "$R/v1/schedules/ride/8/" | jq -c '[.schedules[].schedule] | sort')" '["left","old"]'
ctl task schedules delete ride/8 left
check_eq "one that stayed behind is deleted" "$(admin GET "${SCHED/9/8}" | jq -c '[.schedules[].schedule]')" '["old"]'

# ---- a node that is away
ctl status
check "status has pools and task nodes" says '^task\.0 +up( .*)? 4 +0 '
ctl drain task.0
check "the only node keeps what it has" says '^ok: 4 partitions will stay: no other node is up that takes them$'
ctl undrain task.0
pid=$(pid_of task.0)
kill -STOP "$pid"
check_eq "a node that is silent: 503" "$(why "$one" .code)" queue_unavailable
late=$(admin PUT "$SCHED/late" '{"every":"1h","task":{"payload":2}}' | field detail)
check "  also of a schedule: $late" grep -qE '^task node task.0, which has the queue, (is away|did not answer in time; it may have been done)' <<<"$late"
ctl --yes task cancel-all ride/9 && rc=0 || rc=$?
check_eq "an order that reaches no partition is not done" "$rc" 1
check "  no word of ok" says '^0 tasks$'
check "  where it was to go" says 'did not answer: task node task\.0$'
check "  what to do" complains 'give the order again when their nodes are up'
ctl task schedules run ride/8 old && rc=0 || rc=$?
check_eq "nor is that to run a schedule" "$rc" 1
kill -CONT "$pid"
