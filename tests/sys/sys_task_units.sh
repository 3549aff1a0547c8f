#!/bin/bash
# Tasks cost units: keys share units, whatever their tasks cost; rates in units let no more start than
# they say in any window, also over a kill -9 of the task node, which takes nothing of a day; a large task starts in its turn; costs
# are told; what is no cost or no rate is refused by name; rates of an endpoint hold for its calls, and
# a window of the clock has no more, whatever is killed.
. "$(dirname "$0")/lib.sh"

up --routers 1 --seg-nodes 1 --task-nodes 1 --task-store "${STORE:-journal}" \
    --set 'queuemng.pools=[{match: images}, {match: paid, key: {rates: [{units: 1200, per: minute, burst: 30}]}}, {match: bound, max_waiting_units: 1000}, {match: dated, key: {rates: [{units: 100, window: calendar, zone: Europe/Berlin}]}}, {match: daily, queue: {rates: [{units: 20, per: day}]}}]'
task_call() { http -H "Authorization: Bearer $(task_token)" "$@"; }
ctl() { "$BIN/segqctl" --dir "$C" "$@" >"$DIR/out" 2>"$DIR/err" </dev/null; }
says() { grep -qE -- "$1" "$DIR/out"; }
complains() { grep -qE -- "$1" "$DIR/err"; }
submit() { task_call -d "$2" "$R/v1/queues/$1/tasks"; } # QUEUE JSON
batch() { task_call -d "$2" "$R/v1/queues/$1/tasks/batch"; }
there() { [ "$(task_call -o /dev/null -w '%{http_code}' "$R/v1/queues/paid/tasks")" = 200 ]; }
wait_for 20 "the pools have a task node" there

# ---- a window of the clock's minutes, which goes on beside all that follows, also two kill -9 of the node
T=$((PORT + 90))
helper "$here/target.py" $T "$DIR/seen"
wait_for 10 "the target listens" has_status 200 "http://127.0.0.1:$T/echo"
for bad in '"window":"calendar","burst":5' '"window":"calendar","per":"second"' '"window":"calendar","zone":"No/Where"' '"zone":"UTC"'; do
    ctl endpoint add clock url="http://127.0.0.1:$T/api" allow='["127.0.0.0/8"]' rates="[{\"units\":100,$bad}]"
    check "a window with $bad is refused by name" complains 'rates'
done
ctl endpoint add clock url="http://127.0.0.1:$T/api" allow='["127.0.0.0/8"]' \
    rates='[{"units":100,"window":"calendar","zone":"Europe/Berlin"}]'
clocked() { submit clock '{"path":"/echo","method":"GET","cost":30}' | field task | grep -v '^null$' | tee -a "$DIR/clocked"; }
waits_for_window() { ctl task why "$(clocked)" && says 'endpoint clock has used what its calendar window has room for: the next one begins at 20.*:00 UTC'; }
wait_for 20 "a task says for which window it waits" waits_for_window
of_100() { ctl endpoint list && says 'clock .* [0-9]+ of 100 \(100/minute, from 20.*:00 UTC to 20.*:00 UTC\)'; }
wait_for 10 "segqctl shows what of it is used" of_100

# ---- likewise of keys, which workers take from; a day's limit that is raised goes on
for bad in '"window":"calendar","burst":5' '"window":"calendar","per":"second"' '"window":"calendar","zone":"No/Where"' '"zone":"UTC"'; do
    ctl key set dated u rates="[{\"units\":100,$bad}]"
    check "a window of a key with $bad is refused by name" complains 'rates'
done
dated() { task_call -d "{\"lease\":\"1h\",\"wait\":\"$1\"}" "$R/v1/queues/dated/tasks/take" | jq -r '.tasks[0].task // "none"'; }
days() { ctl key set dated u rates="[{\"units\":$1,\"per\":\"day\",\"window\":\"calendar\",\"zone\":\"Europe/Berlin\"}]"; }
days 100
first=$(submit dated '{"key":"u","payload":1,"cost":60}' | field task)
later=$(submit dated '{"key":"u","payload":2,"cost":60}' | field task)
check_eq "a task of the day starts" "$(dated 5s)" "$first"
check_eq "  one that does not fit waits" "$(dated 0s)" none
check_eq "  and is told for what" "$(http "$R/v1/tasks/$later" | field limited_by)" window:u
midnight=$(TZ=Europe/Berlin date -d 'tomorrow 0:00' +%s)
check_eq "  until midnight in Berlin" "$(http "$R/v1/tasks/$later" | jq '.limited_until | floor')" "$midnight"
ctl task why "$later"
check "  segqctl says so, too" says 'key u has used what its calendar window has room for: the next one begins at 20.*:00 UTC'
days 120
check_eq "the operator raises the limit: it starts" "$(dated 5s)" "$later"
later=$(submit dated '{"key":"u","payload":3}' | field task)
check_eq "  and what was taken counts" "$(dated 0s)" none
for _ in 1 2 3 4; do submit dated '{"key":"t","payload":1,"cost":30}' | field task >>"$DIR/dated"; done
while ! grep -q ^none "$DIR/over" 2>/dev/null; do dated 5s; done >"$DIR/worker" 2>&1 &
helpers+=($!)

# ---- bad input
for bad in 0 -1 1000000001 '"many"' 1.5; do
    check_eq "a cost of $bad is refused" "$(submit images "{\"payload\":1,\"cost\":$bad}" | jq -r .detail | grep -o 'cost must be a whole number')" 'cost must be a whole number'
done
for bad in '[{"units":0}]' '[{"units":5,"per":"week"}]' '[{"per":"day"}]' '[{"units":1},{"units":2},{"units":3},{"units":4}]'; do
    ctl pool set images key.rates="$bad"
    check "rates $bad are refused by name" complains 'rates'
done
ctl key set images a inherit=true rates='[{"units":5}]'
check "a key that has its pool's limits has no rates" complains 'inherit'

# ---- shares: of 2000 units each key has half, though one has 20 tasks and the other 1000
batch images "$(jq -nc '[range(40) | {key: "large", payload: ., cost: 100}]')" >"$DIR/large"
check_eq "a batch has costs" "$(jq -s 'flatten | length' "$DIR/large")" 40
for _ in 1 2; do batch images "$(jq -nc '[range(1000) | {key: "small", payload: .}]')" >"$DIR/small"; done
one=$(jq -r '.[0].task' "$DIR/large")
check_eq "a look tells it" "$(http "$R/v1/tasks/$one" | field cost)" 100
check_eq "  of a task without one it says nothing" "$(http "$R/v1/tasks/$(jq -r '.[0].task' "$DIR/small")" | field cost)" null
ctl task why "$one"
check "segqctl tells it, too" says '^cost +100 units$'
: >"$DIR/taken"
taken_units() { jq -s 'map(if .key == "large" then 100 else 1 end) | add // 0' "$DIR/taken"; }
until [ "$(taken_units)" -ge 2000 ]; do
    task_call -d '{"n":50,"lease":"1h","wait":"1s"}' "$R/v1/queues/images/tasks/take" | jq -c '.tasks[]' >>"$DIR/taken"
done
share=$(jq -s '[.[] | select(.key == "large")] | length * 100' "$DIR/taken")
check "J10: half of $(taken_units) units are of large tasks ($share)" [ "$share" -ge 900 -a "$share" -le 1200 ]

# ---- other limits, a pinned key, the reason
ctl key set paid slow rates='[{"units":10,"per":"day","burst":5},{"units":1000000,"per":"second"}]'
check "a key has rates of its own" says 'rates'
big=$(submit paid '{"key":"slow","payload":1,"cost":9}' | field task)
next=$(submit paid '{"key":"slow","payload":2}' | field task)
task_call -d '{"wait":"5s","lease":"1h"}' "$R/v1/queues/paid/tasks/take" >"$DIR/take"
check_eq "one that is larger than the bucket starts when it is full" "$(jq -r '.tasks[0].task' "$DIR/take")" "$big"
task_call -d '{"lease":"1h"}' "$R/v1/queues/paid/tasks/take" >"$DIR/take"
check_eq "  then what it has overdrawn is owed" "$(jq '.tasks | length' "$DIR/take")" 0
check_eq "  and the next one is told so" "$(http "$R/v1/tasks/$next" | field limited_by)" rate:slow
ctl task why "$next"
check "  in words" says 'the rate of key slow lets the next one start'
ctl key list
check "rates are listed" says 'slow .*10/day'
ctl export
check "an export has them" says 'units.*1200'
ctl key set paid slow rates='[]'
task_call -d '{"wait":"20s","lease":"1h"}' "$R/v1/queues/paid/tasks/take" >"$DIR/take"
check_eq "without rates it starts at once" "$(jq -r '.tasks[0].task' "$DIR/take")" "$next"

# ---- units that wait have a bound
refusal() { task_call -D "$DIR/head" -d "{\"payload\":1,\"cost\":$1}" "$R/v1/queues/bound/tasks"; }
check_eq "a task that is larger than the bound fits where none waits" "$(refusal 1400 | field state)" waiting
task_call -d '{"lease":"1h","wait":"5s"}' "$R/v1/queues/bound/tasks/take" >"$DIR/take"
check_eq "  and has left what waits when it has started" "$(refusal 900 | field state)" waiting
check_eq "J36: what does not fit is refused, with the range" "$(refusal 101 | jq -r '.code + ": " + .detail')" \
    'queue_full: there is no room for a task of 101 units now: 900 of at most 1000 wait in its queue (max_waiting_units), 1 to 100 would fit; submit again later'
check "  and told to come again" grep -qi '^retry-after: [1-9]' "$DIR/head"
check_eq "  in a batch alone" "$(batch bound '[{"payload":1,"cost":101},{"payload":1,"cost":60},{"payload":1,"cost":41}]' | jq -c '[.[].status]')" '[503,201,503]'
summed() { http "http://127.0.0.1:$((PORT + 1))/metrics" | grep -qE "^segq_tasks_waiting_units\{.*bound.*\} $1\$"; }
wait_for 10 "a metric has the sum" summed 960

# ---- a rate in units, over a kill -9
took() { task_call -d '{"lease":"1h","wait":"100ms"}' "$R/v1/queues/daily/tasks/take" | jq -r '.tasks[0].task // "none"'; }
submit daily '{"payload":1,"cost":15}' >"$DIR/first"
next=$(submit daily '{"payload":2,"cost":5}' | field task)
submit daily '{"payload":3,"cost":6}' >"$DIR/last"
check_eq "15 of the 20 units of a day start" "$(took)" "$(field task <"$DIR/first")"
"$root/tests/sys/task_units_judge.py" "$R" "$(task_token)" paid 30 20 >"$DIR/judge" 2>&1 &
judge=$!
helper $judge
started() { grep -q "^started [1-9]" "$DIR/judge"; }
wait_for 30 "tasks start" started
pid=$(pid_of task.0)
kill -KILL "$pid"
wait_for 30 "the task node is killed, and comes back" restarted task.0 "$pid"
goes_on() { [ "$(took)" = "$next" ]; } # routers may not have it at once
wait_for 20 "J27: what is left of the day starts, behind a kill -9" goes_on
check_eq "  and no more than that" "$(took)" none
check_eq "J36: what waits behind a kill -9 is what waited" "$(refusal 41 | jq -r .detail | grep -o '960 of at most 1000')" '960 of at most 1000'
judged() { ! runs $judge; }
wait_for 180 "all of them are done" judged
check "J23: in no window did more units start than may: $(tail -1 "$DIR/judge")" grep -q '^ok ' "$DIR/judge"
check "units are counted" [ "$(metric 47 segq_task_units_started_total)" -ge 10 ]

# ---- rates of an endpoint: by the cost of calls
ctl endpoint add gen url="http://127.0.0.1:$T/api" allow='["127.0.0.0/8"]' rates='[{"units":0}]'
check "a rate of an endpoint is refused by name" complains 'rates'
ctl endpoint add gen url="http://127.0.0.1:$T/api" allow='["127.0.0.0/8"]' \
    rates='[{"units":600,"per":"minute","burst":20},{"units":1000,"per":"second"}]'
check "an endpoint has rates in units" says 'rates'
call() { task_call -o /dev/null -w '%{http_code}' -H "segq-cost: $1" -d x "$R/v1/call/gen/echo"; }
called() { [ "$(call 1)" = 200 ]; }
wait_for 20 "a call goes" called
from=$(date +%s%3N)
for cost in 10 10 10 25; do
    check_eq "a call of $cost goes" "$(call $cost)" 200
done
took=$(($(date +%s%3N) - from))
check "55 units at 10 a second, with 20 at once, take 3.5 s ($took ms)" [ "$took" -ge 3300 ]
used() { ctl endpoint list && says 'gen .* [0-9]+ of 20 \(600/minute\), [0-9]+ of 1000 \(1000/second\)'; }
wait_for 10 "segqctl shows what of them is used" used
check "units of calls are counted" [ "$(metric 47 segq_task_calls_units_total)" -ge 56 ]

# ---- two endpoints share what their account allows
ctl endpoint set gen rates='[]'
ctl budget add account rates='[{"units":600,"per":"minute","burst":20}]'
"$BIN/segqctl" --dir "$C" --json endpoint show gen | jq -c '{url, allow, budget: "account"}' >"$DIR/other.json"
check_eq "a second endpoint of the budget is made" "$(http -X PUT -H "Authorization: Bearer $(admin_token)" \
    -d @"$DIR/other.json" -o /dev/null -w '%{http_code}' "$A/v1/admin/endpoints/gen2")" 201
ctl endpoint set gen budget=account
both() { ctl budget list && says 'gen2' && says '[0-9]+ of 600/minute'; }
wait_for 10 "segqctl shows the budget's units" both
call2() { task_call -o /dev/null -w '%{http_code}' -H "segq-cost: $1" -d x "$R/v1/call/gen2/echo"; }
second() { [ "$(call2 1)" = 200 ]; }
wait_for 20 "the second one is called" second
from=$(date +%s%3N)
for cost in 10 10 10; do call $cost >"$DIR/one" & one=$!; check_eq "a call of $cost goes to the other" "$(call2 $cost)" 200; wait $one; done
took=$(($(date +%s%3N) - from))
check "60 units of both at 10 a second, with 20 at once, take 4 s ($took ms)" [ "$took" -ge 3800 ]
ctl endpoint set gen budget= rates='[{"units":600,"per":"minute","burst":20},{"units":1000,"per":"second"}]'
ctl endpoint delete gen2 --yes
ctl budget delete account --yes
wait_for 10 "it has rates of its own again" used

ctl endpoint set gen rates='[{"units":20,"per":"second"}]'
full() { ctl endpoint list && says 'gen .* 0 of 20 \(20/second\)'; }
wait_for 10 "the bucket is full" full
ctl endpoint set gen rates='[{"units":100,"per":"day"}]'
check_eq "units of a day" "$(call 5)" 200
pid=$(pid_of task.0)
kill -KILL "$pid"
wait_for 30 "the task node is killed again" restarted task.0 "$pid"
from=$(date +%s)
goes_on() { [ "$(call 5)" = 200 ]; }
if [ "${STORE:-journal}" = journal ]; then # a Redis has nothing of the node itself: its buckets are empty
    wait_for 10 "J27: an endpoint goes on with what is left of its day" goes_on
    check "  at once" [ $(($(date +%s) - from)) -le 20 ]
fi
ctl endpoint set gen on_quota=reject rates='[{"units":600,"per":"minute","burst":20},{"units":1000,"per":"second"}]'
refused() { [ "$(call 1000)" = 429 ]; }
wait_for 20 "with on_quota=reject it is refused what has no room" refused
check "  and told when it may come again" [ "$(task_call -o /dev/null -D - -H 'segq-cost: 1000' -d x "$R/v1/call/gen/echo" |
    sed -n 's/^retry-after: *\([0-9]*\).*/\1/Ip')" -ge 90 ]
ctl endpoint set gen rates='[]'
fast() { from=$(date +%s%3N); [ "$(call 1000)" = 200 ] && [ $(($(date +%s%3N) - from)) -lt 2000 ]; }
wait_for 20 "without rates a call of 1000 goes at once" fast

# ---- what did not fit came with the next minute
MINUTE='(.started_at + 0.002) / 60 | floor' # of a start in its first millisecond, which may be told as the one before
clock_over() { while read -r one; do [ "$(http "$R/v1/tasks/$one" | field state)" = succeeded ] || return 1; done <"$DIR/clocked"; }
wait_for 70 "all calls of the window, and of the next one, are made" clock_over
while read -r one; do http "$R/v1/tasks/$one" | jq "$MINUTE"; done <"$DIR/clocked" | sort | uniq -c >"$DIR/minutes"
check "J28: at most 3 calls of 30 in a minute that has 100 ($(tr '\n' ';' <"$DIR/minutes"))" \
    [ "$(sort -rn "$DIR/minutes" | awk 'NR == 1 { print $1 }')" = 3 ]
check "  and more than one minute was needed" [ "$(wc -l <"$DIR/minutes")" -ge 2 ]
dated_over() { while read -r one; do [ "$(http "$R/v1/tasks/$one" | field state)" = running ] || return 1; done <"$DIR/dated"; }
wait_for 70 "all tasks of the key have started" dated_over
echo none >"$DIR/over"
while read -r one; do http "$R/v1/tasks/$one" | jq "$MINUTE"; done <"$DIR/dated" | sort | uniq -c >"$DIR/minutes"
check "J39: at most 3 of them in a minute, over two kill -9 ($(tr '\n' ';' <"$DIR/minutes"))" \
    [ "$(sort -rn "$DIR/minutes" | awk 'NR == 1 { print $1 }')" = 3 ]
check_eq "  and the other key waits for midnight still" "$(http "$R/v1/tasks/$later" | field limited_by)" window:u
