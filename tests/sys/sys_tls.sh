#!/bin/bash
# Links between processes, brought from plain to encrypted and on to certificates, process by
# process, while people wait: nobody's place is lost. What the loopback carries, captured in a
# network namespace of its own, has their names before and not afterwards. Files that are bad are
# refused and named, and the links stay.
if [ -z "${SEGQ_TLS_INSIDE:-}" ]; then
    [ "$(id -u)" = 0 ] && how=-n || how=-rn
    SEGQ_TLS_INSIDE=1 exec unshare $how bash "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
ip link set lo up || give_up "a network of our own"

up --release-per-s 50 --seg-nodes 2 --set router.tls=off --set segment.tls=off --set queuemng.tls=off
admin POST /v1/admin/queues/login/pause >/dev/null
joined() { t=$(join_queue "$R" login "{\"subject\":\"$1\"}" | token_in); [ -n "$t" ]; } # sets t
lost=0
still_waits() { # nothing but an answer that says so, or 503
    local s
    s=$(status_of "$R/v1/tickets/$t")
    case $s in 200 | 503 | 000) ;; *) lost=$((lost + 1)) ;; esac
    [ "$s" = 200 ] && [ "$(poll "$t" | field state)" = waiting ]
}

# ---- what others could read
listen=()
captured() { grep -aq "$1" "$DIR/wire"; }
capture() { # starts anew
    helper python3 "$here/capture.py" "$DIR/wire" "$PORT" "$((PORT + 50))" "$((PORT + 51))"
    listen=("${helpers[-1]}")
    began() { [ -e "$DIR/wire" ]; }
    wait_for 10 "packets of internal links are captured" began
}
capture
wait_for 10 "somebody waits" joined anna-who-is-seen
first=$t
wait_for 10 "a plain link shows who joins" captured anna-who-is-seen

# ---- from off to require
children() { # router: router.0
    case $1 in rt) echo router.0 ;; seg) echo segment.0 segment.1 ;; mng) echo queuemng ;; esac
}
each_to() { # FROM TO: one supervisor after the other
    local s n p
    for s in seg rt mng; do
        declare -A was=()
        for n in $(children $s); do was[$n]=$(pid_of "$n"); done
        sed -i "s/tls=$1/tls=$2/" "$C/config/${s}_cluster.yaml"
        kill -HUP "$(pid_of ${s}_cluster)"
        for n in $(children $s); do
            p=${was[$n]}
            wait_for 20 "$2: $n is started anew" restarted "$n" "$p"
        done
        wait_for 20 "$2: the first one still waits" still_waits
    done
    wait_for 10 "$2: the router is ready" has_status 200 "$R/readyz"
}
plain() { # links without TLS of all processes, ever
    local p
    for p in 1 30 70 71; do http "http://127.0.0.1:$((PORT + p))/metrics"; done |
        awk '/^segq_[a-z]+_links_plain_total/ { n += $2 } END { print n + 0 }'
}
each_to off accept
check "links without TLS are counted" test "$(plain)" -gt 0
each_to accept require
check_eq "in the end there are none" "$(plain)" 0
end_pid "${listen[0]}"
rm "$DIR/wire"
capture
wait_for 10 "somebody joins" joined bert-who-is-not
t=$first
wait_for 10 "the first one still waits" still_waits
seen() { [ "$(stat -c %s "$DIR/wire")" -gt 4000 ]; }
wait_for 10 "there was something to see" seen
check "no name is readable any more" bash -c "! grep -aqE 'bert-who|anna-who' '$DIR/wire'"
check "nor is a token" bash -c "! grep -aqF '${first:0:40}' '$DIR/wire'"

# ---- who is refused
refused() { ! timeout 20 openssl s_client -connect "127.0.0.1:$PORT" "$@" </dev/null >"$DIR/s_client" 2>&1; }
for v in tls1 tls1_1 tls1_2 tls1_3; do check "a stranger with $v gets no handshake" refused -$v; done
check "nor does one with another key" refused -tls1_3 -psk_identity segq-0 -psk 00112233445566778899aabbccddeeff
wait_for 10 "the first one still waits" still_waits

# ---- certificates
. "$here/certs.sh"
D=$CERTS
authority ca
authority other
issue node ca 2 IP:127.0.0.1,DNS:nodes.segq
issue stranger other 2 IP:127.0.0.1,DNS:nodes.segq
use() { # CERT CA, in all files
    local f
    for f in router segment queuemng; do
        sed -i '/^tls_/d' "$C/config/$f.yaml"
        printf '%s\n' "tls_cert: $D/$1.crt" "tls_key: $D/$1.key" "tls_ca: $D/$2.crt" \
            "tls_peer_name: nodes.segq" >>"$C/config/$f.yaml"
    done
}
each_to require accept
use node ca
hup() { kill -HUP "$(pid_of "$1")"; }
says() { grep -q "$1" "$C/logs/$2"; }
read_anew() { # each process, at HUP
    local n k
    for n in router.0 segment.0 segment.1 queuemng; do
        k=$(grep -c event=reloaded "$C"/logs/${n/%queuemng/queuemng.0}.log)
        more() { [ "$(grep -c event=reloaded "$C"/logs/${n/%queuemng/queuemng.0}.log)" -gt "$k" ]; }
        hup $n
        wait_for 10 "$n reads its certificate" more
    done
}
read_anew
each_to accept require
check_eq "with certificates, too, no link is plain" "$(plain)" 0
refused_late() { # a handshake of TLS 1.3 is over at the client before the server says no
    timeout 20 openssl s_client -connect "127.0.0.1:$PORT" -tls1_3 -ign_eof "$@" </dev/null 2>&1 |
        grep -q 'alert'
}
check "a stranger without one gets no link" refused_late
check "nor does one of another authority" refused_late -cert "$D/stranger.crt" -key "$D/stranger.key"

# ---- bad files, and good ones, at HUP
chmod 644 "$D/node.key"
"$BIN/router" -t -c "$C/config/router.yaml" >"$DIR/t" 2>&1
check_eq "-t refuses a key that others may read" "$?" 2
check "and names it" grep -q 'tls_key: .*node.key' "$DIR/t"
hup router.0
wait_for 10 "HUP refuses it, too" says 'event=reload_refused.*tls_key' router.0.log
R_ADMIN=http://127.0.0.1:$((PORT + 30))
warned() { http "$R_ADMIN/healthz" | jq -re .warning | grep -q "$1"; }
wait_for 10 "/healthz says so" warned 'tls_key'
check "and that the certificate ends soon" warned "tls_cert ends on $(date -u -d '+2 days' +%Y-%m)"
check "nor does it call itself ill for that" has_status 200 "$R_ADMIN/healthz"
metric() { http "$R_ADMIN/metrics" | grep -q "^$1"; }
check "the metrics have the day" metric 'segq_router_link_cert_expires_timestamp_seconds 1\.\?[0-9]'
manager_knows() { admin GET /v1/admin/cluster | jq -re '.routers[0].load.warning' | grep -q tls_key; }
wait_for 10 "the manager knows it" manager_knows
chmod 600 "$D/node.key"
cp "$D/stranger.crt" "$D/node.crt"
hup router.0
wait_for 10 "and a certificate of another key" says 'event=reload_refused.*tls_key.*not the private key' router.0.log
wait_for 10 "the first one still waits" still_waits
issue node ca 2 IP:127.0.0.1,DNS:nodes.segq
read_anew
not_refused() { ! warned 'refused'; }
check "a good reload ends that" not_refused
p=$(pid_of router.0)
kill -TERM "$p"
wait_for 20 "a router is started anew" restarted router.0 "$p"
wait_for 20 "it has links by the new one, and the first one still waits" still_waits
check_eq "nobody's ticket was refused" "$lost" 0
