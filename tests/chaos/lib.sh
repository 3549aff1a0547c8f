# lib.sh: what the chaos scenarios share. A scenario is `F11_NAME.sh [BIN]`: a cluster of
# machines, each a network namespace of its own with its own address and supervisor, and an
# outside observer (observer.py) that plays people over HTTP and writes down what it was
# told; check_history.py judges that afterwards, from the history alone.
#
# Everything happens inside private namespaces (network, mounts, processes) that the script
# makes for itself: names and addresses may be the same in any number of runs, nothing is
# seen from outside, and the kernel removes it all when the script ends, however it ends.
# Where such namespaces cannot be made it says "skipped: needs root" and exits with 77.
#
#   machines "m0 s0 s1 r0"   m: queuemng, s: segment node, t: task node, r: router, d: Redis (for m0 m1)
#   cluster_up [options of deploy/local.sh]   ("s0+": its cable can be made worse: slow)
#   observe [options of observer.py], phase NAME, observe_end [options of check_history.py]
#   cut A B | cut_oneway A B | heal           packets are lost without a word, as by a
#                                             broken cable; A B = packets from A to B
#   slow A "delay=MS jitter=MS loss=SHARE rate=BYTES_PER_S"; slow A "" is a good cable again
#                                             (so `cut` here is not that of coreutils)
#   machines "m0@eu s0@eu r1@us"              regions, with an ocean between them (ocean.c)
#   sea "eu us" "delay=40 jitter=5"           both ways; sea_oneway "eu us" "cut"; "eu *": to all
#   sea_count FILE                            frames and bytes so far, each way
#   stop P, cont P, kill9 P                   P: s0 (its supervisor), s0.0 (the process)
#   on A COMMAND...                           runs there
# Claims and waiting (ok, check, wait_for ...) are those of tests/sys/lib.sh.

INSIDE_FLAGS="--net --mount --pid --fork --kill-child --mount-proc --propagation private"
if [ -z "${SEGQ_CHAOS_INSIDE:-}" ]; then
    for how in "" "--user --map-root-user"; do
        # shellcheck disable=SC2086
        if unshare $how $INSIDE_FLAGS sh -c 'mount -t tmpfs none /run && ip link add type veth' 2>/dev/null; then
            # shellcheck disable=SC2086
            SEGQ_CHAOS_INSIDE=1 exec unshare $how $INSIDE_FLAGS bash "$0" "$@"
        fi
    done
    echo "skipped: needs root (or user namespaces): $(basename "$0" .sh)"
    exit 77
fi

chaos=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/sys/lib.sh
. "$chaos/../sys/lib.sh"

NET=10.77.0
LINKS= # machines whose cable is a forwarder
REGIONS=
HISTORY=$DIR/history.jsonl
OBSERVER=

# ---- machines -----------------------------------------------------------------------

addr() { # m0 -> its address
    local n=${1#?}
    case $1 in
    m*) echo $NET.$((10 + n)) ;; s*) echo $NET.$((30 + n)) ;; t*) echo $NET.$((40 + n)) ;;
    r*) echo $NET.$((50 + n)) ;;
    d*) echo $NET.$((70 + n)) ;; *) echo $NET.90 ;;
    esac
}
kind() { echo "${1%%[0-9]*}"; }
on() { # machine command...
    nsenter --net="/run/netns/$1" "${@:2}"
}
helper_on() { # machine command...: a helper there; $H is its own pid, not that of a shell
    helper nsenter --net="/run/netns/$1" "${@:2}"
}

hub_up() {
    mount -t tmpfs none /run && mkdir -p /run/netns || give_up "no /run of our own"
    ip link set lo up
    ip link add br0 type bridge && ip addr add $NET.254/24 dev br0 && ip link set br0 up ||
        give_up "no bridge"
}

# plug NAME[@REGION][+]: a cable from the hub, or its region's, into the namespace. With "+" there
# is a forwarder in it, in a namespace of its own, which can be told to be bad.
plug() {
    local name=${1%%[@+]*} hub=br0 inner
    inner=v-$name
    case $1 in *@*) hub=br-$(region_of "$1") ;; esac
    ip netns add "$name" && on "$name" ip link set lo up || give_up "no namespace $name"
    if [ "${1%+}" != "$1" ]; then
        ip netns add "x-$name"
        ip link add "$inner" type veth peer name va netns "x-$name"
        on "x-$name" ip link add vb type veth peer name eth0 netns "$name"
        for i in va vb; do on "x-$name" ip link set "$i" up; done
        # no bundles of segments: a slow cable carries packets
        on "$name" ip link set eth0 gso_max_segs 1
        on "x-$name" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 2>/dev/null
        helper_on "x-$name" "$BIN/../chaos/ocean" "$DIR/cable.$name" va vb
        LINKS="$LINKS $name"
    else
        ip link add "$inner" type veth peer name eth0 netns "$name"
    fi
    ip link set "$inner" master "$hub" && ip link set "$inner" up
    on "$name" ip addr add "$(addr "$name")/24" dev eth0 && on "$name" ip link set eth0 up ||
        give_up "no cable to $name"
    [ "$hub" = br0 ] || on "$name" ip link set eth0 gso_max_segs 1
}

# ---- regions ------------------------------------------------------------------------

region_of() { # m0@eu+, or m0 once it is there
    local r
    case $1 in
    *@*) r=${1#*@} && echo "${r%+}" ;;
    *) cat "$DIR/region.$1" 2>/dev/null ;;
    esac
}
shores() { # the hub of each region, and the ocean between them
    local m r
    for m in "$@"; do
        case $m in *@*) ;; *) continue ;; esac
        r=$(region_of "$m")
        echo "$r" >"$DIR/region.${m%%@*}"
        case " $REGIONS " in *" $r "*) continue ;; esac
        [ -n "$REGIONS" ] || { ip netns add x-sea && on x-sea sysctl -qw net.ipv6.conf.all.disable_ipv6=1; }
        REGIONS="$REGIONS $r"
        ip link add "br-$r" type bridge && ip link set "br-$r" up || give_up "no hub of $r"
        ip link add "w-$r" type veth peer name "$r" netns x-sea
        ip link set "w-$r" master "br-$r" && ip link set "w-$r" up && on x-sea ip link set "$r" up ||
            give_up "no shore of $r"
    done
    [ -z "$REGIONS" ] || {
        # shellcheck disable=SC2086
        helper_on x-sea "$BIN/../chaos/ocean" "$DIR/sea" $REGIONS
        LINKS="$LINKS sea"
    }
}
# Who looks from outside stands at each shore, as this script does: nobody's requests cross the ocean.
stand_at_shores() {
    local r m i=0
    touch /run/netns/o0 && mount --bind /proc/self/ns/net /run/netns/o0 || give_up "no place to look from"
    sysctl -qw net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2
    for r in $REGIONS; do
        ip addr add "$NET.$((90 + i))/32" dev "br-$r"
        for m in $MACHINES; do
            [ "$(region_of "$m")" != "$r" ] || ip route add "$(addr "$m")/32" dev "br-$r" src "$NET.$((90 + i))"
        done
        i=$((i + 1))
    done
}
sea_oneway() { # "FROM TO" "WORDS of ocean.c"
    echo "$1 $2" >"$DIR/sea"
}
sea() { # "A B" "WORDS": both ways
    sea_oneway "$1" "$2"
    sea_oneway "${1#* } ${1% *}" "$2"
}
sea_count() { # file: from to frames bytes lost
    rm -f "$1"
    echo "count $1" >"$DIR/sea"
    wait_quietly test -s "$1"
}

machines() { # "m0 s0 s1+ r0", "m0@eu r0@us": they exist, nothing runs there
    local m
    hub_up
    MACHINES=
    # shellcheck disable=SC2086
    shores $1
    for m in $1; do
        plug "$m"
        MACHINES="$MACHINES ${m%%[@+]*}"
    done
    if [ -n "$REGIONS" ]; then stand_at_shores; else plug o0; fi
    MACHINES="$MACHINES o0"
    for m in $LINKS; do
        case $m in sea) wait_quietly test -p "$DIR/sea" ;; *) wait_quietly test -p "$DIR/cable.$m" ;; esac
    done
    R=http://$(addr r0):8080 R2=http://$(addr r1):8080 A=http://$(addr m0):7071
}

of_kind() { # kind -> names of machines
    local m
    for m in $MACHINES; do [ "$(kind "$m")" = "$1" ] && echo "$m"; done
}

wait_quietly() { # 20 s and some patience, no claim
    local end=$(($(now_ms) + 20000 * ${PATIENCE:-5}))
    until "$@"; do
        [ "$(now_ms)" -lt "$end" ] || give_up "never: $*"
        sleep 0.05
    done
}

# ---- the cluster --------------------------------------------------------------------

# OLDER="r1 s0" OLDER_BIN=DIR: on these machines the programs of another release, in any story.
bin_of() { case " ${OLDER:-} " in *" $1 "*) echo "$OLDER_BIN" ;; *) echo "$BIN" ;; esac; }
program_of() { case $(kind "$1") in m) echo mng_cluster ;; s) echo seg_cluster ;; t) echo task_cluster ;; r) echo rt_cluster ;; esac }

manager_list() { # as YAML
    local m sep=
    for m in $(of_kind m); do
        printf "%s'%s:7070'" "$sep" "$(addr "$m")"
        sep=', '
    done
}

# One supervisor's file out of what local.sh wrote for this kind: other addresses.
write_machine() { # machine listen-port admin-port
    local a from managers=
    a=$(addr "$1") from=$C/config/$(program_of "$1").yaml
    [ "$(kind "$1")" = m ] || managers=$(manager_list)
    sed -e "s|^name: .*|name: $1|" -e "s|^children: .*|children: 1|" \
        -e "s|^listen: .*|listen: $a:$2|" -e "s|^admin: .*|admin: $a:$3|" \
        -e "s|^managers: .*|managers: [$managers]|" -e "/^program:/s|$BIN/|$(bin_of "$1")/|" "$from" >"$C/config/$1.yaml"
    [ -z "$(region_of "$1")" ] || sed -i "s|^set:.*|&\n  - 'region=$(region_of "$1")'|" "$C/config/$1.yaml"
}

write_machines() {
    local m
    for m in $(of_kind m); do write_machine "$m" 7070 7071; done
    for m in $(of_kind s); do write_machine "$m" 7200 7300; done
    for m in $(of_kind t); do write_machine "$m" 7400 7500; done
    for m in $(of_kind r); do write_machine "$m" 8080 7100; done
    if [ -n "$(of_kind d)" ]; then
        sed -i "s|127.0.0.1:6379|$(addr d0):6379|" "$C/config/queuemng.yaml"
        sed -i -e "s|^bind .*|bind $(addr d0)|" "$C/secrets/redis.conf"
    fi
}

# shim MACHINE...: before cluster_up: shim.so goes into its processes; `shim_set s0 clock 3600`
# and the like change what it does, `shim_set s0 clock ""` ends it.
shim() {
    local m
    [ -e "$BIN/../chaos/shim.so" ] || give_up "no shim.so (make bins builds it)"
    for m in "$@"; do mkdir -p "$DIR/shim.$m"; done
}
shim_env() { # machine -> what its processes have in their environment
    [ ! -d "$DIR/shim.$1" ] || echo "LD_PRELOAD=$BIN/../chaos/shim.so SEGQ_SHIM=$DIR/shim.$1" \
        "ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
}
shim_set() { # machine what how: at once
    echo "$3" >"$DIR/shim.$1/$2.new"
    mv "$DIR/shim.$1/$2.new" "$DIR/shim.$1/$2"
}

boot() { # machine...: its supervisor (Redis) is started
    local m
    for m in "$@"; do
        if [ "$(kind "$m")" = d ]; then
            on "$m" redis-server "$C/secrets/redis.conf"
        else
            # shellcheck disable=SC2046
            on "$m" setsid env $(shim_env "$m") "$(bin_of "$m")/$(program_of "$m")" -c "$C/config/$m.yaml" </dev/null \
                >>"$C/logs/$m.log" 2>&1 &
        fi
    done
}

child_pid() { # m0 -> pid of m0.0
    awk -F'[:,]' '/^   "pid"/ { gsub(/ /, "", $2); print $2; exit }' "$C/state/$1.status.json" 2>/dev/null
}
pid_of() { # s0 (its supervisor), s0.0 (the process)
    case $1 in
    d*) cat "$C/state/redis.pid" ;;
    *.*) child_pid "${1%.*}" ;;
    *) sed -n 's/^ "pid": \([0-9]*\),*$/\1/p' "$C/state/$1.status.json" 2>/dev/null ;;
    esac
}

router_url() { echo "http://$(addr "$1"):8080"; }
ready() { # router...: they reach every segment node
    local r
    for r in "$@"; do
        http "$(router_url "$r")/readyz" |
            jq -e --argjson n "$(of_kind s | wc -l)" '.ready and .segment_nodes_up == $n' >/dev/null || return 1
        [ "$(status_of "$(router_url "$r")/v1/queues/login")" = 200 ] || return 1
    done
}

# Restarted processes are dialled again soon, and nobody's place times out by default. Who
# does not come is not made up for: the history judges the rate by those who are seen to come.
cluster_up() { # options of local.sh
    local more= tasks
    [ -n "$(of_kind d)" ] && more="--redis 6379"
    tasks=$(of_kind t | wc -l)
    [ "$tasks" = 0 ] || more="$more --task-nodes $tasks"
    # shellcheck disable=SC2086
    "$root/deploy/local.sh" config --dir "$C" --base-port 7000 --bin "$BIN" $more \
        --set poll_min=400ms --set poll_max=1s --set no_show_boost=1 "$@" >"$DIR/up.log" 2>&1 ||
        { cat "$DIR/up.log"; give_up "no configuration"; }
    write_machines
    # shellcheck disable=SC2046
    boot $(of_kind d) $(of_kind m) $(of_kind s) $(of_kind t) $(of_kind r)
    # shellcheck disable=SC2046
    wait_for 60 "the cluster is up:$MACHINES" ready $(of_kind r)
}

everybody() { # pids: supervisors first
    local m
    for m in $MACHINES; do [ "$(kind "$m")" != o ] && pid_of "$m"; done
    for m in $MACHINES; do case $(kind "$m") in m | s | t | r) pid_of "$m.0" ;; esac; done
}
gone_all() { local p; for p in "$@"; do ! runs "$p" || return 1; done; }

# Also those that were stopped; whoever does not end is a failure, and is ended.
cluster_down() {
    local all end
    all=$(everybody 2>/dev/null)
    # shellcheck disable=SC2086
    [ -z "$all" ] || { kill -CONT $all; kill -TERM $all; } 2>/dev/null
    end=$(($(now_ms) + 15000 * ${PATIENCE:-5}))
    # shellcheck disable=SC2086
    until gone_all $all; do
        [ "$(now_ms)" -lt $end ] || { kill -KILL $all 2>/dev/null; return 1; }
        sleep 0.05
    done
}

admin_token() { cat "$C/secrets/admin.token"; }
metric() { # machine name -> sum over its samples
    local port
    case $(kind "$1") in m) port=7071 ;; s) port=7300 ;; t) port=7500 ;; r) port=7100 ;; esac
    http "http://$(addr "$1"):$port/metrics" |
        awk -v n="$2" '$1 == n || index($1, n "{") == 1 { s += $2; k = 1 } END { if (k) printf "%.0f\n", s }'
}

# ---- faults -------------------------------------------------------------------------

dead=02:00:00:00:de:ad # nobody's: what is sent there is heard by nobody
cut_oneway() { # FROM TO
    on "$1" ip neigh replace "$(addr "$2")" lladdr $dead dev eth0 nud permanent
}
cut() { # A B, both ways
    cut_oneway "$1" "$2"
    cut_oneway "$2" "$1"
}
heal() {
    local m
    for m in $MACHINES; do on "$m" ip neigh flush nud permanent; done
}
slow() { # machine "delay=MS loss=SHARE rate=BYTES_PER_S"
    echo "$2" >"$DIR/cable.$1"
}
stop() { kill -STOP "$(pid_of "$1")"; }
cont() { kill -CONT "$(pid_of "$1")"; }
kill9() { kill -KILL "$(pid_of "$1")"; }

# ---- tasks --------------------------------------------------------------------------

# In place of those of a cluster on one machine (tests/sys/lib.sh).
router_urls() { local r; for r in $(of_kind r); do router_url "$r"; done; }

# ---- the observer -------------------------------------------------------------------

# People come from now on, to all routers; options of observer.py come after the defaults.
observe() {
    local r routers=()
    for r in $(of_kind r); do routers+=(--router "$(router_url "$r")"); done
    phase calm
    helper_on o0 python3 "$chaos/observer.py" "${routers[@]}" --history "$HISTORY" "$@"
    OBSERVER=$H
}
phase() { # name: the history says from when on
    local up
    read -r up _ </proc/uptime
    echo "{\"phase\": \"$1\", \"t\": $up}" >>"$DIR/phases.jsonl"
}
# People who got something since the phase began: answered WHAT (join, poll) STATUS MIN
answered() {
    local since
    since=$(tail -1 "$DIR/phases.jsonl" | jq .t)
    [ "$(tail -n 20000 "$HISTORY" 2>/dev/null | jq -r --argjson t "$since" --arg op "$1" \
        --argjson s "$2" 'select(.t0 >= $t and .op == $op and .status == $s) | .who' 2>/dev/null |
        wc -l)" -ge "$3" ]
}
lasts() { # seconds of this phase, counted by the history's clock
    local up
    read -r up _ </proc/uptime
    awk -v u="$up" -v t="$(tail -1 "$DIR/phases.jsonl" | jq .t)" -v n="$1" 'BEGIN { exit !(u - t >= n) }'
}
registrations() { cat "$C"/logs/m*.0.log | grep -c "event=node_registered node=\"*$1"; }
registered() { [ "$(registrations "$1")" -ge "$2" ]; } # s0.0 TIMES: at a manager
# For the phase to come, positions are up to date: two seconds, in which everybody is told.
settle() { phase settling; wait_for 30 "$1" lasts 2; }
hold() { wait_for $(($1 + 20)) "$1 s in this state" lasts "$1"; }

# Nobody comes any more; everybody who ever joined is asked for once more; the verdict.
observe_end() { # options of check_history.py
    local end name n rc text
    kill -TERM "$OBSERVER"
    end=$(($(now_ms) + 120000 * ${PATIENCE:-5}))
    while runs "$OBSERVER"; do
        [ "$(now_ms)" -lt $end ] || give_up "the observer does not end"
        sleep 0.1
    done
    wait "$OBSERVER"
    rc=$?
    check_eq "the observer ends well: $(tail -1 "$DIR/helper.log")" $rc 0
    python3 "$chaos/check_history.py" --phases "$DIR/phases.jsonl" "$@" "$HISTORY" >"$DIR/verdict"
    grep -q '^claim' "$DIR/verdict" || give_up "no verdict: $(tail -3 "$DIR/verdict" "$DIR/helper.log")"
    grep -v '^claim' "$DIR/verdict" | sed "s/^/     $NAME: /"
    while IFS=$'\t' read -r _ name n text; do
        if [ "$n" = 0 ]; then ok "history: $name: $text"; else fail "history: $name: $n times: $text"; fi
    done < <(grep '^claim' "$DIR/verdict")
}
