#!/bin/bash
# run.sh [unit] [sim] [fuzz] [check] [guard] [sys] [e2e] [chaos]: builds and runs the tests (all parts
# without arguments), one line per program, and ends with the seconds of each part, what
# failed (by name, with the log to look into), and "N passed, N failed".
#   FLAVOUR=rel|asan   which build is tested (fuzz corpora always run under ASan)
#   SIM_SEEDS=N        seeds of the mixed simulation (1000; 100 under asan)
#   SYS="story ..."    only these stories of tests/sys
#   CHAOS="F11 ..."    these scenarios of tests/chaos, not its short set
# Output of each program: build/FLAVOUR/log/NAME.log; shown if it fails. The end of the run,
# once more: build/FLAVOUR/log/summary.
set -u
cd "$(dirname "$0")/.." || exit 2
flavour=${FLAVOUR:-rel}
B=build/$flavour
jobs=$(nproc)
log=$B/log
mkdir -p "$log"
parts=${*:-unit sim fuzz check guard sys e2e chaos}
[ "$flavour" = asan ] && [ $# -eq 0 ] && parts="unit sim sys chaos"
seeds=${SIM_SEEDS:-$([ "$flavour" = asan ] && echo 100 || echo 1000)}
passed=0
failed=0
failures=() # a line each
times=()    # "part seconds"
rm -f "$log/summary"
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1:abort_on_error=0:exitcode=99}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

has() { case " $parts " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }

count() { # passed failed name seconds
    passed=$((passed + $1))
    failed=$((failed + $2))
    printf '%-36s %5d passed %3d failed  %4ss\n' "$3" "$1" "$2" "$4"
}

# What a program says of its failures, in criterion's words, in unittest's, or in ours.
name_failures() { # program log exit-status
    local line n=${#failures[@]}
    while IFS= read -r line; do
        failures+=("$flavour $1: $line (in $2)")
    done < <(grep -aE '^(\[FAIL\]|FAIL|ERROR)[ :]' "$2" | head -40)
    [ "${#failures[@]}" -gt "$n" ] || failures+=("$flavour $1: it ended with $3 (in $2)")
}

finish() { # the end of it all, also after a build that failed
    local f t
    {
        for t in "${times[@]+"${times[@]}"}"; do echo "time $flavour $t s"; done
        for f in "${failures[@]+"${failures[@]}"}"; do echo "FAILED $f"; done
    } >"$log/summary"
    echo
    cat "$log/summary"
    echo
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}

build() { # targets...
    local t0=$SECONDS
    if ! make -s -j"$jobs" FLAVOUR="$flavour" "$@" >"$log/build.log" 2>&1; then
        tail -40 "$log/build.log"
        count 0 1 "build $*" 0
        name_failures "build $*" "$log/build.log" 2
        finish
    fi
    built=$((built + SECONDS - t0))
}

# part NAME: is it asked for? Then its time begins. over NAME: it has ended. What was built
# for it is not counted.
part() {
    has "$1" || return
    begun=$SECONDS built_then=$built
}
over() { times+=("$(printf '%-6s %4d' "$1" $((SECONDS - begun - built + built_then)))"); }

# A criterion program: counts its tests; one that dies counts as a failure.
criterion() {
    local name=${1##*/} t0=$SECONDS out rc p f
    out=$log/$name.log
    timeout 600 "$@" >"$out" 2>&1
    rc=$?
    p=$(sed -n 's/.*Passing: *\([0-9]*\).*/\1/p' "$out" | tail -1)
    f=$(sed -n 's/.*Tested: *\([0-9]*\).*/\1/p' "$out" | tail -1)
    f=$((${f:-0} - ${p:-0}))
    [ $rc -ne 0 ] && [ $f -eq 0 ] && f=1
    [ "${p:-0}" -eq 0 ] && [ $f -eq 0 ] && f=1
    count "${p:-0}" "$f" "$name" $((SECONDS - t0))
    [ "$f" -eq 0 ] || { name_failures "$name" "$out" $rc; tail -60 "$out"; }
}

# Any program whose last line is "NAME: N ... passed, M failed".
counted() {
    local name=$1 t0=$SECONDS out p f rc
    shift
    out=$log/$name.log
    timeout "${LIMIT:-900}" "$@" >"$out" 2>&1
    rc=$?
    p=$(tail -1 "$out" | sed -n 's/.*[: ]\([0-9][0-9]*\) [a-z ]*passed, .*/\1/p')
    f=$(tail -1 "$out" | sed -n 's/.*passed, \([0-9][0-9]*\) .*failed.*/\1/p;s/.*passed, \([0-9][0-9]*\) failed.*/\1/p' | head -1)
    [ -n "$p" ] && [ -n "$f" ] || { p=${p:-0}; f=1; }
    [ $rc -ne 0 ] && [ "$f" -eq 0 ] && f=1
    count "$p" "$f" "$name" $((SECONDS - t0))
    [ "$f" -eq 0 ] || { name_failures "$name" "$out" $rc; tail -60 "$out"; }
}

built=0
if part unit; then
    build bins tests
    for t in "$B"/unit/test_*; do
        [ -x "$t" ] && [ -f "tests/unit/${t##*/}.c" ] && criterion "$t"
    done
    over unit
fi
if part sim; then
    build tests
    for t in "$B"/sim/sim_*; do
        [ -f "tests/sim/${t##*/}.c" ] || continue
        case $t in
        */sim_mixed) SEEDS=$seeds counted sim_mixed "$t" ;;
        *) criterion "$t" ;;
        esac
    done
    over sim
fi
if part fuzz; then
    make -s -j"$jobs" FLAVOUR=fuzz fuzz-bins >"$log/fuzz-build.log" 2>&1 || tail -30 "$log/fuzz-build.log"
    counted fuzz_corpora tests/fuzz.sh build/fuzz/fuzz 0
    over fuzz
fi
if part check; then
    build bins
    counted layers tests/layers.sh
    counted check tests/check.sh "$B/bin"
    counted test_prometheus tests/deploy/test_prometheus.py
    counted test_grafana tests/deploy/test_grafana.py
    counted test_containers tests/deploy/test_containers.py "$B"
    counted test_readme tests/deploy/test_readme.py "$B/bin"
    counted test_gates tests/deploy/test_gates.py "$B"
    counted test_kit tests/bench/test_kit.py
    counted test_check_history tests/chaos/test_check_history.py
    counted mutants tests/mutants/mutants.py --check
    counted next tests/upgrade/next.py --check
    over check
fi
if part guard; then # counts of instructions and calls: of the build that is shipped
    build bins guards
    counted instructions tests/guard/instructions.sh "$B/guard/trace"
    counted hot tests/guard/hot.sh "$B/bin"
    over guard
fi
if part sys; then
    build bins bench-bins
    # shellcheck disable=SC2086
    LIMIT=3600 counted sys tests/sys/run.sh "$B/bin" ${SYS:-}
    over sys
fi
if part e2e; then # the waiting page and the dashboard in a real browser
    build bins
    counted e2e_page tests/e2e/e2e_page.sh "$B/bin"
    counted e2e_dashboard tests/e2e/e2e_dashboard.sh "$B/bin"
    over e2e
fi
if part chaos; then # all of it: make chaos
    build bins
    # shellcheck disable=SC2086
    counted chaos tests/chaos/run.sh --bin "$B/bin" ${CHAOS:-short}
    grep -i '^skipped' "$log/chaos.log"
    over chaos
fi
times=("$(printf '%-6s %4d' build "$built")" "${times[@]}" "$(printf '%-6s %4d' all "$SECONDS")")
finish
