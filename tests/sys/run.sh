#!/bin/bash
# run.sh [BIN [story...]]: runs the stories, each in its own folder and on its own ports, the
# longest first, side by side as long as the machine has time to spare (most of them mostly
# wait). Ends with the five slowest and "sys: N passed, N failed".
#   STORY_JOBS=N    how many at a time: at most (3 per core)
#   STORY_LIMIT=S   seconds after which a story hangs (1500)
#   PROGRESS=3      a line for each story as it ends, with the time to go, to descriptor 3
# What they take is in seconds.txt: the order follows from it, and the time to go.
set -u
here=$(cd "$(dirname "$0")" && pwd)
bin=${1:-$here/../../build/rel/bin}
[ $# -gt 0 ] && shift
SEGQ_SYS_DIR=$(mktemp -d /tmp/segq-sys.XXXXXX)
export SEGQ_SYS_DIR
alone="bench"   # these measure
rel_only="bench" # what a sanitizer build cannot tell more of
cores=$(nproc) seen=$(grep -c '^cpu[0-9]' /proc/stat) # ours; those of /proc/stat
most=${STORY_JOBS:-$((3 * cores))}
declare -A running=() began=() took=() # pid -> story, story -> when, story -> seconds
declare -A takes=()                    # story -> seconds as in seconds.txt
napper=0
passed=0 failed=0
trap '[ ${#running[@]} -eq 0 ] || kill "${!running[@]}"; exit 130' INT TERM

report() { # story exit-status
    local s=$1 out=$SEGQ_SYS_DIR/$1.out ok bad
    grep -E '^(ok|FAIL) ' "$out"
    ok=$(grep -c '^ok ' "$out")
    bad=$(grep -c '^FAIL ' "$out")
    [ "$2" -eq 0 ] || [ "$bad" -gt 0 ] || { bad=1; echo "FAIL $s: ended with $2"; }
    [ "$ok" -gt 0 ] || [ "$bad" -gt 0 ] || { bad=1; echo "FAIL $s: claimed nothing"; }
    [ "$bad" -eq 0 ] || sed -n '/^---- logs/,$p' "$out"
    took[$s]=$((SECONDS - began[$s]))
    echo "     $s: ${took[$s]} s"
    passed=$((passed + ok))
    failed=$((failed + bad))
    [ -z "${PROGRESS:-}" ] || progress "$s" "$ok" "$bad" >&3
}

# The time to go: what is left in seconds.txt, at the pace so far; in the first minute rather at that
# of a free machine, twice as many seconds of stories in a second as it has cores. (The first to end
# are those that were given up at once.)
progress() { # story passed failed
    local s over=0 left=0 go
    for s in "${!takes[@]}"; do
        if [ -n "${took[$s]:-}" ]; then over=$((over + takes[$s])); else left=$((left + takes[$s])); fi
    done
    go=$((left * (SECONDS + 60) / (over + 60 * 2 * cores)))
    printf '%-36s %5d passed %3d failed  %4ss  %d of %d stories, about %d:%02d to go\n' "$1" "$2" "$3" \
        "${took[$1]}" ${#took[@]} ${#takes[@]} $((go / 60)) $((go % 60))
}

begin() { # story
    began[$1]=$SECONDS
    timeout -k 60 "${STORY_LIMIT:-1500}" "$here/$1.sh" "$bin" >"$SEGQ_SYS_DIR/$1.out" 2>&1 3>&- &
    running[$!]=$1
}

# ---- how many at a time -------------------------------------------------------------

# The hundredths of a second, of all cores together, that the machine has spent, and those
# that nobody wanted: the idle ones, and those of work that steps back for any other (nice).
spent() { awk '/^cpu / { print $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9, $3 + $5 + $6; exit }' /proc/stat; }

# Is a third of the machine free, over the time since the last look? A look back over less
# than a second says nothing.
look_all=0 look_free=0
has_time() {
    local all free part
    read -r all free < <(spent)
    part=$((all - look_all))
    [ "$part" -gt 0 ] && [ "$part" -ge $((100 * seen)) ] || return 1
    part=$(((free - look_free) * 100 / part))
    look_all=$all look_free=$free
    [ "$part" -ge 33 ]
}

may_begin() { # JOBS
    local n=${#running[@]}
    [ "$n" -lt "$1" ] || return 1
    [ "$n" -lt "$cores" ] || has_time
}

# Waits until a story has ended, or a moment.
end_one() {
    local pid= rc
    [ "$napper" != 0 ] || { sleep 1 & napper=$!; }
    wait -n -p pid "${!running[@]}" "$napper"
    rc=$?
    [ -n "$pid" ] || return
    [ "$pid" != "$napper" ] || { napper=0; return; }
    report "${running[$pid]}" $rc
    unset "running[$pid]"
}

run() { # JOBS story...
    local jobs=$1 s
    shift
    for s in "$@"; do
        until may_begin "$jobs"; do end_one; done
        begin "$s"
    done
    while [ ${#running[@]} -gt 0 ]; do end_one; done
}

# ---- which --------------------------------------------------------------------------

with_seconds() { # story...: "SECONDS NAME" without folder and ending, none twice, the longest first
    local s
    for s in "$@"; do s=$(basename "$s" .sh) && echo "sys_${s#sys_}"; done |
        awk 'NR == FNR { if ($1 !~ /^#/) secs[$2] = $1; next }
            !seen[$0]++ { print ($0 in secs ? secs[$0] : 30), $0 }' "$here/seconds.txt" - |
        sort -s -k1,1nr
}
names() { with_seconds "$@" | cut -d ' ' -f 2; }
is_in() { case " $1 " in *" ${2#sys_} "*) ;; *) return 1 ;; esac; }
all() { # that this build is told to run if none are named
    local s
    grep -aq __asan_init "$bin/segment" || rel_only=
    for s in $(names "$here"/sys_*.sh); do is_in "$rel_only" "$s" || echo "$s"; done
}
slowest() { # of those that ran
    local s
    for s in "${!took[@]}"; do echo "${took[$s]} $s"; done | sort -nr | head -5 |
        awk '{ printf "%s%s %d s", (NR > 1 ? ", " : ""), $2, $1 }'
}

[ $# -gt 0 ] || set -- $(all)
together=() last=()
while read -r seconds s; do takes[$s]=$seconds; done < <(with_seconds "$@")
for s in $(names "$@"); do
    if is_in "$alone" "$s"; then last+=("$s"); else together+=("$s"); fi
done
read -r look_all look_free < <(spent)
run "$most" "${together[@]+"${together[@]}"}"
run 1 "${last[@]+"${last[@]}"}"
[ $failed -eq 0 ] && rm -rf "$SEGQ_SYS_DIR" || echo "kept: $SEGQ_SYS_DIR"
echo "slowest: $(slowest)"
echo "sys: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
