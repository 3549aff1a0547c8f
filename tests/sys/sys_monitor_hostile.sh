#!/bin/bash
# A Prometheus that turns against us (F17, F18): for each of two dozen ways the queue falls back
# to its fallback rate and comes back by itself, the manager goes on answering and releasing
# meanwhile, and at no moment more is allowed than the best tier gives.
. "$(dirname "$0")/lib.sh"

TOP_RATE=200 FALLBACK=7
word=$DIR/word
say() { printf '%s\n' "$*" >"$word.new"; mv "$word.new" "$word"; }
say good 10
: >"$DIR/asked"
helper python3 "$here/hostile.py" $((PORT + 7)) "$word" "$DIR/asked"
up --set away=0 --set "queuemng.metrics=[{name: load, kind: prometheus, url: 'http://127.0.0.1:$((PORT + 7))/', query: x, interval: 100ms, timeout: 400ms, stale: 1s, max: 1000}]" \
    --set "limits=[{metric: load, tiers: [{below: 50, rate_per_s: $TOP_RATE}]}]" \
    --set fallback_per_s=$FALLBACK --set state=paused --set idle.game=15m
join_many 3000 "$DIR/j"
check_eq "3000 wait" "$(tokens_of "$DIR/j" | wc -l)" 3000

pid=$(pid_of queuemng)
sample() { # what is allowed, all the time
    while [ ! -e "$DIR/stop" ]; do
        admin GET /v1/admin/cluster | jq -r '.queues[0].allowed_per_s' >>"$DIR/allowed"
        sleep 0.05
    done
}
released() { metric 1 segq_manager_released_total; }
releases() { [ "$(released)" -gt "$n" ]; }
admin POST /v1/admin/queues/login/resume >/dev/null
wait_for 20 "with a monitor: $TOP_RATE a second" rate_is $TOP_RATE
sample &
helpers+=($!)
peak_kb() { awk '/^VmHWM:/ { print $2 }' "/proc/$pid/status"; }
before=$(peak_kb)
for how in nan inf negative 1e308 overflow stale future empty two error 500 redirect json deep short \
    garbage nothing hang drip huge chunks heads line interim; do
    say $how
    wait_for 20 "$how: the fallback" rate_is $FALLBACK
    check_eq "$how: the manager answers" "$(status_of --max-time 30 "$A/healthz")" 200
    say good 10
    wait_for 20 "$how: and back" rate_is $TOP_RATE
done
check_eq "it was never followed elsewhere" "$(grep -c '^/moved' "$DIR/asked")" 0
check "nothing of its text is in the log as it was" bash -c "! grep -q $'\033' '$C/logs/queuemng.0.log'"
under_asan || # which keeps freed memory back
    check "nor its bytes in memory, at any moment: $before, at most $(peak_kb) kB" \
        test "$(peak_kb)" -lt $((before + 8192))
check_eq "the same process all the while" "$(pid_of queuemng)" "$pid"

# ---- people are let in at the fallback rate, and while it flaps ----------------------------

admin POST /v1/admin/queues/login/pause >/dev/null # of the first 3000 nobody may be left
join_many 2000 "$DIR/j2"
say drip
admin POST /v1/admin/queues/login/resume >/dev/null
wait_for 20 "drip: the fallback" rate_is $FALLBACK
n=$(released)
wait_for 20 "drip: people are let in" releases
say flapping
seen_both() { # since the mark
    tail -n +"$mark" "$DIR/allowed" | sort -n | sed -n '1p;$p' | tr '\n' ' ' | grep -q "^0 $TOP_RATE "
}
mark=$(($(wc -l <"$DIR/allowed") + 1))
t0=$(now_ms)
n=$(released)
wait_for 40 "flapping between 0 and 100: both rates are seen" seen_both
gone=$(($(released) - n)) ms=$(($(now_ms) - t0))
check "no more than the better one allows: $gone in $ms ms" \
    test "$gone" -le $((TOP_RATE * ms / 1000 + TOP_RATE / 5))
touch "$DIR/stop"
wc -l <"$DIR/allowed" >"$DIR/samples"
check "what was allowed was looked at often ($(cat "$DIR/samples"))" test "$(cat "$DIR/samples")" -ge 30
check_eq "and never was above $TOP_RATE, or absurd" \
    "$(awk -v top=$TOP_RATE '!($1 >= 0 && $1 <= top)' "$DIR/allowed" | sort -u | tr '\n' ' ')" ""
