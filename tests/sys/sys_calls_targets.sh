#!/bin/bash
# Calls to targets as they are: nginx, plain and over TLS with an authority of its own, with HTTP/2, with
# client certificates, with a certificate that is over or another's; through a proxy; signed with keys
# that change; and behind a name server that lies: whatever it says later, what is not public sees no
# connection (J16). All of it on a network of its own, where a public address is ours.
if [ -z "${SEGQ_OWN_NETWORK:-}" ]; then
    for how in "" "--user --map-root-user"; do
        # shellcheck disable=SC2086
        unshare $how --net --mount --propagation private \
            sh -c 'ip link set lo up && ip addr add 8.8.4.4/32 dev lo && mount -t tmpfs none /run' 2>/dev/null || continue
        # shellcheck disable=SC2086
        SEGQ_OWN_NETWORK=1 exec unshare $how --net --mount --propagation private bash "$0" "$@"
    done
    echo "ok   ${0##*/}: skipped: needs root (or user namespaces)"
    exit 0
fi
ip link set lo up && ip addr add 8.8.4.4/32 dev lo && ip addr add 169.254.169.254/32 dev lo || exit 1
. "$(dirname "$0")/lib.sh"
for p in nginx openssl; do
    command -v $p >/dev/null || give_up "$p is not installed (deploy/deps.sh test)"
done

# ---- who answers ---------------------------------------------------------------------------
T=$((PORT + 90)) D=$((PORT + 91)) X=$((PORT + 92)) # target.py; the name server; the proxy
N=$((PORT + 93))                                   # nginx: plain, TLS, client certificates, over
K=$DIR/keys
mkdir -p "$K"
echo "nameserver 127.0.0.1:$D" >"$DIR/resolv.conf"
mount --bind "$DIR/resolv.conf" /etc/resolv.conf || give_up "the name server cannot be replaced"
{
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=ca -days 2 \
        -keyout "$K/ca.key" -out "$K/ca.pem"
    for who in localhost:2 other.test:2 over:-1 client:2; do
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=${who%:*}" \
            -addext "subjectAltName=DNS:$(sed 's/over/localhost/' <<<"${who%:*}")" \
            -keyout "$K/${who%:*}.key" -out "$K/csr"
        openssl x509 -req -in "$K/csr" -CA "$K/ca.pem" -CAkey "$K/ca.key" -CAcreateserial \
            -days "${who#*:}" -copy_extensions copy -out "$K/${who%:*}.pem"
    done
} 2>"$DIR/openssl.log" || give_up "no certificates: $(tail -1 "$DIR/openssl.log")"
tls_server() { # PORT CERTIFICATE [more]
    echo "server { listen 127.0.0.1:$1 ssl http2; ssl_certificate $K/$2.pem; ssl_certificate_key $K/$2.key;
        ${3:-} location / { default_type text/plain; return 200 '\$server_protocol \$ssl_client_s_dn'; } }"
}
cat >"$DIR/nginx.conf" <<EOT
pid $DIR/nginx.pid;
daemon off;
$([ "$(id -u)" -ne 0 ] || echo "user root;")
worker_processes 1;
events { worker_connections 100; }
http {
    access_log off;
    $(for f in client_body proxy fastcgi uwsgi scgi; do echo "${f}_temp_path $DIR/nginx_$f;"; done)
    server { listen 127.0.0.1:$N; location / { default_type text/plain; return 200 '\$server_protocol'; } }
    $(tls_server $((N + 1)) localhost)
    $(tls_server $((N + 2)) localhost "ssl_client_certificate $K/ca.pem; ssl_verify_client on;")
    $(tls_server $((N + 3)) over)
    $(tls_server $((N + 4)) other.test)
}
EOT
helper nginx -e "$DIR/nginx.log" -p "$DIR" -c "$DIR/nginx.conf"
helper python3 "$here/tunnel.py" $X "$DIR/tunnel"
helper python3 "$here/target.py" $T "$DIR/seen"
helper python3 "$here/target.py" $T "$DIR/seen" 169.254.169.254
helper python3 "$here/target.py" $T "$DIR/public" 8.8.4.4
: >"$DIR/names"
for lie in loopback metadata mapped nat64; do echo "$lie.test 8.8.4.4" >>"$DIR/names"; done
echo "through.test 8.8.4.4" >>"$DIR/names"
helper python3 "$here/dns.py" "127.0.0.1:$D" "$DIR/names" "$DIR/asked"
up --routers 1 --seg-nodes 1 --task-nodes 1 --task-store journal
token=$(task_token)

# ---- words ---------------------------------------------------------------------------------
define() { # NAME URL [more members]
    admin PUT "/v1/admin/endpoints/$1" "{\"url\":\"$2\",\"allow\":[\"127.0.0.0/8\"]${3:-}}" >/dev/null
}
call() { http -H "segq-token: $token" "${@:2}" "$R/v1/call/$1"; }
answers() { [ "$(call "$1")" = "$2" ]; } # ENDPOINT/PATH TEXT
submit() { # QUEUE JSON: in $S; more than once, until the router has its map
    S=$(http -H "Authorization: Bearer $token" -d "$2" "$R/v1/queues/$1/tasks" | jq -r '.task // empty')
    [ -n "$S" ]
}
look() { http "$R/v1/tasks/$1"; }
because() { # TASK: why its last attempt failed
    admin GET "/v1/admin/tasks/$1" | jq -r '.history[-1].reason // empty'
}
fails_so() { because "$1" | grep -q -e "$2"; }

# ---- nginx ---------------------------------------------------------------------------------
CA="\"ca_file\":\"$K/ca.pem\""
define plain "http://127.0.0.1:$N"
define tls "https://localhost:$((N + 1))" ",\"tls\":{$CA}"
define client "https://localhost:$((N + 2))" ",\"tls\":{$CA,\"cert_file\":\"$K/client.pem\",\"key_file\":\"$K/client.key\"}"
define nobody "https://localhost:$((N + 2))" ",\"tls\":{$CA}"
define over "https://localhost:$((N + 3))" ",\"tls\":{$CA}"
define wrong "https://localhost:$((N + 4))" ",\"tls\":{$CA}"
define stranger "https://localhost:$((N + 1))"
define proxied "http://through.test:$N" ",\"proxy\":\"http://127.0.0.1:$X\""
define tunnelled "https://localhost:$((N + 1))" ",\"tls\":{$CA},\"proxy\":\"http://127.0.0.1:$X\""
for lie in loopback metadata mapped nat64; do
    admin PUT "/v1/admin/endpoints/$lie" "{\"url\":\"http://$lie.test:$T\"}" >/dev/null
done
openssl genpkey -algorithm ed25519 -out "$K/sign.pem"
seed=$(openssl pkey -in "$K/sign.pem" -outform DER | tail -c 32 | base64)
old=$(head -c 24 /dev/urandom | base64) new=$(head -c 24 /dev/urandom | base64)
umask 077
echo "whsec_$old" >"$K/sign"
define signed "http://127.0.0.1:$T" ",\"sign\":{\"secret_file\":\"$K/sign\"}"

wait_for 15 "nginx answers" answers plain/ HTTP/1.1
wait_for 10 "  over TLS with HTTP/2, by its own authority" answers tls/ "HTTP/2.0 "
wait_for 10 "  to a client's certificate" answers client/ "HTTP/2.0 CN=client"
check_eq "  to none: its own answer" "$(call nobody/ -o /dev/null -w '%{http_code}')" 400
wait_for 10 "  through a proxy" answers proxied/ HTTP/1.1
check "    which asked for the name itself" grep -q "^GET http://through.test:$N/$" "$DIR/tunnel"
wait_for 10 "  through its tunnel" answers tunnelled/ "HTTP/2.0 "
refused() { # NAME WORDS
    wait_for 10 "$1 takes a task" submit "$1" '{"path":"/","method":"GET"}'
    wait_for 10 "  which fails: $2" fails_so "$S" "^tls: .*$2"
    check_eq "  and is not given up" "$(look "$S" | field state)" retrying
}
refused over "expired"
refused wrong "name"
refused stranger "certificate"

# ---- signatures ----------------------------------------------------------------------------
cat >"$DIR/verify.py" <<'EOP'
import base64, hashlib, hmac, json, subprocess, sys
path, keys, pem, folder = sys.argv[1:]
seen = [r for r in map(json.loads, open(folder + "/seen")) if r["path"] == path][-1]
h, body = seen["headers"], base64.b64decode(seen["body"])
said = f'{h["webhook-id"]}.{h["webhook-timestamp"]}.'.encode() + body
found = []
for part in h["webhook-signature"].split():
    kind, sig = part.split(",")
    for i, key in enumerate(keys.split() if kind == "v1" else ()):
        good = base64.b64encode(hmac.new(base64.b64decode(key), said, hashlib.sha256).digest()).decode()
        found += [f"v1:{i}"] if hmac.compare_digest(good, sig) else []
    if kind == "v1a":
        open(folder + "/said", "wb").write(said)
        open(folder + "/sig", "wb").write(base64.b64decode(sig))
        found += ["v1a"] if subprocess.run(["openssl", "pkeyutl", "-verify", "-rawin", "-inkey", pem, "-in", folder + "/said",
                                            "-sigfile", folder + "/sig"], capture_output=True).returncode == 0 else []
print(*found)
EOP
verify() { python3 "$DIR/verify.py" "$1" "$old $new" "$K/sign.pem" "$DIR"; }
signs_with() { # PATH KEYS
    call "signed$1" -d '{"a": 1}' >/dev/null
    [ "$(verify "$1")" = "$2" ]
}
wait_for 10 "a call is signed" signs_with /echo/1 v1:0
printf 'whsec_%s\nwhsec_%s\nwhsk_%s\n' "$old" "$new" "$seed" >"$K/sign.new" && mv "$K/sign.new" "$K/sign"
wait_for 10 "  with each key of a new file, without a restart" signs_with /echo/2 "v1:0 v1:1 v1a"
echo "whsec_$new" >"$K/sign.new" && mv "$K/sign.new" "$K/sign"
wait_for 10 "  and not with one that has gone" signs_with /echo/3 v1:1

# ---- a name server that lies ---------------------------------------------------------------
# An answer counts for 5 s, so the lies are told together.
for lie in loopback metadata mapped nat64; do
    wait_for 10 "$lie.test is public, and called" answers "$lie/status/200" "status 200"
done
was=$(wc -l <"$DIR/seen")
printf '%s\n' "loopback.test 127.0.0.1 ::1" "metadata.test 169.254.169.254" "mapped.test ::ffff:127.0.0.1" \
    "nat64.test 64:ff9b::7f00:1" >"$DIR/names.new" && mv "$DIR/names.new" "$DIR/names"
is_refused() { # a call finds it out; those behind it wait
    submit "$1" '{"path":"/echo","method":"GET"}' || return 1
    admin GET /v1/admin/task-queues | jq -e --arg e "$1" '.endpoints[] | select(.name == $e) |
        .unusable | test("^" + $e + ".test is at .* which is not public")' >/dev/null
}
for lie in loopback metadata mapped nat64; do
    wait_for 15 "$lie.test is nowhere that may be called" is_refused "$lie"
done
check_eq "  and nobody there was asked" "$(wc -l <"$DIR/seen")" "$was"
submit nat64 '{"path":"/echo","method":"GET"}' # the one before may be the call that has found it out
check_eq "  nor any attempt spent" "$(look "$S" | jq -c '[.state,.attempts]')" '["waiting",0]'

# libevent does not free a question about a name that is under way when the process ends.
for e in $(admin GET /v1/admin/endpoints | jq -r '.endpoints[].name'); do admin POST "/v1/admin/endpoints/$e/pause" >/dev/null; done
at_rest() { admin GET /v1/admin/task-queues | jq -e '[.endpoints[].in_flight] | length > 0 and add == 0' >/dev/null; }
wait_for 10 "at the end no call is under way" at_rest
