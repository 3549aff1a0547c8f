# calls.sh: for stories with two task nodes and a target (target.py). Sourced after lib.sh.

# drained_with_calls PORT: of the target, whose requests are in $DIR/seen. The node that has the one partition
# of an endpoint with four slots is drained while calls are under way.
drained_with_calls() {
    local port=$1 n=24 from
    op() { http -X "$1" -H "Authorization: Bearer $(admin_token)" -d "$3" "$A/v1/admin/$2"; }
    figures() { http -H "Authorization: Bearer $(admin_token)" "$A/v1/admin/task-queues" | jq -r "$1"; }
    op PUT endpoints/few "{\"url\":\"http://127.0.0.1:$port/few\",\"allow\":[\"127.0.0.0/8\"],\"max_concurrent\":4,\"deadline\":\"30s\"}" >/dev/null
    op PUT pools/few '{"match":"few","endpoint":"few","partitions":1,"max_tasks":1000}' >/dev/null
    few() { http -H "Authorization: Bearer $(task_token)" -d "{\"path\":\"/slow/2000?$1\"}" "$R/v1/queues/few/tasks" | jq -e .task >/dev/null; }
    takes_few() { few 0; }
    wait_for 15 "a queue with four slots takes calls" takes_few
    for ((i = 1; i < n; i++)); do few $i; done
    came() { grep -c '"/few/slow' "$DIR/seen"; }
    some_came() { [ "$(came)" -ge 4 ]; }
    wait_for 15 "  four are at the target" some_came
    pool_few() { figures ".pools[] | select(.pool == \"few\") | $1"; }
    owner_of() { pool_few '.partitions[0].node'; }
    from=$(owner_of)
    downs() { grep -hc "event=node_down node=$from " "$C/logs/queuemng.0.log"; }
    local before=$(downs)
    "$BIN/segqctl" --dir "$C" drain "$from" >/dev/null
    elsewhere() { [ "$(owner_of)" != "$from" ]; }
    wait_for 40 "  its node is drained" elsewhere
    all_came() { [ "$(came)" -ge $n ]; }
    wait_for 60 "  all are made" all_came
    few_done() { [ "$(pool_few .final)" = $n ]; }
    wait_for 20 "  and done" few_done
    check_eq "  none of them twice" "$(grep -o '"/few/slow[^"]*"' "$DIR/seen" | sort | uniq -d | wc -l)" 0
    check "  the target never waited for its slots" python3 - "$DIR/seen" <<'END'
import json, sys
at = sorted(json.loads(x)["at"] for x in open(sys.argv[1]) if '"/few/slow' in x)
assert max(b - a for a, b in zip(at, at[1:])) < 15, at
END
    free() { [ "$(figures '.endpoints[] | select(.name == "few") | .in_flight + .held')" = 0 ]; }
    wait_for 10 "  and no slot is held" free
    check_eq "  and the node kept its link to the manager" "$(downs)" "$before"
    op POST "nodes/$from/undrain" '' >/dev/null
}
