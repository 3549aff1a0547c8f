#!/bin/bash
# The waiting page in Chromium: page.js, its words and its states, against a cluster; and the explorer of the
# documentation.
#   e2e_page.sh [BIN [SCENARIO...]]
. "$(dirname "$0")/../sys/lib.sh"
. "$(dirname "$0")/browser.sh"

browser_install
export CLAIM_SECRET=0123456789abcdef0123456789ABCDEF
printf '%s\n' "$CLAIM_SECRET" >"$DIR/claim.key" && chmod 600 "$DIR/claim.key"
up --set "router.claim_keys=[{\"kid\":\"shop\",\"alg\":\"HS256\",\"secret_file\":\"$DIR/claim.key\"}]" --set away=0 --release-per-s 0.0001 --set 'router.allow_origins=*' --set poll_min=500ms --set poll_max=1s --set idle.game=10m --set idle.browser=10m \
    --set 'router.groups=[{"name":"worlds","queues":["login","rides"]},{"name":"kept","queues":["login","rides"],"others":"keep"}]'
[ $# -gt 0 ] && shift
browser_run page.js "$@"
browser_run page_words.js "$@"
browser_run page_states.js "$@"
browser_run page_client.js "$@"
browser_run page_work.js "$@"
browser_run page_check.js "$@"
browser_run page_places.js "$@"
browser_run page_key.js "$@"
"$BIN/../deploy/yaml2json" "$root/proto/openapi.yaml" >"$DIR/openapi.json"
"$root/docs/site/make_site.py" "$DIR/site" "$DIR/openapi.json" >"$DIR/site.log" || give_up "no site: $(cat "$DIR/site.log")"
export SITE=$DIR/site/explorer.html
browser_run explorer.js "$@"
