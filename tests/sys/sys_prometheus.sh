#!/bin/bash
# A real Prometheus, with the configuration, rules and alerts of deploy/prometheus, scrapes a
# cluster with two managers (found through /v1/admin/targets) and a real node exporter; a
# PromQL query drives the queue. Every name in deploy/prometheus and deploy/grafana exists.
# Then Prometheus is killed.
unset LD_PRELOAD SEGQ_WALL_S # prometheus asks the kernel, not libc: it is always today
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/managers.sh"

for p in prometheus promtool prometheus-node-exporter; do
    command -v $p >/dev/null || give_up "$p is not installed"
done
P=$((PORT + 8)) E=$((PORT + 9))
q='clamp_max(20 + 0 * sum(node_load1), 20)'
up --managers 2 --task-nodes 1 \
    --set "queuemng.metrics=[{name: prom, kind: prometheus, url: 'http://127.0.0.1:$P', query: '$q', interval: 500ms, timeout: 2s, stale: 5s}]" \
    --set 'limits=[{metric: prom, tiers: [{below: 50, rate_per_s: 300}]}]' --set fallback_per_s=4
wait_for 20 "a manager leads" somebody_leads
wait_for 10 "no Prometheus yet: the fallback" rate_is 4

# prometheus.yml as it is installed; the addresses, the times and the token's place are ours.
token_file="$DIR/token"
printf %s "$(admin_token)" >"$token_file"
cp "$root"/deploy/prometheus/segq_*.yml "$DIR/"
sed -e "s|127.0.0.1:7071|127.0.0.1:$((PORT + L))|; s|10.0.0.2:7071|127.0.0.1:$((PORT + S))|" \
    -e "s|credentials_file: [^}]*|credentials_file: $token_file|" \
    -e '/# - url:/,/#   auth/s|^    # |    - |; s|^    - - url|      - url|; s|^    -   |        |' \
    -e 's/interval: 10*s/interval: 1s/; s/interval: 5s/interval: 1s/; s/timeout: 4s/timeout: 1s/' \
    "$root/deploy/prometheus/prometheus.yml" >"$DIR/prometheus.yml"
cat >>"$DIR/prometheus.yml" <<EOT
      - {targets: ['127.0.0.1:$((PORT + S))'], labels: {role: queuemng}}
  - job_name: node
    static_configs: [{targets: ['127.0.0.1:$E']}]
EOT
check "promtool likes the configuration" promtool check config "$DIR/prometheus.yml"
helper prometheus-node-exporter --web.listen-address="127.0.0.1:$E"
helper prometheus --config.file="$DIR/prometheus.yml" --storage.tsdb.path="$DIR/tsdb" \
    --web.listen-address="127.0.0.1:$P" --log.level=warn
prom=$H
wait_for 30 "PromQL over the node exporter gives 20: 300 a second" rate_is 300
limited() { [ "$(queue_field limited_by)" = prom ]; }
wait_for 5 "the public page names the query" limited
ask() { http -G "http://127.0.0.1:$P/api/v1/query" --data-urlencode "query=$1" | jq -r '.data.result[0].value[1] // empty'; }
scraped() { [ "$(ask 'count(up{job=~"segq.*"} == 1)')" = 5 ]; }
wait_for 30 "Prometheus finds and scrapes both managers, router, segment node and task node" scraped
check_eq "each of them once" "$(ask 'count(up{job=~"segq.*"})')" 5
# Who does not lead sends Prometheus on to the leader, the token with it.
sed "/127.0.0.1:$((PORT + L))\/v1/,+2d" "$DIR/prometheus.yml" >"$DIR/standby.yml"
# It looks for all of its time, which is 30 s if not said.
by_standby() { promtool check service-discovery --timeout=3s "$DIR/standby.yml" segq 2>&1 | grep -q '"role": "segment"'; }
wait_for 15 "a standby knows who is there, too" by_standby
for i in 1 2 3; do join_queue >/dev/null; done
seen() { [ "$(ask 'sum(segq_segment_joined_total)' | cut -d. -f1)" -ge 3 ] 2>/dev/null; }
wait_for 15 "joins are seen in Prometheus" seen
recorded() { [ -n "$(ask 'queue:segq_lane_waiting:sum{queue="login"}')" ]; }
wait_for 15 "so is what the rules record" recorded

check "an endpoint, of which its nodes have metrics" "$BIN/segqctl" --dir "$C" endpoint add gen url=https://gen.example/
check "  and one of a target" "$BIN/segqctl" --dir "$C" endpoint add llm targets='[{"url":"https://gpu.example/"}]'
called() { http "http://127.0.0.1:$((PORT + 47))/metrics" | grep -q '^segq_task_target_reading{'; }
wait_for 15 "the task node has it" called
for p in 1 3 30 47 70; do
    http "http://127.0.0.1:$((PORT + p))/metrics" >"$DIR/metrics.$p"
    check "promtool has nothing to say about the names at P+$p" promtool check metrics <"$DIR/metrics.$p"
done
check "every metric of the dashboard and the alerts is there, every question is answered" \
    "$root/tests/deploy/test_grafana.py" --live "http://127.0.0.1:$P" "$DIR"/metrics.*
kill -KILL "$prom"
wait_for 30 "Prometheus is dead: the fallback" rate_is 4
check "the log says so, loudly" grep -qE ' (error|warn) .*prom' "$C/logs/$LNAME.0.log"
check "so do the metrics" test "$(metric "$L" segq_manager_monitor_failures_total)" -gt 0
