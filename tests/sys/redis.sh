# redis.sh: for stories with a real Redis: the one of local.sh (--redis, --managers 2), or others of the
# story's own, with sentinels, in a Redis cluster. Sourced after lib.sh.

command -v redis-server >/dev/null || give_up "redis-server is not installed"

# REDIS_TLS=1: the story's own ones, with their sentinels, speak TLS alone, and want certificates of who
# comes.
redis_cli=(redis-cli)
redis_ca=redis_ca # the authority, or several, whose certificates the next ones take
redis_port() { echo "port $1"; } # PORT: lines of a configuration
redis_tls_keys() { :; }
if [ "${REDIS_TLS:-}" = 1 ]; then
    . "$here/certs.sh"
    authority redis_ca
    issue redis redis_ca 2 IP:127.0.0.1,DNS:redis.segq
    issue segq redis_ca 2 DNS:segq
    redis_cli=(redis-cli --tls --cacert "$CERTS/redis_ca.crt" --cert "$CERTS/segq.crt" --key "$CERTS/segq.key")
    redis_port() {
        printf '%s\n' 'port 0' "tls-port $1" "tls-cert-file $CERTS/redis.crt" "tls-key-file $CERTS/redis.key" \
            "tls-ca-cert-file $CERTS/$redis_ca.crt" 'tls-replication yes' 'tls-cluster yes'
    }
    redis_tls_keys() { # PROGRAM: what `up` is told
        printf '%s\n' --set "$1.redis_tls=true" --set "$1.redis_tls_ca=$CERTS/redis_ca.crt" \
            --set "$1.redis_tls_cert=$CERTS/segq.crt" --set "$1.redis_tls_key=$CERTS/segq.key"
    }
fi

redis_password() { cat "$C/secrets/redis.password"; }
rcli() { # to the cluster's Redis; what it says
    REDISCLI_AUTH=${PW:-$(redis_password)} "${redis_cli[@]}" -p "${RPORT:-$((PORT + 6))}" "$@" 2>/dev/null
}
redis_answers() { [ "$(rcli PING)" = PONG ]; }
redis_start() { redis-server "$C/secrets/redis.conf" "$@" || give_up "redis-server does not start"; }
# redis_kill: kill -9, and waits until it is gone and its port is free
redis_kill() {
    local pid
    pid=$(cat "$C/state/redis.pid")
    kill -KILL "$pid"
    wait_for 10 "redis-server is killed" is_gone "$pid"
}
# A Redis of the story's own: redis_node NAME PORT 'more configuration'; its pid in $H.
redis_node() {
    mkdir -p "$DIR/$1"
    (umask 077 && printf '%s\n' "$(redis_port "$2")" 'bind 127.0.0.1' "dir $DIR/$1" \
        "logfile $DIR/$1/log" "requirepass $PW" "masterauth $PW" 'save ""' \
        'repl-diskless-sync-delay 0' "$3" >"$DIR/$1/conf")
    helper redis-server "$DIR/$1/conf"
    node_answers() { [ "$(RPORT=$1 rcli PING)" = PONG ]; }
    wait_for 20 "the Redis $1 answers" node_answers "$2"
}
# before `up`: the password that it will use, in $PW
choose_password() {
    mkdir -p -m 700 "$C" "$C/secrets"
    (umask 077 && od -An -tx1 -N16 /dev/urandom | tr -d ' \n' >"$C/secrets/redis.password")
    PW=$(redis_password)
}

at() { RPORT=$1 rcli "${@:2}"; } # PORT COMMAND...
is_master() { [ "$(at "$1" ROLE | head -1)" = master ]; }
follows() { # PORT: a replica, with all that its master has
    at "$1" INFO replication | tr -d '\r' | grep -qx master_link_status:up
}

# A sentinel: redis_sentinel PORT OF-MASTER DOWN-AFTER-MS; its pid in $H.
redis_sentinel() {
    (umask 077 && printf '%s\n' "$(redis_port "$1")" 'bind 127.0.0.1' "dir $DIR" "logfile $DIR/sentinel.log" \
        "sentinel monitor mymaster 127.0.0.1 $2 1" "sentinel auth-pass mymaster $PW" \
        "sentinel down-after-milliseconds mymaster $3" \
        "sentinel failover-timeout mymaster $((2 * $3))" >"$DIR/sentinel.conf")
    helper redis-server "$DIR/sentinel.conf" --sentinel
    sentinel_port=$1
}
sentinel() { "${redis_cli[@]}" -p "$sentinel_port" SENTINEL "$@" 2>/dev/null; }
sentinel_knows() { sentinel replicas mymaster | grep -q "^$1$"; } # PORT of a replica

# A node of a Redis cluster: redis_cluster_node NAME PORT BUS-PORT NODE-TIMEOUT-MS
redis_cluster_node() {
    redis_node "$1" "$2" "cluster-enabled yes
cluster-config-file $DIR/$1/nodes
cluster-port $3
cluster-node-timeout $4
appendonly yes"
}
redis_cluster_is_whole() { # PORT...: as each of them sees it
    local p
    for p in "$@"; do at "$p" CLUSTER INFO | tr -d '\r' | grep -qx cluster_state:ok || return 1; done
}
