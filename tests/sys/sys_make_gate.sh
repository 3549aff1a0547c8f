#!/bin/bash
# README, "In front of your website in 10 minutes": what `make gate` starts beside a cluster
# sends who has no pass to the room, and lets in who has one; its end leaves nothing behind.
. "$(dirname "$0")/lib.sh"

for p in nginx openssl python3; do
    command -v $p >/dev/null || give_up "$p is not installed (deploy/deps.sh gate)"
done
TLS=$((PORT + 90))
U=https://localhost:$TLS
mkdir -p -m 700 "$C" "$C/secrets"
(umask 077 && echo gate-secret-0123456789 >"$C/secrets/gate.secret")
up --routers 2 --set router.trusted_proxies=127.0.0.1/32 --set "router.gate_secret_file=$C/secrets/gate.secret" \
    --set idle.browser=10m --set claim=10m --set pass_ttl=20m
env RUN_DIR="$C" TLS_PORT=$TLS HTTP_PORT=$((PORT + 91)) SITE_PORT=$((PORT + 92)) "$root/deploy/gate.sh" >"$DIR/gate.log" 2>&1 &
gate=$!
helpers+=("$gate")

ask() { http -k -b "$DIR/jar" -c "$DIR/jar" "$@"; }
serves() { [ "$(ask -o /dev/null -w '%{http_code}' "$U/shop.html")" = 302 ]; }
wait_for 20 "the gate stands" serves
check "segqctl pauses the queue" "$BIN/segqctl" --dir "$C" pause login
check_eq "who has no pass goes to the room" "$(ask -o /dev/null -w '%{redirect_url}' "$U/shop.html")" \
    "$U/q/login?return=/shop.html"
check_eq "which is a page" "$(ask -o /dev/null -w '%{http_code}' "$U/q/login?return=/shop.html")" 200
check "segqctl resumes it" "$BIN/segqctl" --dir "$C" resume login
let_in() {
    ask -o /dev/null -X POST -H 'Sec-Fetch-Site: same-origin' --data 'return=/shop.html' "$U/q/login/enter"
    ask "$U/shop.html" | grep -q 'You are in'
}
wait_for 20 "who was let in sees the site" let_in
nginx_pid=$(cat "$C/gate/nginx.pid")
kill -TERM "$gate"
wait_for 10 "its end ends nginx" is_gone "$nginx_pid"
