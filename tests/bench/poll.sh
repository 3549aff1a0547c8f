#!/bin/bash
# poll.sh: polls of one router and one segment node, beside nginx's `return 200`.
#
#   poll.sh [--waiting N] [--rounds N] [--seconds S] [--conns N] [--base-port P] [--bin DIR]
#
# Fills a queue with N (1 000 000) waiting tickets, then lets wrk ask, in turns of S (5)
# seconds, segq for random ones of them and nginx for an answer of the same size with as
# many headers. The server under test (router, or nginx with one worker) is alone on core
# 0; the segment node, the manager and wrk share core 1. Prints medians (min .. max), the
# ratio, CPU per request, and what a waiting ticket costs in memory. Only the ratio means
# anything on another machine. Exit 0 whatever the figures are; 1: it could not measure.
set -u

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
waiting=1000000 rounds=5 seconds=5 conns=256 port=23400 bin=$root/build/rel/bin
sample=100000
while [ $# -gt 0 ]; do
    case $1 in
    --help | -h) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
    esac
    [ $# -ge 2 ] || { sed -n '4s/^# *//p' "$0" >&2; exit 2; }
    case $1 in
    --waiting) waiting=$2 ;;
    --rounds) rounds=$2 ;;
    --seconds) seconds=$2 ;;
    --conns) conns=$2 ;;
    --base-port) port=$2 ;;
    --bin) bin=$2 ;;
    *) sed -n '4s/^# *//p' "$0" >&2; exit 2 ;;
    esac
    shift 2
done
for tool in nginx wrk taskset curl; do
    command -v $tool >/dev/null || {
        echo "poll.sh: $tool is missing; deploy/deps.sh bench installs it. Nothing measured."
        exit 0
    }
done
[ "$(nproc)" -ge 2 ] || { echo "poll.sh: needs two cores. Nothing measured."; exit 0; }
fill=$bin/../bench/fill
[ -x "$fill" ] && [ -x "$bin/router" ] || { echo "poll.sh: make bench-poll builds it" >&2; exit 1; }

read -r load _ </proc/loadavg
tmp=$(mktemp -d)
nginx_pid=
cleanup() {
    [ -n "$nginx_pid" ] && kill "$nginx_pid" 2>/dev/null && wait "$nginx_pid" 2>/dev/null
    [ -d "$tmp/segq" ] && "$root/deploy/local.sh" down --dir "$tmp/segq" >/dev/null
    rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' INT TERM
die() { echo "poll.sh: $*" >&2; exit 1; }

pid_of() { sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" "$tmp/segq/cluster.json"; }
rss_kb() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }
cpu_ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }
median() { sort -g | awk '{ v[NR] = $1 }
    END { printf "%g (%g .. %g)", v[int((NR + 1) / 2)], v[1], v[NR] }'; }
column() { awk -v c="$2" '{ print $c }' "$tmp/$1.rounds" | median; }

# ---- segq -----------------------------------------------------------------------------

"$root/deploy/local.sh" up --dir "$tmp/segq" --base-port "$port" --bin "$bin" \
    --release-per-s 0 --set fallback_per_s=0 --capacity $((waiting + 1)) --set idle.game=1h \
    --set poll_budget_per_s=1000000 >/dev/null || die "the cluster does not start"
router=$(pid_of router.0) segment=$(pid_of segment.0)
[ -n "$router" ] && [ -n "$segment" ] || die "the cluster does not say its processes"
for name in queuemng mng_cluster rt_cluster seg_cluster segment.0; do
    taskset -p -c 1 "$(pid_of $name)" >/dev/null || die "cannot pin $name"
done
taskset -p -c 0 "$router" >/dev/null || die "cannot pin the router"
rss_before=$(rss_kb "$segment")
start=$(date +%s%N)
taskset -c 1 "$fill" 127.0.0.1 $((port + 10)) login "$waiting" "$sample" >"$tmp/tokens" ||
    die "the queue could not be filled"
fill_ms=$((($(date +%s%N) - start) / 1000000))
rss_after=$(rss_kb "$segment")

# ---- nginx ----------------------------------------------------------------------------

body=$(curl -s "http://127.0.0.1:$((port + 10))/v1/tickets/$(sed -n "$((sample / 2))p" "$tmp/tokens")")
case $body in *'"state":"waiting"'*) ;; *) die "a poll is answered with: $body" ;; esac
cat >"$tmp/nginx.conf" <<EOC
daemon off;
master_process off;
pid $tmp/nginx.pid;
error_log $tmp/nginx.log crit;
worker_rlimit_nofile 20000;
events { worker_connections 10000; }
http {
    access_log off;
    keepalive_requests 1000000000;
    client_body_temp_path $tmp;
    proxy_temp_path $tmp;
    fastcgi_temp_path $tmp;
    uwsgi_temp_path $tmp;
    scgi_temp_path $tmp;
    server {
        listen 127.0.0.1:$((port + 2)) backlog=4096;
        location / {
            default_type application/json;
            return 200 '$body';
        }
    }
}
EOC
taskset -c 0 nginx -p "$tmp" -c "$tmp/nginx.conf" 2>"$tmp/nginx.err" &
nginx_pid=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
    curl -sf -o "$tmp/answer" "http://127.0.0.1:$((port + 2))/" && break
    sleep 0.1
done
[ "$(cat "$tmp/answer" 2>/dev/null)" = "$body" ] || die "nginx: $(cat "$tmp/nginx.err")"

# ---- rounds ---------------------------------------------------------------------------

# name port pid...: a line of polls/s, p50 and p99 in ms, us of CPU per request of each pid
round() {
    local name=$1 to=$2 p before after r
    shift 2
    before=$(for p in "$@"; do cpu_ticks "$p"; done)
    r=$(TOKENS=$tmp/tokens taskset -c 1 wrk -t 1 -c "$conns" -d "$seconds" \
        -s "$root/tests/bench/poll.lua" "http://127.0.0.1:$to" | sed -n 's/^RESULT //p')
    after=$(for p in "$@"; do cpu_ticks "$p"; done)
    [ -n "$r" ] || die "wrk said nothing"
    echo "$r" | awk -v b="$before" -v a="$after" -v hz="$(getconf CLK_TCK)" '{
        if ($3 > 0 || $1 == 0) exit 1
        n = split(b, x, "\n"); split(a, y, "\n")
        printf "%d %.2f %.2f", $1 / ($2 / 1e6), $4 / 1000, $5 / 1000
        for (i = 1; i <= n; i++) printf " %.2f", (y[i] - x[i]) / hz * 1e6 / $1
        print "" }' >>"$tmp/$name.rounds" || die "$name: some answers were wrong: $r"
}

measure() {
    local i
    for ((i = 0; i < rounds; i++)); do
        round segq $((port + 10)) "$router" "$segment"
        round nginx $((port + 2)) "$nginx_pid"
    done
}
measure

# Per second, and per second of the server's CPU: the second one bears neighbours better.
ratios() { paste -d ' ' "$tmp/segq.rounds" "$tmp/nginx.rounds" | awk "{ print $1 }" | median; }
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)
echo "machine   $(nproc) x $cpu, load average $load at the start, Linux $(uname -r), $(nginx -v 2>&1 | sed 's/.*: //')"
echo "queue     $waiting waiting; filled in $((fill_ms / 1000)).$((fill_ms / 100 % 10)) s," \
    "$((waiting * 1000 / fill_ms)) joins/s"
echo "memory    segment $rss_before -> $rss_after kB:" \
    "$(awk -v a="$rss_after" -v b="$rss_before" -v n="$waiting" \
        'BEGIN { printf "%.2f", (a - b) * 1024 / n }') bytes per waiting ticket"
echo "wrk       $conns connections, $rounds rounds of $seconds s, body of ${#body} bytes;" \
    "median (min .. max)"
echo "segq      $(column segq 1) polls/s; p50 $(column segq 2) p99 $(column segq 3) ms"
echo "          CPU us/poll: router $(column segq 4), segment $(column segq 5)"
echo "nginx     $(column nginx 1) requests/s; p50 $(column nginx 2) p99 $(column nginx 3) ms"
echo "          CPU us/request: $(column nginx 4)"
echo "ratio     $(ratios '$1 / $6') of nginx's polls/s, round by round;" \
    "$(ratios '$9 / $4') by CPU of the server on core 0"
