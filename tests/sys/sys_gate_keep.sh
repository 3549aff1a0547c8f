#!/bin/bash
# Gates that give good verdicts by themselves for a quarter of a second (deploy/nginx with
# segq_keep.lua, deploy/haproxy as it is): routers are asked for a part of the requests only; two
# visitors are never taken for each other, whatever they put where; who is revoked is out; passes
# are renewed by use; and nothing but a good pass is kept: no exemption, no pass that opens once.
. "$(dirname "$0")/lib.sh"

HOST=shop.example.org
SHOP=$((PORT + 80))
. "$here/fronts.sh"
SECRET=gate-secret-0123456789
TTL=40 # seconds
MODULES=/usr/lib/nginx/modules
[ -e $MODULES/ngx_http_lua_module.so ] || give_up "nginx's Lua module is not installed (deploy/deps.sh bench)"
(umask 077; echo $SECRET >"$DIR/secret"; echo "default \"$SECRET\";" >"$DIR/nginx_secret")
helper python3 "$here/shop.py" "$SHOP" "$DIR/shop.log"
up --routers 2 --capacity 200 --set claim=10s --set pass_ttl=${TTL}s --set session_max=1h --set poll_min=100ms --set idle.browser=10m \
    --set 'bypass={headers: [{name: X-Probe, value: s3cret}]}' \
    --set router.trusted_proxies=127.0.0.1/32 --set "router.gate_secret_file=$DIR/secret"

# The table of kept verdicts alone, in HAProxy's Lua: a script that fails is an error of its file.
{
    echo 'local s = { now = {}, before = {}, bytes = 0, turn = 0, at = 0 }'
    sed -n '/^local MOST_MS/,/^-- End of kept verdicts/p' "$root/deploy/haproxy/segq_gate.lua"
    cat <<'EOT'
local function is(what, got, want)
    assert(got == want, what .. ": " .. tostring(got) .. ", not " .. tostring(want))
end
is("unknown", find("a", 1000), nil)
keep("a", 1000, 250, "A")
is("kept", find("a", 1000.2), "A")
is("another question", find("A", 1000.2), nil)
is("for its time", find("a", 1000.25), nil)
find("b", 1001)
keep("b", 1001, 60000, "B")
is("whatever a router says", find("b", 1001.9), "B")
is("at most", find("b", 1002), nil)
keep("c", 1002, 1000, "C")
keep("d", 1001, 1000, "D")
is("asked a while ago", find("d", 1002), nil)
is("before", find("c", 1002.9), "C")
find("x", 1003)
keep("x", 1003, 1, "X")
is("older ones are forgotten", s.now.c or s.now.b or s.before.b, nil)
find("y", 1004)
keep("y", 1004, 1000, "Y")
is("the clock is set back", find("y", 900), nil)
is("and comes to that time again", find("y", 1004), nil)
find("z", 1005)
find("z", 1000)
keep("z", 1005, 1000, "Z")
is("asked before it was set back", find("z", 1005), nil)
find("f", 2000)
for i = 1, 100000 do keep("f" .. i, 2000, 1000, "F") end
is("as many as there is room for", s.bytes < MOST_BYTES + 2 * ANSWER_BYTES, true)
is("not more", find("f100000", 2000), nil)
is("those have their place", find("f1", 2000), "F")
find("g", 2001)
keep("g", 2001, 1000, "G")
is("later there is room", find("g", 2001), "G")
EOT
} >"$DIR/table.lua"
printf 'global\n    lua-load %s\nlisten nobody\n    bind 127.0.0.1:%s\n' "$DIR/table.lua" $((PORT + 89)) >"$DIR/table.cfg"
check "the table keeps each for its time, whatever the clock does" eval 'haproxy -c -f "$DIR/table.cfg" >"$DIR/table.log" 2>&1 || ! cat "$DIR/table.log" >&2'

NGINX=$((PORT + 85)) HAPROXY=$((PORT + 88)) ONCE=$((PORT + 91))
gate_files() { # folder, plain, tls, more sed for segq_verify.conf
    local f
    mkdir -p "$DIR/$1"
    for f in segq_gate.conf segq_proxy.conf segq_verify.conf segq_site.conf; do
        nginx_file $f "$DIR/$1" "$2" "$3" -e 's/^\( *\)#\([a-z_]*_by_lua_file\)/\1\2/' "${@:4}" \
            -e "s|127.0.0.1:9000|127.0.0.1:$SHOP|; s|/etc/nginx/segq_gate_secret|$DIR/nginx_secret|"
    done
    cp "$root"/deploy/nginx/segq_{keep.lua,busy.html} "$DIR/$1"
}
gate_files nginx $((PORT + 84)) $NGINX
check_eq "three lines of the samples turn it on" "$(cat "$DIR"/nginx/segq_*.conf | grep -c '^ *[a-z_]*_by_lua_file')" 3
# Another server of the same nginx, of the same name and for the same queue, that asks otherwise: it would be
# let in by what the first one keeps.
gate_files once $((PORT + 90)) $ONCE -e 's|verify?queue=$segq_queue|&\&use=once|'
sed -n '/^server {/,/^}/p' "$DIR/once/segq_gate.conf" >>"$DIR/nginx/segq_gate.conf"
nginx_go "$DIR/nginx" segq_gate.conf "$MODULES/ndk_http_module.so" "$MODULES/ngx_http_lua_module.so"
mkdir -p "$DIR/haproxy"
haproxy_file segq_gate.cfg "$DIR/haproxy" $((PORT + 87)) $HAPROXY -e "s|127.0.0.1:8099|127.0.0.1:$((PORT + 89))|" \
    -e "s|127.0.0.1:9000|127.0.0.1:$SHOP|; s|/etc/haproxy/segq_gate_secret|$DIR/secret|"
haproxy_go "$DIR/haproxy" segq_gate.cfg

via() { # port, curl-arguments..., and the path last: as a browser
    curl -s --max-time 60 -H 'Accept: text/html,*/*;q=0.8' --cacert "$DIR/cert.pem" --resolve "$HOST:$1:127.0.0.1" "${@:2:$#-2}" "https://$HOST:$1${!#}"
}
code() { via "$1" -o /dev/null -w '%{http_code}' "${@:2}"; }
v() { via "$2" -b "$DIR/jar.$1" -c "$DIR/jar.$1" "${@:3}"; } # visitor, port, ...: with his cookies
cookie() { awk -v n="$2" '$6 == n { print $7 }' "$DIR/jar.$1"; }
said() { jq -r --arg n "$1" '[.headers[] | select(.[0] == $n) | .[1]] | join("|")'; }
pass_of() { # a visitor who is let in
    local t=$(join_queue "$R" login | token_in)
    has_pass() { pass=$(poll "$t" | field 'pass // empty'); [ -n "$pass" ]; }
    wait_for 20 "somebody is let in" has_pass
    ticket=$(cut -d. -f2 <<<"$pass" | tr '_-' '/+' | sed 's/$/==/' | base64 -d 2>/dev/null | jq -r .jti)
}
verified() { echo $(($(metric 30 segq_router_passes_verified_total) + $(metric 31 segq_router_passes_verified_total))); }
in_one_go() { # port, n, curl-arguments...: n requests of one connection
    via "$1" "${@:3}" "/shop?n=[1-$2]"
}
is_up() { [ "$(code "$1" /shop)" = 302 ]; }
for port in $NGINX $HAPROXY $ONCE; do
    wait_for 20 "$port asks for a pass" is_up "$port"
done

for gate in nginx:$NGINX haproxy:$HAPROXY; do
    port=${gate#*:} gate=${gate%:*}
    pass_of
    a=$pass ta=$ticket
    pass_of
    b=$pass tb=$ticket

    before=$(verified)
    in_one_go "$port" 150 -H "Cookie: segq_pass=$a" >"$DIR/many"
    check_eq "$gate: 150 requests are let in" "$(jq -r 'select(.path).path' "$DIR/many" | wc -l)" 150
    check "$gate: a router was asked about fewer than a half: $(($(verified) - before))" \
        test $(($(verified) - before)) -lt 75
    check_eq "$gate: the site is told the same each time" "$(said x-segq-ticket <"$DIR/many" | sort -u)" "$ta"
    check_eq "$gate: with all that it is told" "$(for n in queue subject lane; do said x-segq-$n <"$DIR/many" | sort -u; done | xargs)" \
        "login $ta default"
    check "$gate: and when the session ends" test "$(said x-segq-expires <"$DIR/many" | sort -u | head -1)" -gt "$(date +%s)"
    check_eq "$gate: not how it is kept" "$(said x-segq-keep <"$DIR/many" | sort -u | xargs)" ""

    mixed=0
    for _ in $(seq 8); do
        [ "$(via "$port" -H "Cookie: segq_pass=$a" /shop | said x-segq-ticket)" = "$ta" ] || mixed=1
        [ "$(via "$port" -H "Cookie: segq_pass=$b" /shop | said x-segq-ticket)" = "$tb" ] || mixed=1
        [ "$(via "$port" -H "Authorization: Bearer $b" -H "Cookie: segq_pass=$a" /shop | said x-segq-ticket)" = "$tb" ] || mixed=1
        [ "$(code "$port" /secret-none)$(code "$port" -H "Cookie: segq_pass=$a-" /secret-bad)" = 302302 ] || mixed=1
        [ "$(code "$port" -H "Authorization: segq_pass=$a" /secret-moved)" = 302 ] || mixed=1
        [ "$(code "$port" -H "Authorization: Basic eA==" -H "Cookie: a=b" /secret-basic)" = 302 ] || mixed=1
        via "$port" --http1.1 -H "Authorization: Basic eA==" -H "Authorization: Bearer $a" -H "Cookie: a=b" -o /dev/null /shop
    done
    check_eq "$gate: two visitors and strangers are never taken for each other" "$mixed" 0

    through=0
    for _ in $(seq 10); do
        [ "$(code "$port" -H 'X-Probe: s3cret' -H 'Cookie: c=1' /shop)" = 200 ] || through=1
        [ "$(code "$port" -H 'Cookie: c=1' /secret-probe)" = 302 ] || through=1
    done
    check_eq "$gate: an exemption is for its request alone" "$through" 0

    curl -s -o /dev/null "$R/v1/session" -H "Authorization: Bearer $a" -H "X-Segq-Gate-Secret: $SECRET" -d command=revoke
    refused() { # by both routers, and by what is kept of their answers
        in_one_go "$port" 20 -o /dev/null -w '%{http_code}\n' -H "Cookie: segq_pass=$a" >"$DIR/now"
        [ "$(sort -u "$DIR/now")" = 302 ]
    }
    wait_for 20 "$gate: who is revoked elsewhere is out" refused
    in_one_go "$port" 50 -o /dev/null -w '%{http_code}\n' -H "Cookie: segq_pass=$a" >"$DIR/after"
    check_eq "$gate: and stays out" "$(sort -u "$DIR/after")" 302
    check_eq "$gate: the other one is in" "$(code "$port" -H "Cookie: segq_pass=$b" /shop)" 200
    via "$port" -o /dev/null -H "Cookie: segq_pass=$b" '/shop?command=revoke'
    out() { [ "$(code "$port" -H "Cookie: segq_pass=$b" /shop)" = 302 ]; }
    wait_for 20 "$gate: the site's own command ends it, too" out

    v n "$port" "${LOOKS[@]}" -o /dev/null '/q/login?return=/shop'
    enters() {
        v n "$port" -o /dev/null -X POST -H 'Sec-Fetch-Site: same-origin' --data 'return=/shop' /q/login/enter
        [ -n "$(cookie n segq_pass)" ]
    }
    wait_for 20 "$gate: a browser is let in" enters
    first=$(cookie n segq_pass)
    renewed() { # asks all the time
        v n "$port" -o "$DIR/lots" "/shop?n=[1-20]"
        pass=$(cookie n segq_pass)
        [ -n "$pass" ] && [ "$pass" != "$first" ]
    }
    wait_for $((2 * TTL)) "$gate: its pass is renewed by use" renewed
    check_eq "$gate: and good" "$(code "$port" -H "Cookie: segq_pass=$pass" /shop)" 200
    rm -f "$DIR/jar.n"
done

pass_of
in_one_go $NGINX 20 -o /dev/null -H "Cookie: segq_pass=$pass"
in_one_go $ONCE 20 -o /dev/null -w '%{http_code}\n' -H "Cookie: segq_pass=$pass" >"$DIR/uses"
check_eq "a pass that opens once opens once" "$(grep -c 200 "$DIR/uses")" 1
check_eq "nobody else was let in" "$(grep -c secret "$DIR/shop.log")" 0
