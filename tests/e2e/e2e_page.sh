#!/bin/bash
# The waiting page in Chromium (page.js): installs playwright-core and axe-core from the
# lock file into build/e2e, starts a cluster, runs the scenarios. Pictures: build/e2e/shots.
#   e2e_page.sh [BIN [SCENARIO...]]
. "$(dirname "$0")/../sys/lib.sh"

e2e=$root/tests/e2e
work=$root/build/e2e
mkdir -p "$work/shots"
if ! cmp -s "$e2e/package-lock.json" "$work/installed.json"; then
    cp "$e2e/package.json" "$e2e/package-lock.json" "$work/"
    (cd "$work" && npm ci --no-audit --no-fund --ignore-scripts >npm.log 2>&1) ||
        { cat "$work/npm.log"; give_up "npm does not install what the browser tests need"; }
    cp "$e2e/package-lock.json" "$work/installed.json"
fi

up --release-per-s 0.0001 --set 'router.allow_origins=*' --set poll_min=500ms --set poll_max=1s --set idle.game=10m --set idle.browser=10m
[ $# -gt 0 ] && shift
export E2E_MODULES=$work/node_modules E2E_SHOTS=$work/shots ROUTER=$R ADMIN=$A
ADMIN_TOKEN=$(admin_token)
ROUTER_PID=$(pid_of router.0)
export ADMIN_TOKEN ROUTER_PID
while read -r word what; do
    case $word in
    ok) ok "$what" ;;
    FAIL) fail "$what" ;;
    ended) code=$what ;;
    *) echo "     $word $what" ;;
    esac
done < <(timeout 900 node "$e2e/page.js" "$@" 2>&1; echo "ended $?")
check "the browser tests came to their end" test "${code:-}" = 0
