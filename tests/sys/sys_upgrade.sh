#!/bin/bash
# Rolling upgrade (PROTOCOL.md section 17): the next release is built from this tree
# (tests/upgrade/next.py: higher numbers, and news in every message, record and journal);
# then, under a crowd, each role is changed over to it, in six orders, as an operator
# does: new files, HUP to the supervisor. Once also one process at a time, with tickets
# moving between old and new nodes; once with two managers and Redis; and once back again.
# Nobody sees more than a 503 that is to be tried again.
#   ORDERS="R S T M"   only these, separated by commas (a sanitizer build, which is slower to
#                    make and to run, has two of the six)
. "$(dirname "$0")/lib.sh"

OLD=$BIN SWARM=$BIN/swarm
FLAVOUR=$(basename "$(dirname "$OLD")")
NEXT=$DIR/next/build/$FLAVOUR/bin
NOW=$DIR/now # what is installed: links to the one or the other
t0=$(now_ms)
"$root/tests/upgrade/next.py" "$FLAVOUR" "$DIR/next" >"$DIR/next.log" 2>&1 || {
    tail -20 "$DIR/next.log"
    give_up "the next release is not built"
}
ok "the next release is built (in $(($(now_ms) - t0)) ms)"
format=$(sed -n 's/^#define JOURNAL_FORMAT \([0-9]*\).*/\1/p' "$root/common/base/versions.h")
mkdir -p "$NOW"
install() { # FOLDER PROGRAM...: turns the links, each at once
    local from=$1 p
    shift
    for p in "$@"; do ln -sfn "$from/$p" "$NOW/$p.new" && mv -T "$NOW/$p.new" "$NOW/$p"; done
}
install "$OLD" router segment task queuemng rt_cluster seg_cluster task_cluster mng_cluster
BIN=$NOW

# ---- what is looked at ------------------------------------------------------------------

program_of() { case $1 in R) echo router ;; S) echo segment ;; T) echo task ;; M) echo queuemng ;; esac; }
children() { # of a role
    case $1 in
    R) echo router.0 router.1 ;;
    S) echo segment.0 segment.1 ;;
    T) echo task.0 ;;
    M) [ -z "$TWO" ] && echo queuemng || echo queuemng queuemng2 ;;
    esac
}
bosses() {
    case $1 in
    R) echo rt_cluster ;;
    S) echo seg_cluster ;;
    T) echo task_cluster ;;
    M) [ -z "$TWO" ] && echo mng_cluster || echo mng_cluster mng_cluster2 ;;
    esac
}
state_of() { # child -> its supervisor's word for it
    "$root/deploy/local.sh" status --dir "$C" --bin "$BIN" | awk -v n="$1" '$1 == n || $1 == n ".0" { print $3; exit }'
}
runs_from() { # FOLDER child...: all of them are up, and that release
    local from=$1 n
    shift
    for n in "$@"; do
        [ "$(readlink "/proc/$(pid_of "$n")/exe")" = "$from/${n%%[0-9.]*}" ] &&
            [ "$(state_of "$n")" = up ] || return 1
    done
}
served() { # by both routers: somebody joins, and is found by the other
    local t
    t=$(join_queue "$R" | token_in)
    [ -n "$t" ] && has_status 200 "$R2/v1/tickets/$t" || return 1
    t=$(join_queue "$R2" | token_in)
    [ -n "$t" ] && has_status 200 "$R/v1/tickets/$t"
}
call() { http -H "Authorization: Bearer $(task_token)" "$@"; }
task_done() { # by both routers: a task is submitted, taken at the other, acknowledged, and seen
    local t lease
    t=$(call -d '{"payload":1}' "$R/v1/queues/news/tasks" | field task)
    lease=$(call -d '{"n":10,"wait":"1s"}' "$R2/v1/queues/news/tasks/take" |
        jq -r --arg t "$t" '.tasks[] | select(.task == $t) | .lease_id')
    [ -n "$lease" ] && call -d "{\"lease_id\":\"$lease\",\"result\":2}" "$R/v1/tasks/$t/ack" >/dev/null
    [ "$(http "$R2/v1/tasks/$t" | field state)" = succeeded ]
}
admins=("$A" "http://127.0.0.1:$((PORT + 3))")
released() { # ever, of all managers: who leads knows
    local a n=0
    for a in "${admins[@]}"; do
        n=$(http "$a/metrics" | awk -v n="$n" '
            $1 == "segq_manager_released_total" && $2 > n { n = $2 } END { printf "%.0f", n }')
    done
    echo "$n"
}
grace_is_77s() { # METHOD [json]: says whoever leads; a standby answers 307 or 409
    local A
    for A in "${admins[@]}"; do
        [ "$(admin "$1" /v1/admin/queues/login "${@:2}" | jq -r '.grace? // empty')" = 77s ] && return
    done
    return 1
}
more_released() { [ "$(released)" -ge $((since + 10)) ]; }
lines() { cat "$C"/logs/*.log | grep -c "$1"; }

# ---- the steps --------------------------------------------------------------------------

goes_on() { # "what": people join and poll, and are let in
    wait_for 60 "$1: people join and poll at both routers" served
    since=$(released)
    wait_for 60 "$1: people are let in" more_released
    wait_for 60 "$1: a task is submitted, taken, done" task_done
}

hup() { # a supervisor; its status may be between two states
    local p
    p=$(pid_of "$1")
    [ -n "$p" ] && kill -HUP "$p"
}
roll() { # FOLDER ROLE "what"
    local b
    install "$1" "$(program_of "$2")"
    for b in $(bosses "$2"); do wait_for 10 "$3: $b is told" hup "$b"; done
    # shellcheck disable=SC2046
    wait_for 90 "$3: $(children "$2" | tr '\n' ' ')are changed over" runs_from "$1" $(children "$2")
    goes_on "$3"
}

# Only what the documents name may have been answered, and nothing that was promised broken.
judge() { # "order"
    local odd
    end_crowd "$1"
    odd=$(jq -r '.status | keys[] | select(test("^(200|201|204|410|503)$") | not)' "$DIR/swarm.json" | tr '\n' ' ')
    check_eq "$1: no answer but good ones and 503" "$odd$(jq .odd "$DIR/swarm.json")" 0
    check_eq "$1: no place is gone" "$(jq .gone "$DIR/swarm.json")" 0
    check "$1: many were let in" test "$(jq .admitted "$DIR/swarm.json")" -ge 40
    check_eq "$1: no link was closed for what was said on it" \
        "$(lines 'bad message\|bad answer\|damaged\|not allowed:\|bad hello\|link key\|speaks protocol')" 0
    check "$1: what an older one did not know it has said, and nobody minded" \
        test "$(lines 'refuses a request: unknown\|event=refused .*unknown')" -gt 0
    check "$1: releases met, and spoke the older one's protocol" \
        test "$(lines 'version=2 speaks=1')" -gt 0
    check_eq "$1: no crash" "$(crashes)" ""
}

begin() { # options of local.sh
    install "$OLD" router segment task queuemng
    up --routers 2 --seg-nodes 2 --task-nodes 1 --capacity 60 --release-per-s 10 "$@"
    crowd --router "$R2" --players 15000 --arrive-s 600 --wait-only --max-s 600 --leave-share 0.3 \
        --repeat 0.3 --reconnect 0.02 --conns 40
    goes_on "$what, before"
    wait_for 20 "$what: the operator changes the queue" grace_is_77s PATCH '{"grace": "77s"}'
}
end() {
    wait_for 20 "$what: what the operator changed is kept" grace_is_77s GET
    judge "$what"
    "$root/deploy/local.sh" down --dir "$C" --bin "$BIN" >/dev/null 2>&1 || fail "$what: the cluster does not end"
}

drained() { [ "$(segments | n_of " $1\$")" = 0 ]; }
move_all_from() { # NODE "what": as for maintenance
    admin POST "/v1/admin/nodes/$1/drain" >/dev/null
    wait_for 90 "$2: everybody on $1 is moved to the other" drained "$1"
    admin POST "/v1/admin/nodes/$1/undrain" >/dev/null
}

# ---- all orders -------------------------------------------------------------------------

TWO=
n=0
all="S R T M,R S M T,T R M S,S M R T,M T R S,M S T R"
! under_asan || all="M T R S,S R T M"
IFS=, read -ra orders <<<"${ORDERS:-$all}"
for order in "${orders[@]}"; do
    what=${order// /}
    n=$((n + 1))
    C=$DIR/c$n
    more=()
    TWO=
    [ "$what" = MTRS ] && TWO=1 more=(--managers 2) # from one leader to the other
    begin "${more[@]}"
    if [ "$what" = SRTM ]; then # one node is new, one is old; tickets move both ways
        install "$NEXT" segment
        kill -TERM "$(pid_of segment.0)"
        wait_for 60 "$what: one node is new" runs_from "$NEXT" segment.0
        check "$what: the other is old" runs_from "$OLD" segment.1
        move_all_from segment.0 "$what, from new to old"
        move_all_from segment.1 "$what, from old to new"
        goes_on "$what, after that"
    fi
    for role in $order; do roll "$NEXT" "$role" "$what, $role"; done
    [ "$n" -lt "${#orders[@]}" ] || break # the last one goes back
    end
done

# ---- and back -----------------------------------------------------------------------------

what="$what and back"
roll "$OLD" M "$what, M"
roll "$OLD" R "$what, R"
roll "$OLD" T "$what, T"
back() { # NODE: its journal is of the next release
    local name="$what, $1"
    admin POST "/v1/admin/nodes/$1/drain" >/dev/null
    wait_for 90 "$name: everybody on it is moved to the other" drained "$1"
    kill -TERM "$(pid_of "$1")"
    refused() { grep -q "was written by a newer segq (format $((format + 1)), this one reads up to $format)" "$C/logs/$1.log"; }
    wait_for 60 "$name: the journal of a newer one is refused, naming both formats" refused "$1"
    mv "$C/state/journal/$1" "$C/$1.journal"
    wait_for 60 "$name: without it the old one starts" runs_from "$OLD" "$1"
    admin POST "/v1/admin/nodes/$1/undrain" >/dev/null
    goes_on "$name"
}
install "$OLD" segment
back segment.0
back segment.1
end
