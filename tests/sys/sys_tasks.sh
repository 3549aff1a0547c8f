#!/bin/bash
# Tasks over real processes: nobody without a token; a task's life by hand; the same again; a lease
# is one worker's; a cancel; batches; a crowd of tasks without any fault, judged; a clean restart.
. "$(dirname "$0")/lib.sh"

SECRET=0123456789abcdef0123456789ABCDEF
echo "$SECRET" >"$DIR/claim.key"
chmod 600 "$DIR/claim.key"
up --routers 1 --seg-nodes 1 --task-nodes 1 --task-store "${STORE:-journal}" \
    --set task.archive_dir="$DIR/archive" \
    --set router.claim_keys="[{kid: shop, alg: HS256, secret_file: $DIR/claim.key}]"
Q=$R/v1/queues/images/tasks
task_call() { http -H "Authorization: Bearer $(task_token)" "$@"; }
call_status() { status_of -H "Authorization: Bearer $(task_token)" "$@"; }

# ---- who may
check_eq "without a token nobody submits" "$(status_of -d '{"payload":1}' "$Q")" 401
check_eq "  nor takes" "$(status_of -d '{"n":1}' "$Q/take")" 401
check_eq "  nor with another one" "$(status_of -H 'Authorization: Bearer none' -d '{"payload":1}' "$Q")" 401

claim=$("$BIN/segqctl" claim 'images*' --task order-17 --task-key tenant7 --key "$DIR/claim.key")
claimed() { http -o "$DIR/claimed" -w '%{http_code}' -d "{\"claim\":\"$claim\"${1:-}}" "$Q${2:-}"; }
check_eq "with a claim a browser submits a task" "$(claimed ',"payload":7')" 201
CT=$(jq -r .task "$DIR/claimed")
check_eq "  once: the same again is the same task" "$(claimed ',"payload":7') $(jq -r .task "$DIR/claimed")" "200 $CT"
check_eq "  another payload is refused" "$(claimed ',"payload":8')" 422
check_eq "  and another key" "$(claimed ',"key":"other"' && jq -r .detail "$DIR/claimed")" \
    "403the claim is for another key (key)"
check_eq "  it opens nothing else" "$(claimed '' /take)" 401
check_eq "  the task has the claim's key" "$(http "$R/v1/tasks/$CT" | field key)" tenant7
check_eq "  and may be cancelled" "$(http -X DELETE "$R/v1/tasks/$CT" | field state)" cancelled

# ---- a life
t0=$(now_ms)
first=$(task_call -d '{"key":"tenant7","payload":{"prompt": "a cat"},"delay":"1s"}' "$Q")
T=$(jq -r .task <<<"$first")
check_eq "it waits for its time, says its token without any other" "$(http "$R/v1/tasks/$T" | field state)" scheduled
taken=$(task_call -d '{"n":10,"lease":"30s","wait":"10s"}' "$Q/take")
check "a worker waits for it: $(($(now_ms) - t0)) ms" test $(($(now_ms) - t0)) -ge 1000
check_eq "it has the payload" "$(jq -c '.tasks[0].payload' <<<"$taken")" '{"prompt":"a cat"}'
check "  byte for byte" grep -qF '{"prompt": "a cat"}' <<<"$taken"
check_eq "and the key, and the attempt" "$(jq -c '[.tasks[0].key, .tasks[0].attempt]' <<<"$taken")" '["tenant7",1]'
L=$(jq -r '.tasks[0].lease_id' <<<"$taken")
check_eq "another lease is refused" "$(call_status -d '{"lease_id":"AAAAAAAAAAA","result":1}' "$R/v1/tasks/$T/ack")" 409
tag_of() { http -D - -o /dev/null "$R/v1/tasks/$T" | sed -n 's/^ETag: \([^\r]*\).*/\1/p'; }
same_again() { [ "$(status_of -H "If-None-Match: $(tag_of)" "$R/v1/tasks/$T")" = 304 ]; }
wait_for 5 "nothing new is not sent again" same_again # moments may differ by a millisecond
check_eq "it is extended" "$(call_status -d "{\"lease_id\":\"$L\",\"lease\":\"60s\"}" "$R/v1/tasks/$T/extend")" 200
check_eq "it is done" "$(call_status -d "{\"lease_id\":\"$L\",\"result\":{\"url\":  \"cat.png\"}}" "$R/v1/tasks/$T/ack")" 200
check_eq "and says so" "$(http "$R/v1/tasks/$T" | field state)" succeeded
check_eq "the result, byte for byte" "$(http "$R/v1/tasks/$T/result")" '{"url":  "cat.png"}'
check_eq "what is done is not cancelled" "$(call_status -X DELETE "$R/v1/tasks/$T")" 409

# ---- a long result: its first bytes, its length and hash
T2=$(task_call -d '{"payload":1}' "$Q" | jq -r .task)
L=$(task_call -d '{"n":1,"wait":"5s"}' "$Q/take" | jq -r '.tasks[0].lease_id')
check_eq "there is no result yet" "$(status_of "$R/v1/tasks/$T2/result")" 202
{ printf '"'; head -c 100000 /dev/zero | tr '\0' x; printf '"'; } >"$DIR/result"
{ printf '{"lease_id":"%s","result":' "$L"; cat "$DIR/result"; printf '}'; } >"$DIR/ack"
check_eq "a worker gives 100 KB" "$(call_status -d "@$DIR/ack" "$R/v1/tasks/$T2/ack")" 200
check_eq "what it was is known" "$(http "$R/v1/tasks/$T2" | jq -c '[.result, .result_length, .result_sha256, .result_truncated]')" \
    "[null,100002,\"$(sha256sum <"$DIR/result" | cut -d' ' -f1)\",true]"
http -D "$DIR/head" -o "$DIR/kept" "$R/v1/tasks/$T2/result?ack=1"
check "its first 64 KiB are kept" cmp "$DIR/kept" <(head -c 65536 "$DIR/result")
check "  and it says so" grep -qi '^segq-truncated: true' "$DIR/head"
gone() { [ "$(status_of "$R/v1/tasks/$T2")" = 410 ]; }
wait_for 5 "read with ack=1, it goes" gone

# ---- done, and the next one
task_call -d '[{"payload":"a"},{"payload":"b"}]' "$Q/batch" >/dev/null
taken=$(task_call -d '{"wait":"10s"}' "$Q/take")
done_and() { # VERB MORE: the task of $taken; its answer is the next $taken
    local body
    body=$(jq -c --argjson more "$2" '{lease_id: .tasks[0].lease_id} + $more' <<<"$taken")
    taken=$(task_call -d "$body" "$R/v1/tasks/$(jq -r '.tasks[0].task' <<<"$taken")/$1")
}
next='{"take":{"queue":"images","lease":"30s","wait":"10s"}}'
done_and ack "$next"
check_eq "an ack takes the next task" "$(jq -c '[.state, .tasks[0].payload]' <<<"$taken")" '["succeeded","b"]'
done_and nack "$(jq -c '.delay = 1' <<<"$next")"
check_eq "a nack waits for one: here the same again" \
    "$(jq -c '[.state, .tasks[0].payload, .tasks[0].attempt]' <<<"$taken")" '["retrying","b",2]'
last=$(jq -r '.tasks[0].task' <<<"$taken")
done_and ack '{"take":{"queue":"images"}}'
check_eq "the last one is done, and there is no more" "$(jq -c '[.state, .tasks]' <<<"$taken")" '["succeeded",[]]'
check_eq "an ack that is refused takes nothing" "$(task_call -d "$(jq -c '.lease_id = "AAAAAAAAAAA"' <<<"$next")" \
    "$R/v1/tasks/$last/ack" | jq -c '[.code, .tasks]')" '["conflict",null]'

# ---- the same again, a cancel
same() { task_call -H 'Idempotency-Key: order-1' -d "{\"payload\":$1}" -o "$DIR/same" -w '%{http_code}' "$Q"; }
check_eq "a new one" "$(same 1)" 201
T1=$(jq -r .task "$DIR/same")
check_eq "the same again" "$(same 1)" 200
check_eq "  is the same task" "$(jq -r .task "$DIR/same")" "$T1"
check_eq "another payload is refused" "$(same 2)" 422
single() { task_call -d "{\"unique\":{\"key\":\"cart7\",\"on_conflict\":\"$1\"}}" -o "$DIR/single" -w '%{http_code}' "$Q"; }
check_eq "a unique key" "$(single reject)" 201
T2=$(jq -r .task "$DIR/single")
check_eq "  is of one task" "$(single reject)" 409
check_eq "  and passes to the one that replaces it" "$(single replace)" 201
check_eq "  which is cancelled" "$(http "$R/v1/tasks/$T2" | field state)" cancelled
check_eq "  then that is" "$(http -X DELETE "$R/v1/tasks/$(jq -r .task "$DIR/single")" | field state)" cancelled
check_eq "it is cancelled" "$(http -X DELETE "$R/v1/tasks/$T1" | field state)" cancelled
check_eq "and nobody gets it" "$(task_call -d '{"n":10,"wait":"1s"}' "$Q/take" | jq '.tasks | length')" 0
check_eq "a foreign token is nobody's" "$(status_of "$R/v1/tasks/${T%?????}AAAAA")" 404

# ---- what a task has of its own
own=$(task_call -d '{"payload":1,"max_attempts":1,"labels":["red"]}' "$Q" | jq -r .task)
L=$(task_call -d '{"wait":"5s"}' "$Q/take" | jq -r '.tasks[0].lease_id')
check_eq "one attempt was all that it had" \
    "$(task_call -d "{\"lease_id\":\"$L\"}" "$R/v1/tasks/$own/nack" | field state)" dead
check_eq "it says so" "$(http "$R/v1/tasks/$own" | jq -c '[.max_attempts, .labels]')" '[1,["red"]]'
short=$(task_call -d '{"payload":1,"ttl":"300ms"}' "$Q" | jq -r .task)
expired() { [ "$(http "$R/v1/tasks/$short" | field state)" = expired ]; }
wait_for 10 "a task with a short life of its own expires" expired

# ---- an answer that waits
task_call -H 'Prefer: wait=15' -d '{"payload":8,"delay":"1s"}' "$Q" >"$DIR/waited" &
waiter=$!
taken=$(task_call -d '{"wait":"10s"}' "$Q/take")
task_call -d "$(jq -c '{lease_id: .tasks[0].lease_id, result: 9}' <<<"$taken")" \
    "$R/v1/tasks/$(jq -r '.tasks[0].task' <<<"$taken")/ack" >/dev/null
wait "$waiter"
check_eq "who submits and waits has the result" "$(jq -c '[.state, .result]' "$DIR/waited")" '["succeeded",9]'
late=$(task_call -d '{"payload":1}' "$Q")
check_eq "a look says when it starts, and why" \
    "$(http "$R/v1/tasks/$(jq -r .task <<<"$late")" | jq -c '[.eta_s > 0, .eta_reason]')" '[true,"pace"]'
http -X DELETE "$R/v1/tasks/$(jq -r .task <<<"$late")" >/dev/null

# ---- a jump
J1=$(task_call -d '{"key":"j","payload":"first"}' "$Q" | jq -r .task)
J3=$(task_call -d '{"key":"k","payload":"third","priority":2}' "$Q" | jq -r .task)
J2=$(task_call -d '{"key":"j","payload":"second"}' "$Q" | jq -r .task)
ahead() { http "$R/v1/tasks/$J2" | jq -c '[.position, .ahead_of_key, .ahead_of_priority]'; }
check_eq "a task is told its place among all, in its key, in its priority" "$(ahead)" '[3,1,2]'
check_eq "a task gets another priority" "$(task_call -X PATCH -d '{"priority":1,"labels":["vip"]}' "$R/v1/tasks/$J2" | field state)" waiting
check_eq "  and is told its place there" "$(ahead)" '[3,0,1]'
check_eq "  which is the first one, without the other" "$(http -X DELETE "$R/v1/tasks/$J3" | field state; ahead)" $'cancelled\n[2,0,0]'
check_eq "  and goes first" "$(task_call -d '{"wait":"5s"}' "$Q/take" | jq -r '.tasks[0].payload')" second
check_eq "  the other one is still there" "$(http -X DELETE "$R/v1/tasks/$J1" | field state)" cancelled
http -X DELETE "$R/v1/tasks/$J2?force=1" >/dev/null # else it ends with the lease of its worker, later

# ---- many, without a fault
drive_tasks 2000 --seed calm
wait_for 60 "2000 tasks come to their end" tasks_are_done
judge_tasks --tasks 1500 --done 1000

# ---- the archive: each end once, in a calm run
archived() { cat "$DIR"/archive/*/archive-*.jsonl; }
final_ids() { # of all tasks of the queues that are kept
    local q page next=
    for q in images $(jq -r .queue "$DIR/archived" | sort -u); do
        while page=$(admin GET "/v1/admin/task-queues/$q/tasks?state=succeeded,dead,cancelled,expired&n=1000${next:+&after=$next}"); do
            jq -r '.tasks[] | .id + " " + .state' <<<"$page"
            next=$(jq -r '.next // empty' <<<"$page")
            [ -n "$next" ] || break
        done
    done | sort -u
}
each_end_once() {
    local ends=0 m
    archived >"$DIR/archived"
    for m in succeeded died cancelled expired; do ends=$((ends + $(metric 47 segq_task_${m}_total))); done
    [ "$(jq -c . "$DIR/archived" | wc -l)" = "$ends" ]
}
wait_for 5 "each end of a task has one line of the archive" each_end_once
check_eq "  none of them twice" "$(jq -r 'select(.state != "dead").id' "$DIR/archived" | sort | uniq -d)" ""
check_eq "  each task that is kept is there, in its state" \
    "$(comm -23 <(final_ids) <(jq -r '.id + " " + .state' "$DIR/archived" | sort -u))" ""
check_eq "  with its key, attempts and what ended it" \
    "$(jq -c 'select(.labels == ["red"]) | [.queue, .state, .attempts, .why]' "$DIR/archived")" '["images","dead",1,"nack"]'
check_eq "  and nothing of what it carried" "$(grep -cE 'a cat|cat.png|lease' "$DIR/archived")" 0
lines=$(wc -l <"$DIR/archived")

# ---- a clean end, and back
for i in 1 2 3; do task_call -d "{\"payload\":$i}" "$Q" | jq -r .task; done >"$DIR/three"
pid=$(pid_of task.0)
kill -TERM "$pid"
wait_for 20 "the task node ends, and comes back" restarted task.0 "$pid"
check_eq "  which writes nothing again into the archive" "$(archived | wc -l)" "$lines"
all_wait() { [ "$(while read -r t; do http "$R/v1/tasks/$t" | field state; done <"$DIR/three" | grep -cx waiting)" = 3 ]; }
wait_for 20 "with all that waited" all_wait
check_eq "in their order" "$(task_call -d '{"n":3,"wait":"5s"}' "$Q/take" | jq -c '[.tasks[].payload]')" '[1,2,3]'

# ---- an address for servers
helper "$BIN/router" -c "$C/config/router.yaml" --set node=apart --set "managers=127.0.0.1:$PORT" \
    --set "listen=127.0.0.1:$((PORT + 95))" --set "admin=127.0.0.1:$((PORT + 96))" \
    --set "listen_tasks=127.0.0.1:$((PORT + 97))" --set "log_file=$DIR/apart.log"
A=127.0.0.1:$((PORT + 95)) S=127.0.0.1:$((PORT + 97))
taken_there() { [[ $(task_call -d '{"name":"there"}' "$S/v1/queues/images/tasks" -o "$DIR/there" -w '%{http_code}') = 20? ]]; }
wait_for 20 "servers submit at listen_tasks" taken_there
check_eq "  the public port refuses them" "$(call_status -d '{}' "$A/v1/queues/images/tasks")" 403
check_eq "  and shows a task to whom it belongs" "$(http "$A/v1/tasks/$(jq -r .task "$DIR/there")" | field state)" waiting
