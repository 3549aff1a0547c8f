#!/bin/bash
# The pictures of README: the waiting page and the dashboard, as Chromium shows them amid a crowd.
#   e2e_pictures.sh [BIN [FOLDER]]
# `make pictures` writes them to docs/pictures: then the crowd is larger, five minutes long, a node is
# killed and the limit raised amid it, so that the graph has something to show. As a test they are
# kept with all others, in build/e2e/shots.
. "$(dirname "$0")/../sys/lib.sh"
. "$(dirname "$0")/browser.sh"

browser_install
to=${2:-}
players=24000 arrive_s=40 rate=40 # who comes as number 8 000 waits for a minute at least
[ -z "$to" ] || players=60000 arrive_s=240 rate=100
# Three tiers over this machine's cpu, of which the last is open at any load: a line is there, and moves.
tiers() { echo "[{metric: cpu, tiers: [{below: 60, rate_per_s: $(($1 * 3))}, {below: 85, rate_per_s: $(($1 * 2))}, {below: 101, rate_per_s: $1}]}]"; }
up --routers 2 --seg-nodes 3 --capacity 9000 --set away=0 --set merge=false --set poll_budget_per_s=1000 \
    --set page.title='Autumn sale' --set "limits=$(tiers $rate)"
(umask 077 && admin_token >"$DIR/token")
helper "$BIN/swarm" --router "$R" --router "$R2" --admin "$A" --admin-token-file "$DIR/token" --queue login \
    --players $players --arrive-s $arrive_s --conns 2000 --quiet --max-s 900
waiting() { http "$R/v1/queues/login" | jq .waiting; }
over() { [ "$(waiting)" -gt "$1" ]; }
under() { [ "$(waiting)" -lt "$1" ]; }
if [ -n "$to" ]; then
    wait_for 300 "a line grows" over 15000
    kill -KILL "$(pid_of segment.1)"
    wait_for 300 "and grows" over 25000
    "$BIN/segqctl" --dir "$C" tiers login cpu 60:450 85:300 101:150 >"$DIR/out"
    "$BIN/segqctl" --dir "$C" message login 'Thank you for waiting.' >"$DIR/out"
    wait_for 300 "nobody comes any more" under 24000
fi
export E2E_PICTURES=$work/shots
[ -z "$to" ] || E2E_PICTURES=$(mkdir -p "$to" && cd "$to" && pwd)
browser_run pictures.js
for p in page dashboard; do
    check "$p.png is there, and small" test "$(stat -c %s "$E2E_PICTURES/$p.png" || echo 999999)" -lt 150000
done
