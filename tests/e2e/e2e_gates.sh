#!/bin/bash
# What gates show in Chromium while no router answers: page_gates.js before real nginx and HAProxy
# (no cluster).
#   e2e_gates.sh [BIN [SCENARIO...]]
. "$(dirname "$0")/../sys/lib.sh"
. "$(dirname "$0")/browser.sh"

HOST=127.0.0.1
. "$(dirname "$0")/../sys/fronts.sh"

# Real nginx and HAProxy, before routers that are not there.
gates_alone() {
    local f away="s|127.0.0.1:808[01]|127.0.0.1:1|"
    mkdir -p "$DIR/nginx" "$DIR/haproxy"
    for f in segq_gate.conf segq_proxy.conf segq_verify.conf segq_site.conf; do
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
[ $# -gt 0 ] && shift
gates_alone
export E2E_SHOTS=$work/shots
node_run page_gates.js "$@"
