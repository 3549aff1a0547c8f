#!/bin/bash
# demo.sh: a launch night of two minutes, against the cluster that `make run` started. 100 000
# simulated players come faster than the queue `login` lets them in, so there is a line. While
# it goes down a segment node is killed, one is added, the rate is halved and raised, and a
# message is said. A line of words each second; at the end a judgement, also in demo.json.
# Then, and also after Ctrl-C, the queue and the nodes are as they were.
#   PLAYERS=N  RATE=N (let in per second)  ARRIVE_S=N  RUN_DIR=DIR  BIN=DIR
#   CALM=1     nothing is killed, added or changed
set -u
cd "$(dirname "$0")/.." || exit 1
dir=${RUN_DIR:-run}
bin=${BIN:-build/rel/bin}
players=${PLAYERS:-100000} rate=${RATE:-1000} arrive_s=${ARRIVE_S:-15} calm=${CALM:-}
message="segq's demo: the line goes on while a node is killed, and nobody loses a place."
die() { echo "demo: $*" >&2; exit 1; }
ctl() { "$bin/segqctl" --dir "$dir" "$@"; }

[ -f "$dir/cluster.json" ] || die "no cluster here ($dir/cluster.json): start one with 'make run' in another shell"
flat=$(tr -d '\n ' <"$dir/cluster.json")
routers=$(sed 's/.*"router":\[\([^]]*\)\].*/\1/' <<<"$flat" | tr -d '"' | tr ',' '\n' | sed 's/^/--router /')
admin=$(sed 's/.*"admin":"\([^"]*\)".*/\1/' <<<"$flat")
token=$(sed 's/.*"admin_token":"\([^"]*\)".*/\1/' <<<"$flat")
port=$((${admin##*:} - 1)) # local.sh's; its 20th segment node is the one that is added
own=$dir/demo
(umask 077 && mkdir -p "$own" && printf %s "$token" >"$own/token")

# ---- words ------------------------------------------------------------------------------

begun=$(date +%s)
say() { printf '%4d s  %s\n' $(($(date +%s) - begun)) "$*"; }
grouped() { sed -E ':a; s/([0-9])([0-9]{3})($| )/\1 \2\3/; ta' <<<"$1"; } # 78175 -> 78 175
since() { # a moment in ns -> "312 ms", "4.1 s"
    local ms=$((($(date +%s%N) - $1) / 1000000))
    [ $ms -lt 1000 ] && echo "$ms ms" || printf '%d.%d s\n' $((ms / 1000)) $((ms % 1000 / 100))
}
of_lane() { sed -nE "s/.*\"lanes\":\[\{[^[]*\"$1\":(-?[0-9]+).*/\1/p" <<<"$2"; } # its sum over segments, which stand behind
key() { # name -> its value in the queue's definition, not in an object of it
    tr -d '\n' <<<"$queue" | sed -E 's/^\{(.*)\}$/\1/; :a; s/\{[^{}]*\}//; ta' |
        sed -nE "s/.*\"$1\": *\"?([^\",}]*).*/\1/p"
}
look() { ctl --json status login | tr -d '\n '; }
node_of() { grep -o "{\"name\":\"$2\",\"no\":[^}]*}" <<<"$1"; } # a look, a name

let_in= let_in_at=
second() { # what a look says, in words
    local now waiting all last at=$(($(date +%s%N) / 1000000)) rest=
    now=$(look) || return
    waiting=$(of_lane waiting "$now") all=$(of_lane released "$now") last=$(of_lane eta_last_s "$now")
    [ -n "$waiting$all" ] || return
    [ -z "$let_in" ] || rest=", $(grouped $(((all - let_in) * 1000 / (at - let_in_at))))/s go in"
    [ "${last:-0}" -le 0 ] || rest+=", the last one in $(grouped "$last") s"
    let_in=$all let_in_at=$at
    say "$(grouped "$waiting") wait$rest"
}

# ---- what happens meanwhile -------------------------------------------------------------

nap() { # seconds; ends with the process that naps
    sleep "$1" &
    trap 'kill $! 2>/dev/null; exit' TERM
    wait $!
}
go_on() { nap "$(awk "BEGIN { print $players / $rate / 10 }")"; } # for a tenth of the night

kill_a_node() {
    local now node was pid t
    now=$(look)
    # the one with the most people
    node=$(grep -oE '"name":"[^"]*","no":[^}]*"tickets":[0-9]+' <<<"$now" | grep '"up":true' |
        sed -E 's/"name":"([^"]*)".*:/\1 /' | sort -k 2nr | sed '1s/ .*//;q')
    pid=$(deploy/local.sh status --dir "$dir" --bin "$bin" | awk -v n="$node" '$1 == n && $3 == "up" { print $2 }')
    [ -n "$pid" ] || { say "no segment node of this cluster was found: none is killed"; return; }
    was=$(node_of "$now" "$node" | grep -o '"incarnation":[0-9]*')
    t=$(date +%s%N)
    kill -KILL "$pid"
    say "KILLED $node (kill -9, pid $pid)"
    until now=$(look) && grep -q '"up":true' <<<"$(node_of "$now" "$node")" &&
        ! grep -q "$was\|\"reachable\":false\|\"state\":\"lost\"\|\"state\":\"rebuilding\"" <<<"$now"; do
        sleep 0.05
    done
    say "$node has its whole line again: $(since "$t") without it"
}

add_a_node() {
    local t log=$dir/demo/segment.log
    cat >"$own/seg_cluster.yaml" <<EOT
# written by demo.sh
name: added
program: '$bin/segment'
config: '$dir/config/segment.yaml'
listen: 127.0.0.1:$((port + 69))
admin: 127.0.0.1:$((port + 89))
managers: [127.0.0.1:$port]
state_dir: '$own'
log_dir: '$own'
EOT
    t=$(date +%s%N)
    "$bin/seg_cluster" -c "$own/seg_cluster.yaml" 2>>"$log" &
    echo $! >"$own/added"
    until node_of "$(look)" added.0 | grep -q '"up":true'; do
        kill -0 "$(cat "$own/added")" 2>/dev/null || { say "the node does not start: $(tail -n 1 "$log")"; return; }
        sleep 0.05
    done
    say "ADDED a segment node: after $(since "$t") it is one of the cluster's"
}

take_away() { # the node that was added: what it has goes to others first
    local pid i
    pid=$(cat "$own/added")
    if kill -0 "$pid" 2>/dev/null; then
        ctl drain added.0 >/dev/null
        for ((i = 0; i < 150; i++)); do
            node_of "$(look)" added.0 | grep -q '"segments":0,' && break
            sleep 0.2
        done
        kill -TERM "$pid"
        while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
        ctl --yes forget added.0 >/dev/null
    fi
    rm -f "$own/added"
}

night() {
    nap "$arrive_s"
    [ -n "$own_message" ] || { ctl message login "$message" >/dev/null && say "SAID on everybody's page: $message"; }
    go_on
    kill_a_node
    go_on
    add_a_node
    go_on
    ctl rate login $(((rate + 1) / 2)) >/dev/null && say "HALVED the rate: $(grouped $(((rate + 1) / 2)))/s"
    go_on
    ctl rate login "$rate" >/dev/null && say "RAISED it again: $(grouped "$rate")/s"
}

# ---- the queue and the nodes are as they were -------------------------------------------

swarm= acts=
restore() {
    trap '' INT TERM
    [ -z "$acts" ] || { kill "$acts" 2>/dev/null; wait "$acts" 2>/dev/null; }
    [ -z "$swarm" ] || { kill -TERM "$swarm" 2>/dev/null; wait "$swarm"; }
    if [ "$was" = 0 ]; then set -- rate login limits; else set -- rate login "$was"; fi
    ctl "$@" >/dev/null || echo "demo: the queue keeps the demo's rate: $bin/segqctl --dir $dir $*" >&2
    [ -n "$calm$own_message" ] || ctl message login >/dev/null ||
        echo "demo: the queue keeps the demo's message: $bin/segqctl --dir $dir message login" >&2
    rm -f "$own/token"
    [ ! -f "$own/added" ] || take_away
}
[ ! -f "$own/added" ] || take_away # of a demo that was killed
queue=$(ctl --json queue show login) || die "the cluster does not answer: is 'make run' still there?"
[ "$(key state)" = open ] || die "login is $(key state): $bin/segqctl --dir $dir open login (or resume login)"
[ "$(key mode)" = rate ] || die "login has slots: $bin/segqctl --dir $dir queue set login mode=rate"
was=$(key release_per_s)
was=${was%.0}
own_message=$(tr -d '\n' <<<"$queue" | sed -nE 's/.*\}, *"message": *"([^"]*)".*/\1/p') # (the one before it is the page's)
trap restore EXIT
trap 'exit 130' INT TERM
ctl rate login "$rate" >/dev/null || die "the rate cannot be set"

# ---- the players -------------------------------------------------------------------------

# Who joins an empty line is answered when he is let in, and has his connection until then.
conns=$(ulimit -Hn)
[ "$conns" != unlimited ] && [ "$conns" -lt 4200 ] && conns=$((conns - 200)) || conns=4000
cat <<EOT
Watch it: $admin/#token=$token
          (or $bin/segqctl --dir $dir watch login)

$(grouped "$players") players come within $arrive_s s, $(grouped "$rate") a second are let in; Ctrl-C ends it.

EOT
# shellcheck disable=SC2086
"$bin/swarm" $routers --admin "$admin" --admin-token-file "$own/token" --queue login --conns "$conns" \
    --players "$players" --arrive-s "$arrive_s" --until-admitted --quiet \
    --max-s $((2 * players / rate + arrive_s + 60)) --json "$dir/demo.json" >"$own/report" &
swarm=$!
[ -n "$calm" ] || { night & acts=$!; }
while sleep 1 && kill -0 $swarm 2>/dev/null; do second; done
wait $swarm
rc=$?
swarm=

# ---- the judgement -----------------------------------------------------------------------

r=$(tr -d '\n ' <"$dir/demo.json" 2>/dev/null) || die "there is no report ($dir/demo.json)"
of() { grep -oE "\"$1\":[0-9]+" <<<"$r" | head -n 1 | grep -oE '[0-9]+$'; }
verdict() { # figure, words if it is 0, words if it is not
    local n
    n=$(of "$1")
    if [ "${n:-1}" = 0 ]; then echo "  yes  $2"; else echo "  NO   $3: ${n:-not known}"; fi
}
echo
echo "$(grouped "$(of admitted)") of $(grouped "$players") were let in after $(of seconds) s; at most $(grouped "$(of most_waiting)") stood in line."
verdict order_violations "the order of entry was the order of arrival" "let in before somebody who came earlier"
verdict positions_grew "no place grew while somebody waited" "places that grew"
verdict double_admissions "nobody was let in twice" "let in twice"
verdict lost_tickets "nobody lost a place" "lost their place"
[ "$rc" != 3 ] || echo "  NO   not all were let in within the time"
echo "Figures: $own/report and $dir/demo.json"
exit $rc
