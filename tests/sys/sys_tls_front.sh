#!/bin/bash
# The sample configurations of nginx and haproxy (deploy/nginx, deploy/haproxy) as they stand,
# but for ports and paths: TLS in front of two routers, with a certificate made here (T22).
# Players join and poll over HTTPS; the client's address gets through and cannot be invented;
# nothing but the public paths does; a router dies, then all of them do: nobody hears anything
# but what a router would say.
. "$(dirname "$0")/lib.sh"

HOST=queue.example.org
. "$here/fronts.sh"

# Budgets for joins are small and hardly refill: whose was taken is seen at once.
up --routers 2 --capacity 100 --release-per-s 1 --set state=paused \
    --set router.trusted_proxies=127.0.0.0/30 \
    --set router.join_limit_per_s=0.01 --set router.join_burst=30

# ---- the two fronts --------------------------------------------------------------------

start_nginx() { # plain tls
    local d=$DIR/nginx f
    mkdir -p "$d"
    for f in segq.conf segq_proxy.conf; do nginx_file $f "$d" "$1" "$2"; done
    nginx_go "$d" segq.conf
    LOG=$d/segq.log
}

start_haproxy() { # plain tls
    local d=$DIR/haproxy
    mkdir -p "$d"
    haproxy_file segq.cfg "$d" "$1" "$2"
    haproxy_go "$d" segq.cfg
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
    tls -N --max-time 7 -o "$DIR/events" "/v1/tickets/$t/events"
    check_eq "$1: who listens is not cut off" $? 28
    check "$1: and is told at once" grep -q '^data: {.*"state":"waiting"' "$DIR/events"
    tls -o /dev/null -D "$DIR/head" "/v1/tickets/$t"
    check "$1: the answer is not for referrers" grep -qi '^referrer-policy: no-referrer' "$DIR/head"
    check_eq "$1: and leaves" "$(code -X DELETE "/v1/tickets/$t")" 204
    tls "${LOOKS[@]}" -o "$DIR/page" -D "$DIR/head" --interface 127.0.1.1 '/q/login?return=/shop'
    check "$1: the waiting page gets through" grep -q 'You are in line' "$DIR/page"
    check "$1: its cookie is for https only" grep -qi '^set-cookie: segq_ticket=.*; secure' "$DIR/head"
    for path in /v1/admin/cluster /v1/admin/queues /metrics /healthz /readyz /shop /v1//admin/cluster \
        /v1/queues/../admin/cluster; do
        check_eq "$1: nothing at $path" "$(code --path-as-is "$path")" 404
    done
    check "$1: the front door" grep -q 'This is a waiting room' <(tls /)
    # One address spends its budget; another has its own; what the client says does not count.
    tls_flood "$2" 120 >/dev/null
    spent=$(code --interface "$2" -X POST -H 'X-Forwarded-For: 198.51.100.9' \
        -H 'Forwarded: for=198.51.100.9' $J)
    check_eq "$1: an address that is spent cannot call itself another" "$spent" 429
    check_eq "$1: another address joins" "$(code --interface "$3" -X POST $J)" 201
    check "$1: the log has the path of a ticket" grep -q "/v1/tickets/${t:0:8}\.\.\." "$LOG"
    check "$1: but not the token" bash -c "! grep -qF '$t' '$LOG'"
    code '/q/nosuch?claim=eyJzZWNyZXQi&return=/shop' >/dev/null
    check "$1: and of the room's path not the claim" bash -c "grep -q /q/nosuch '$LOG' && ! grep -q eyJzZWNyZXQi '$LOG'"
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
