#!/bin/bash
# The sample configurations of nginx and haproxy (deploy/nginx, deploy/haproxy) as they stand,
# but for ports and paths: TLS in front of two routers, with a certificate made here (T22).
# Players join and poll over HTTPS; the client's address gets through and cannot be invented;
# nothing but the public paths does; a router dies, then all of them do: nobody hears anything
# but what a router would say.
. "$(dirname "$0")/lib.sh"

for p in nginx haproxy openssl; do
    command -v $p >/dev/null || give_up "$p is not installed (deploy/deps.sh test)"
done
HOST=queue.example.org
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$HOST" \
    -addext "subjectAltName=DNS:$HOST" -keyout "$DIR/key.pem" -out "$DIR/cert.pem" \
    2>"$DIR/openssl.log" || give_up "no certificate: $(tail -1 "$DIR/openssl.log")"
cat "$DIR/cert.pem" "$DIR/key.pem" >"$DIR/both.pem"

# Budgets for joins are small and hardly refill: whose was taken is seen at once.
up --routers 2 --capacity 100 --release-per-s 1 --set state=paused \
    --set router.trusted_proxies=127.0.0.0/30 \
    --set router.join_limit_per_s=0.01 --set router.join_burst=30

# ---- the two fronts --------------------------------------------------------------------

start_nginx() { # the http level around segq.conf is nginx's own sample, as short as it gets
    local d=$DIR/nginx
    mkdir -p "$d"
    for f in segq.conf segq_proxy.conf; do
        sed -e "s|listen 80;|listen 127.0.0.1:$1;|; s|listen 443 |listen 127.0.0.1:$2 |" \
            -e "s|127.0.0.1:8080|127.0.0.1:$((PORT + 10))|; s|127.0.0.1:8081|127.0.0.1:$((PORT + 11))|" \
            -e "s|/etc/ssl/segq/fullchain.pem|$DIR/cert.pem|; s|/etc/ssl/segq/privkey.pem|$DIR/key.pem|" \
            -e "s|/etc/nginx/|$d/|; s|/var/log/nginx/|$d/|" "$root/deploy/nginx/$f" >"$d/$f"
    done
    cat >"$d/nginx.conf" <<EOT
pid $d/nginx.pid;
daemon off;
worker_processes 1;
events { worker_connections 1000; }
http {
    access_log off;
    client_body_temp_path $d/body;
    proxy_temp_path $d/proxy;
    fastcgi_temp_path $d/fastcgi;
    uwsgi_temp_path $d/uwsgi;
    scgi_temp_path $d/scgi;
    include $d/segq.conf;
}
EOT
    chmod 755 "$DIR" "$d"
    nginx -e "$d/error.log" -p "$d" -c "$d/nginx.conf" -t 2>"$d/t" ||
        give_up "nginx -t: $(grep -v warn "$d/t" | head -3)"
    ok "nginx accepts the sample"
    helper nginx -e "$d/error.log" -p "$d" -c "$d/nginx.conf"
    LOG=$d/segq.log
}

start_haproxy() {
    local d=$DIR/haproxy
    mkdir -p "$d"
    sed -e "s|bind :80$|bind 127.0.0.1:$1|; s|bind :443 |bind 127.0.0.1:$2 |" \
        -e "s|127.0.0.1:8080|127.0.0.1:$((PORT + 10))|; s|127.0.0.1:8081|127.0.0.1:$((PORT + 11))|" \
        -e "s|/etc/haproxy/segq.pem|$DIR/both.pem|; s|/etc/haproxy/segq_busy.http|$root/deploy/haproxy/segq_busy.http|" \
        -e "s|maxconn 100000|maxconn 1000|" "$root/deploy/haproxy/segq.cfg" >"$d/segq.cfg"
    haproxy -c -f "$d/segq.cfg" >"$d/t" 2>&1 || give_up "haproxy -c: $(grep ALERT "$d/t")"
    check_eq "haproxy accepts the sample, without a warning" "$(grep -E 'ALERT|WARN' "$d/t")" ""
    haproxy -db -f "$d/segq.cfg" >"$d/log" 2>&1 &
    H=$!
    helpers+=("$H")
    LOG=$d/log
}

# ---- what players meet -------------------------------------------------------------------

tls() { # curl-arguments..., and the path last
    curl -s --max-time 20 --cacert "$DIR/cert.pem" --resolve "$HOST:$TLS:127.0.0.1" \
        "${@:1:$#-1}" "https://$HOST:$TLS${!#}"
}
code() { tls -o /dev/null -w '%{http_code}' "$@"; }
serves() { [ "$(code /v1/queues/login)" = 200 ]; }
J=/v1/queues/login/tickets

players() { # name: join and poll over HTTP/2, addresses, paths, headers
    local t spent
    check_eq "$1: HTTP/2 over TLS" "$(tls -o /dev/null -w '%{http_version}' /v1/queues/login)" 2
    check_eq "$1: not over TLS 1.1" \
        "$(code --tls-max 1.1 --ciphers DEFAULT@SECLEVEL=0 /v1/queues/login)" 000
    check_eq "$1: plain HTTP is sent on" "$(curl -s -o /dev/null -w '%{http_code} %{redirect_url}' \
        -H "Host: $HOST" "http://127.0.0.1:$PLAIN/v1/queues/login")" "308 https://$HOST/v1/queues/login"
    t=$(tls --interface 127.0.1.1 -X POST $J | token_in)
    check "$1: a player joins" test -n "$t"
    check_eq "$1: and polls" "$(code --interface 127.0.1.1 "/v1/tickets/$t")" 200
    tls -o /dev/null -D "$DIR/head" "/v1/tickets/$t"
    check "$1: the answer is not for referrers" grep -qi '^referrer-policy: no-referrer' "$DIR/head"
    check_eq "$1: and leaves" "$(code -X DELETE "/v1/tickets/$t")" 204
    tls -o "$DIR/page" -D "$DIR/head" --interface 127.0.1.1 '/q/login?return=/shop'
    check "$1: the waiting page gets through" grep -q 'You are in line' "$DIR/page"
    check "$1: its cookie is for https only" grep -qi '^set-cookie: segq_ticket=.*; secure' "$DIR/head"
    for path in /v1/admin/cluster /v1/admin/queues /metrics /healthz /readyz / /v1//admin/cluster \
        /v1/queues/../admin/cluster; do
        check_eq "$1: nothing at $path" "$(code --path-as-is "$path")" 404
    done
    # One address spends its budget; another has its own; what the client says does not count.
    tls_flood "$2" 120 >/dev/null
    spent=$(code --interface "$2" -X POST -H 'X-Forwarded-For: 198.51.100.9' \
        -H 'Forwarded: for=198.51.100.9' $J)
    check_eq "$1: an address that is spent cannot call itself another" "$spent" 429
    check_eq "$1: another address joins" "$(code --interface "$3" -X POST $J)" 201
    check "$1: the log has the path of a ticket" grep -q "/v1/tickets/${t:0:8}\.\.\." "$LOG"
    check "$1: but not the token" bash -c "! grep -qF '$t' '$LOG'"
}
tls_flood() { # address n: joins of one address, a status per line
    curl -s -Z --parallel-max 20 --max-time 60 --cacert "$DIR/cert.pem" \
        --resolve "$HOST:$TLS:127.0.0.1" --interface "$1" -o /dev/null -w '%{http_code}\n' \
        -X POST "https://$HOST:$TLS$J?[1-$2]" 2>/dev/null
}

# Polls and joins all the time; a line per answer, 503 with or without Retry-After.
traffic() { # file
    local t
    t=$(tls --interface 127.0.1.2 -X POST $J | token_in)
    while [ ! -e "$DIR/stop" ]; do
        tls -o /dev/null -D - "/v1/tickets/$t" | tr -d '\r' |
            awk 'NR == 1 { s = $2 } tolower($1) == "retry-after:" { r = " again" }
                END { print "poll", (s == "" ? "none" : s) r }' >>"$1"
    done
}
polls() { grep -c poll "$DIR/traffic"; }
busy() { [ "$(polls)" -ge "$1" ]; }
more() { busy $((seen + 10)); }
both() { has_status 200 "$R/readyz" && has_status 200 "$R2/readyz"; }

dies() { # name: one router, then both, under way
    local pid
    rm -f "$DIR/stop"
    : >"$DIR/traffic"
    traffic "$DIR/traffic" &
    helpers+=($!)
    wait_for 20 "$1: polls go on" busy 10
    kill -KILL "$(pid_of router.1)"
    seen=$(polls)
    wait_for 20 "$1: and on, a router was killed" more
    wait_for 20 "$1: it is started again" both
    kill -STOP "$(pid_of rt_cluster)" # so that it does not start them again
    kill -KILL $(pid_of router.0) $(pid_of router.1)
    all_dead() { [ "$(code /v1/queues/login)" = 503 ]; }
    wait_for 20 "$1: without any router it is 503" all_dead
    tls -D "$DIR/head" /v1/queues/login >"$DIR/body"
    check "$1: which says when to ask again" grep -qi '^retry-after: [1-9]' "$DIR/head"
    check_eq "$1: in the words of a router" "$(field code <"$DIR/body")" queue_unavailable
    kill -CONT "$(pid_of rt_cluster)"
    wait_for 40 "$1: routers are back, so are answers" serves
    seen=$(polls)
    wait_for 20 "$1: polls go on" more
    touch "$DIR/stop"
    check_eq "$1: players heard 200, and 503 with Retry-After, and nothing else" \
        "$(sort "$DIR/traffic" | uniq -c | grep -vE 'poll (200|503 again)$')" ""
    check "$1: mostly 200" test "$(grep -c 'poll 200' "$DIR/traffic")" -ge 20
    wait_for 20 "$1: both routers are back" both
}

PLAIN=$((PORT + 90)) TLS=$((PORT + 91))
start_nginx $PLAIN $TLS
wait_for 20 "nginx serves" serves
players nginx 127.0.2.1 127.0.2.2
dies nginx
PLAIN=$((PORT + 92)) TLS=$((PORT + 93))
start_haproxy $PLAIN $TLS
wait_for 20 "haproxy serves" serves
players haproxy 127.0.3.1 127.0.3.2
dies haproxy
