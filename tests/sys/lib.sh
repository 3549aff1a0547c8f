# lib.sh: what the stories share. A story is `sys_NAME.sh [BIN]`: it starts its own cluster
# in its own folder and on its own ports, says `ok` or `FAIL` per claim, and leaves nothing
# running, also when it fails. Nothing sleeps for a fixed time: conditions are polled.
#
#   SEGQ_SYS_DIR  where the folders of the stories go (default: a fresh one in /tmp)
#   KEEP=1        keep the folder also when everything was fine
#   PATIENCE=N    how many times longer than told wait_for waits before it gives up (5)
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
BIN=${1:-$root/build/rel/bin}
BIN=$(cd "$BIN" && pwd -P) # as /proc says of a process
NAME=$(basename "$0" .sh)
TOP=${SEGQ_SYS_DIR:-$(mktemp -d /tmp/segq-sys.XXXXXX)}
DIR=$TOP/$NAME
export SEGQ_CONFIG=$DIR/contexts.yaml # not the clusters of whoever runs this
C=$DIR/c # the cluster's own folder
mkdir -p "$DIR"
checks=0 failures=0
helpers=() # pids that the story started itself

# ---- claims -------------------------------------------------------------------------

ok() { checks=$((checks + 1)); echo "ok   $NAME: $*"; }
fail() { checks=$((checks + 1)); failures=$((failures + 1)); echo "FAIL $NAME: $*"; }
skip() { echo "skip $NAME: $*"; } # a claim that cannot be judged here, and why: the summary repeats it
give_up() { fail "$@"; exit 1; }
now_ms() { # without a process: it is asked often
    local us=${EPOCHREALTIME/[.,]/}
    echo "${us%???}"
}
exec {never}<> <(:) # nothing comes here
pause() { read -rt "$1" -u "$never"; } # SECONDS, without a process

check() { # "claim" command...
    local what=$1
    shift
    if "$@"; then ok "$what"; else fail "$what"; fi
}
check_eq() { # "claim" got expected
    if [ "$2" = "$3" ]; then ok "$1"; else fail "$1: got '$2', not '$3'"; fi
}

# wait_for SECONDS "claim" command...: asks every 50 ms; what it has asked for long, every 200 ms, since
# its questions cost those beside it the processor. Gives the story up if it never is.
# SECONDS are those of a free machine; one that is PATIENCE times slower is waited for, too.
wait_for() {
    local began=$SECONDS pace=0.05 what=$2 secs=$(($1 * ${PATIENCE:-5}))
    shift 2
    until "$@"; do
        [ $((SECONDS - began)) -le "$secs" ] || give_up "$what (waited $secs s)"
        case $((SECONDS - began)) in [0-2]) ;; [3-6]) pace=0.1 ;; *) pace=0.2 ;; esac
        pause $pace
    done
    ok "$what"
}

# How many tenths of the time of a free machine a piece of work takes here and now: 10 on a
# free one (15 000 turns of the loop and 30 processes take 80 ms or less), 50 on one that is
# five times slower.
slowness() {
    local i t0 ms
    t0=$(now_ms)
    for ((i = 0; i < 45000; i++)); do :; done
    for ((i = 0; i < 90; i++)); do /bin/true; done
    ms=$(($(now_ms) - t0))
    echo $((ms > 240 ? ms * 10 / 240 : 10))
}

# in_time "claim" TOOK LIMIT: both in ms. The limit is a free machine's: beyond it we look how
# slow this one is, and twice that is allowed, since a moment is harder to hit than a mean.
in_time() {
    local slow
    [ "$2" -gt "$3" ] || { ok "$1: after $2 ms, at most $3"; return; }
    slow=$(slowness)
    check "$1: after $2 ms, at most $3 on a free machine, this one takes $slow tenths of its time" \
        test "$2" -le $(($3 * slow * 2 / 10))
}

# ---- the cluster --------------------------------------------------------------------

# A hundred ports in a row of which none is in use, below the kernel's ephemeral range.
free_base_port() {
    local used p i free
    used=" $(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
        awk 'NR > 1 && $2 ~ /:/ { split($2, a, ":"); print a[2] }' |
        while read -r h; do echo $((16#$h)); done | sort -un | tr '\n' ' ') "
    for ((i = 0; i < 200; i++)); do
        p=$((12000 + RANDOM % 200 * 100))
        free=1
        for ((q = p; q < p + 100; q++)); do
            case $used in *" $q "*) free=0 && break ;; esac
        done
        [ $free = 1 ] && echo $p && return
    done
    return 1
}

# Two stories that look at the same time must not both find the same ones: the lock of a row
# is held until the story and everything that it started have ended.
reserve_ports() {
    local i
    for ((i = 0; i < 50; i++)); do
        PORT=$(free_base_port) || return 1
        exec {ports_lock}>"/tmp/segq-ports.$UID.$PORT" || return 1
        flock -n "$ports_lock" && return
        exec {ports_lock}>&-
    done
    return 1
}
reserve_ports || give_up "no free ports"
R=http://127.0.0.1:$((PORT + 10))  # the first router
R2=http://127.0.0.1:$((PORT + 11)) # the second, if there is one
A=http://127.0.0.1:$((PORT + 1))   # queuemng's admin API

# A story whose people only look now and then says away=0: on a slow machine they are silent
# for so long that they would be passed over.
up() { # options of local.sh
    "$root/deploy/local.sh" up --dir "$C" --base-port "$PORT" --bin "$BIN" --wait 240 "$@" \
        >"$DIR/up.log" 2>&1 || { cat "$DIR/up.log"; give_up "the cluster does not start"; }
}

cluster_down() { "$root/deploy/local.sh" down --dir "$C" --bin "$BIN" >/dev/null 2>&1; }

# Of a name of `local.sh status`: router.0, segment.1, queuemng, rt_cluster, redis ... As the supervisors' files say.
pid_of() {
    [ "$1" != redis ] || { cat "$C/state/redis.pid" 2>/dev/null; return; }
    awk -F'"' -v want="$1" '
        FNR == 1 { name = FILENAME; gsub(/.*\/|\.status\.json$/, "", name)
            sub(/^router$/, "rt_cluster", name); sub(/^segment$/, "seg_cluster", name)
            sub(/^task$/, "task_cluster", name); sub(/^queuemng/, "mng_cluster", name) }
        /^   "name"/ { name = $4; if (name ~ /^queuemng/) sub(/\.0$/, "", name) }
        /^ (  )?"pid"/ { pid = $3; gsub(/[: ,]/, "", pid); if (name == want && pid > 0) print pid }
    ' "$C"/state/*.status.json 2>/dev/null
}

runs() { # pid: exists and is no zombie; while its other threads end, it still has its sockets
    local s
    s=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    read -ra s <<<"${s##*) }"
    case ${s[0]} in [ZX]*) [ "${s[17]}" -gt 1 ] ;; esac
}
is_gone() { ! runs "$1"; }
restarted() { # NAME OLD-PID: another process of that name runs
    local p
    p=$(pid_of "$1")
    [ -n "$p" ] && [ "$p" != "$2" ] && runs "$p"
}
rss_kb() { # pid...: together
    local p
    for p in "$@"; do cat "/proc/$p/status"; done | awk '/^VmRSS:/ { n += $2 } END { print n }'
}
# A sanitizer's build is slower, and keeps freed memory.
under_asan() { grep -aq __asan_init "$BIN/segment"; }

# Points at which a process dies (common/base/failpoint.h), in test builds only.
has_points() { nm "$BIN/segment" | grep -q ' failpoint_here$'; }
arm() { # POINT [what: kill]
    echo "${2:-kill}" >"$SEGQ_FAILPOINTS/$1.new"
    mv "$SEGQ_FAILPOINTS/$1.new" "$SEGQ_FAILPOINTS/$1"
}
fired() { [ ! -e "$SEGQ_FAILPOINTS/$1" ]; }

end_pid() { # pid: TERM, then KILL
    local i
    kill -TERM "$1" 2>/dev/null || return 0
    for ((i = 0; i < 60; i++)); do
        runs "$1" || return 0
        pause 0.05
    done
    kill -KILL "$1" 2>/dev/null
}

# helper COMMAND...: runs in the background, its pid in $H, ended with the story
helper() {
    "$@" >>"$DIR/helper.log" 2>&1 &
    H=$!
    helpers+=("$H")
}

# Logs that tell of a crash: a child that its supervisor starts anew would go unseen otherwise. (Signal 6 alone
# is none: a manager that cannot lead calls abort().)
CRASH='ERROR: (Address|Leak)Sanitizer|runtime error:|Assertion .* failed|event=child_exited .* how="signal (4|7|8|11)"'
CRASH+='|double free or corruption|(malloc|realloc|free|munmap_chunk)\(\): |\*\*\* .* detected \*\*\*'
crashes() { grep -lE "$CRASH" "$C"/logs/*.log 2>/dev/null; }

finish() {
    local rc=$? p
    trap - EXIT
    for p in "${helpers[@]+"${helpers[@]}"}"; do end_pid "$p"; done
    [ -d "$C" ] && { cluster_down || fail "the cluster does not end"; }
    p=$(crashes)
    [ -z "$p" ] || { fail "a crash: $p"; grep -hE -A12 "$CRASH" $p | head -60; }
    [ $rc -eq 0 ] || [ $failures -gt 0 ] || fail "the story ended early ($rc)"
    if [ $failures -gt 0 ]; then
        echo "---- logs in $DIR"
        tail -n 15 "$C"/logs/*.log 2>/dev/null
    elif [ -z "${KEEP:-}" ]; then
        rm -rf "$DIR"
        [ -n "${SEGQ_SYS_DIR:-}" ] || rmdir "$TOP" 2>/dev/null
    fi
    rm -f "/tmp/segq-ports.$UID.$PORT"
    echo "$NAME: $((checks - failures)) passed, $failures failed"
    exit $((failures > 0))
}
trap finish EXIT
trap 'exit 130' INT TERM

# ---- HTTP ---------------------------------------------------------------------------

http() { curl -s --max-time 20 "$@"; }
LOOKS=(-H 'Sec-Fetch-Mode: navigate' -H 'Sec-Fetch-Dest: document') # a browser that goes to a page
status_of() { http -o /dev/null -w '%{http_code}' "$@"; }
has_status() { [ "$(status_of "${@:2}")" = "$1" ]; } # 200 URL...

join_queue() { # [router [queue [json]]] -> ticket
    if [ -n "${3:-}" ]; then
        http -X POST -H 'Content-Type: application/json' -d "$3" \
            "${1:-$R}/v1/queues/${2:-login}/tickets"
    else
        http -X POST "${1:-$R}/v1/queues/${2:-login}/tickets"
    fi
}
poll() { http "${2:-$R}/v1/tickets/$1"; }
token_in() { jq -r '.token // empty'; }
field() { jq -r ".$1"; }
queue_field() { http "$R/v1/queues/${2:-login}" | jq -r ".$1"; }

# join_many N FOLDER [PARALLEL]: concurrently; FOLDER/1 ... FOLDER/N hold the tickets
join_many() {
    mkdir -p "$2"
    curl -s -Z --parallel-max "${3:-100}" --max-time 300 -X POST \
        "$R/v1/queues/login/tickets?[1-$1]" -o "$2/#1" 2>/dev/null || true
}
all_join() { # N: $DIR/j has their tickets, $DIR/tokens their tokens
    join_many "$1" "$DIR/j"
    tokens_of "$DIR/j" >"$DIR/tokens"
    check_eq "$1 join" "$(wc -l <"$DIR/tokens")" "$1"
}
# tokens_of FOLDER: one per line
tokens_of() { cat "$1"/* | jq -r '.token // empty'; }
# poll_many FILE-OF-TOKENS OUT: a JSON ticket per line, in any order
poll_many() {
    sed "s|.*|url = \"$R/v1/tickets/&\"\nwrite-out = \"\\\\n\"|" "$1" >"$2.conf"
    curl -s -Z --parallel-max 50 --max-time 300 -K "$2.conf" >"$2" 2>/dev/null || true
}
leave_many() { # FILE-OF-TOKENS
    sed "s|.*|url = \"$R/v1/tickets/&\"|" "$1" >"$1.conf"
    curl -s -Z --parallel-max 20 --max-time 60 -X DELETE -K "$1.conf" >/dev/null
}
is_admitted() { [ "$(poll "$1" "${2:-$R}" | field state)" = admitted ]; } # token [router]
waiting_is() { [ "$(queue_field waiting)" = "$1" ]; }

# ---- what many were told ------------------------------------------------------------

places_in() { jq -r '"\(.token) \(.position)"' "$@" | sort; } # FILE-OF-TICKETS...
# Each of $DIR/tokens waits or is admitted ($DIR/polls); while a node comes back some are put
# off, but nobody is ever told that the place is gone.
nobody_lost() { # "when"
    wait_for 20 "$1: everybody waits or is admitted" none_lost "$1"
}
none_lost() {
    poll_many "$DIR/tokens" "$DIR/polls"
    ! grep -E '"(gone|ticket_gone|ticket_unknown)"' "$DIR/polls" || give_up "$1: a place is gone"
    [ "$(jq -r .state "$DIR/polls" | grep -cE '^(waiting|admitted)$')" = "$(wc -l <"$DIR/tokens")" ]
}
released_by_place() { # PLACES POLLS: "token place released_at" of those who are admitted
    jq -r 'select(.state == "admitted") | "\(.token) \(.released_at)"' "$2" | sort |
        join "$1" - | sort -n -k2
}
# The same: how many were released, and how many of them before somebody in front: "400 0"
released_in_order() {
    released_by_place "$@" | awk '$3 < last { bad++ } { last = $3 } END { print NR, bad + 0 }'
}
released_at() { jq -r 'select(.state == "admitted") | .released_at' "$1" | sort -n; } # POLLS
fullest() { # SECONDS: the most times, of those on standard input, within that long
    awk -v s="$1" '{ t[NR] = $1; while (t[NR] - t[first + 1] > s) first++
        if (NR - first > most) most = NR - first } END { print most + 0 }'
}

# ---- a crowd that comes by and by ---------------------------------------------------

crowd() { # options of swarm: in the background, its pid in $swarm
    "${SWARM:-$BIN/swarm}" --router "$R" "$@" --quiet --json "$DIR/swarm.json" \
        >"$DIR/swarm.out" 2>&1 &
    swarm=$!
    helpers+=("$swarm")
}
crowd_is_over() { ! runs "$swarm"; }
end_crowd() { # "of what": it has seen enough
    check "${1:+$1: }the crowd was there all the time" runs "$swarm"
    kill -TERM "$swarm"
    judge_crowd "$@"
}
judge_crowd() { # "of what": it has ended, and was promised nothing that was not kept
    local rc
    wait "$swarm"
    rc=$?
    [ $rc -eq 0 ] || tail -n 30 "$DIR/swarm.out"
    check_eq "${1:+$1: }no violation: $(grep 'order violations' "$DIR/swarm.out")" $rc 0
}

# ---- tasks ----------------------------------------------------------------------------

# Of a server that may submit and take; `up` makes it.
task_token() { cat "$C/secrets/task.token"; }
router_urls() { jq -r '.router[]' "$C/cluster.json"; }
# N [options of driver.py]: in the background, its history in $DIR/history
drive_tasks() { drive_with driver.py "$@"; }
drive_calls() { drive_with call_driver.py "$@"; }
drive_with() { # DRIVER N [options]
    local r routers=() which=$1 n=$2
    shift 2
    for r in $(router_urls); do routers+=(--router "$r"); done
    "$root/tests/tasks/$which" "$DIR/history" "${routers[@]}" --token "$C/secrets/task.token" \
        --tasks "$n" "$@" >"$DIR/driver.out" 2>&1 &
    driver=$!
    helpers+=("$driver")
}
tasks_are_done() { ! runs "$driver"; }
tasks_acked() { cat "$DIR"/history/worker*.jsonl 2>/dev/null | grep -c '"settle",[^"]*"ack"'; }
more_acked() { [ "$(tasks_acked)" -gt $((acked + 20)) ] || tasks_are_done; }
tasks_go_on() { # "when": tasks are done since it was called
    acked=$(tasks_acked)
    wait_for 30 "$1: tasks are done" more_acked
}
# options of judge.py: the driver has ended, or ends soon
judge_tasks() { judge_with judge "$@"; }
judge_calls() { judge_with call_judge "$@"; }
judge_with() { # JUDGE [options]
    local rc which=$1
    shift
    wait "$driver"
    rc=$?
    [ $rc -eq 0 ] || cat "$DIR/driver.out"
    check_eq "every task has come to its end" $rc 0
    "$root/tests/tasks/$which.py" "$@" "$DIR/history" >"$DIR/judged"
    while read -r line; do
        case $line in
        "ok "*) ok "${line#ok }" ;;
        "FAIL "*) fail "${line#FAIL }" ;;
        *) echo "     $line" ;;
        esac
    done <"$DIR/judged"
    check "the judge has judged" grep -qE "^$which: [0-9]+ passed, [0-9]+ failed\$" "$DIR/judged"
}

admin_token() { cat "$C/secrets/admin.token"; }
admin() { # METHOD PATH [json]
    local m=$1 p=$2
    shift 2
    if [ $# -gt 0 ]; then
        http -X "$m" -H "Authorization: Bearer $(admin_token)" -d "$1" "$A$p"
    else
        http -X "$m" -H "Authorization: Bearer $(admin_token)" "$A$p"
    fi
}
metric() { # admin-port-offset name -> sum over its samples
    http "http://127.0.0.1:$((PORT + $1))/metrics" |
        awk -v n="$2" '$1 == n || index($1, n "{") == 1 { s += $2; k = 1 } END { if (k) printf "%.0f\n", s }'
}
# What the limits allow now, whole tickets per second
allowed() {
    admin GET /v1/admin/cluster |
        jq -r --arg q "${1:-login}" '.queues[] | select(.queue == $q) | .allowed_per_s | round'
}
# another_node: a segment node more.0 with a supervisor of its own, whose pid is $H
another_node() {
    mkdir -p "$DIR/more"
    helper "$BIN/seg_cluster" --set name=more --set "listen=127.0.0.1:$((PORT + 60))" \
        --set "admin=127.0.0.1:$((PORT + 80))" --set "state_dir=$DIR/more" \
        --set "log_dir=$DIR/more" --set fork=always --set "managers=127.0.0.1:$PORT" --set \
        "set=secret_file=$C/secrets/cluster.secret,pass_key_file=$C/secrets/pass.key,journal_dir=$DIR/more/journal"
}
rate_is() { [ "$(allowed "${2:-login}")" = "$1" ]; } # number [queue]
# Segments of the queue's lanes, as queuemng sees them: "id state waiting node" per line
segments() {
    admin GET /v1/admin/cluster | jq -r --arg q "${1:-login}" '.queues[] |
        select(.queue == $q) | .lanes[].segments[] |
        "\(.segment) \(.state) \(.waiting) \(.node)"'
}
# A lane has a segment at least: without any nobody has answered, and that is no number.
n_of() { awk -v p="$1" '{ n += $0 ~ p } END { print NR ? n + 0 : "no answer" }'; }
n_sealed() { segments "${1:-login}" | n_of " sealed "; }
n_segments() { segments "${1:-login}" | n_of .; }
