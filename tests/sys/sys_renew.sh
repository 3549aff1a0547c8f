#!/bin/bash
# Who is at work inside stays inside: visitors shop through real nginx and HAProxy for far
# longer than a pass lives, up to session_max; with an old copy of the cookie in another tab;
# while segment nodes die and stand still. Who idles is out after session_idle, who is
# revoked at once, and each gives the slot to the next.
. "$(dirname "$0")/lib.sh"

HOST=shop.example.org
SHOP=$((PORT + 80))
. "$here/fronts.sh"
SECRET=gate-secret-0123456789
TTL=14 MAX=48 # seconds
(umask 077; echo $SECRET >"$DIR/secret"; echo "default \"$SECRET\";" >"$DIR/nginx_secret")
helper python3 "$here/shop.py" "$SHOP" "$DIR/shop.log"
up --routers 2 --seg-nodes 2 --capacity 200 --set mode=slots --set max_active=6 --set claim=10s \
    --set pass_ttl=${TTL}s --set session_max=${MAX}s --set poll_min=100ms --set idle.browser=10m \
    --set away=0 --set router.trusted_proxies=127.0.0.1/32 --set "router.gate_secret_file=$DIR/secret"

NGINX=$((PORT + 85)) HAPROXY=$((PORT + 88))
mkdir -p "$DIR/nginx" "$DIR/haproxy"
for f in segq_gate.conf segq_proxy.conf segq_verify.conf segq_site.conf; do
    nginx_file $f "$DIR/nginx" $((PORT + 84)) $NGINX \
        -e "s|127.0.0.1:9000|127.0.0.1:$SHOP|; s|/etc/nginx/segq_gate_secret|$DIR/nginx_secret|"
done
nginx_go "$DIR/nginx" segq_gate.conf
haproxy_file segq_gate.cfg "$DIR/haproxy" $((PORT + 87)) $HAPROXY -e "s|127.0.0.1:8099|127.0.0.1:$((PORT + 89))|" \
    -e "s|127.0.0.1:9000|127.0.0.1:$SHOP|; s|/etc/haproxy/segq_gate_secret|$DIR/secret|"
haproxy_go "$DIR/haproxy" segq_gate.cfg

# ---- visitors ---------------------------------------------------------------------------

via() { # port, curl-arguments..., and the path last: as a browser
    curl -s --max-time 60 -H 'Accept: text/html,*/*;q=0.8' --cacert "$DIR/cert.pem" --resolve "$HOST:$1:127.0.0.1" "${@:2:$#-2}" "https://$HOST:$1${!#}"
}
v() { via "$2" -b "$DIR/jar.$1" -c "$DIR/jar.$1" "${@:3}"; } # visitor, port, ...: with his cookies
vcode() { v "$1" "$2" -o /dev/null -w '%{http_code}' "${@:3}"; }
cookie() { awk -v n="$2" '$6 == n { print $7 }' "$DIR/jar.$1"; }
comes() { v "$1" "$2" "${LOOKS[@]}" -o /dev/null '/q/login?return=/shop'; }
enters() { # visitor, port
    [ "$(vcode "$1" "$2" -X POST -H 'Sec-Fetch-Site: same-origin' --data 'return=/shop' /q/login/enter)" = 303 ] &&
        [ -n "$(cookie "$1" segq_pass)" ] && [ "$(vcode "$1" "$2" /shop)" = 200 ]
}
stays_out() { ! enters "$1" "$2"; }
claim() { # pass, member
    cut -d. -f2 <<<"$1" | tr '_-' '/+' | sed 's/$/==/' | base64 -d 2>/dev/null | jq -r ".$2"
}
is_up() { [ "$(via "$1" -o /dev/null -w '%{http_code}' /shop)" = 302 ]; }
has_active() { [ "$(queue_field active)" = "$1" ]; }

# Until he is out: a line per request, with the second in which it was answered.
shops() { # name, port, pass: he never takes a new one over; empty: his jar
    local c=200
    while [ "$c" = 200 ]; do
        if [ -n "$3" ]; then
            c=$(via "$2" -o /dev/null -w '%{http_code}' -H "Cookie: segq_pass=$3" /shop)
        else
            c=$(vcode "$1" "$2" /shop)
        fi
        echo "$(date +%s) $c" >>"$DIR/shops.$1"
        sleep 0.3
    done
}
# Until let_go: asks often enough to stay inside, however slow the machine is.
keeps() { # name, port
    while [ ! -e "$DIR/go.$1" ]; do
        vcode "$1" "$2" /shop >/dev/null
        sleep 0.3
    done
    : >"$DIR/gone.$1"
}
let_go() {
    : >"$DIR/go.$1"
    wait_for 20 "$1 is left alone" test -e "$DIR/gone.$1"
}
is_out() { grep -qv ' 200$' "$DIR/shops.$1"; }
stays() { # name, released at: every request was answered by the shop, up to the last moment
    awk -v end=$(($2 + MAX)) '$2 == 200 { n++; last = $1 } $2 != 200 && $1 < end { bad = 1 }
        $2 != 200 && $2 != 302 { bad = 1 } END { exit bad || n < 20 || last < end - 10 }' "$DIR/shops.$1"
}

wait_for 20 "nginx asks for a pass" is_up $NGINX
wait_for 20 "HAProxy, too" is_up $HAPROXY
for who in n:$NGINX h:$HAPROXY s:$NGINX i:$NGINX r:$HAPROXY b:$NGINX; do
    comes "${who%:*}" "${who#*:}"
    wait_for 20 "${who%:*} is let in" enters "${who%:*}" "${who#*:}"
done
wait_for 20 "six are inside" has_active 6
for who in s:$NGINX b:$NGINX r:$HAPROXY; do
    keeps "${who%:*}" "${who#*:}" &
    helpers+=("$!")
done
comes w $HAPROXY
check "a seventh waits" stays_out w $HAPROXY

# ---- they shop --------------------------------------------------------------------------

first=$(cookie n segq_pass) was_h=$(cookie h segq_pass)
at_n=$(claim "$first" nbf) at_h=$(claim "$was_h" nbf)
for who in "n $NGINX $first" "h $HAPROXY $was_h"; do
    read -r name port pass <<<"$who"
    shops "$name" "$port" "" &
    helpers+=("$!")
    shops "$name.tab" "$port" "$pass" & # an old copy, for ever
    helpers+=("$!")
done
is_renewed() { # visitor, pass before; sets pass; read once: curl empties the jar before it writes
    pass=$(cookie "$1" segq_pass)
    [ -n "$pass" ] && [ "$pass" != "$2" ]
}
wait_for $TTL "nginx hands a renewed pass on" is_renewed n "$first"
new=$pass
wait_for $TTL "so does HAProxy" is_renewed h "$was_h"
check_eq "it is the same ticket's" "$(claim "$new" jti)" "$(claim "$first" jti)"
check "with a later end" test "$(claim "$new" exp)" -gt "$(claim "$first" exp)"
check "within session_max" test "$(claim "$new" exp)" -le $((at_n + MAX))

# s asks for what sets a cookie, and is not found. His own cookie and the pass's come together.
both_cookies() { # port
    v s "$1" -o /dev/null -D "$DIR/head" '/shop?status=404&cookie=basket'
    grep -qi '^set-cookie: segq_pass=' "$DIR/head"
}
let_go s
for port in $NGINX $HAPROXY; do
    wait_for $TTL "$port: renewed with an error of the site's" both_cookies $port
    check_eq "$port: beside the site's own cookie" "$(grep -ci '^set-cookie: basket=1' "$DIR/head")" 1
    check_eq "$port: once" "$(grep -ci '^set-cookie: segq_pass=' "$DIR/head")" 1
    check "$port: for this browser alone" grep -qi '^set-cookie: segq_pass=.*; httponly; samesite=lax; secure' "$DIR/head"
    check "$port: and no cache keeps it" grep -qi '^cache-control: no-store' "$DIR/head"
done

# b is a game: its server asks any router.
bearer() { curl -s -i -H "Authorization: Bearer $1" "$2/v1/verify?queue=login" | tr -d '\r'; }
let_go b
old=$(cookie b segq_pass)
game_renewed() { game=$(bearer "$old" "$R" | sed -n 's/^X-Segq-Pass: //p'); [ -n "$game" ]; }
wait_for $TTL "a bearer's renewed pass comes in a line of its own" game_renewed
check "it is good at the other router" grep -q '^HTTP/1.1 204' <<<"$(bearer "$game" "$R2")"
check_eq "a game without cookies gets none" "$(bearer "$game" "$R" | grep -ci set-cookie)" 0

# ---- out -------------------------------------------------------------------------------

comes x $NGINX
let_go r
revoked=$(cookie r segq_pass)
vcode r $HAPROXY '/shop?command=revoke' >/dev/null
refused() { # at both gates, by both routers, any number of times
    local i
    for i in 1 2 3 4; do
        for port in $NGINX $HAPROXY; do
            [ "$(via $port -o /dev/null -w '%{http_code}' -H "Cookie: segq_pass=$revoked" /shop)" = 302 ] || return 1
        done
    done
}
wait_for 20 "who is revoked is out everywhere" refused
wait_for 20 "and the slot is the next one's" enters w $HAPROXY
shops w $HAPROXY "" &
helpers+=("$!")
gone() { [ "$(via $NGINX -o /dev/null -w '%{http_code}' -H "Cookie: segq_pass=$(cookie i segq_pass)" /secret-look)" = 302 ]; }
wait_for $((TTL + 10)) "the slot of who idles is the next one's" enters x $NGINX
check "who idled is out" gone
kill -KILL "$(pid_of segment.0)" "$(pid_of segment.1)"
wait_for 20 "nodes were killed: sessions have not ended" eval 'has_status 200 "$R/readyz" && has_status 200 "$R2/readyz"'
given_up() { # not answered in time, and not asked, for the node is away
    local p m n=0
    for p in 30 31; do
        for m in late failed; do n=$((n + $(metric $p segq_router_pass_renewals_${m}_total))); done
    done
    echo $n
}
before=$(given_up)
node0=$(pid_of segment.0) node1=$(pid_of segment.1)
kill -STOP "$node0" "$node1"
is_late() { [ "$(given_up)" -gt "$before" ]; }
[ "$(date +%s)" -ge $((at_n + MAX - TTL)) ] || wait_for $TTL "nodes stand still: renewals are given up, nobody is" is_late
kill -CONT "$node0" "$node1"

for who in n h n.tab h.tab; do
    wait_for $MAX "$who is out in the end" is_out $who
done
check "nginx: 200 all the way to session_max" stays n "$at_n"
check "HAProxy: 200 all the way to session_max" stays h "$at_h"
check "also for a tab with the first pass" stays n.tab "$at_n"
check "and behind HAProxy" stays h.tab "$at_h"
check_eq "a slot for each, and no more" "$(admin GET /v1/admin/cluster | jq '.queues[] | select(.queue == "login") | .active <= 6')" true
check "renewals are counted" test "$(($(metric 30 segq_router_passes_renewed_total) + $(metric 31 segq_router_passes_renewed_total)))" -ge 8
