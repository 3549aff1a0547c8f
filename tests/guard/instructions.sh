#!/bin/bash
# instructions.sh [TRACE]: instructions per operation of the hot paths, against a stored
# budget. TRACE is the program (build/rel/guard/trace).
#
# Each trace runs twice under callgrind, with N1 and N2 operations; the difference over
# N2 - N1 is what one more operation costs, set-up and first touches cancel. The count has
# no noise worth speaking of (the router's differs by less than 1 % from run to run), so
# what is above the budget is a change of the code: find it with
#   valgrind --tool=callgrind --dump-instr=yes build/rel/guard/trace router 8192
# or, if it is worth its price, raise the budget in the same commit and say why.
# libc is told not to use wide vectors, so that every machine counts the same copies.
set -u
cd "$(dirname "$0")/../.." || exit 2
trace=${1:-build/rel/guard/trace}
budget=tests/guard/budget.txt
passed=0 failed=0

command -v valgrind >/dev/null || {
    echo "FAIL valgrind is missing: deploy/deps.sh test installs it"
    echo "instructions: 0 passed, 1 failed"
    exit 1
}
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-AVX,-AVX512F,-AVX512VL,-ERMS,-BMI2

collected() { # name n
    local said
    said=$(timeout "${LIMIT:-120}" valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        --toggle-collect=trace_counted --toggle-collect=trace_task_turn --toggle-collect=ev_turn \
        --toggle-collect=node_frame "$trace" "$1" "$2" 2>&1)
    # the program's own complaints, if there are any, are worth more than an empty figure
    case $said in *"Collected : "*) ;; *) echo "$said" >&2 ;; esac
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p' <<<"$said"
}

judge() { # name budget got
    if [ "$3" -gt "$2" ]; then
        failed=$((failed + 1))
        echo "FAIL $1: $3 instructions per operation, the budget is $2"
        return
    fi
    passed=$((passed + 1))
    echo "ok   $1: $3 instructions per operation, the budget is $2"
    [ $(($3 * 100)) -ge $(($2 * 85)) ] ||
        echo "     $1 is below by more than 15 %: lower the budget to $(($3 * 11 / 10))"
}

while read -r name limit n1 n2 _; do
    case $name in '' | '#'*) continue ;; esac
    a=$(collected "$name" "$n1")
    b=$(collected "$name" "$n2")
    if [ -z "$a" ] || [ -z "$b" ] || [ "$b" -le "$a" ]; then
        failed=$((failed + 1))
        echo "FAIL $name: could not be counted (${a:-nothing} at $n1, ${b:-nothing} at $n2)"
        continue
    fi
    judge "$name" "$limit" $(((b - a + (n2 - n1) / 2) / (n2 - n1)))
done <"$budget"
echo "instructions: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
