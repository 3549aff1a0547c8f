#!/bin/bash
# segqctl over https: nginx with TLS stands before a manager and a router. A certificate that nobody
# vouches for, or of another name, ends it before the token leaves; no proxy of the environment is
# asked; a leader without TLS is not asked by one who came by https.
. "$(dirname "$0")/lib.sh"

HOST=localhost
. "$here/fronts.sh" # a certificate for it, and what nginx needs
up --seg-nodes 1 --routers 1
TLS=$((PORT + 90))
W=$DIR/nginx
mkdir -p "$W"
cat >"$W/front" <<EOT
ssl_certificate $DIR/cert.pem;
ssl_certificate_key $DIR/key.pem;
server { listen 127.0.0.1:$TLS ssl; location / { proxy_pass $A; } }
server { listen 127.0.0.1:$((TLS + 1)) ssl; location / { proxy_pass $R; } }
server { listen 127.0.0.1:$((TLS + 2)) ssl; default_type application/json;
    location / { return 503 '{"code":"not_leader","leader":"$A"}'; } }
server { listen 127.0.0.1:$((TLS + 3)); default_type application/json;
    location / { return 503 '{"code":"not_leader","leader":"http://127.0.0.1:$TLS"}'; } }
EOT
nginx_go "$W" front
wait_for 10 "nginx answers" has_status 200 --cacert "$DIR/cert.pem" "https://$HOST:$TLS/healthz"

(umask 077 && admin_token >"$DIR/token")
ctl() { "$BIN/segqctl" --token-file "$DIR/token" "$@" >"$DIR/out" 2>"$DIR/err" </dev/null; }
says() { grep -qE -- "$1" "$DIR/out"; }
exits() { # CODE PATTERN OPTION...
    local want=$1 pattern=$2 rc
    shift 2
    ctl "$@"
    rc=$?
    [ $rc = "$want" ] && grep -qE -- "$pattern" "$DIR/err" && return
    echo "# segqctl $*: exit $rc: $(head -c 300 "$DIR/err")"
    return 1
}
E=https://$HOST:$TLS
check "a certificate that nobody vouches for ends it" exits 1 'certificate' --admin "$E" status
check "with --cacert it asks" ctl --cacert "$DIR/cert.pem" --admin "$E" status
check "  and is answered" says '^queue login '
check "an order goes, too" ctl --cacert "$DIR/cert.pem" --admin "$E" queue set login release_per_s=7
check_eq "  with its body" "$(admin GET /v1/admin/queues/login | jq .release_per_s)" 7
check "so does one without a body" ctl --cacert "$DIR/cert.pem" --admin "$E/" pause login
check "SEGQ_CACERT does the same" eval 'SEGQ_CACERT=$DIR/cert.pem ctl --admin "$E" status'
check "a router, too" ctl --cacert "$DIR/cert.pem" --router "https://$HOST:$((TLS + 1))" join login
check "  gives a place" says 'waiting'
check "another name than the certificate's ends it" exits 1 'certificate|subject' --cacert "$DIR/cert.pem" --admin "https://127.0.0.1:$TLS" status
check "a file that has no authority is named" exits 1 "$DIR/token" --cacert "$DIR/token" --admin "$E" status
check "a proxy of the environment is not asked" eval \
    'https_proxy=http://127.0.0.1:1 http_proxy=http://127.0.0.1:1 ALL_PROXY=http://127.0.0.1:1 ctl --cacert "$DIR/cert.pem" --admin "$E" status'
check "a leader without TLS is not asked" exits 1 'in the clear; name its https address' \
    --cacert "$DIR/cert.pem" --admin "https://$HOST:$((TLS + 2))" status
check "  a second address that leads is" ctl --cacert "$DIR/cert.pem" --admin "https://$HOST:$((TLS + 2))" --admin "$E" status
S=http://127.0.0.1:$((TLS + 3)) # a standby that names the leader by a proxy's address, for browsers
check "an address that is given goes before one that a standby names" ctl --admin "$S" --admin "$A" status
check "  also for an order" ctl --admin "$S" --admin "$A" queue set login release_per_s=8
check_eq "  which that one does" "$(admin GET /v1/admin/queues/login | jq .release_per_s)" 8
check "another scheme is none" exits 2 "is not http://HOST" --admin "ftp://$HOST" status
