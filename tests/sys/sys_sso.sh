#!/bin/bash
# Single sign-on: nginx with client certificates, as deploy/nginx/segq_admin.conf stands but for ports
# and paths, in front of two managers; and plain proxies that forward what a story wants. Who has a row
# does what it says and no more, under their own name, with their own address; who has none is nobody;
# what a browser sends under the proxy's names comes to nothing, and from another address everything
# does. HUP, a reload that is refused, a second manager, the leader's death.
. "$(dirname "$0")/lib.sh"
. "$here/managers.sh"

HOST=ops.example.org
. "$here/fronts.sh"
F=$DIR/tokens.yaml D=$DIR/people SECRET=proxy-secret-0123456789
ctl() { "$BIN/segqctl" "$@"; }
add() { ctl token add "$F" "$@" >"$DIR/out" 2>>"$DIR/err"; }
mkdir -p "$D"
(umask 077 && add otto --role operator && cp "$DIR/out" "$DIR/otto.token")
check "a row for a person" add anna --role admin --user 'CN=anna,OU=ops,O=Example'
check "it has no token" test "$(grep -c segq_ "$DIR/out")" = 0
check "a row for a group" add night --role operator --group ops --queues login
check "a row for an address" add eva --role admin --email eva@example.org
check_eq "a second one for the same group is refused" "$(add twice --role admin --group ops; echo $?)" 2
check_eq "they are listed" "$(ctl token list "$F" | awk '$1 == "night" { print $2, $3, $4 }')" "group ops operator"

(umask 077; echo "$SECRET" >"$DIR/secret"; echo "proxy_set_header X-Segq-Proxy \"$SECRET\";" >"$DIR/nginx_secret")

up --set away=0 --managers 2 --routers 1 --seg-nodes 1 --set "queuemng.admin_tokens_file=$F"
wait_for 20 "one of them leads" somebody_leads
from() { # ADDRESS PATH [curl options]: from that address; prints the status, the answer is in $DIR/answer
    http -o "$DIR/answer" -w '%{http_code}' --interface "$1" -H "X-Segq-Proxy: $SECRET" "${@:3}" "http://127.0.0.1:$((PORT + L))/v1/admin/$2"
}
told() { jq -r "$1" "$DIR/answer"; }
hup_all() { # one may have been killed a moment ago
    local p
    for p in queuemng queuemng2; do kill -HUP "$(pid_of $p)" 2>/dev/null; done
    true
}
U=(-H 'X-Forwarded-User: dora') G=(-H 'X-Forwarded-Groups: people, ops')
check_eq "by default no proxy is believed" "$(from 127.0.8.9 whoami "${U[@]}" "${G[@]}")" 401
check "and rows that nobody can use are told" grep -rqs 'event=people_without_proxy' "$C/logs"
printf '%s\n' 'admin_trusted_proxies: [127.0.8.0/24]' 'admin_sign_out_url: /bye' "admin_proxy_secret_file: $DIR/secret" \
    >>"$C/config/queuemng.yaml"
hup_all
is_dora() { [ "$(from 127.0.8.9 whoami "${U[@]}" "${G[@]}"; told .name)" = 200dora ]; }
wait_for 10 "one that is listed is, after HUP" is_dora

# ---- nginx, one for each manager: it asks from an address of its own, which is believed
authority() { # NAME
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" \
        -keyout "$D/$1.key" -out "$D/$1.crt" 2>/dev/null
}
issue() { # NAME AUTHORITY SUBJECT
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$3" -keyout "$D/$1.key" \
        -out "$D/$1.csr" 2>/dev/null
    openssl x509 -req -in "$D/$1.csr" -CA "$D/$2.crt" -CAkey "$D/$2.key" -CAcreateserial -days 2 \
        -out "$D/$1.crt" 2>/dev/null
}
authority staff
authority others
issue anna staff /O=Example/OU=ops/CN=anna
issue ben staff /O=Example/OU=ops/CN=ben
issue carl staff /O=Example/OU=sales/CN=carl
issue sly staff '/O=Example/OU=sales/CN=x,OU=ops,O=Example'
issue eve others /O=Example/OU=ops/CN=anna
start_nginx() { # NAME PORT-OF-MANAGER TLS
    mkdir -p "$DIR/$1"
    nginx_file segq_admin.conf "$DIR/$1" 0 "$3" -e "s|10.0.0.5:7071|127.0.0.1:$2|" \
        -e "s|/etc/ssl/segq/people-ca.pem|$D/staff.crt|; s|/etc/nginx/segq_admin_secret|$DIR/nginx_secret|" -e "s|proxy_pass |proxy_bind 127.0.8.1; proxy_pass |"
    nginx_go "$DIR/$1" segq_admin.conf
}
start_nginx one $((PORT + 1)) $((PORT + 91))
start_nginx two $((PORT + 3)) $((PORT + 92))
N=91
front() { [ "$L" = 1 ] && N=91 || N=92; } # the proxy of the leader
as() { # NAME METHOD PATH [curl options]: by certificate; prints the status, the answer is in $DIR/answer
    front
    http -o "$DIR/answer" -w '%{http_code}' --cacert "$DIR/cert.pem" --resolve "$HOST:$((PORT + N)):127.0.0.1" \
        --interface 127.0.3.3 --cert "$D/$1.crt" --key "$D/$1.key" -X "$2" "${@:4}" "https://$HOST:$((PORT + N))/v1/admin/$3"
}
as_is() { [ "$(as "${@:2}")" = "$1" ]; }
D1=(-H 'X-Segq-Dashboard: 1')

wait_for 10 "nginx is there" as_is 200 anna GET whoami
check_eq "a person is who the certificate says" "$(told '"\(.name) \(.by) \(.token) \(.role) \(.sign_out)"')" \
    "CN=anna,OU=ops,O=Example proxy anna admin /bye"
check "the dashboard's page comes" eval 'as anna GET ../../ >/dev/null; grep -qi "<!doctype" "$DIR/answer"'
check_eq "another one is of a group" "$(as ben GET whoami >/dev/null; told '"\(.name) \(.token) \(.role) \(.queues[0])"')" \
    "CN=ben,OU=ops,O=Example night operator login"
check "a change needs the dashboard's header" as_is 403 ben POST queues/login/pause
check "with it, it is done" as_is 200 ben POST queues/login/pause "${D1[@]}"
check "what is an admin's is not" as_is 403 ben POST queues/login/flush "${D1[@]}"
check "an admin does it" as_is 200 anna POST queues/login/resume "${D1[@]}"
check_eq "the log of changes has person, row, role, and the browser's address" \
    "$(as anna GET audit >/dev/null; told '[.entries[] | "\(.who)|\(.token)|\(.role)|\(.from)"] | join(" ")')" \
    "CN=anna,OU=ops,O=Example|anna|admin|127.0.3.3 CN=ben,OU=ops,O=Example|night|operator|127.0.3.3"
check "a refused call is in the log" grep -rqs 'event=admin_refused token=night role=operator needs=admin who="CN=ben,OU=ops,O=Example" from=127.0.3.3' "$C/logs"
check "who has no row is nobody" as_is 401 carl GET whoami
check "and is told so" grep -q 'signed in CN=carl,OU=sales,O=Example: admin_tokens_file has no row' "$DIR/answer"
check "a name that looks like a group is a name" as_is 401 sly GET whoami
check_eq "a certificate of others comes as far as nginx" "$(as eve GET whoami)" 400
check "a name that a browser makes up is replaced" eval '
    [ "$(as ben GET whoami -H "X-Forwarded-User: CN=anna,OU=ops,O=Example" -H "X-Forwarded-Groups: ops" -H "X-Forwarded-Email: eva@example.org" -H "X_Forwarded_User: root")" = 200 ] &&
    [ "$(told .token)" = night ]'
check "so is an address" eval '
    as anna PATCH queues/login "${D1[@]}" -H "X-Forwarded-For: 9.9.9.9" -H "Content-Type: application/json" -d "{\"message\":\"x\"}" >/dev/null
    [ "$(as anna GET audit >/dev/null; told ".entries[0].from")" = 127.0.3.3 ]'
check_eq "a sign-out is the proxy's" "$(as anna DELETE session "${D1[@]}" >/dev/null; told .signed_out)" false
check "a token goes before the certificate" eval '
    as anna GET whoami -H "Authorization: Bearer $(cat "$DIR/otto.token")" >/dev/null; [ "$(told "\"\(.name) \(.by)\"")" = "otto token" ]'
check "a wrong one, too" as_is 401 anna GET whoami -H 'Authorization: Bearer segq_wrong'

# ---- what comes from where: 127.0.8.x is believed, all else is not
check_eq "headers from elsewhere are nothing" "$(from 127.0.0.1 whoami "${U[@]}" "${G[@]}" -H 'X-Forwarded-For: 127.0.8.1')" 401
check_eq "with a token it is the token's" \
    "$(from 127.0.7.255 whoami "${U[@]}" "${G[@]}" -H "Authorization: Bearer $(cat "$DIR/otto.token")"; told .name)" 200otto
check_eq "an address of the list is believed" "$(from 127.0.8.9 whoami "${U[@]}" "${G[@]}"; told .name)" 200dora
check_eq "but not without the secret" "$(from 127.0.8.9 whoami "${U[@]}" "${G[@]}" -H 'X-Segq-Proxy;')" 401
check_eq "nor with a wrong one" "$(from 127.0.8.9 whoami "${U[@]}" "${G[@]}" -H 'X-Segq-Proxy: proxy-secret-0123456788')" 401
check "and the log says so" grep -rqs 'event=proxy_unproved from=127.0.8.9' "$C/logs"
check_eq "by the address of a person" "$(from 127.0.8.9 whoami -H 'X-Forwarded-Email: eva@example.org'; told .name)" 200eva@example.org
check_eq "a name that comes twice is refused" "$(from 127.0.8.9 whoami "${U[@]}" -H 'X-Forwarded-User: eve' "${G[@]}")" 400
check_eq "groups that come twice, too" "$(from 127.0.8.9 whoami "${U[@]}" "${G[@]}" "${G[@]}")" 400
check_eq "one with underscores is another one" "$(from 127.0.8.9 whoami -H 'X_Forwarded_User: dora' -H 'X_Forwarded_Groups: ops')" 401
check_eq "a name that is not ASCII has no group" "$(from 127.0.8.9 whoami -H $'X-Forwarded-User: d\xc3\xb6ra' "${G[@]}")" 401
check_eq "nor has a long one" "$(from 127.0.8.9 whoami -H "X-Forwarded-User: $(printf 'a%.0s' {1..201})" "${G[@]}")" 401
check_eq "thousands of groups are read" \
    "$(from 127.0.8.9 whoami "${U[@]}" -H "X-Forwarded-Groups: $(seq -s, 1 2500),ops"; told .role)" 200operator
check_eq "more than a head holds are not" "$(from 127.0.8.9 whoami "${U[@]}" -H "X-Forwarded-Groups: $(seq -s, 1 9000)")" 431
check_eq "a group alone is nobody" "$(from 127.0.8.9 whoami "${G[@]}")" 401

# ---- segqctl through a proxy
check_eq "segqctl goes by its token" "$(ctl --admin "http://127.0.0.1:$((PORT + L))" --token-file "$DIR/otto.token" --json whoami | jq -r .by)" token

# ---- HUP
gone() { [ "$(from 127.0.8.9 whoami "${U[@]}" "${G[@]}")" = 401 ]; }
back() { [ "$(from 127.0.8.9 whoami "${U[@]}" "${G[@]}")" = 200 ]; }
cp "$F" "$DIR/kept" && chmod 600 "$DIR/kept"
ctl token revoke "$F" night >/dev/null
hup_all
wait_for 10 "a row that is revoked is none" gone
printf 'tokens:\n  - {name: night, role: operator, group: "a,b", queues: [], pools: []}\n' >"$F"
check_eq "a bad row is refused, with file, line and key" \
    "$(from 127.0.8.9 tokens/reload -X POST "${D1[@]}" -H 'X-Forwarded-Email: eva@example.org'; told .detail | grep -c 'tokens.yaml:2: tokens\[0\].group.*no comma')" 4091
check_eq "the rows from before stay" "$(from 127.0.8.9 whoami -H 'X-Forwarded-Email: eva@example.org')" 200
cat "$DIR/kept" >"$F"
hup_all
wait_for 10 "a good one is read" back
check "queuemng -t refuses a network that is none" eval '
    "$BIN/queuemng" -t -c "$C/config/queuemng.yaml" --set admin_trusted_proxies=10.0.0.1/8 2>&1 | grep -q "admin_trusted_proxies: \"10.0.0.1/8\" is neither"'
check "and a sign-out that a browser would run" eval '
    "$BIN/queuemng" -t -c "$C/config/queuemng.yaml" --set admin_sign_out_url=javascript:x 2>&1 | grep -q admin_sign_out_url'

# ---- the other manager, and the leader's death
other() { # PATH: asks the standby's proxy
    [ "$L" = 1 ] && N2=92 || N2=91
    http -o "$DIR/answer" -D "$DIR/head" -w '%{http_code}' --cacert "$DIR/cert.pem" --resolve "$HOST:$((PORT + N2)):127.0.0.1" \
        --cert "$D/anna.crt" --key "$D/anna.key" "https://$HOST:$((PORT + N2))/v1/admin/$1"
}
check_eq "a standby knows the same people" "$(other whoami; told .name)" "200CN=anna,OU=ops,O=Example"
check_eq "and sends to the leader, by https as it was asked" "$(other cluster; grep -ci '^location: https://' "$DIR/head")" 3071
before=$(epoch)
kill -9 "$(pid_of "$LNAME")"
next_leads() { find_leader && [ "$(epoch)" -gt "$before" ]; }
wait_for 30 "another term begins" next_leads
wait_for 20 "the people are the same" as_is 200 ben POST queues/login/pause "${D1[@]}"
rm "$DIR/secret"
hup_all
refused() { grep -rqs "event=reload_refused.*admin_proxy_secret_file: $DIR/secret" "$C/logs"; }
wait_for 10 "a secret that is gone refuses the reload" refused
check "and the one from before stays" as_is 200 anna GET whoami
sed -i '/admin_trusted_proxies\|admin_proxy_secret/d' "$C/config/queuemng.yaml"
hup_all
wait_for 20 "a proxy that is not believed any more is none" as_is 401 anna GET whoami
check "no token stands in a log, nor the secret" eval '! grep -rqF -f "$DIR/otto.token" -e "$SECRET" "$C/logs" "$C/state"'
