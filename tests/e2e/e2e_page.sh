#!/bin/bash
# The waiting page in Chromium: page.js against a cluster. Then what gates show of it while no
# router answers.
#   e2e_page.sh [BIN [SCENARIO...]]
. "$(dirname "$0")/../sys/lib.sh"
. "$(dirname "$0")/browser.sh"

HOST=127.0.0.1
. "$(dirname "$0")/../sys/fronts.sh"

# Real nginx and HAProxy, before routers that are not there.
gates_alone() {
    local f away="s|127.0.0.1:808[01]|127.0.0.1:1|"
    mkdir -p "$DIR/nginx" "$DIR/haproxy"
    for f in segq_gate.conf segq_proxy.conf segq_verify.conf; do
        nginx_file $f "$DIR/nginx" $((PORT + 82)) $((PORT + 83)) -e "$away; s|/etc/nginx/segq_gate_secret|$DIR/none|"
    done
    echo 'default "";' >"$DIR/none"
    nginx_go "$DIR/nginx" segq_gate.conf
    haproxy_file segq.cfg "$DIR/haproxy" $((PORT + 84)) $((PORT + 85)) -e "$away"
    haproxy_go "$DIR/haproxy" segq.cfg
    GATES="nginx=https://127.0.0.1:$((PORT + 83)) haproxy=https://127.0.0.1:$((PORT + 85))"
    export GATES
}

browser_install
up --set away=0 --release-per-s 0.0001 --set 'router.allow_origins=*' --set poll_min=500ms --set poll_max=1s --set idle.game=10m --set idle.browser=10m
[ $# -gt 0 ] && shift
browser_run page.js "$@"
browser_run page_words.js "$@"
browser_run page_states.js "$@"
gates_alone
browser_run page_gates.js "$@"
