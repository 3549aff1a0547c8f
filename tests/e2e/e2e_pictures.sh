#!/bin/bash
# The pictures of README: the waiting page and the dashboard, as Chromium shows them amid a crowd.
#   e2e_pictures.sh [BIN [FOLDER]]   (without FOLDER they are made like all others, and kept in
#                                    build/e2e/shots; `make pictures` writes docs/pictures)
. "$(dirname "$0")/../sys/lib.sh"
. "$(dirname "$0")/browser.sh"

browser_install
to=${2:-}
players=24000
# Three tiers over this machine's cpu, of which the last is open at any load: a line is there, and moves.
up --routers 2 --seg-nodes 3 --capacity 6000 --set away=0 --set merge=false --set page.title='Autumn sale' \
    --set 'limits=[{metric: cpu, tiers: [{below: 60, rate_per_s: 300}, {below: 85, rate_per_s: 200}, {below: 101, rate_per_s: 100}]}]'
(umask 077 && admin_token >"$DIR/token")
helper "$BIN/swarm" --router "$R" --router "$R2" --admin "$A" --admin-token-file "$DIR/token" --queue login \
    --players $players --arrive-s 40 --conns 2000 --quiet --max-s 600
export E2E_PICTURES=$work/shots
[ -z "$to" ] || E2E_PICTURES=$(mkdir -p "$to" && cd "$to" && pwd)
browser_run pictures.js
for p in page dashboard; do
    check "$p.png is there, and small" test "$(stat -c %s "$E2E_PICTURES/$p.png" || echo 999999)" -lt 150000
done
