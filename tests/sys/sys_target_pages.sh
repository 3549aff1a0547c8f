#!/bin/bash
# Pages of metrics of an endpoint's targets, real processes, two task nodes: one that says that too many wait there
# gets no call until it has worked them off; a page that cannot be read closes nothing for ever, and is told.
. "$(dirname "$0")/lib.sh"

up --routers 1 --seg-nodes 1 --task-nodes 2 --set 'queuemng.pools=[{match: "gen/*", endpoint: gen, partitions: 8}]' \
    --set "queuemng.endpoints=[{name: gen, url: \"http://127.0.0.1:9/\", paused: true}]"
ctl() { "$BIN/segqctl" --dir "$C" --yes "$@"; }
T=$((PORT + 80))
url() { echo "http://127.0.0.1:$((T + $1))/api"; }
page() { # TARGET WAITING
    printf 'vllm:num_requests_waiting{model="a"} %s\nvllm:gpu_cache_usage_perc 0.1\n' "$2" >"$DIR/t$1/new"
    mv "$DIR/t$1/new" "$DIR/t$1/metrics"
}
for i in 1 2; do
    mkdir -p "$DIR/t$i/api"
    echo hello >"$DIR/t$i/api/x"
    page $i 0
    helper python3 -m http.server $((T + i)) --bind 127.0.0.1 --directory "$DIR/t$i"
    wait_for 10 "target $i listens" has_status 200 "$(url $i)/x"
done
token=$(task_token)
n=0
submit() {
    http -H "Authorization: Bearer $token" -d "{\"path\":\"/x?$n\",\"method\":\"GET\"}" "$R/v1/queues/gen/$((n % 16))/tasks" >"$DIR/said"
    jq -e .task "$DIR/said" >/dev/null && n=$((n + 1))
}
pool() { admin GET /v1/admin/task-queues | jq -r ".pools[] | select(.pool == \"gen/*\") | .$1"; }
many() { for ((k = 0; k < $1; k++)); do wait_for 20 "" submit >/dev/null || cat "$DIR/said"; done; }
all_done() { [ "$(pool succeeded)" = $n ]; }
of() { admin GET /v1/admin/endpoints/gen/targets | jq -r ".targets[] | select(.url == \"$(url "$1")\") | .$2"; }
is() { [ "$(of "$1" "$2")" = "$3" ]; }
row='{"metric":"vllm:num_requests_waiting","close_above":10,"open_below":5}'

# ---- definitions
says() { ctl endpoint set gen "$@" 2>&1; }
check "a reading that does nothing" grep -q 'neither close_above nor narrow_from' <<<"$(says 'readings=[{"metric":"a"}]')"
check "  that opens above where it closes" grep -q 'open_below is above close_above' <<<"$(says 'readings=[{"metric":"a","close_above":1,"open_below":2}]')"
check "  that is no metric" grep -q 'a name has letters' <<<"$(says 'readings=[{"metric":"a-b","close_above":1}]')"
check "  without slots to narrow" grep -q 'no slots to narrow' <<<"$(says 'readings=[{"metric":"a","narrow_from":1,"narrow_to":2}]')"
check "  without a page" grep -q 'readings_path must begin with /' <<<"$(says "readings=[$row]" readings_path=metrics)"
check "two targets, and what their pages say" ctl endpoint set gen url= 'allow=["127.0.0.0/8"]' paused=false \
    "targets=[{\"url\":\"$(url 1)\",\"max_concurrent\":4},{\"url\":\"$(url 2)\",\"max_concurrent\":4}]" \
    "readings=[$row]" readings_interval=200ms readings_stale=3s

# ---- a page rises, and falls
reads() { [ "$(of "$1" reading)" = "vllm:num_requests_waiting $2" ]; }
many 8
wait_for 30 "calls are made" all_done
wait_for 10 "both pages are read" reads 1 0
wait_for 10 "  of the other one, too" reads 2 0
page 1 20
closed() { [ "$(of 1 closed)" = 2 ]; }
wait_for 10 "the page of target 1 rises: closed, at both nodes" closed
check_eq "  which is its state" "$(of 1 state)" closed
before=$(of 1 sent)
many 20
wait_for 30 "  the other one makes all calls" all_done
sleeps() { [ "$(of 1 sent) $(of 1 in_flight)" = "$before 0" ]; }
check "  and none of them began here" sleeps
page 1 7
wait_for 10 "it falls" reads 1 7
check_eq "  not far enough" "$(of 1 state)" closed
page 1 4
wait_for 10 "  far enough" is 1 state up
again() { many 2; [ "$(of 1 sent)" -gt "$before" ]; }
wait_for 20 "  it has calls again" again
wait_for 20 "  all are made" all_done

# ---- all are closed; a page cannot be read
page 1 20
page 2 20
both() { [ "$(of 1 closed)$(of 2 closed)" = 22 ]; }
wait_for 10 "both are closed" both
submit
waits() { [ "$(pool waiting)" = 1 ]; }
wait_for 10 "  a task waits" waits
check_eq "  and nothing is down" "$(admin GET /v1/admin/task-queues | jq '.endpoints[] | select(.name == "gen") | .open')" 0
mv "$DIR/t1/metrics" "$DIR/t1/away"
wait_for 20 "a page is gone: its target gets calls as without readings" all_done
blind() { [ "$(of 1 blind)" = 2 ]; }
wait_for 10 "  which is told" blind
check "  with the reason" grep -qE "^$(url 1) .*not read: page: HTTP 404" <<<"$(ctl endpoint targets gen)"
blind_metric() { grep -q "^segq_task_target_reading{.*$((T + 1))/.*} 4" <<<"$(http "http://127.0.0.1:$((PORT + 47))/metrics")"; }
wait_for 10 "  in metrics, too" blind_metric
mv "$DIR/t1/away" "$DIR/t1/metrics"
wait_for 10 "it is back: closed" closed

# ---- definitions to begin with (deploy/endpoints)
for sample in vllm paid_api; do
    check "deploy/endpoints/$sample.yaml is applied" ctl apply "$here/../../deploy/endpoints/$sample.yaml"
    check_eq "  and applied again changes nothing" "$(ctl apply "$here/../../deploy/endpoints/$sample.yaml")" "nothing to change"
done
