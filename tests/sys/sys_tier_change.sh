#!/bin/bash
# The rate follows the metric through its tiers: up, down, and to nothing.
. "$(dirname "$0")/lib.sh"

page="$DIR/page"
show() { printf '# TYPE backend_load gauge\nbackend_load{host="a"} %s\n' "$1" >"$page.new"; mv "$page.new" "$page"; }
show 10
helper python3 "$here/page.py" $((PORT + 5)) "$page"
up --set "queuemng.metrics=[{name: load, kind: page, url: 'http://127.0.0.1:$((PORT + 5))/metrics', query: backend_load, interval: 200ms, timeout: 10s, stale: 15s}]" \
    --set 'limits=[{metric: load, tiers: [{below: 50, rate_per_s: 200}, {below: 80, rate_per_s: 20}]}]' \
    --set hysteresis=5 --set fallback_per_s=3
wait_for 10 "load 10: 200 a second" rate_is 200
limited() { [ "$(queue_field limited_by)" = load ] && [ "$(queue_field release_per_s | cut -d. -f1)" = 200 ]; }
wait_for 5 "the public page says 200, limited by load" limited

# It is not only said: people are let in at that rate (and the budget is not saved up).
t=$(join_queue | token_in)
wait_for 10 "somebody is admitted" is_admitted "$t"
show 60
wait_for 10 "load 60: 20 a second" rate_is 20
show 48
stays() { # polls for 1.5 s: never another rate
    local end=$(($(now_ms) + 1500)) r
    while [ "$(now_ms)" -lt $end ]; do
        r=$(allowed)
        [ "$r" = "$1" ] || { echo "# it was '$r'"; return 1; }
    done
}
check "load 48 is inside the hysteresis: still 20" stays 20
show 44
wait_for 10 "load 44: 200 again" rate_is 200
show 95
wait_for 10 "load 95: nobody" rate_is 0
t=$(join_queue | token_in)
not_admitted() { local i; for i in 1 2 3 4 5 6 7 8 9 10; do [ "$(poll "$t" | field state)" = waiting ] || return 1; done; }
check "and nobody is let in" not_admitted
show 10
wait_for 10 "load 10 again: admitted" is_admitted "$t"
