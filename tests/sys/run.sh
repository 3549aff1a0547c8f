#!/bin/bash
# run.sh [BIN [story...]]: runs the stories, two at a time (most of them mostly wait), each in
# its own folder and on its own ports; the last line is "sys: N passed, N failed".
#   STORY_JOBS=N    how many at a time (2)
#   STORY_LIMIT=S   seconds after which a story hangs (900)
set -u
here=$(cd "$(dirname "$0")" && pwd)
bin=${1:-$here/../../build/rel/bin}
[ $# -gt 0 ] && shift
SEGQ_SYS_DIR=$(mktemp -d /tmp/segq-sys.XXXXXX)
export SEGQ_SYS_DIR
long="upgrade crowd_replica redis_faults failpoints failover" # begin first, so that none is left over
alone="bench"                                                 # these measure
declare -A running=() began=() # pid -> story, story -> when
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
    echo "     $s: $((SECONDS - began[$s])) s"
    passed=$((passed + ok))
    failed=$((failed + bad))
}

begin() { # story
    began[$1]=$SECONDS
    timeout -k 60 "${STORY_LIMIT:-900}" "$here/$1.sh" "$bin" >"$SEGQ_SYS_DIR/$1.out" 2>&1 &
    running[$!]=$1
}

end_one() { # waits for the next one to end
    local pid= rc
    wait -n -p pid "${!running[@]}"
    rc=$?
    [ -n "$pid" ] || return
    report "${running[$pid]}" $rc
    unset "running[$pid]"
}

run() { # JOBS story...
    local jobs=$1 s
    shift
    for s in "$@"; do
        while [ ${#running[@]} -ge "$jobs" ]; do end_one; done
        begin "$s"
    done
    while [ ${#running[@]} -gt 0 ]; do end_one; done
}

names() { # story... without folder and ending, none twice
    local s
    for s in "$@"; do s=$(basename "$s" .sh) && echo "sys_${s#sys_}"; done | awk '!seen[$0]++'
}
is_alone() { case " $alone " in *" ${1#sys_} "*) ;; *) return 1 ;; esac; }

[ $# -gt 0 ] || set -- $long "$here"/sys_*.sh
together=() last=()
for s in $(names "$@"); do
    if is_alone "$s"; then last+=("$s"); else together+=("$s"); fi
done
run "${STORY_JOBS:-2}" "${together[@]+"${together[@]}"}"
run 1 "${last[@]+"${last[@]}"}"
[ $failed -eq 0 ] && rm -rf "$SEGQ_SYS_DIR" || echo "kept: $SEGQ_SYS_DIR"
echo "sys: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
