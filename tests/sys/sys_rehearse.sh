#!/bin/bash
# Is a rehearsal true? A cluster lets in 2000 players (PEOPLE; at night 20 000) at a fixed rate; the same
# night is rehearsed with the definition that the cluster exports. Waits by percentile agree within 5 % and
# half a second, polls within 5 %. CPU, of another crowd with the costs measured in this one, within 25 %,
# where the machine had little else to do in all of that time: else it says what it had, and is skipped.
. "$(dirname "$0")/lib.sh"

[ -x "$BIN/swarm" ] || give_up "no swarm beside the other programs"
PEOPLE=${PEOPLE:-2000} ARRIVE_S=${ARRIVE_S:-4} RATE=${RATE:-100}
up --routers 2 --seg-nodes 2 --capacity 700 --release-per-s "$RATE" --set segment.audit_dir="$DIR/trail"
admin_token | tr -d '\n' >"$DIR/token"

rehearsed() { jq -e ".rehearsals[0].$1" "$DIR/night.json"; }
cpu_s() { # admin ports' offsets: seconds of CPU of these processes together
    local i
    for i; do http "http://127.0.0.1:$((PORT + i))/metrics"; done |
        awk '/^process_cpu_seconds_total/ { s += $2 } END { print s }'
}
# Ticks of the whole machine but idle ones and those of others that step back (nice); and those
# of this story: its processes, and what it has waited for.
ticks() {
    awk '/^cpu / { print $2 + $4 + $7 + $8 + $9 }' /proc/stat
    for p in $(jq '.pids[]' "$C/cluster.json") $$; do cat "/proc/$p/stat" 2>/dev/null; done |
        sed 's/^.*) //' | awk '{ n += $12 + $13 + $14 + $15 } END { print n + 0 }'
}

used() { # VAR: seconds of CPU of the routers, the nodes, and of time; ticks
    printf -v "$1" '%s %s %s %s' "$(cpu_s 30 31)" "$(cpu_s 70 71)" "$(date +%s.%N)" "$(ticks | tr '\n' ' ')"
}
noise() { # FROM TO (as used): percent of the machine that others had between
    awk -v hz="$(getconf CLK_TCK)" -v n="$(nproc)" '{
        other = $9 - $4 - ($10 - $5)
        printf "%.0f\n", (other > 0 ? other : 0) / hz / ($8 - $3) / n * 100 }' <<<"$1 $2"
}

used before
crowd --router "$R2" --players "$PEOPLE" --arrive-s "$ARRIVE_S" --repeat 0 --until-admitted --max-s 240
judge_crowd "all were let in"
used after
"$BIN/segqctl" --dir "$C" export >"$DIR/night.yaml"
cat >>"$DIR/night.yaml" <<END
for: 3m
crowd:
  arrivals: [{ at: 0, per_s: $((PEOPLE / ARRIVE_S)) }, { at: ${ARRIVE_S}s, per_s: $((PEOPLE / ARRIVE_S)) }]
  client: game
  patience: { kind: none }
  no_shows: 0
  stay: { kind: fixed, mean: 1h }
backend: { crash_above: 0 }
END
check "the cluster's own definition is rehearsed" sh -c \
    "'$BIN/segqctl' rehearse '$DIR/night.yaml' --json --html '$DIR/night.html' >'$DIR/night.json'"
check_eq "all are let in there, too" "$(rehearsed admitted)" "$PEOPLE"
check_eq "and every promise is kept" "$(rehearsed 'promises | map(select(.kept | not)) | length')" 0

agrees() { # "which" KEY-OF-SWARM KEY-OF-THE-REHEARSAL
    local real said
    real=$(jq ".wait.$2 / 1e6" "$DIR/swarm.json")
    said=$(rehearsed "all.$3")
    check "$1: $real s, rehearsed $said s" awk -v a="$real" -v b="$said" \
        'BEGIN { d = a > b ? a - b : b - a; exit !(a > 0 && b > 0 && d <= 0.5 + 0.05 * a) }'
}
agrees "half of them wait" p50_us wait_p50_s
agrees "99 % wait" p99_us wait_p99_s
agrees "the longest wait" max_us wait_max_s
# The same night from the audit trail: the people that it had, and what they had, beside.
sed '/arrivals:/d' "$DIR/night.yaml" >"$DIR/again.yaml"
written() { [ "$(cat "$DIR"/trail/*/audit-*.jsonl | grep -c '"event":"admitted"')" = "$PEOPLE" ]; }
wait_for 10 "the trail has all admissions" written
check "the night is rehearsed from the trail" sh -c \
    "'$BIN/segqctl' rehearse '$DIR/again.yaml' --from-audit '$DIR/trail' --json >'$DIR/again.json'"
check_eq "its people are those of the trail" "$(jq '.rehearsals[0] | .people, .all.past.in' "$DIR/again.json" | tr '\n' ' ')" "$PEOPLE $PEOPLE "
for key in wait_p50_s wait_p95_s wait_max_s; do
    check "$key: rehearsed, and that night: $(jq -c "[.rehearsals[0].all.$key, .rehearsals[0].all.past.$key]" "$DIR/again.json")" \
        jq -e ".rehearsals[0].all | (.$key - .past.$key) | fabs <= 0.5 + 0.05 * $(jq ".rehearsals[0].all.past.$key" "$DIR/again.json")" "$DIR/again.json"
done
"$BIN/segqctl" rehearse "$DIR/again.yaml" --from-audit "$DIR/none" >"$DIR/out" 2>&1
rc=$?
check_eq "a folder that is not there is refused: $(cat "$DIR/out")" "$rc" 2
within() { # "what" REAL REHEARSED PERCENT
    check "$1: $2, rehearsed $3" awk -v a="$2" -v b="$3" -v p="$4" \
        'BEGIN { d = a > b ? a - b : b - a; exit !(a > 0 && d <= a * p / 100) }'
}
within "polls" "$(jq .polls "$DIR/swarm.json")" "$(rehearsed polls)" 5
[ "$PEOPLE" = 2000 ] || exit 0 # the rest does not depend on how many

check "the page is whole and asks for nothing" sh -c "grep -q '</html>' '$DIR/night.html' && ! grep -qE '(src|href)=' '$DIR/night.html'"

"$BIN/segqctl" rehearse "$DIR/night.yaml" --vary rate=1..16000 --find 'wait max < 20s' >"$DIR/found" 2>&1
rc=$?
check_eq "the least rate is found: $(tail -1 "$DIR/found")" "$rc" 0
# the last of 2000 waits 2000 / rate - 4 s at least
check "it is what arithmetic says" grep -qE 'does it: rate=8[3-9]$' "$DIR/found"

# What requests cost is measured, in a cluster that leaves nothing behind, and rehearsed with.
mkdir "$DIR/tmp"
TMPDIR=$DIR/tmp "$BIN/segqctl" measure --for 4 >"$DIR/costs.yaml" 2>"$DIR/out"
rc=$?
check_eq "costs are measured: $(tail -1 "$DIR/out")" "$rc" 0
check_eq "each is a number" "$(grep -cE '^  [a-z_]+_(us|ms): [0-9.e-]+  #' "$DIR/costs.yaml")" 8
check_eq "and more than nothing, but that of polls at the node: the router answers them" \
    "$(grep -v node_poll "$DIR/costs.yaml" | grep -cE '^  [a-z_]+_(us|ms): [0-9.e-]*[1-9]')" 7
starts() { grep -qs event= "$DIR"/tmp/*/router.log; }
for signal in TERM HUP KILL; do
    TMPDIR=$DIR/tmp env --default-signal=HUP "$BIN/segqctl" measure --for 60 >"$DIR/out" 2>&1 & # nohup ignores it
    H=$!
    helpers+=("$H")
    wait_for 10 "another one begins" starts
    if [ $signal != KILL ]; then
        kill -$signal "$H"
    else
        kill -KILL "$(pgrep -P "$H" -f segment.yaml)" # its node
    fi
    wait "$H"
    rc=$?
    check_eq "and is ended by $signal: $(tail -1 "$DIR/out")" "$rc" 1
    check_eq "nothing is left" "$(ls "$DIR/tmp")" ""
done
check "it says who has ended" grep -q '^segqctl: segment has ended' "$DIR/out"
"$BIN/segqctl" rehearse "$DIR/night.yaml" --costs "$DIR/costs.yaml" --vary cluster.poll_us=0,2000 --json >"$DIR/dear.json"
cpu_of_routers() { jq "[.rehearsals[$1].seconds[].cpu[0]] | max" "$DIR/dear.json"; }
check "a rehearsal takes them, and --vary comes behind: routers use $(cpu_of_routers 0), $(cpu_of_routers 1) of a core" \
    jq -e '([.rehearsals[] | [.seconds[].cpu[0]] | max] | .[1] > 5 * .[0]) and (.rehearsals[0].seconds[60].cpu[0] > 0)' "$DIR/dear.json"
sed -i '/join_us/d' "$DIR/costs.yaml"
"$BIN/segqctl" rehearse "$DIR/night.yaml" --costs "$DIR/costs.yaml" >"$DIR/out" 2>&1
rc=$?
check_eq "half a file is refused: $(cat "$DIR/out")" "$rc" 2

# What is wrong is refused with file, line, key, and what is allowed.
refused() { # TEXT-OF-THE-FILE EXPECTED
    local out
    printf '%s\n' "$1" >"$DIR/bad.yaml"
    out=$("$BIN/segqctl" rehearse "$DIR/bad.yaml" 2>&1)
    check_eq "refused: $2" $? 2
    check "it says so: $out" grep -qF -- "$2" <<<"$out"
}
refused $'queues: [{name: a}]\ncrowd:\n  arivals: []' "did you mean arrivals"
refused $'queues: [{name: a}]\ncluster: {routers: 0}\ncrowd: {arrivals: [{at: 0, per_s: 1}]}' "bad.yaml:2"
refused $'queues: [{name: a}]\ncrowd: {arrivals: [{at: 0, per_s: 9}, {at: 5s, per_s: 9}]}\nevents: [{at: 5s, what: kill_node, no: 3}]' \
    "events[0].no"

printf '0,10\n1,10\n3600,10\n' >"$DIR/last.csv"
printf 'for: 1m\nqueues: [{ name: a }]\ncrowd: { arrivals_csv: last.csv }\n' >"$DIR/last.yaml"
"$BIN/segqctl" rehearse "$DIR/last.yaml" >"$DIR/out" 2>&1
check "lines beside the night's file are played, and who comes too late is counted" \
    grep -q '^10 of 30 people come when the night is over' "$DIR/out"
printf '1,5\n' >>"$DIR/last.csv"
"$BIN/segqctl" rehearse "$DIR/last.yaml" >"$DIR/out" 2>&1
rc=$?
check_eq "a line that is not sorted is refused: $(cat "$DIR/out")" "$rc" 2
check "with file and line" grep -q 'last.csv:4: not later' "$DIR/out"

printf 'time,count\n0,5\n1,5\n\0\n2,900\n' >"$DIR/last.csv"
"$BIN/segqctl" rehearse "$DIR/last.yaml" >"$DIR/out" 2>&1
rc=$?
check_eq "a file that is no text is not played to the middle: $(cat "$DIR/out")" "$rc" 2
for key in crowd.queue=a,b for=1m,2m; do
    "$BIN/segqctl" rehearse "$DIR/again.yaml" --from-audit "$DIR/trail" --vary "$key" >"$DIR/out" 2>&1
    rc=$?
    check_eq "what the trail was read with is not varied: $(cat "$DIR/out")" "$rc" 2
done

# A typing error on the line is told by its own words; nothing is played.
mistyped() { # VARY EXPECTED
    local out
    out=$("$BIN/segqctl" rehearse "$root/conf/night.yaml" --vary "$1" 2>&1)
    check_eq "refused: --vary $1" $? 2
    check "it says so: $out" grep -qF -- "segqctl: --vary$2" <<<"$out"
}
mistyped router=1,2 ' router=1,2: no such key; did you mean routers? allowed: routers, nodes, rate, max_active, or one of the file with dots'
mistyped cluster.routres=2,4 ' cluster.routres=2: unknown key "routres"; did you mean routers?'
mistyped routers=0,4 ': cluster.routers: 0 is not allowed here; allowed: '
mistyped rate=200..100 ' rate=200..100: FROM..TO are two numbers, the lower one first'
mistyped routers=2,4, ' routers=2,4,: 1 to 16 values are allowed'

# CPU: a request costs this machine some times what the defaults say, and a second with nobody there
# something. Both are measured, of the crowd and of the time since; then another crowd, half as
# large, must cost what its rehearsal says, with these.
used idle
sed 's/^for: 3m/for: 1m/; s/at: 4s/at: 2s/' "$DIR/night.yaml" >"$DIR/next.yaml"
used next
crowd --router "$R2" --players 1000 --arrive-s 2 --repeat 0 --until-admitted --max-s 60
judge_crowd "the next crowd was let in"
used last
check "the next night is rehearsed" sh -c "'$BIN/segqctl' rehearse '$DIR/next.yaml' --json >'$DIR/next.json'"
within "polls of the next crowd" "$(jq .polls "$DIR/swarm.json")" "$(jq '.rehearsals[0].polls' "$DIR/next.json")" 10
cpu_of() { jq "[.rehearsals[0].seconds[].cpu[$2]] | add" "$DIR/$1.json"; }
cpu_agrees() { # "of what" PLACE-IN-WHAT-WAS-USED PLACES-IN-THE-REHEARSAL
    local times real said
    read -r times real said <<<"$(awk -v k="$2" -v a="$(cpu_of night "$3")" -v b="$(cpu_of next "$3")" '{
        idle = ($(10 + k) - $(5 + k)) / ($13 - $8)
        times = ($(5 + k) - $k - idle * ($8 - $3)) / a
        print times, $(20 + k) - $(15 + k), times * b + idle * ($23 - $18) }' <<<"$before $after $idle $next $last")"
    if [ "$others" -le 10 ]; then
        within "CPU of the $1, at $times times the defaults" "$real" "$said" 25
    else
        skip "CPU of the $1, at $times times the defaults: $real s, rehearsed $said s; others had $others % of the machine"
    fi
}
others=$(for span in "$before/$after" "$after/$idle" "$next/$last"; do noise "${span%/*}" "${span#*/}"; done | sort -n | tail -1)
echo "others had $others % of the machine, at most"
cpu_agrees routers 1 0,1
cpu_agrees "segment nodes" 2 2,3
