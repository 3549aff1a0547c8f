#!/bin/bash
# Ten thousand queues made at run time, a few waiters in each: all are served, the idle
# cluster stays idle, and a restarted queuemng knows them all.
#   MANY_QUEUES=N   how many (10000; 2000 in a sanitizer build)
. "$(dirname "$0")/lib.sh"

N=${MANY_QUEUES:-$(under_asan && echo 2000 || echo 10000)} # it is slow at small allocations
up --seg-nodes 2 --segments-per-node $((N + 100)) --release-per-s 50 \
    --set segment.max_tickets=20000000
t0=$(now_ms)
cat >"$DIR/body" <<'EOT'
{"release_per_s": 1, "state": "paused", "segment_capacity": 1000,
 "idle": {"game": "1h", "mobile": "1h", "browser": "1h"}}
EOT
curl -s -Z --parallel-max 20 --max-time 120 -X PUT -H "Authorization: Bearer $(admin_token)" \
    --data-binary "@$DIR/body" -w '%{http_code}\n' -o /dev/null \
    "$A/v1/admin/queues/q[1-$N]" >"$DIR/put"
check_eq "$N queues made in $(($(now_ms) - t0)) ms" "$(grep -c '^20[01]$' "$DIR/put")" "$N"
known() { [ "$(status_of "$R/v1/queues/q$1")" = 200 ]; }
wait_for 30 "the last is known to the router" known "$N"
joinable() { [ "$(status_of -X POST "$R/v1/queues/q$1/tickets")" = 201 ]; }
wait_for 60 "and can be joined" joinable "$N"

t0=$(now_ms)
for round in 1 2 3; do
    curl -s -Z --parallel-max 50 --max-time 120 -X POST -w '%{http_code}\n' -o /dev/null \
        "$R/v1/queues/q[1-$N]/tickets" >>"$DIR/joins"
done
check_eq "3 joins in each took $(($(now_ms) - t0)) ms" "$(grep -c '^201$' "$DIR/joins")" $((3 * N))
place=$(join_queue "$R" q77 | field position)
check_eq "a queue's line is its own: the next in q77 is number 4" "$place" 4

cpu() { # clock ticks of all processes
    local p s=0
    for p in $(jq '.pids[]' "$C/cluster.json"); do
        s=$((s + $(awk '{ print $14 + $15 }' "/proc/$p/stat" 2>/dev/null || echo 0)))
    done
    echo $s
}
idle_share() { # percent of one core over two seconds; the pause is the measurement
    local a b
    a=$(cpu)
    read -r -t 2 <> <(:) || true
    b=$(cpu)
    share=$(((b - a) * 100 / (2 * $(getconf CLK_TCK))))
    [ "$share" -lt 30 ] || [ "$share" -lt $((30 * $(slowness) / 10)) ]
}
wait_for 60 "the idle cluster with $((3 * N)) waiting takes under 30 % of a free machine's core" idle_share
echo "     it took $share %"
old=$(pid_of queuemng)
kill -KILL "$old"
again() { restarted queuemng "$old" && has_status 200 "$A/healthz"; }
wait_for 30 "queuemng is started again" again
knows_all() { # it is asked while everything comes back
    [ "$(admin GET /v1/admin/queues | jq '[.. | .name? // empty | select(startswith("q"))] | length')" = "$N" ]
}
wait_for 20 "it knows all queues" knows_all
wait_for 60 "and people join q5" joinable 5
