#!/bin/bash
# The ports of HTTP with certificates: plain ones become https at HUP, process by process, while
# people wait. curl, openssl and segqctl judge: versions and ciphers that must fail, names (SNI),
# tickets that another router takes, long polls, events and large answers, plain HTTP at such a port,
# half a handshake, and files that are bad.
. "$(dirname "$0")/lib.sh"
unset LD_PRELOAD # prometheus and curl ask the kernel for the date
up --release-per-s 0 --routers 2 --task-nodes 1
admin POST /v1/admin/queues/login/pause >/dev/null
joined() { t=$(join_queue "$R" login "{\"subject\":\"$1\"}" | token_in); [ -n "$t" ]; } # sets t
wait_for 10 "somebody waits" joined anna

# ---- certificates
D=$DIR/certs
mkdir -p "$D"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=ca" \
    -keyout "$D/ca.key" -out "$D/ca.crt" 2>/dev/null
issue() { # NAME NAMES [DAYS]
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout "$D/$1.key" \
        -out "$D/$1.csr" 2>/dev/null
    openssl x509 -req -in "$D/$1.csr" -CA "$D/ca.crt" -CAkey "$D/ca.key" -CAcreateserial -days "${3:-2}" \
        ${2:+-extfile <(echo "subjectAltName=$2")} -out "$D/$1.crt" 2>/dev/null
    chmod 600 "$D/$1.key"
}
issue ops IP:127.0.0.1,DNS:localhost
issue shop IP:127.0.0.1,DNS:shop.example
issue tickets DNS:tickets.example,DNS:*.tickets.example
export CURL_CA_BUNDLE=$D/ca.crt SEGQ_CACERT=$D/ca.crt

# ---- on, at HUP
reloads() { grep -c 'event=reload' "$C/logs/$1"; }
hup() { # NAME LOG
    local n
    n=$(reloads "$2")
    more() { [ "$(reloads "$2")" -gt "$n" ]; }
    kill -HUP "$(pid_of "$1")"
    wait_for 10 "$1 reads its configuration" more "$@"
}
for f in router segment task queuemng; do
    [ -e "$C/config/$f.yaml" ] &&
        printf '%s\n' "admin_cert: $D/ops.crt" "admin_key: $D/ops.key" >>"$C/config/$f.yaml"
done
cat >>"$C/config/router.yaml" <<EOF
listen_certs:
  - {cert: $D/shop.crt, key: $D/shop.key}
  - {cert: $D/tickets.crt, key: $D/tickets.key}
listen_hsts: 5m
EOF
echo 'admin_hsts: 5m' >>"$C/config/queuemng.yaml"
for f in router segment task queuemng; do
    check "-t takes $f.yaml" "$BIN/$f" -t -c "$C/config/$f.yaml" >"$DIR/t" 2>&1
done
hup queuemng queuemng.0.log
hup router.0 router.0.log
hup router.1 router.1.log
hup segment.0 segment.0.log
hup task.0 task.0.log
R=${R/http:/https:} R2=${R2/http:/https:} A=${A/http:/https:}
check_eq "who waited waits still" "$(poll "$t" | field state)" waiting
check_eq "the manager answers" "$(admin GET /v1/admin/cluster | jq -r '.queues[0].queue')" login
for p in 1 30 31 47 70; do
    check "port $p has metrics of its handshakes" \
        bash -c "curl -s https://127.0.0.1:$((PORT + p))/metrics | grep -q '^segq_admin_tls_handshakes_total [1-9]'"
done

# ---- segqctl
ctl() { "$BIN/segqctl" --token-file "$C/secrets/admin.token" "$@" >"$DIR/ctl" 2>&1; }
check "segqctl speaks with the manager" ctl --admin "$A" status
check "and names the queue" grep -q login "$DIR/ctl"
refused() { ! "$@"; }
check "it refuses a name that the certificate lacks" refused ctl --admin "https://127.0.0.2:$((PORT + 1))" status
SEGQ_CACERT=/etc/ssl/certs/ca-certificates.crt \
    check "and an authority that it does not know" refused ctl --admin "$A" status
"$BIN/segqctl" context add here admin="$A" token_file="$C/secrets/admin.token" cacert="$D/ca.crt" >/dev/null
(unset SEGQ_CACERT && "$BIN/segqctl" --context here status >"$DIR/ctl" 2>&1)
check_eq "a context names the authority" "$?" 0

# ---- the dashboard
check "the dashboard comes by it" grep -qi '<!doctype html' <(http -L "$A/")
cookie() { http -i -X POST -H "Authorization: Bearer $(admin_token)" "$@" "$A/v1/admin/session" | grep -i '^set-cookie:'; }
check "the cookie of its session is for https alone" grep -q '; Secure' <(cookie)
check_eq "but not behind a proxy that speaks http with browsers, which would not send it back" \
    "$(cookie -H 'Origin: http://ops.example' | grep -c Secure) $(cookie -H 'X-Forwarded-Proto: http' | grep -c SameSite)" "0 1"

# ---- versions, ciphers, names
port=$((PORT + 10))
s_client() { # options: says what it has
    timeout 20 openssl s_client -connect "127.0.0.1:$port" -CAfile "$D/ca.crt" "$@" </dev/null >"$DIR/s" 2>&1
}
speaks() { s_client "$@" && grep -qE 'Cipher is (TLS_|ECDHE)' "$DIR/s"; }
for p in $((PORT + 10)) $((PORT + 1)); do
    port=$p
    for v in 1_2 1_3; do check "port $p speaks TLS $v" speaks -tls$v; done
    for v in 1 1_1; do check "but not TLS $v" refused speaks -tls$v -cipher ALL:@SECLEVEL=0; done
    for c in AES128-SHA AES256-GCM-SHA384 DHE-RSA-AES128-GCM-SHA256 ECDHE-ECDSA-AES128-SHA \
        ECDHE-ECDSA-AES256-SHA384 AECDH-NULL-SHA ECDHE-ECDSA-NULL-SHA; do
        check "nor $c" refused speaks -tls1_2 -cipher "$c:@SECLEVEL=0"
    done
    for c in ECDHE-ECDSA-AES128-GCM-SHA256 ECDHE-ECDSA-AES256-GCM-SHA384 ECDHE-ECDSA-CHACHA20-POLY1305; do
        check "it speaks $c" speaks -tls1_2 -cipher $c
    done
done
port=$((PORT + 10))
subject() { s_client "$@" && sed -n 's/^subject=CN = //p' "$DIR/s"; }
check_eq "who asks for no name gets the first one" "$(subject -noservername)" shop
check_eq "so does who asks for an unknown one" "$(subject -servername other.example)" shop
check_eq "a name has its certificate" "$(subject -servername tickets.example)" tickets
check_eq "one that a wildcard has, too" "$(subject -servername a.tickets.example)" tickets
alpn() { s_client "$@" && sed -n 's/^ALPN protocol: //p' "$DIR/s"; }
check_eq "of two protocols it takes the one that it speaks" "$(alpn -alpn h2,http/1.1)" http/1.1
check "a client of another one alone gets no handshake" refused speaks -alpn h2
curl -s -o /dev/null -w '%{http_version}\n' "$R/readyz" >"$DIR/version"
check_eq "curl is content with it" "$(cat "$DIR/version")" 1.1
renegotiates() { # R asks for it; a server that agrees goes on
    (printf 'R\n'; sleep 1; printf 'GET /readyz HTTP/1.0\r\n\r\n'; sleep 1) |
        timeout 20 openssl s_client -connect "127.0.0.1:$port" -CAfile "$D/ca.crt" -tls1_2 >"$DIR/s" 2>&1
    ! grep -q 'no renegotiation' "$DIR/s"
}
check "renegotiation is refused" refused renegotiates

# ---- tickets: of one router, taken by the other
resumed() { # PORT: with $D/session
    port=$1
    s_client -tls1_3 -servername shop.example -sess_in "$D/session"
    grep -q '^Reused' "$DIR/s"
}
(sleep 2) | timeout 20 openssl s_client -connect "127.0.0.1:$((PORT + 10))" -tls1_3 -servername shop.example \
    -sess_out "$D/session" >/dev/null 2>&1
check "a ticket is there" test -s "$D/session"
check "the other router takes it" resumed $((PORT + 11))
check "and the first one, as well" resumed $((PORT + 10))

# ---- requests: kept connections, long polls, events, large bodies, slow readers
http "$R/readyz" "$R/readyz" -o /dev/null -o /dev/null -w '%{num_connects}\n' >"$DIR/connects"
check_eq "a connection is kept" "$(tr '\n' ' ' <"$DIR/connects")" "1 0 "
curl -sN --max-time 30 "$R/v1/tickets/$t/events" >"$DIR/events" 2>&1 &
helpers+=($!)
told() { grep -q "$1" "$DIR/events"; }
wait_for 10 "a listener is told where it stands" told waiting
call() { http -H "Authorization: Bearer $(task_token)" "$@"; }
head -c 180000 /dev/urandom | base64 -w0 >"$DIR/payload" # many records
(printf '{"payload":"'; cat "$DIR/payload"; printf '"}') >"$DIR/task.json"
big() { T=$(call --data-binary "@$DIR/task.json" "$R/v1/queues/images/tasks" | token_in_task) && [ -n "$T" ]; }
token_in_task() { jq -r '.task // empty'; }
check "a large body comes in" big
call -d '{"n":1,"lease":"30s","wait":"10s"}' --limit-rate 100k "$R/v1/queues/images/tasks/take" |
    jq -r '.tasks[0].payload' >"$DIR/back"
check "and goes out, the same bytes, to a slow reader" cmp -s <(cat "$DIR/payload"; echo) "$DIR/back"
t0=$(now_ms)
call -d '{"n":1,"wait":"2s"}' "$R/v1/queues/images/tasks/take" >/dev/null
check "a long poll waits: $(($(now_ms) - t0)) ms" test $(($(now_ms) - t0)) -ge 1900

# ---- while people come and ask, certificates change
issue shop IP:127.0.0.1,DNS:shop.example
for i in 1 2 3; do
    hup router.0 router.0.log
    check_eq "HUP $i: who waited waits still" "$(poll "$t" | field state)" waiting
done
check "the listener from before is there still" runs "${helpers[0]}"

# ---- what is no handshake
plain=$(http -i "http://127.0.0.1:$((PORT + 10))/readyz")
check "plain HTTP is told what is spoken" grep -q 'begin with https' <<<"$plain"
check "by 400" grep -q '^HTTP/1.1 400' <<<"$plain"
hsts() { grep -qi '^Strict-Transport-Security: max-age=300' "$@"; }
check "by https the port asks for https alone" hsts <(http -i "$R/readyz")
check "so does the dashboard's" hsts <(http -i "$A/v1/admin/session")
check "but not without it" refused hsts <<<"$plain"
says() { grep -q "$1" "$C/logs/$2"; }
wait_for 5 "a line in the log says so" says event=http_at_https router.0.log
for i in 1 2 3 4 5 6 7 8; do status_of "http://127.0.0.1:$((PORT + 10))/" >/dev/null; done
counts() { http "https://127.0.0.1:$((PORT + 30))/metrics" | awk -v n="segq_router_http_tls_$1" '$1 == n { print $2 }'; }
check_eq "each is counted" "$(counts plain_total)" 9
check "but not each is logged" test "$(grep -c event=http_at_https "$C/logs/router.0.log")" -lt 9
half() { # a handshake that does not go on: 10 s, the time of a head
    python3 - "$((PORT + 10))" <<'EOF'
import socket, sys, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
t = time.monotonic()
s.settimeout(60)
s.recv(1)
print(int(time.monotonic() - t))
EOF
}
took=$(half)
check "half a handshake ends after the time of a head: $took s" test "$took" -ge 8 -a "$took" -le 50
failed() { [ "$(counts failed_total)" -gt 0 ]; }
check "and is counted" failed
check_eq "none is left under way" "$(counts handshakes)" 0

# ---- bad files at HUP: the old ones stay
healthz() { http "https://127.0.0.1:$((PORT + 30))/healthz"; }
bad() { # CLAIM PATTERN: -t, HUP, log and /healthz say it
    "$BIN/router" -t -c "$C/config/router.yaml" >"$DIR/t" 2>&1
    check_eq "-t refuses $1" "$?" 2
    check "  and says file, line and key: $(cat "$DIR/t")" grep -qE "router.yaml:[0-9]+: $2" "$DIR/t"
    kill -HUP "$(pid_of router.0)"
    wait_for 10 "  HUP refuses it, too" says "event=reload_refused.*$3" router.0.log
    check "  /healthz says it" grep -q "$3" <(healthz | jq -r .warning)
    check_eq "  and the old one serves" "$(status_of "$R/readyz")" 200
}
cp -p "$D/tickets.key" "$D/kept.key" && cp -p "$D/tickets.crt" "$D/kept.crt"
chmod 644 "$D/tickets.key"
bad "a key that others may read" 'listen_certs.2: key: .*tickets.key' 'tickets.key: '
chmod 600 "$D/tickets.key"
cp "$D/shop.crt" "$D/tickets.crt"
bad "a certificate of another key" 'listen_certs.2: key: .*not the private key' 'not the private key'
issue tickets ''
bad "a certificate without names" 'listen_certs.2: cert: .*no subjectAltName' 'no subjectAltName'
cp -p "$D/kept.key" "$D/tickets.key" && cp -p "$D/kept.crt" "$D/tickets.crt"
hup router.0 router.0.log
check_eq "good ones are taken, and /healthz has nothing to say" "$(healthz | jq -r '.warning // "nothing"')" nothing
serial() { # PORT NAME: of its certificate
    timeout 20 openssl s_client -connect "127.0.0.1:$1" -servername "$2" </dev/null 2>/dev/null |
        openssl x509 -noout -serial
}
serials() { echo "$(serial $((PORT + 10)) shop.example) $(serial $((PORT + 10)) tickets.example)" \
    "$(serial $((PORT + 30)) localhost)"; }
renewed() { # WHICH AFTER: others than before are those of WHICH alone
    local i=0 a b says=
    for a in $was; do
        i=$((i + 1)) b=$(cut -d' ' -f$i <<<"$2")
        [ "$a" = "$b" ] || says+=$i
    done
    check_eq "renewed are these of 1 shop, 2 tickets, 3 admin" "$says" "$1"
    was=$2
}
was=$(serials)
issue shop IP:127.0.0.1,DNS:shop.example
issue ops IP:127.0.0.1,DNS:localhost
chmod 644 "$D/tickets.key"
hup router.0 router.0.log
renewed 13 "$(serials)"
check "the bad one is told" grep -q 'listen_certs.2: key: ' <(healthz | jq -r .warning)
issue tickets DNS:tickets.example,DNS:*.tickets.example
chmod 644 "$D/ops.key" "$D/shop.key"
hup router.0 router.0.log
renewed 2 "$(serials)"
healthz | jq -r .warning >"$DIR/warning"
check "each bad one is told, with its line" \
    grep -qE 'router.yaml:[0-9]+: admin_key: .*; .*router.yaml:[0-9]+: listen_certs.1: key: ' "$DIR/warning"
check "and in the metrics" \
    grep -q '^segq_reload_refused 1$' <(http "https://127.0.0.1:$((PORT + 30))/metrics")
chmod 600 "$D/ops.key" "$D/shop.key"
hup router.0 router.0.log
check_eq "a good reload ends that" "$(healthz | jq -r '.warning // "nothing"')" nothing
sed -i '/^admin_key/d' "$C/config/router.yaml"
"$BIN/router" -t -c "$C/config/router.yaml" >"$DIR/t" 2>&1
check "-t names a key that lacks" grep -q 'admin_key: missing' "$DIR/t"

# ---- Prometheus, with the sample's lines for https
printf %s "$(admin_token)" >"$DIR/token"
cp "$root"/deploy/prometheus/segq_*.yml "$DIR/"
sed -e "s|127.0.0.1:7071|127.0.0.1:$((PORT + 1))|; s|credentials_file: [^}]*|credentials_file: $DIR/token|" \
    -e 's|http://127|https://127|; s|^\( *\)#https# |\1|' -e "s|ca_file: [^}]*|ca_file: $D/ca.crt|" \
    -e 's/interval: 10*s/interval: 1s/; s/interval: 5s/interval: 1s/; s/timeout: 4s/timeout: 1s/' \
    "$root/deploy/prometheus/prometheus.yml" >"$DIR/prometheus.yml"
check "promtool likes the configuration" promtool check config "$DIR/prometheus.yml" >/dev/null
helper env -u LD_PRELOAD -u SEGQ_WALL_S prometheus --config.file="$DIR/prometheus.yml" --storage.tsdb.path="$DIR/tsdb" \
    --web.listen-address="127.0.0.1:$((PORT + 8))" --log.level=warn
scraped() {
    [ "$(http -G "http://127.0.0.1:$((PORT + 8))/api/v1/query" --data-urlencode 'query=count(up{job=~"segq.*"} == 1)' |
        jq -r '.data.result[0].value[1] // empty' 2>/dev/null)" = 5 ]
}
wait_for 30 "Prometheus scrapes manager, routers, segment and task node" scraped
