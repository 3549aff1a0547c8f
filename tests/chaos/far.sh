# far.sh: rows of F64: one router beside its line, one with an ocean between, and what people at both
# see (far.py). Read after lib.sh.
#
#   far_up MS [options]   a cluster of two regions, with so wide an ocean between them
#   far_row MS "WORDS" [options of far.py]   the ocean is so wide, one way, and has those words
#                         (ocean.c: loss=0.01); --named: half of the joins wait for a second node's word
#
# Ratios and times are judged where this machine is quiet, and else skipped: people beside the line
# measure its noise, too.

tcp() { # TCP of an ocean's links, as docs/regions.md advises; reno where namespaces may not have cubic
    local m by
    for m in $MACHINES; do
        [ "$m" != o0 ] || continue # looks on from each shore
        for by in cubic reno; do
            ! on "$m" sysctl -qw net.ipv4.tcp_congestion_control=$by 2>/dev/null || break
        done
        on "$m" sysctl -qw net.ipv4.tcp_slow_start_after_idle=0 &&
            on "$m" ip route change "$NET.0/24" dev eth0 initcwnd 100 initrwnd 100 ||
            give_up "no TCP for an ocean at $m"
    done
}

far_up() {
    machines "m0@eu s0@eu s1@eu r0@eu r1@us"
    tcp
    wide="$1 ms" # of the ocean, and its words
    sea "eu us" "delay=$1"
    shift
    cluster_up --release-per-s 10 --set poll_min=1s --set poll_max=1s --set direct_entry=false "$@"
}

of() { jq ".$1" "$DIR/far.json"; }
at_most() { # "claim" GOT LIMIT
    if [ "$quiet" -le 13 ]; then
        check "$1: $2 ms, at most $3" awk -v a="$2" -v b="$3" 'BEGIN { exit !(a <= b) }'
    else
        skip "$1: $2 ms, at most $3 on a quiet machine; this one takes $quiet tenths of its time"
    fi
}
sum() { awk "BEGIN { printf \"%.1f\\n\", $1 }"; }

far_row() { # MS WORDS [options of far.py]
    local ms=$1 words=$2 row="$1 ms${2:+, $2}${3:+, $3}" before again=0
    shift 2
    [ -z "$words" ] || again=$((6 * ms + 300)) # what is lost once or twice is said again
    if [ "$wide" != "$ms ms$words" ]; then
        wide="$ms ms$words"
        sea "eu us" "delay=$ms $words"
        phase "$row"
        kill "$(pid_of r1.0)" # its links begin anew: TCP takes a way that grows for lost packets
        hold 11 # routers know the least way of the last five to ten seconds
    fi
    wait_for 30 "$row: both routers reach the line" ready r0 r1
    before=$(slowness)
    on r1 "$chaos/far.py" --round-trip "$(addr s0):7300" >"$DIR/trip" &
    "$chaos/far.py" --near "$(router_url r0)" --far "$(router_url r1)" --listen "$@" >"$DIR/far.json" || give_up "$row: nobody is let in"
    wait $!
    quiet=$(slowness)
    quiet=$((quiet > before ? quiet : before))
    echo "     $(cat "$DIR/far.json")"
    check "$row: a round trip takes $(cat "$DIR/trip") ms" awk -v t="$(cat "$DIR/trip")" -v ms=$ms 'BEGIN { exit !(t >= 2 * ms) }'
    # half a millisecond: what a clock outside, in one process, cannot tell apart
    at_most "$row: polls p99 far away, 1.2 times those near" "$(of far.poll_p99)" "$(sum "1.2 * $(of near.poll_p99) + 0.5")"
    at_most "$row: a join takes a round trip, 2 ms, and what it takes near" "$(of far.join_p50)" \
        "$(sum "(1 + ($again > 0)) * $(cat "$DIR/trip") + 2 + $(of near.join_p50)")"
    [ "${1:-}" != --named ] || at_most "$row: ... nine of ten do" "$(of far.join_p90)" \
        "$(sum "$(cat "$DIR/trip") + 5 + $(of near.join_p90)")"
    at_most "$row: a poll knows of a release after one way and two ticks (polls are 100 ms apart)" "$(of far.late_max)" \
        "$(sum "$ms + 200 + 100 + $again + $(of near.poll_p99)")"
    at_most "$row: who listens has the pass after one way and two ticks (nine of ten)" "$(of far.heard_p90)" \
        "$(sum "$ms + 200 + $again + $(of near.poll_p99)")"
    at_most "$row: ... everybody after three ways and two ticks" "$(of far.heard_max)" \
        "$(sum "3 * $ms + 200 + $again + $(of near.poll_p99)")"
    check "$row: everybody is let in, and no poll crosses the ocean: half take $(of far.poll_p50) ms" \
        jq -e ".far.poll_p50 < $ms" "$DIR/far.json" >/dev/null
}
