# procs.sh: words of the scenarios in which processes die, and are started again by their
# supervisors. Read after lib.sh.
#
#   another P PID       P runs, and is not PID any more
#   kill_now P          kill -9, and the claim that another one is started
#   a_moment MS         up to so long passes: what it hits is up to chance. The fault's own
#                       schedule; nobody waits for anything with it
#   cut_power M         a segment node's machine loses power: kill -9 of all, and what was not
#                       synced is gone. Needs `shim M` and `own_boot_id` before the cluster
#   nodes_of WHICH      head, tail or middle: the segment nodes that have that part of the line

another() { # s0.0 PID
    local p
    p=$(pid_of "$1")
    [ -n "$p" ] && [ "$p" != 0 ] && [ "$p" != "$2" ] && runs "$p"
}
kill_now() { # s0.0
    local old
    old=$(pid_of "$1")
    kill -KILL "$old"
    wait_for 40 "$1 is killed, and started again" another "$1" "$old"
}
a_moment() { # milliseconds
    local ms=$((RANDOM % $1))
    sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
}

# The chain from the first to the last: those before the first who waits are nobody's.
nodes_of() {
    segments | awk -v w="$1" '{ n++; node[n] = $4; if (!head && $3 > 0) head = n }
        END { if (!head) exit
            if (w == "head") print node[head]
            if (w == "tail") print node[n]
            if (w == "middle") for (i = head + 1; i < n; i++) print node[i] }'
}
one_of() { nodes_of "$1" | grep . | shuf -n 1; } # empty: nobody has it now
there_is() { [ -n "$(one_of "$1")" ]; }

# kill_part WHICH TIMES: that often, at a random moment, whoever has that part then; each time
# until that node is with the manager again, and people are answered as before.
kill_part() {
    local i node n
    for ((i = 1; i <= $2; i++)); do
        wait_for 60 "$1, $i: somebody has it" there_is "$1"
        a_moment 800
        node=$(one_of "$1")
        [ -n "$node" ] || continue
        n=$(registrations "$node")
        kill_now "$node"
        wait_for 60 "$node registers again" registered "$node" $((n + 1))
    done
}

# The kernel's name for a start of the machine: ours to change, in here.
own_boot_id() {
    cat /proc/sys/kernel/random/uuid >"$DIR/boot_id"
    mount --bind "$DIR/boot_id" /proc/sys/kernel/random/boot_id || give_up "no boot_id of our own"
}
LOST_BYTES=0 # by all power cuts
cut_power() { # s0 [phase that begins with it]
    local f size kept n both
    n=$(registrations "$1.0")
    both="$(pid_of "$1") $(pid_of "$1.0")"
    # shellcheck disable=SC2086
    kill -KILL $both
    # shellcheck disable=SC2086
    wait_for 40 "$1 has no power" gone_all $both
    [ -z "${2:-}" ] || phase "$2"
    for f in "$C/state/journal/$1.0"/{log,snap}-*; do
        [ -e "$f" ] || continue
        size=$(stat -c %s "$f")
        kept=$(cat "$DIR/shim.$1/size.$(stat -c %i "$f")" 2>/dev/null || echo 0)
        [ "$kept" -lt "$size" ] || continue
        truncate -s "$kept" "$f"
        LOST_BYTES=$((LOST_BYTES + size - kept))
    done
    cat /proc/sys/kernel/random/uuid >"$DIR/boot_id"
    boot "$1"
    wait_for 60 "$1 registers again" registered "$1.0" $((n + 1))
}
