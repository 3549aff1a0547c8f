#!/bin/bash
# A real Prometheus scrapes a real node exporter and the whole cluster (found through
# /v1/admin/targets); a PromQL query drives the queue. Then Prometheus is killed.
. "$(dirname "$0")/lib.sh"

for p in prometheus prometheus-node-exporter; do
    command -v $p >/dev/null || give_up "$p is not installed"
done
P=$((PORT + 6)) E=$((PORT + 7))
q='clamp_max(20 + 0 * sum(node_load1), 20)'
up --set "queuemng.metrics=[{name: prom, kind: prometheus, url: 'http://127.0.0.1:$P', query: '$q', interval: 500ms, timeout: 2s, stale: 5s}]" \
    --set 'limits=[{metric: prom, tiers: [{below: 50, rate_per_s: 300}]}]' --set fallback_per_s=4
wait_for 10 "no Prometheus yet: the fallback" rate_is 4

token_file="$DIR/token"
printf %s "$(admin_token)" >"$token_file"
cat >"$DIR/prometheus.yml" <<EOT
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - job_name: node
    static_configs: [{targets: ['127.0.0.1:$E']}]
  - job_name: segq
    http_sd_configs:
      - url: $A/v1/admin/targets
        refresh_interval: 1s
        authorization: {type: Bearer, credentials_file: $token_file} # 2.42 adds no type here
EOT
helper prometheus-node-exporter --web.listen-address="127.0.0.1:$E"
helper prometheus --config.file="$DIR/prometheus.yml" --storage.tsdb.path="$DIR/tsdb" \
    --web.listen-address="127.0.0.1:$P" --log.level=warn
prom=$H
wait_for 30 "PromQL over the node exporter gives 20: 300 a second" rate_is 300
limited() { [ "$(queue_field limited_by)" = prom ]; }
wait_for 5 "the public page names the query" limited
ask() { http -G "http://127.0.0.1:$P/api/v1/query" --data-urlencode "query=$1" | jq -r '.data.result[0].value[1] // empty'; }
scraped() { [ "$(ask 'count(up{job="segq"} == 1)')" = 3 ]; }
wait_for 30 "Prometheus finds and scrapes queuemng, router and segment node" scraped
for i in 1 2 3; do join_queue >/dev/null; done
seen() { [ "$(ask 'sum(segq_segment_joined_total)' | cut -d. -f1)" -ge 3 ] 2>/dev/null; }
wait_for 15 "joins are seen in Prometheus" seen
kill -KILL "$prom"
wait_for 30 "Prometheus is dead: the fallback" rate_is 4
check "the log says so, loudly" grep -qE ' (error|warn) .*prom' "$C/logs/queuemng.0.log"
check "so do the metrics" test "$(metric 1 segq_manager_monitor_failures_total)" -gt 0
