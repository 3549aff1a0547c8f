#!/bin/bash
# The gates of deploy/nginx and deploy/haproxy as they stand, but for ports and paths, in front
# of a demo shop that knows nothing of segq. Visitors are walked through: to the room, in line,
# in, out again by leaving, by the shop's release and revoke; extended; others try every way
# round (T23); rules let some past; then all routers die, with a gate that is closed then and
# one that is open. Extended sessions outlive the segment node that has them.
. "$(dirname "$0")/lib.sh"

HOST=shop.example.org
SHOP=$((PORT + 80))
SHOPLOG=$DIR/shop.log
. "$here/fronts.sh"
SECRET=gate-secret-0123456789
(umask 077; echo $SECRET >"$DIR/secret"; echo "default \"$SECRET\";" >"$DIR/nginx_secret")

: >"$SHOPLOG"
head -c 3000000 /dev/zero >"$DIR/large"
helper python3 "$here/shop.py" "$SHOP" "$SHOPLOG"
up --routers 2 --capacity 200 --set mode=slots --set max_active=2 --set pass_ttl=20m --set claim=10m \
    --set session_max=2h --set poll_min=100ms --set idle.browser=10m \
    --set 'bypass={paths: [/static], addresses: [127.0.5.0/24], headers: [{name: X-Probe, value: s3cret}]}' \
    --set router.trusted_proxies=127.0.0.1/32 --set "router.gate_secret_file=$DIR/secret"

# ---- the gates -------------------------------------------------------------------------

start_nginx() { # name plain tls closed|open
    local d=$DIR/$1 f
    mkdir -p "$d"
    for f in segq_gate.conf segq_proxy.conf segq_verify.conf segq_site.conf; do
        nginx_file $f "$d" "$2" "$3" -e "s|127.0.0.1:9000|127.0.0.1:$SHOP|; s|/etc/nginx/segq_gate_secret|$DIR/nginx_secret|" \
            -e 's|#https://app.example.org|https://app.example.org|'
    done
    [ "$4" = closed ] || sed -i 's/^    #\(proxy_intercept_errors\|error_page 500\)/    \1/' "$d/segq_verify.conf"
    nginx_go "$d" segq_gate.conf
}

start_haproxy() { # name plain tls closed|open
    local d=$DIR/$1
    mkdir -p "$d"
    haproxy_file segq_gate.cfg "$d" "$2" "$3" -e "s|127.0.0.1:8099|127.0.0.1:$(($3 + 1))|" \
        -e "s|127.0.0.1:9000|127.0.0.1:$SHOP|; s|/etc/haproxy/segq_gate_secret|$DIR/secret|" \
        -e 's|https://app.example.invalid|https://app.example.org|'
    [ "$4" = closed ] || sed -i '/str down/s/^    http-request return status 503/    #&/' "$d/segq_gate.cfg"
    haproxy_go "$d" segq_gate.cfg
}

ACCEPT='Accept: text/html,application/xhtml+xml,*/*;q=0.8'

# ---- visitors ---------------------------------------------------------------------------

ask() { # curl-arguments..., and the path last: as somebody who looks at a page
    curl -s --max-time 60 --path-as-is --interface 127.0.6.1 --cacert "$DIR/cert.pem" -H "$ACCEPT" \
        --resolve "$HOST:$TLS:127.0.0.1" "${@:1:$#-1}" "https://$HOST:$TLS${!#}"
}
v() { # visitor, curl-arguments..., path: with the visitor's cookies
    ask -b "$DIR/jar.$1" -c "$DIR/jar.$1" "${@:2}"
}
vcode() { v "$1" -o /dev/null -w '%{http_code}' "${@:2}"; }
code() { ask -o /dev/null -w '%{http_code}' "$@"; }
cookie() { awk -v n="$2" '$6 == n { print $7 }' "$DIR/jar.$1"; }
comes() { v "$1" "${LOOKS[@]}" -o /dev/null '/q/login?return=/shop'; }
# In, if it is the visitor's turn: the form of the page sets the cookie and goes on.
enters() {
    [ "$(vcode "$1" -X POST -H 'Sec-Fetch-Site: same-origin' --data 'return=/shop' /q/login/enter)" = 303 ] &&
        [ -n "$(cookie "$1" segq_pass)" ] && [ "$(vcode "$1" /shop)" = 200 ]
}
stays_out() { ! enters "$1"; }
is_out() { [ "$(vcode "$1" /shop)" = 302 ]; }
said() { jq -r --arg n "$1" '[.headers[] | select(.[0] == $n) | .[1]] | join("|")'; }
expires() { v "$1" /shop | said x-segq-expires; }
is_as_long() { [ "$(expires b)" = "$before" ] && both && [ "$(ticket_expires b)" = "$before" ]; }
both() { has_status 200 "$R/readyz" && has_status 200 "$R2/readyz"; }
ticket_expires() { poll "$(cookie "$1" segq_ticket | cut -c1-55)" | field 'pass_expires_at | floor'; }
has_active() { [ "$(queue_field active)" = "$1" ]; }
serves() { [ "$(code /static/x)" = 200 ]; }
secrets() { grep -c secret "$SHOPLOG"; }

told() { tr -d '\r' <"$DIR/head" | awk -F': ' -v n="$1" 'tolower($1) == n { print $2 }'; }

# What is no page that somebody goes to: an answer that a script can read, and nothing is lost
# on the way of a redirect.
programs() { # gate
    local page="https://$HOST:$TLS" to
    to=$(ACCEPT='Accept: application/json' ask -o "$DIR/body" -D "$DIR/head" -w '%{http_code} %{content_type}' \
        -H "Referer: $page/shop?a=1" /api/cart)
    check_eq "$1: a program is told with 401" "$to" "401 application/problem+json"
    check_eq "$1: where the room is, with a way back to its page" \
        "$(told x-segq-location) $(jq -r '"\(.location) \(.status) \(.code)"' "$DIR/body")" \
        "/q/login?return=/shop%3Fa%3D1 /q/login?return=/shop%3Fa%3D1 401 pass_invalid"
    check_eq "$1: so is one that asks for a file" \
        "$(ACCEPT='Accept: */*' ask -o /dev/null -w '%{http_code} %{content_type}' /app.js)" "401 application/problem+json"
    check_eq "$1: and that it is for a bearer, once" "$(told www-authenticate)" 'Bearer realm="segq"'
    check "$1: when to ask again" test "$(told retry-after)" -gt 0
    check_eq "$1: and that nobody keeps this" "$(told cache-control)" no-store
    check_eq "$1: POST, PUT, a script that wants HTML, one that says nothing" \
        "$(code -X POST -d x=1 /api) $(code -X PUT -d x=1 /api) $(code -H 'Sec-Fetch-Mode: cors' /api) $(ACCEPT=Accept: code /api)" \
        "401 401 401 401"
    check_eq "$1: a page elsewhere is no way back" \
        "$(ask -o /dev/null -D "$DIR/head" -X POST -d x=1 -H 'Referer: https://evil.example/shop' /api; told x-segq-location)" /q/login
    to=$(ask -o /dev/null -w '%{http_code} %{redirect_url}' -X POST -d x=1 -H 'Sec-Fetch-Mode: navigate' \
        -H "Referer: $page/form" /secret-form)
    check_eq "$1: a form goes to the room and comes back to its page" "$to" "303 $page/q/login?return=/form"
    to=$(ACCEPT='Accept: */*' ask -o /dev/null -D "$DIR/head" -w '%{http_code}' -H 'Origin: https://app.example.org' /api)
    check_eq "$1: a page of another origin that is named may read it" \
        "$to $(told access-control-allow-origin) $(told access-control-allow-credentials)" "401 https://app.example.org true"
    ACCEPT='Accept: */*' ask -o /dev/null -D "$DIR/head" -H 'Origin: https://evil.example' /api
    check_eq "$1: others may not" "$(told access-control-allow-origin)" ""
    check_eq "$1: its preflights get through, others' do not" \
        "$(code -X OPTIONS -H 'Origin: https://app.example.org' -H 'Access-Control-Request-Method: PUT' /api) $(
            code -X OPTIONS -H 'Origin: https://evil.example' -H 'Access-Control-Request-Method: PUT' /secret-preflight) $(
            code -X OPTIONS -H 'Origin: https://app.example.org' /secret-preflight) $(
            code -X PUT -H 'Origin: https://app.example.org' -H 'Access-Control-Request-Method: PUT' /secret-preflight)" "200 401 401 401"
}

walk() { # gate
    local to before
    to=$(ask -o "$DIR/body0" -D "$DIR/head" -w '%{http_code} %{redirect_url}' '/shop?a=1&b=/x')
    check_eq "$1: without a pass to the room, with a way back" "$to" \
        "302 https://$HOST:$TLS/q/login?return=/shop%3Fa%3D1%26b%3D/x"
    check "$1: which nobody keeps" grep -qi '^cache-control: no-store' "$DIR/head"
    check_eq "$1: HEAD, too" "$(code -I /buy)" 302
    programs "$1"
    comes a
    v a -o "$DIR/body" -D "$DIR/head" -X POST -H 'Sec-Fetch-Site: same-origin' --data 'return=/shop' /q/login/enter
    wait_for 20 "$1: the first is let in" enters a
    v a -o /dev/null -D "$DIR/head" -X POST -H 'Sec-Fetch-Site: same-origin' --data 'return=/shop' /q/login/enter
    check "$1: the pass is for https, for no script, for this site's pages" \
        grep -qi '^set-cookie: segq_pass=.*; httponly; samesite=lax; secure' "$DIR/head"
    v a '/shop?q=1' >"$DIR/said"
    check_eq "$1: the shop knows whom it has" "$(said x-segq-queue <"$DIR/said") $(said x-segq-lane <"$DIR/said")" "login default"
    check "$1: by ticket" test -n "$(said x-segq-ticket <"$DIR/said")"
    v a -H 'X-Segq-Subject: a-visitors-own' -H 'X-Segq-Queue: a-visitors-own' -H 'X-Segq-Bypass: me' -H 'X-Segq-Device: a-visitors-own' -H 'X-Segq-Gate-Secret: x' \
        -H 'X_Segq_Subject: a-visitors-own' -H 'X-Segq-Command: extend' /shop >"$DIR/said"
    check_eq "$1: and not by what the visitor writes" "$(grep -oiE 'a-visitors-own|x.segq.(bypass|gate.secret|command)' "$DIR/said")" ""
    check_eq "$1: bodies get through" "$(v a -X PUT -d hello /shop | field body)" 5
    check_eq "$1: large ones, too" "$(v a -X PUT --data-binary "@$DIR/large" /shop | field body)" 3000000
    check_eq "$1: the shop's own 401 and 403 are its own" \
        "$(vcode a '/shop?status=401') $(vcode a '/shop?status=403')" "401 403"
    comes b
    wait_for 20 "$1: a second one" enters b
    comes c
    wait_for 20 "$1: both slots are taken" has_active 2
    check "$1: so a third waits" stays_out c

    v a -o "$DIR/body" -D "$DIR/head" --data-binary "@$DIR/large" '/shop?command=release'
    check_eq "$1: the shop's command is not shown" "$(grep -ci segq-command "$DIR/head")" 0
    wait_for 20 "$1: released, its slot goes to the third" enters c
    wait_for 20 "$1: and the first is out" is_out a
    before=$(expires b)
    vcode b '/shop?command=extend%3D3600' >/dev/null
    is_longer() { [ "$(expires b)" -gt $((before + 1000)) ]; }
    wait_for 20 "$1: a session is extended" is_longer
    before=$(ticket_expires b) # the other router may not have heard of it yet
    kill -KILL "$(pid_of segment.0)" "$(pid_of router.0)"
    wait_for 20 "$1: after a segment and a router were killed it is as long as before" is_as_long
    wait_for 20 "$1: and has its slot" has_active 2
    vcode b '/shop?command=nonsense' >/dev/null
    check_eq "$1: what is no command does nothing" "$(vcode b /shop)" 200
    vcode b '/shop?command=revoke' >/dev/null
    wait_for 20 "$1: and revoked" is_out b
    sent_back() { [ "$(v b -o /dev/null -w '%{redirect_url}' /shop)" = "https://$HOST:$TLS/q/login?return=/shop" ]; }
    wait_for 20 "$1: to the room" sent_back
    vcode c -X POST -H 'Sec-Fetch-Site: same-origin' /q/login/leave >/dev/null
    wait_for 20 "$1: who leaves is out" is_out c
    wait_for 20 "$1: nobody is in" has_active 0
}

# With what the router says of a foreign pass; of another queue's; of none.
ways_round() { # gate
    local other bad name
    comes d
    wait_for 20 "$1: somebody is in" enters d
    good=$(cookie d segq_pass)
    other=$(join_queue "$R" sale | token_in)
    sale_pass() { other_pass=$(poll "$other" | field 'pass // empty'); [ -n "$other_pass" ]; }
    wait_for 20 "$1: another queue's pass" sale_pass
    bad=${good%??????}AAAAAA
    for name in "a foreign pass|$bad" "another queue's pass|$other_pass" "none|" \
        "alg none|eyJhbGciOiJub25lIn0.eyJhdWQiOiJsb2dpbiJ9."; do
        check_eq "$1: not with ${name%%|*}" "$(code -H "Cookie: segq_pass=${name#*|}" /secret-pass)" 302
        check_eq "$1: not with ${name%%|*} as a bearer" "$(code -H "Authorization: Bearer ${name#*|}" /secret-pass)" 302
    done
    check "$1: not with two cookie lines" test \
        "$(code -H "Cookie: segq_pass=$bad" -H "Cookie: a=b" /secret-two)" != 200
    check_eq "$1: but if one of two has a good pass" \
        "$(code --http1.1 -H "Cookie: segq_pass=$bad" -H "Cookie: a=b; segq_pass=$good" /ok-two)" 200
    for name in /v1/verify /v1/session /_segq/verify /_segq/open /V1/verify /v1/./verify /v1//verify /v1/%76erify; do
        check "$1: nobody gets a verdict at $name" test "$(code "$name?queue=login")" != 204
    done
    check "$1: nobody gives commands" test \
        "$(code -X POST -H "Cookie: segq_pass=$good" -d command=release /v1/session)" != 204
    for name in //secret /./secret /%73ecret /Secret-case '/secret?x=/static/' /static/../secret \
        /static/%2e%2e/secret /static/..%2fsecret /STATIC/secret /staticsecret '/static;/../secret'; do
        check "$1: not by $name" test "$(code "$name")" != 200
    done
    check_eq "$1: not by a proxy's headers" "$(code -H 'X-Forwarded-For: 127.0.5.1' -H 'Forwarded: for=127.0.5.1' \
        -H 'X-Original-URI: /static/x' -H 'X-Original-Subject: anna' /secret-fwd)" 302
    python3 "$here/gate_raw.py" "$TLS" "$HOST" "$DIR/cert.pem" "$good" >"$DIR/raw.$1"
    check "$1: odd requests were all answered or cut off" test "$(wc -l <"$DIR/raw.$1")" -ge 25
    check_eq "$1: and none of all these reached the shop" "$(grep -E -i 'secret' "$SHOPLOG" | head -3)" ""
    check_eq "$1: websockets do, with a pass" "$(ask -o /dev/null -w '%{http_code}' --http1.1 \
        -H "Cookie: segq_pass=$good" -H 'Upgrade: websocket' -H 'Connection: Upgrade' \
        -H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' /ws)" 101
    for name in h2c 'websocket, h2c' foo; do
        check_eq "$1: nothing else that is more than a request: $name" "$(ask --http1.1 -H "Upgrade: $name" \
            -H 'Connection: Upgrade, HTTP2-Settings' -H 'HTTP2-Settings: AAMAAABkAAQAAP__' /static/x |
            said upgrade | grep -v '^websocket$')" ""
    done
    ask "${LOOKS[@]}" -o /dev/null '/q/login?claim=eyJzZWNyZXQi&return=/shop'
    check_eq "$1: no claim is in the log" "$(cat "$DIR/$1"/*log | grep -c eyJzZWNyZXQi)" 0
    check "$1: the log has the shop's status" grep -q '/ok-pipe" 200' "$DIR/$1"/*log
    check_eq "$1: and it still stands" "$(vcode d /shop)" 200
    vcode d '/shop?command=release' >/dev/null
    wait_for 20 "$1: out again" is_out d
}

rules() { # gate
    local told
    check_eq "$1: past by path" "$(ask '/static/x?y=..' | said x-segq-bypass)" path
    check_eq "$1: past by address" "$(ask --interface 127.0.5.1 /shop | said x-segq-bypass)" address
    check_eq "$1: past by header" "$(ask -H 'X-Probe: s3cret' /shop | said x-segq-bypass)" header
    check_eq "$1: not by another one" "$(code -H 'X-Probe: s3creT' /shop)" 302
    admin PATCH /v1/admin/queues/login '{"rollout":0}' >/dev/null
    all_past() { told=$(ask /shop | said x-segq-bypass) && [ "$told" = rollout ]; }
    wait_for 20 "$1: at a rollout of 0 everybody goes past" all_past
    admin PATCH /v1/admin/queues/login '{"rollout":100}' >/dev/null
    none_past() { [ "$(code /shop)" = 302 ]; }
    wait_for 20 "$1: at 100 nobody" none_past
}

admin PUT /v1/admin/queues/sale '{"name":"sale","release_per_s":1000}' >/dev/null
sale_open() { [ "$(status_of "$R/v1/queues/sale")" = 200 ]; }
wait_for 20 "a second queue" sale_open

P=$((PORT + 84))
start_nginx nginx $P $((P + 1)) closed
start_nginx nginx_open $((P + 2)) $((P + 3)) open
start_haproxy haproxy $((P + 4)) $((P + 5)) closed
start_haproxy haproxy_open $((P + 7)) $((P + 8)) open
each() { # name -> its port
    case $1 in
        nginx) TLS=$((P + 1)) ;;
        nginx_open) TLS=$((P + 3)) ;;
        haproxy) TLS=$((P + 5)) ;;
        haproxy_open) TLS=$((P + 8)) ;;
    esac
}
for gate in nginx haproxy; do
    each $gate
    rm -f "$DIR"/jar.*
    wait_for 20 "$gate: it serves" serves
    walk $gate
    ways_round $gate
    rules $gate
done
counted() { # four rules were tried since a router was last killed
    local a b
    a=$(metric 30 segq_router_bypassed_total) && b=$(metric 31 segq_router_bypassed_total) &&
        [ $((${a:-0} + ${b:-0})) -ge 4 ]
}
wait_for 20 "the routers count who went past" counted

kill -STOP "$(pid_of rt_cluster)" # so that it does not start them again
kill -KILL $(pid_of router.0) $(pid_of router.1)
for gate in nginx haproxy; do
    each $gate
    closed() { [ "$(code /secret-closed)" = 503 ]; }
    wait_for 20 "$gate: without routers nobody comes in" closed
    ask -o /dev/null -D "$DIR/head" /secret-closed
    check "$gate: and is told when to ask again" grep -qi '^retry-after: [1-9]' "$DIR/head"
    for path in /secret-closed '/q/login?return=/shop'; do
        check_eq "$gate: $path in the page's words and looks" "$(ask "$path" | grep -cE '<h1>One moment, please</h1>|<style>:root')" 2
        check_eq "$gate: $path in all languages" "$(ask "$path" | grep -c '<article lang=')" \
            "$(ls "$root"/deploy/page/*.json | wc -l)"
    done
    # (HAProxy closes amid what is being sent: some clients read no answer.)
    [ $gate = haproxy ] || check_eq "$gate: who sends much, too" "$(code -X POST --data-binary "@$DIR/large" /secret-closed)" 503
    check_eq "$gate: a form, too" "$(code -X POST -d x=1 -H 'Sec-Fetch-Mode: navigate' /secret-closed) $(
        ask -X POST -d x=1 /q/login/join | grep -c 'One moment, please</h1>')" "503 1"
    check_eq "$gate: a program reads JSON" \
        "$(ACCEPT='Accept: application/json' ask -w '%{http_code}' -o "$DIR/body" /secret-closed) $(jq -r .code "$DIR/body") $(
            ACCEPT='Accept: */*' ask /v1/queues/login | jq -r .code)" "503 queue_unavailable queue_unavailable"
    each ${gate}_open
    open() { [ "$(code /open)" = 200 ]; }
    wait_for 20 "${gate}_open: everybody does" open
    check_eq "${gate}_open: with much in hand" "$(code -X POST --data-binary "@$DIR/large" /open)" 200
    check_eq "${gate}_open: as nobody" "$(ask -H 'X-Segq-Ticket: 1-1' /open | said x-segq-ticket)" ""
done
kill -CONT "$(pid_of rt_cluster)"
for gate in nginx haproxy; do
    each ${gate}_open
    none_past() { [ "$(code /secret-back)" = 302 ]; }
    wait_for 40 "${gate}_open: with a router again it is a gate again" none_past
done
check_eq "nobody was let in but those" "$(grep secret-closed "$SHOPLOG")" ""

# ---- rules of the routers' file: one gate, several rooms, none -------------------------------

cp "$DIR/c/config/router.yaml" "$DIR/router.yaml"
printf '%s\n' 'gate_rules:' "  - { host: $HOST, path: /wares/secret, queue: login }" '  - { path: /wares, method: GET, queue: "" }' \
    >>"$DIR/c/config/router.yaml"
kill -HUP "$(pid_of rt_cluster)"
for gate in nginx haproxy; do
    each $gate
    past() { [ "$(code /wares/1)" = 200 ]; }
    wait_for 20 "$gate: a rule leads past the room" past
    check_eq "$gate: not where the one before it leads into a room, nor with another method" \
        "$(code /wares/secret/1) $(code -X POST -d x=1 /wares/1)" "302 401"
    check_eq "$gate: nor where two servers could read another path" \
        "$(code /wares/../secret-2) $(code //wares/1) $(code /wares/%2e%2e/secret-3) $(code '/wares%2fsecret')" "302 302 302 302"
done
echo '  - { path: wares, queue: "" }' >>"$DIR/c/config/router.yaml"
kill -HUP "$(pid_of rt_cluster)"
wait_for 20 "a mistake is told with its rule" eval "'$BIN/router' -c '$DIR/c/config/router.yaml' -t 2>&1 | grep -q 'gate_rules\[2\]: path: write /part'"
check_eq "and the table stays" "$(each nginx; code /wares/1) $(code /wares/secret/1)" "200 302"
cp "$DIR/router.yaml" "$DIR/c/config/router.yaml"
kill -HUP "$(pid_of rt_cluster)"
wait_for 20 "without rules it is the gate's queue again" eval '[ "$(code /wares/1)" = 302 ]'
check_eq "nobody got past" "$(grep -c 'wares/secret\|secret-2\|secret-3' "$SHOPLOG")" 0

# ---- an app of another waiting room: the same URL, its cookies, JSON (page_compat) -------

each nginx
echo 'page_compat: cloudflare' >>"$DIR/c/config/router.yaml"
kill -HUP "$(pid_of rt_cluster)"
app() { # as an app: cookies, redirects
    curl -sL --max-time 60 --interface 127.0.6.1 --cacert "$DIR/cert.pem" -H 'Accept: application/json' \
        --resolve "$HOST:$TLS:127.0.0.1" -b "$DIR/jar.$1" -c "$DIR/jar.$1" "https://$HOST:$TLS/shop"
}
room() { [ "$(app "$1" | jq -r '.cfWaitingRoom | .inWaitingRoom and .refreshIntervalSeconds >= 1')" = true ]; }
is_in() { app "$1" | jq -e '.headers' >/dev/null; }
admin POST /v1/admin/queues/login/pause >/dev/null
for who in one two; do
    wait_for 20 "app $who reads that it waits" room $who
done
check_eq "each has a place of its own, and keeps it" "$(app one >/dev/null; cookie one segq_ticket) $(cookie two segq_ticket)" \
    "$(app one >/dev/null; cookie one segq_ticket) $(cookie two segq_ticket)"
check "not the other's" [ "$(cookie one segq_ticket)" != "$(cookie two segq_ticket)" ]
admin POST /v1/admin/queues/login/passthrough >/dev/null
wait_for 20 "when it is its turn, the site answers" is_in one
wait_for 20 "each of them" is_in two
