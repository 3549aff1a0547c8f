#!/bin/bash
# A task behind a task, over queues at two task nodes: a worker's result stands in the call that follows,
# its answer in the task after that; each once, while task nodes and a router are killed (kill -9). They
# are a group, which is told to be over once, when it is sealed and all are.
. "$(dirname "$0")/lib.sh"

up --routers 2 --seg-nodes 1 --task-nodes 2 --task-store "${STORE:-journal}" --set 'queuemng.pools=[{match: images}, {match: "ride/*", partitions: 8}]'
T=$((PORT + 90))
N=$DIR/seen
touch "$N"
helper "$here/target.py" $T "$N"
auth="Authorization: Bearer $(task_token)"
defined() { admin PUT /v1/admin/endpoints/gen "{\"url\":\"http://127.0.0.1:$T\",\"allow\":[\"127.0.0.0/8\"]}" | jq -e '.code == null' >/dev/null; }
wait_for 10 "an endpoint is defined" defined
admin PUT /v1/admin/pools/gen '{"endpoint":"gen","retry":{"min":"100ms","max":"500ms"},"max_attempts":60}' >/dev/null
admin PUT /v1/admin/pools/images '{"notify":"gen"}' >/dev/null
submit() { http -H "$auth" -d "$2" "$R/v1/queues/$1/tasks"; }
# As a worker does: it asks again. A wait of 10 s is over in vain only if no task came meanwhile.
take() { # QUEUE
    local said k began over='' i
    for ((i = 0; i < 12; i++)); do
        began=$(now_ms)
        said=$(http -H "$auth" -d '{"wait":"10s"}' "$R/v1/queues/$1/tasks/take")
        k=$(jq -c '.tasks[0] // empty' <<<"$said")
        [ -z "$k" ] || break
        [ "$said" != '{"tasks":[]}' ] || [ $(($(now_ms) - began)) -lt 9500 ] || over=$(now_ms)
    done
    [ -z "$over" ] || jq -e --argjson over "$over" '.entered_at * 1000 + 1000 > $over' <(http "$R/v1/tasks/$(jq -r .task <<<"$k")") >/dev/null ||
        echo "$1: $k" >>"$DIR/in_vain"
    echo "$k"
}
ack() { http -H "$auth" -d "{\"lease_id\":\"$(jq -r .lease_id <<<"$1")\",\"result\":$2}" "$R/v1/tasks/$(jq -r .task <<<"$1")/ack" | jq -r .state; }
look() { http "$R/v1/tasks/$1" | jq -r "$2"; } # TASK FILTER
wait_for 15 "queues take tasks" eval 'submit gen "{\"path\":\"/echo\"}" | jq -e .task >/dev/null && submit images "{\"payload\":0,\"ttl\":\"1ms\"}" | jq -e .task >/dev/null'
gives() { http -H "$auth" -d '{}' "$R/v1/queues/ride/7/tasks/take" | jq -e .tasks >/dev/null; }
wait_for 15 "  and give them" gives

# ---- a worker's result, a call's answer
behind='{"queue":"gen","path":"/echo/{}","body_json":{"url":{"$result":"/url"}},"then":{"queue":"ride/7","payload":{"all":{"$result":""},"one":{"$result":"/url"}}}}'
A=$(submit images "{\"payload\":1,\"then\":${behind/\{\}/a}}" | jq -r .task)
check_eq "it waits for the first" "$(look "$A" .then.state)" waiting
check_eq "a worker is done" "$(ack "$(take images)" '{"url":"cat.png"}')" succeeded
k=$(take ride/7)
check_eq "the answer of the call, with the worker's result in it, is in the task after that" \
    "$(jq -c .payload <<<"$k")" '{"all":{"url":"cat.png"},"one":"cat.png"}'
B=$(look "$A" .then.task)
check_eq "each tells of the next" "$(look "$B" .then.task)" "$(jq -r .task <<<"$k")"
check_eq "  and of the one before, by its id" "$(look "$B" .after)" \
    "$("$BIN/segqctl" --dir "$C" --json task why "$A" | jq -r .id)"
check_eq "segqctl, too" "$("$BIN/segqctl" --dir "$C" task why "$A" | grep -c '^ *then.*submitted')" 1

# ---- none without what it needs; none behind a cancel; none that the token may not submit
A=$(submit images '{"payload":2,"then":{"queue":"ride/8","payload":{"$result":"/url"}}}' | jq -r .task)
ack "$(take images)" '{"uri":1}' >/dev/null
check_eq "a pointer that finds nothing is told" "$(look "$A" '[.state, .then.state, .then.why] | join(" ")')" "succeeded failed result_pointer"
A=$(submit images '{"payload":3,"then":{"queue":"ride/8"}}' | jq -r .task)
http -X DELETE "$R/v1/tasks/$A" >/dev/null
check_eq "a chain ends with its first" "$(look "$A" .then.state)" ended
bad() { check_eq "$1" "$(submit images "$2" | jq -r '"\(.status) \(.detail)"')" "$3"; }
bad "a queue that no pool has" '{"then":{"queue":"nowhere"}}' "404 then: no pool matches the queue"
bad "a hole that is none" '{"then":{"queue":"ride/8","payload":{"$result":"url"}}}' '400 then: a pointer is "", or begins with a slash'
bad "a result that is not kept" '{"result":"drop","then":{"queue":"ride/8","payload":{"$result":""}}}' '400 then: $result needs a result, and result is "drop"'
deep='{"queue":"ride/8"}'
for _ in 1 2 3 4 5 6 7 8; do deep="{\"queue\":\"ride/8\",\"then\":$deep}"; done
bad "nine behind one" "{\"then\":$deep}" "400 then: at most 8 tasks stand one behind the other behind a task"

check "no worker waited in vain for a task that was there" test ! -e "$DIR/in_vain"

# ---- kills
rows=$(seq 30 | while read -r i; do echo "{\"payload\":$i,\"group\":\"batch7\",\"then\":${behind/\{\}/k$i}}"; done | paste -sd,)
http -H "$auth" -d "[$rows]" "$R/v1/queues/images/tasks/batch" | jq -e 'length == 30' >/dev/null
group() { http -H "$auth" ${2:+-X POST} "$R/v1/groups/images/batch7${2:-}" | jq -c "$1"; } # FILTER [/VERB]
check_eq "they are a group" "$(group '[.tasks, .states.waiting, .sealed, .over]')" "[30,30,false,false]"
check_eq "which is sealed" "$(group .sealed /seal)" true
check_eq "  so no more get in" "$(submit images '{"group":"batch7"}' | jq -r .code)" group_sealed
worker() { # until all have come
    while [ "$(wc -l <"$DIR/acked")" -lt 30 ]; do
        k=$(http -H "$auth" -d '{"n":5,"wait":"1s","lease":"5s"}' "$R/v1/queues/images/tasks/take" | jq -c '.tasks[]?')
        while read -r one; do
            [ -n "$one" ] && [ "$(ack "$one" '{"url":"x"}')" = succeeded ] && jq -r .task <<<"$one" >>"$DIR/acked"
        done <<<"$k"
    done
}
touch "$DIR/acked"
worker 2>/dev/null &
w=$!
helpers+=("$w")
for n in task.0 router.1 task.1; do
    pid=$(pid_of $n)
    kill -KILL "$pid"
    wait_for 20 "$n is killed, and comes back" restarted $n "$pid"
done
all_called() { [ "$(jq -r 'select(.path | startswith("/echo/k")) | .path' "$N" | sort -u | wc -l)" = 30 ]; }
wait_for 40 "every success has its next" all_called
check_eq "  once, however often that was tried" \
    "$(jq -r 'select(.path | startswith("/echo/k")) | .path + " " + .headers["segq-task"]' "$N" | sort -u | cut -d' ' -f1 | uniq -d | wc -l)" 0
gone() { [ "$(metric 47 segq_task_chains_on_their_way)" = 0 ] && [ "$(metric 48 segq_task_chains_on_their_way)" = 0 ]; }
wait_for 20 "none is on its way any more" gone
group_over() { [ "$(group '[.over, .states.succeeded]')" = "[true,30]" ]; }
wait_for 10 "the group is over" group_over
told() { jq -r 'select(.path == "/notices") | .body | @base64d' "$N" | jq -c 'select(.type == "group.over") | [.data.group, .data.succeeded]'; }
is_told() { [ -n "$(told)" ]; }
wait_for 20 "  and somebody is told" is_told
check_eq "  once" "$(told | sort -u)" '["batch7",30]'
