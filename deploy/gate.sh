#!/bin/bash
# gate.sh: what `make gate` starts: nginx with the files of deploy/nginx in front of a small
# site, both on this machine, beside the cluster of `make run`; until Ctrl-C. Only names,
# ports and folders of those files are changed: what is to be seen is what they do.
#   TLS_PORT=8443  HTTP_PORT=8090  SITE_PORT=9000   RUN_DIR=run
#   SITE=http://HOST:PORT in place of the small site: your own
set -u
cd "$(dirname "$0")/.." || exit 1
run=${RUN_DIR:-run}
case $run in /*) ;; *) run=$PWD/$run ;; esac
d=$run/gate
tls=${TLS_PORT:-8443} http=${HTTP_PORT:-8090} site_port=${SITE_PORT:-9000}
die() { echo "gate: $*" >&2; exit 1; }
[ -f "$run/cluster.json" ] || die "no cluster here ($run/cluster.json): start one with 'make run' in another shell"
routers=($(tr -d '\n ' <"$run/cluster.json" | sed 's/.*"router":\[\([^]]*\)\].*/\1/' | tr -d '"' | tr ',' '\n' | sed 's|http://||'))
[ ${#routers[@]} -ge 2 ] || die "it takes two routers, as 'make run' has"

site_listens() { # the process itself does: its socket is one of those at the port, of any address
    local inode
    for inode in $(awk -v p="$(printf ':%04X' "$site_port")" '$4 == "0A" && index($2, p) { print $10 }' /proc/net/tcp); do
        [ -z "$(find "/proc/$site_pid/fd" -lname "socket:\[$inode\]" -print -quit 2>/dev/null)" ] || return 0
    done
    return 1
}
small_site() {
    mkdir -p "$d/site"
    echo '<!doctype html><meta charset="utf-8"><title>The shop</title><h1>The shop</h1><p>You are in.' >"$d/site/index.html"
    cp "$d/site/index.html" "$d/site/shop.html"
    python3 -m http.server "$site_port" --bind 127.0.0.1 --directory "$d/site" >"$d/site.log" 2>&1 &
    site_pid=$!
    # It listens before it says so; somebody else's answer at that port is none.
    until site_listens; do
        kill -0 "$site_pid" 2>/dev/null && sleep 0.1 && continue
        trap - EXIT
        die "the small site cannot listen on port $site_port: $(tail -n 1 "$d/site.log"); try SITE_PORT=$((site_port + 1)) make gate"
    done
}

# A certificate for this machine, and the secret that the routers have, too.
keys() {
    [ -f "$d/fullchain.pem" ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 \
        -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout "$d/privkey.pem" \
        -out "$d/fullchain.pem" 2>"$d/openssl.log" || die "no certificate: $(tail -1 "$d/openssl.log")"
    (umask 077 && echo "default \"$(cat "$run/secrets/gate.secret")\";" >"$d/segq_gate_secret")
}

samples() {
    local f site=${SITE:-127.0.0.1:$site_port}
    for f in segq_gate.conf segq_verify.conf segq_site.conf segq_proxy.conf; do
        sed -e "s|listen 80;|listen 127.0.0.1:$http;|; s|listen 443 |listen 127.0.0.1:$tls |" \
            -e "s|https://\$host\$request_uri|https://localhost:$tls\$request_uri|" \
            -e "s|127.0.0.1:8080|${routers[0]}|; s|127.0.0.1:8081|${routers[1]}|" \
            -e "s|127.0.0.1:9000|${site#http://}|; s|shop.example.org|localhost|; s|Host \$host|Host \$http_host|" \
            -e "s|/etc/nginx/|$d/|; s|/etc/ssl/segq/|$d/|; s|/var/log/nginx/|$d/|" "deploy/nginx/$f" >"$d/$f"
    done
    cp deploy/nginx/segq_busy.html "$d"
    cat >"$d/nginx.conf" <<EOT
pid $d/nginx.pid;
daemon off;
$([ "$(id -u)" -ne 0 ] || echo "user root;") # its folder need not be open to others
events { worker_connections 1000; }
http {
    access_log off;
    client_body_temp_path $d/body;
    proxy_temp_path $d/proxy;
    fastcgi_temp_path $d/fastcgi;
    uwsgi_temp_path $d/uwsgi;
    scgi_temp_path $d/scgi;
    include $d/segq_gate.conf;
}
EOT
}

end() {
    trap '' INT TERM EXIT
    # shellcheck disable=SC2046
    kill $(jobs -p) 2>/dev/null
    wait
    exit 0
}
mkdir -p "$d" || exit 1
keys
samples
nginx -e "$d/error.log" -p "$d" -c "$d/nginx.conf" -t 2>"$d/check.log" || die "nginx -t: $(cat "$d/check.log")"
trap end INT TERM EXIT
[ -n "${SITE:-}" ] || small_site
nginx -e "$d/error.log" -p "$d" -c "$d/nginx.conf" &
cat <<EOT
The site is at https://localhost:$tls/ (the certificate is made just now: the browser will ask).

  without a pass  curl -ski https://localhost:$tls/shop.html
  the room        https://localhost:$tls/q/login?return=/shop.html

  files in $d, made from deploy/nginx; Ctrl-C ends it.
EOT
wait
