#!/bin/bash
# local.sh: a segq cluster on this machine, in the background; as many side by side as
# there are base ports.
#
#   local.sh up|down|status|config --dir D --base-port P [--routers N] [--seg-nodes N]
#            [--task-nodes N] [--segments-per-node N] [--capacity N] [--release-per-s N]
#            [--set KEY=VALUE]... [--bin DIR] [--wait S] [--managers N] [--redis PORT]
#            [--task-store journal|redis]
#
# up      writes D/config and checks it, looks whether the ports are free, starts queuemng,
#         routers and segment nodes under their supervisors, waits until a queue answers,
#         writes D/cluster.json. If anything of it fails: one line, and nothing runs
# status  prints a table and refreshes the pids in D/cluster.json
# config  writes D/config and nothing else
# down    ends every process of D by its pid, and waits for it
#
# --release-per-s N  a fixed rate, no monitor. Else: tiers over this machine's cpu
# --task-nodes N     0 to 3 (0); with one, servers with secrets/task.token may submit and take
#                    tasks in every queue
# --capacity N       places per segment; 50 makes hand-overs and merges happen all the time
# --set KEY=VALUE    router.KEY, segment.KEY, task.KEY, queuemng.KEY go to those processes,
#                    rt_cluster.KEY, seg_cluster.KEY ... to their supervisors; anything else is a key
#                    of the queue `login` (claim=5s, idle.game=3s)
# --managers N       1 to 3 queuemng; with more than one a Redis is started for them
# --redis PORT       also for one, and there (default P+6)
# --task-store redis tasks are in that Redis, too, and not in files
#
# Everything listens on 127.0.0.1:
#   P     queuemng, internal          P+30+i  router i, admin     (up to 14 routers
#   P+1   queuemng, admin API         P+50+i  segment i, internal  and 20 segment nodes)
#   P+10+i  router i, public HTTP     P+70+i  segment i, admin
#   P+2, P+3  the second queuemng, P+4, P+5 the third; P+6 Redis
#   P+44+i  task node i, internal     P+47+i  task node i, admin
# D holds config/ logs/ state/ secrets/ and cluster.json.
# PORT_HINT is what run.sh says when a port is taken, with a base port that is free in it.
set -u

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die() { echo "local.sh: $*" >&2; exit 1; }
usage() { sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }

# ---- processes ----------------------------------------------------------------------

alive() { # pid: it runs, and it is one of ours (its command line names our folder)
    local stat cmd
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    case ${stat##*) } in [ZX]*) return 1 ;; esac
    cmd=$(tr '\0' ' ' 2>/dev/null <"/proc/$1/cmdline") || return 1
    case $cmd in *"$dir/"*) return 0 ;; esac
    return 1
}

# name pid state restarts since listen, a line per child, out of a status file (its keys
# stand on a line each, in a fixed order).
children_of() {
    [ -f "$1" ] || return 0
    awk -F'"' '
        { v = $4; if (v == "") { v = $3; gsub(/[: ,]/, "", v) } }
        /^   "name"/ { n = v } /^   "pid"/ { p = v } /^   "state"/ { s = v }
        /^   "restarts"/ { r = v } /^   "since"/ { t = v }
        /^   "listen"/ { l = v == "" ? "-" : v }
        /^   "args"/ { print n, p, s, r, t, l }' "$1"
}

supervisor_of() { # status file -> pid
    [ -f "$1" ] && sed -n 's/^ "pid": \([0-9]*\),*$/\1/p' "$1"
}

# One supervisor for each queuemng, as if each had its machine: queuemng, queuemng2 ...
manager_names() {
    local i
    echo queuemng
    for ((i = 2; i <= managers; i++)); do echo "queuemng$i"; done
}
clusters() {
    echo $(manager_names) router segment
    [ "$tasks" -eq 0 ] || echo task
}

program_of() {
    case $1 in
    queuemng*) echo mng_cluster ;;
    router) echo rt_cluster ;;
    segment) echo seg_cluster ;;
    task) echo task_cluster ;;
    esac
}
boss_of() { echo "$(program_of "$1")$(expr "$1" : 'queuemng\([0-9]*\)')"; }

# "name pid" of every process that should run
pids() {
    local c n p rest
    {
        for c in $(clusters); do
            echo "$(boss_of "$c") $(supervisor_of "$dir/state/$c.status.json")"
            children_of "$dir/state/$c.status.json" | while read -r n p rest; do
                case $n in queuemng*) n=${n%.0} ;; esac
                echo "$n $p"
            done
        done
        [ -z "$redis" ] || echo "redis $(cat "$dir/state/redis.pid" 2>/dev/null)"
    } | awk 'NF == 2 && $2 > 0'
}

wait_gone() { # seconds pid...
    local end=$(($(now_ms) + $1 * 1000)) p left
    shift
    while :; do
        left=
        for p in "$@"; do alive "$p" && left="$left $p"; done
        [ -z "$left" ] && return 0
        [ "$(now_ms)" -ge "$end" ] && return 1
        sleep 0.05
    done
}

signal() { # signal pid...
    local s=$1 p
    shift
    for p in "$@"; do alive "$p" && kill "-$s" "$p" 2>/dev/null; done
    return 0
}

# ---- configuration ------------------------------------------------------------------

quote() { printf "'%s'" "${1//\'/\'\'}"; } # YAML

sets_of() { # program: sets `own` to the --set values for it
    local s
    own=()
    for s in "${sets[@]+"${sets[@]}"}"; do
        case $s in
        "$1".*) own+=("${s#"$1".}") ;;
        router.* | segment.* | task.* | queuemng.* | *_cluster.*) ;;
        *) [ "$1" != queuemng ] || own+=("queues.login.$s") ;;
        esac
    done
}

set_list() { # program: its --set values as a YAML list
    local own s
    sets_of "$1"
    echo "set:"
    for s in "${own[@]+"${own[@]}"}"; do echo "  - $(quote "$s")"; done
}

write_queuemng() {
    cat <<EOT
# written by local.sh
secret_file: $(quote "$dir/secrets/cluster.secret")
admin_token_file: $(quote "$dir/secrets/admin.token")
create_keys: true
data_dir: $(quote "$dir/state/queuemng")
EOT
    [ -z "$redis" ] || write_redis_keys
    if [ -z "$rate" ]; then
        printf 'metrics:\n  - name: cpu\n    kind: proc\n    what: cpu\n    interval: 1s\n'
    fi
    cat <<EOT
$([ "$tasks" -eq 0 ] || printf "pools:\n  - match: '*'\n")
queues:
  - name: login
    segment_capacity: $capacity
    poll_budget_per_s: 5000
EOT
    if [ -n "$rate" ]; then
        echo "    release_per_s: $rate"
    else
        cat <<EOT
    fallback_per_s: 500
    limits:
      - metric: cpu
        tiers:
          - {below: 50, rate_per_s: 2000}
          - {below: 70, rate_per_s: 1500}
          - {below: 101, rate_per_s: 1000}
EOT
    fi
}

write_redis_keys() {
    echo "redis: ['127.0.0.1:$redis']"
    echo "redis_password_file: $(quote "$dir/secrets/redis.password")"
}

write_child() { # router|segment|task
    echo "# written by local.sh"
    echo "secret_file: $(quote "$dir/secrets/cluster.secret")"
    echo "create_keys: true"
    if [ "$1" = router ]; then
        # All players of a local cluster have the address 127.0.0.1: the limits per address
        # would be limits of the whole crowd. --set router.join_limit_per_s=5 ... tries them.
        printf '%s: 0\n' join_limit_per_s poll_limit_per_s bad_limit_per_s conns_per_addr
        echo "rooms: [login]" # at / of the routers
        [ "$tasks" -eq 0 ] ||
            printf '%s\n' "task_tokens: $(quote "$dir/secrets/task_tokens")" "compat: classic"
    fi
    if [ "$1" = segment ]; then
        echo "pass_key_file: $(quote "$dir/secrets/pass.key")"
        echo "max_segments: $per_node"
        echo "journal_dir: $(quote "$dir/state/journal")"
    fi
    if [ "$1" = task ] && [ "$task_store" = redis ]; then
        echo "store: redis"
        write_redis_keys
    elif [ "$1" = task ]; then
        echo "journal_dir: $(quote "$dir/state/journal")"
        echo "bodies_dir: $(quote "$dir/state/bodies")"
    fi
    return 0
}

# Whoever has task.token may all; routers know its hash.
write_task_token() {
    local f=$dir/secrets/task.token
    [ -f "$f" ] || (umask 077 && head -c 24 /dev/urandom | base64 | tr '+/' '-_' >"$f")
    (umask 077 && echo "$(tr -d '\n' <"$f" | sha256sum | cut -d ' ' -f 1) submit,take,read,look *" \
        >"$dir/secrets/task_tokens")
}

# Kept on disk after every write; --redis means that nothing else is.
write_redis() {
    mkdir -p -m 700 "$dir/state/redis" || exit 1
    [ -f "$dir/secrets/redis.password" ] ||
        (umask 077 && od -An -tx1 -N16 /dev/urandom | tr -d ' \n' >"$dir/secrets/redis.password")
    (umask 077 && cat >"$dir/secrets/redis.conf") <<EOT
port $redis
bind 127.0.0.1
dir $dir/state/redis
pidfile $dir/state/redis.pid
daemonize yes
logfile $dir/logs/redis.log
set-proc-title no
requirepass $(cat "$dir/secrets/redis.password")
save ""
appendonly yes
appendfsync always
EOT
}

manager_addrs() {
    local i sep=
    for ((i = 0; i < managers; i++)); do
        printf "%s'127.0.0.1:%d'" "$sep" $((port + 2 * i))
        sep=', '
    done
}

write_cluster() { # name children listen-port admin-port
    local own s base=${1%%[0-9]*}
    cat <<EOT
# written by local.sh
name: $1
children: $2
program: $(quote "$bin/$base")
config: $(quote "$dir/config/$base.yaml")
listen: 127.0.0.1:$3
port_step: 1
admin: 127.0.0.1:$4
state_dir: $(quote "$dir/state")
log_dir: $(quote "$dir/logs")
grace: 10s
fork: always
EOT
    [ "$base" = queuemng ] && echo "managers: []" || echo "managers: [$(manager_addrs)]"
    set_list "$base"
    sets_of "$(boss_of "$1")"
    for s in "${own[@]+"${own[@]}"}"; do echo "${s%%=*}: $(quote "${s#*=}")"; done
}

write_config() {
    local m i=0
    mkdir -p "$dir/config" "$dir/logs" "$dir/state/queuemng" || exit 1
    mkdir -p -m 700 "$dir/secrets" || exit 1
    write_queuemng >"$dir/config/queuemng.yaml"
    write_child router >"$dir/config/router.yaml"
    write_child segment >"$dir/config/segment.yaml"
    [ "$tasks" -eq 0 ] || { write_child task >"$dir/config/task.yaml"; write_task_token; }
    [ -z "$redis" ] || write_redis
    for m in $(manager_names); do
        write_cluster "$m" 1 $((port + 2 * i)) $((port + 2 * i + 1)) \
            >"$dir/config/$(boss_of "$m").yaml"
        i=$((i + 1))
    done
    write_cluster router "$routers" $((port + 10)) $((port + 30)) >"$dir/config/rt_cluster.yaml"
    write_cluster segment "$nodes" $((port + 50)) $((port + 70)) >"$dir/config/seg_cluster.yaml"
    [ "$tasks" -eq 0 ] ||
        write_cluster task "$tasks" $((port + 44)) $((port + 47)) >"$dir/config/task_cluster.yaml"
    printf 'port=%s\nrouters=%s\nmanagers=%s\nredis=%s\ntasks=%s\n' "$port" "$routers" "$managers" \
        "$redis" "$tasks" >"$dir/config/local.env"
}

# The programs themselves say what is wrong in their files, and in --set.
check_config() {
    local p s own args said
    for p in $programs; do
        args=()
        sets_of "$p"
        for s in "${own[@]+"${own[@]}"}"; do args+=(--set "$s"); done
        said=$("$bin/$p" -t -c "$dir/config/$p.yaml" "${args[@]+"${args[@]}"}" 2>&1 >/dev/null) ||
            die "$(tail -n 1 <<<"$said")"
    done
    for p in $(clusters); do
        said=$("$bin/$(program_of "$p")" -t -c "$dir/config/$(boss_of "$p").yaml" 2>&1 >/dev/null) ||
            die "$(tail -n 1 <<<"$said")"
    done
}

# ---- ports --------------------------------------------------------------------------

ports_of() { # base port: all that the processes will listen on, the players' first
    local i
    for ((i = 0; i < routers; i++)); do echo $(($1 + 10 + i)); done
    for ((i = 0; i < 2 * managers; i++)); do echo $(($1 + i)); done
    for ((i = 0; i < routers; i++)); do echo $(($1 + 30 + i)); done
    for ((i = 0; i < nodes; i++)); do echo $(($1 + 50 + i)) $(($1 + 70 + i)); done
    for ((i = 0; i < tasks; i++)); do echo $(($1 + 44 + i)) $(($1 + 47 + i)); done
    [ -z "$redis" ] || echo $((redis - port + $1))
}

# "port inode" of each socket that others listen on, where 127.0.0.1 would meet it; also of a client's
# connection, to which the kernel has given such a port (ip_local_port_range): its other end is the
# port of a listener. Connections that a server has accepted are in nobody's way, also when it is gone.
listening() {
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
        awk '{ split($2, here, ":"); split($3, there, ":") }
            $4 == "0A" { serves[here[2]] }
            here[1] ~ /^0+$|0100007F$/ && ($4 == "0A" || ($4 == "01" && $10 > 0)) {
                at[++n] = here[2]; inode[n] = $10; other[n] = $4 == "01" ? there[2] : here[2] }
            END { for (i = 1; i <= n; i++) if (other[i] in serves) print at[i], inode[i] }' |
        while read -r p inode; do echo $((16#$p)) "$inode"; done
}

owner_of() { # inode -> " (by NAME, pid N)", if we may know
    local pid
    pid=$(find /proc/[0-9]*/fd -lname "socket:\[$1\]" -print -quit 2>/dev/null | cut -d / -f 3)
    [ -z "$pid" ] || echo " (by $(cat "/proc/$pid/comm"), pid $pid)"
}

first_taken() { # base port -> "port inode", or nothing
    awk 'NR == FNR { inode[$1] = $2; next } { for (i = 1; i <= NF; i++)
        if ($i in inode) { print $i, inode[$i]; exit } }' <(listening) <(ports_of "$1")
}

elsewhere() { # what to type, with a base port that is free
    local other
    for ((other = port % 1000 + 20000; other <= 64000; other += 1000)); do
        [ "$other" = "$port" ] || [ -n "$(first_taken $other)" ] || break
    done
    # shellcheck disable=SC2059
    printf "${PORT_HINT:-try --base-port %d}" $other
}

check_ports() {
    local taken inode
    read -r taken inode < <(first_taken "$port")
    [ -n "$taken" ] || return 0
    die "port $taken is in use$(owner_of "$inode"): $(elsewhere)"
}

# ---- cluster.json -------------------------------------------------------------------

json() { printf '"%s"' "$(printf '%s' "$1" | sed 's/[\\"]/\\&/g')"; }

cluster_json() {
    local i sep=
    printf '{"router": ['
    for ((i = 0; i < routers; i++)); do
        printf '%s"http://127.0.0.1:%d"' "$sep" $((port + 10 + i))
        sep=', '
    done
    printf '],\n "admin": "http://127.0.0.1:%d",\n "admins": [' $((port + 1))
    sep=
    for ((i = 0; i < managers; i++)); do
        printf '%s"http://127.0.0.1:%d"' "$sep" $((port + 1 + 2 * i))
        sep=', '
    done
    printf '],\n'
    printf ' "admin_token": %s,\n' "$(json "$(cat "$dir/secrets/admin.token" 2>/dev/null)")"
    pids | awk 'BEGIN { printf " \"pids\": {" }
        { printf "%s\"%s\": %d", (NR > 1 ? ", " : ""), $1, $2 } END { print "}," }'
    printf ' "logs": %s}\n' "$(json "$dir/logs")"
}

write_json() { # it holds the admin token: for the owner alone
    (umask 077 && cluster_json >"$dir/cluster.json.new$$") &&
        mv "$dir/cluster.json.new$$" "$dir/cluster.json" # two may look at once
}

# ---- up -----------------------------------------------------------------------------

start() { # name
    local prog
    prog=$(program_of "$1")
    setsid "$bin/$prog" -c "$dir/config/$(boss_of "$1").yaml" </dev/null \
        >>"$dir/logs/$(boss_of "$1").log" 2>&1 &
    bosses+=($!)
}

http_ok() { curl -sf -o /dev/null --max-time 2 "$1" 2>/dev/null; }

# A queue of tasks has an owner: a name that no task has is unknown, and not unavailable.
tasks_up() { # router; with listen_tasks its servers' calls have an address of their own
    local own apart
    sets_of router
    apart=$(printf '%s\n' "${own[@]+"${own[@]}"}" | sed -n 's/^listen_tasks=//p' | tail -n 1)
    [ -z "$apart" ] || set -- "http://${apart/#0.0.0.0:/127.0.0.1:}"
    [ "$(curl -s -o /dev/null --max-time 2 -w '%{http_code}' \
        -H "Authorization: Bearer $(cat "$dir/secrets/task.token")" "$1/v1/queues/login/tasks/none")" = 404 ]
}

all_up() {
    local c want lines i
    for c in $(manager_names | sed 's/$/:1/') router:$routers segment:$nodes task:$tasks; do
        [ "$c" != task:0 ] || continue
        want=${c#*:}
        lines=$(grep -c '^   "state": "up"' "$dir/state/${c%:*}.status.json" 2>/dev/null)
        [ "${lines:-0}" -ge "$want" ] || return 1
    done
    for ((i = 0; i < routers; i++)); do
        http_ok "http://127.0.0.1:$((port + 10 + i))/readyz" || return 1
        http_ok "http://127.0.0.1:$((port + 10 + i))/v1/queues/login" || return 1
        [ "$tasks" -eq 0 ] || tasks_up "http://127.0.0.1:$((port + 10 + i))" || return 1
    done
}

said() { # log file -> what stands in it since we began
    [ ! -f "$1" ] || tail -c +$((${log_was[$1]:-0} + 1)) "$1"
}

# "NAME: why it cannot start" of the first process that said so, or nothing.
why_not() {
    local log why
    grep -qsE ' (cannot start: |event=cannot_start )' "$dir"/logs/*.log || return 0 # it is asked often
    for log in "$dir"/logs/*.log; do
        why=$(said "$log" | sed -nE \
            '/^[0-9TZ:.-]+ error [a-z_]+ (cannot start: |event=cannot_start why=)/{s///;s/^"(.*)"$/\1/;p;q}')
        [ -z "$why" ] || { echo "$(basename "$log" .log): $why"; return; }
    done
}

# The last line above info in any log, where closed connections are news of no worth.
last_complaint() {
    local log
    for log in "$dir"/logs/*.log; do said "$log"; done |
        grep -aE '^[^ ]+ (warn|error) ' | grep -av ' event=link_down ' | sort | tail -n 1
}

supervisors_live() {
    local p
    for p in "${bosses[@]}"; do kill -0 "$p" 2>/dev/null || return 1; done
}

failed() { # sentence
    local hint=
    [[ $1 != *"Address already in use"* ]] || hint="; another process has taken that port meanwhile: $(elsewhere)"
    signal TERM "${bosses[@]}" # also those that could not write who they are
    wait_gone 12 "${bosses[@]}"
    down >/dev/null 2>&1
    die "$1$hint (logs: $dir/logs)"
}

wait_until_up() {
    local why end=$(($(now_ms) + wait_s * 1000))
    until all_up; do
        why=$(why_not)
        [ -z "$why" ] || failed "$why"
        supervisors_live || failed "a supervisor has ended: $(last_complaint)"
        [ "$(now_ms)" -lt "$end" ] || failed "not ready after $wait_s s: $(last_complaint)"
        sleep 0.1
    done
}

check_options() {
    [ -n "$port" ] || die "$verb needs --base-port P"
    [ "$routers" -le 14 ] && [ "$nodes" -le 20 ] && [ "$tasks" -le 3 ] ||
        die "at most 14 routers, 20 segment nodes and 3 task nodes"
    [ "$managers" -ge 1 ] && [ "$managers" -le 3 ] || die "one to three managers"
    case $task_store in journal | redis) ;; *) die "--task-store is journal or redis" ;; esac
    [ "$managers" -eq 1 ] && [ "$task_store" = journal ] || redis=${redis:-$((port + 6))}
}

config() {
    check_options
    write_config
}

up() {
    local p n c log
    local -A log_was=() # bytes
    local bosses=()     # pids
    check_options
    [ -z "$redis" ] || command -v redis-server >/dev/null || die "redis-server is not installed"
    for p in $programs $(for c in $(clusters); do program_of "$c"; done); do
        [ -x "$bin/$p" ] || die "$bin/$p is missing: make bins"
    done
    while read -r n p; do
        alive "$p" && die "$dir: $n (pid $p) is running; local.sh down --dir $dir"
    done < <(pids)
    write_config
    check_config
    check_ports
    for log in "$dir"/logs/*.log; do
        [ ! -f "$log" ] || log_was[$log]=$(stat -c %s "$log")
    done
    [ -z "$redis" ] || redis-server "$dir/secrets/redis.conf" || die "redis-server does not start"
    for c in $(clusters); do start "$c"; done
    wait_until_up
    write_json
    echo "up: $(sed -n 's/^{"router": //p' "$dir/cluster.json" | tr -d '[]",')" \
        "admin http://127.0.0.1:$((port + 1)), $dir/cluster.json"
}

# ---- down, status -------------------------------------------------------------------

down() {
    local all bosses
    # cluster.json too: a supervisor that was killed before it wrote its file
    all=$( (pids | cut -d' ' -f2
        sed -n 's/.*"pids": {\(.*\)}.*/\1/p' "$dir/cluster.json" 2>/dev/null |
            tr ',' '\n' | sed 's/.*: *//') | sort -un)
    bosses=$(pids | awk '$1 ~ /_cluster[0-9]*$/ { print $2 }')
    signal TERM $bosses
    wait_gone 12 $bosses || signal KILL $bosses
    signal TERM $all # children that a dead supervisor left behind
    wait_gone 5 $all || { signal KILL $all; wait_gone 5 $all; } ||
        die "some of these processes do not end: $all"
    echo "down: $dir"
}

status() {
    local c n p s r t l state
    printf '%-14s %8s %-9s %8s  %-19s %s\n' NAME PID STATE RESTARTS SINCE LISTEN
    for c in $(clusters); do
        p=$(supervisor_of "$dir/state/$c.status.json")
        alive "${p:-0}" && state=up || state=dead
        printf '%-14s %8s %-9s\n' "$(boss_of "$c")" "${p:--}" "$state"
        while read -r n p s r t l; do
            [ "$p" -gt 0 ] && ! alive "$p" && s=dead
            printf '%-14s %8s %-9s %8s  %-19s %s\n' "$n" "$p" "$s" "$r" \
                "$(date -d "@$t" '+%F %T')" "$l"
        done < <(children_of "$dir/state/$c.status.json")
    done
    write_json
}

# ---- options ------------------------------------------------------------------------

[ $# -ge 1 ] || usage
verb=$1
shift
dir= port= routers=1 nodes=1 tasks=0 per_node=20000 capacity=100000 rate= wait_s=30 sets=()
managers=1 redis= task_store=journal
bin=$root/build/rel/bin
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || usage
    case $1 in
    --dir) dir=$2 ;;
    --base-port) port=$2 ;;
    --routers) routers=$2 ;;
    --seg-nodes) nodes=$2 ;;
    --task-nodes) tasks=$2 ;;
    --segments-per-node) per_node=$2 ;;
    --capacity) capacity=$2 ;;
    --release-per-s) rate=$2 ;;
    --set) sets+=("$2") ;;
    --bin) bin=$2 ;;
    --managers) managers=$2 ;;
    --redis) redis=$2 ;;
    --task-store) task_store=$2 ;;
    --wait) wait_s=$2 ;;
    *) usage ;;
    esac
    shift 2
done
[ -n "$dir" ] || usage
case $verb in
up | config)
    bin=$(cd "$bin" 2>/dev/null && pwd) || die "$bin: no such folder (make bins builds it)"
    mkdir -p "$dir" || exit 1
    ;;
down) [ -d "$dir" ] || die "no folder $dir" ;;
status) [ -d "$dir" ] || die "no folder $dir" ;;
*) usage ;;
esac
dir=$(cd "$dir" && pwd)
if [ "$verb" != up ] && [ "$verb" != config ] && [ -f "$dir/config/local.env" ]; then
    . "$dir/config/local.env"
fi
programs="queuemng router segment$([ "$tasks" -eq 0 ] || echo " task")"
"$verb"
