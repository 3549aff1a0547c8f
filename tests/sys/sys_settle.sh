#!/bin/bash
# Units of calls that are known later: a call costs what its endpoint's rule estimates, and what its answer says,
# whole or in the last event of a stream, is charged or given back; both are told; what did not begin is given
# back; a kill -9 of the task node amid calls loses no settlement and makes none twice (J24), and what is owed
# stays owed.
. "$(dirname "$0")/lib.sh"

up --routers 1 --seg-nodes 1 --task-nodes 1
T=$((PORT + 90))
S=$DIR/said
mkdir -p "$S"
helper python3 "$here/usage_target.py" $T "$S"
token=$(task_token)
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$T") 2>/dev/null; }
wait_for 10 "the target listens" listens
admin PUT /v1/admin/endpoints/gen "{\"url\":\"http://127.0.0.1:$T/\",\"allow\":[\"127.0.0.0/8\"],\"deadline\":\"8s\",\"cost\":{\"pointer\":\"/max_tokens\",\"constant\":10,\"min\":5,\"used\":\"/usage/total_tokens\",\"used_header\":\"x-tokens-used\"}}" >/dev/null
ctl() { "$BIN/segqctl" --dir "$C" "$@" >"$DIR/out" 2>"$DIR/err" </dev/null; }
ctl pool set gen key.rates='[{"units":600,"per":"minute","burst":200}]'
check "the key has a rate in units" grep -q rates "$DIR/out"
body() { echo "{\"name\":\"$1\",\"way\":\"$2\",\"max_tokens\":$3,\"used\":$4}"; }
call() { # NAME WAY MAX USED [more of curl]; its answer in $S/NAME.body, its status is told
    http -N -H "Authorization: Bearer $token" -H 'Prefer: wait=30' -D "$S/$1.head" -o "$S/$1.body" -w '%{http_code}' \
        -d "$(body "$1" "$2" "$3" "$4")" "${@:5}" "$R/v1/call/gen/x"
}
ready() { [ "$(call ready whole 1 1)" = 200 ]; }
wait_for 20 "calls go" ready
submit() { # KEY NAME WAY MAX USED
    http -H "Authorization: Bearer $token" -d "{\"key\":\"$1\",\"path\":\"/x\",\"body_json\":$(body "${@:2}")}" "$R/v1/queues/gen/tasks" | field task
}
look() { http "$R/v1/tasks/$1" | jq -r "[.state, .cost, .cost_used] | join(\" \")"; }
looks() { [ "$(look "$1")" = "$2" ]; }

# ---- estimate and truth
touch "$S/one.go"
one=$(submit a one stream 100 30)
wait_for 10 "a stream says what was used in its last event" looks "$one" "succeeded 110 30"
ctl task why "$one"
check "  segqctl tells both" grep -qE '^cost +110 units, used 30$' "$DIR/out"
for way in whole header; do
    t=$(submit b "$way" "$way" 20 31)
    wait_for 10 "so does an answer: $way" looks "$t" "succeeded 30 31"
done
t=$(submit b none none 20 9)
wait_for 10 "without it the estimate stands" looks "$t" "succeeded 30 "
t=$(submit c busy busy 190 40)
wait_for 20 "what a target has refused is given back, so the next attempt has its units" looks "$t" "succeeded 200 40"
check_eq "a request's own word counts, but for the least" "$(call word none 100 1 -H 'segq-cost: 2')" 200

# ---- 200 at once, and ten a second: twelve calls of 190 each, which take 5, are no wait
from=$(date +%s%N)
many=()
for i in $(seq 12); do many+=("$(submit d "m$i" whole 180 5)"); done
all_done() { for t in "${many[@]}"; do looks "$t" "succeeded 190 5" || return 1; done; }
wait_for 30 "what is given back is there for the next one" all_done
check "  without a wait for the rate" [ $((($(date +%s%N) - from) / 1000000)) -lt 15000 ]

# ---- kill -9 of the task node, amid some
amid=()
for i in 1 2 3 4 5 6; do amid+=("$(submit "k$i" "k$i" stream 50 25)"); done
all_seen() { [ "$(grep -c '^k[1-6]$' "$S/seen")" -ge 6 ]; }
wait_for 20 "six calls are under way" all_seen
owes=$(submit owes owes whole 1 300)
wait_for 10 "one takes more than all that its key has" looks "$owes" "succeeded 11 300"
owed_since=$(date +%s%N)
touch "$S/k1.go" "$S/k2.go" "$S/k3.go"
three_done() { for i in 0 1 2; do looks "${amid[i]}" "succeeded 60 25" || return 1; done; }
wait_for 20 "three are over" three_done
old=$(pid_of task.0)
kill -KILL "$old"
wait_for 30 "the task node is killed, and comes back" restarted task.0 "$old"
wait_for 20 "J24: what was settled is" three_done
touch "$S/k4.go" "$S/k5.go" "$S/k6.go"
next=$(submit owes next none 1 1)
rest_done() { for i in 3 4 5; do looks "${amid[i]}" "succeeded 60 25" || return 1; done; }
wait_for 90 "J24: attempts that were lost are tried again, and settled" rest_done
wait_for 60 "the key that owes has its turn" looks "$next" "succeeded 11 "
check "  when that is paid back, whoever was killed" [ $((($(date +%s%N) - owed_since) / 1000000)) -gt 10000 ]
