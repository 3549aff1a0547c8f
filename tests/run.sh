#!/bin/bash
# run.sh [unit] [sim] [fuzz] [check] [guard] [sys] [e2e] [chaos]: builds and runs the tests of
# one build, part by part (all of them without arguments; tests/all.sh lets parts overlap),
# one line per program, and ends with the seconds of each part, what failed (by name, with
# the log to look into), and "N passed, N failed". bins, tests: only builds them. layers, seeds,
# instructions, hot: of check the rooms, of sim the mixed one, of guard the one or the other.
#   FLAVOUR=rel|asan   which build is tested (fuzz corpora always run under ASan)
#   SIM_SEEDS=N        seeds of the mixed simulation (1000; 100 under asan)
#   SYS="story ..."    only these stories of tests/sys
#   CHAOS="F11 ..."    these scenarios of tests/chaos, not its short set
#   LIMIT=S            seconds after which a program hangs (900)
#   TEST_DATE=D        each program begins at another date (dates/on.sh), but for those of
#   TEST_ZONE=Z        guard and chaos; in another time zone
#   RUN=NAME           a part of a longer run (tests/all.sh), which tells the end of all parts: times
#                      and failures go to build/FLAVOUR/log/summary.NAME, "PASSED FAILED" to counts.NAME
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
case " $parts " in *" guard "*) parts="$parts instructions hot" ;; esac
passed=0
failed=0
failures=() # a line each
times=()    # "part seconds"
summary=$log/summary${RUN:+.$RUN} build_log=$log/build${RUN:+.$RUN}.log
counts=$log/counts${RUN:+.$RUN}
rm -f "$summary" "$counts"
exec 3>&1 # a line for each story as it ends; of nobody else: what outlives its test would hold it
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
    } >"$summary"
    echo "$passed $failed" >"$counts"
    if [ -n "${RUN:-}" ]; then
        [ $((passed + failed)) -eq 0 ] || echo "---- $flavour, $parts: $passed passed, $failed failed in $SECONDS s"
    else
        echo
        cat "$summary"
        echo
        echo "$passed passed, $failed failed"
    fi
    [ "$failed" -eq 0 ]
    exit
}

build() { # targets...: one make at a time in a folder, all.sh has two that might
    local t0=$SECONDS
    if ! flock "$B/.lock" make -s -j"$jobs" FLAVOUR="$flavour" "$@" >"$build_log" 2>&1; then
        tail -40 "$build_log"
        count 0 1 "build $*" 0
        name_failures "build $*" "$build_log" 2
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
over() { times+=("$(printf '%-12s %4d' "$1" $((SECONDS - begun - built + built_then)))"); }

# ---- programs -----------------------------------------------------------------------

# What a program's log counts: "passed failed". criterion: its own words; counted: the last
# line is "NAME: N ... passed, M failed". One that dies counts as a failure.
counts_of_criterion() { # log exit-status
    local p f
    p=$(sed -n 's/.*Passing: *\([0-9]*\).*/\1/p' "$1" | tail -1)
    f=$(sed -n 's/.*Tested: *\([0-9]*\).*/\1/p' "$1" | tail -1)
    f=$((${f:-0} - ${p:-0}))
    [ "$2" -ne 0 ] && [ $f -eq 0 ] && f=1
    [ "${p:-0}" -eq 0 ] && [ $f -eq 0 ] && f=1
    echo "${p:-0} $f"
}
counts_of_counted() { # log exit-status
    local p f
    p=$(tail -1 "$1" | sed -n 's/.*[: ]\([0-9][0-9]*\) [a-z ]*passed, .*/\1/p')
    f=$(tail -1 "$1" | sed -n 's/.*passed, \([0-9][0-9]*\) .*failed.*/\1/p;s/.*passed, \([0-9][0-9]*\) failed.*/\1/p' | head -1)
    [ -n "$p" ] && [ -n "$f" ] || { p=${p:-0}; f=1; }
    [ "$2" -ne 0 ] && [ "$f" -eq 0 ] && f=1
    echo "$p $f"
}

declare -A kind=() name=() since=() # of those that run, by pid
begin() { # criterion|counted NAME command...
    local k=$1 n=$2 on=()
    shift 2
    [ -z "${TEST_DATE:-}${TEST_ZONE:-}" ] || on=(env WALL="$B/dates/wall.so" tests/dates/on.sh "${TEST_DATE:-}" "${TEST_ZONE:-}")
    if [ "$n" = sys ]; then
        PROGRESS=3 timeout "${LIMIT:-900}" "${on[@]+"${on[@]}"}" "$@" >"$log/$n.log" 2>&1 &
    else
        timeout "${LIMIT:-900}" "${on[@]+"${on[@]}"}" "$@" >"$log/$n.log" 2>&1 3>&- &
    fi
    kind[$!]=$k name[$!]=$n since[$!]=$SECONDS
}
end_one() {
    local pid= rc p f n
    wait -n -p pid "${!name[@]}"
    rc=$?
    [ -n "$pid" ] || return
    n=${name[$pid]}
    read -r p f < <("counts_of_${kind[$pid]}" "$log/$n.log" $rc)
    count "$p" "$f" "$n" $((SECONDS - ${since[$pid]}))
    [ "$f" -eq 0 ] || { name_failures "$n" "$log/$n.log" $rc; tail -60 "$log/$n.log"; }
    unset "name[$pid]"
}
end_all() { while [ ${#name[@]} -gt 0 ]; do end_one; done; }

# One by one, or side by side (until end_all).
counted() {
    begin counted "$@"
    end_all
}
beside() {
    while [ ${#name[@]} -ge "$jobs" ]; do end_one; done
    begin "$@"
}

trap '[ ${#name[@]} -eq 0 ] || kill "${!name[@]}"; exit 130' INT TERM
unit_tests() { # the longest first
    echo test_mng_segtab
    ls tests/unit/*/test_*.c | sed 's,.*/,,; s/\.c$//' | grep -vx test_mng_segtab
}

built=0
programs=(bins) # and those of the story of the bench, which is not run under asan
[ "$flavour" = asan ] && [ "${SYS:-}" != bench ] || programs+=(bench-bins)
has bins && build "${programs[@]}"
has tests && build "${programs[@]}" tests
if part unit; then
    build bins tests
    [ "$flavour" != rel ] || beside counted test_judge tests/tasks/test_judge.py # has no build
    for n in $(unit_tests); do beside criterion "$n" "$B/unit/$n"; done
    end_all
    over unit
fi
if part sim; then
    build tests
    for t in "$B"/sim/sim_*; do
        [ -f "tests/sim/${t##*/}.c" ] || continue
        case $t in
        */sim_mixed) ;; # takes all cores
        *) beside criterion "${t##*/}" "$t" ;;
        esac
    done
    end_all
    SEEDS=$seeds counted sim_mixed "$B/sim/sim_mixed"
    over sim
fi
if part seeds; then
    build tests
    SEEDS=$seeds counted sim_mixed "$B/sim/sim_mixed"
    over seeds
fi
if part layers; then
    build bins
    counted layers tests/layers.py "$B/obj"
    over layers
fi
if part fuzz; then
    make -s -j"$jobs" FLAVOUR=fuzz fuzz-bins >"$log/fuzz-build.log" 2>&1 || tail -30 "$log/fuzz-build.log"
    counted fuzz_corpora tests/fuzz.sh build/fuzz/fuzz 0
    over fuzz
fi
if part check; then
    build bins
    beside counted layers tests/layers.py "$B/obj"
    beside counted check tests/check.sh "$B/bin"
    beside counted test_prometheus tests/deploy/test_prometheus.py
    beside counted test_grafana tests/deploy/test_grafana.py
    beside counted test_containers tests/deploy/test_containers.py "$B"
    beside counted test_readme tests/deploy/test_readme.py "$B/bin"
    beside counted test_gates tests/deploy/test_gates.py "$B"
    beside counted test_kit tests/bench/test_kit.py
    beside counted test_check_history tests/chaos/test_check_history.py
    beside counted mutants tests/mutants/mutants.py --check
    beside counted next tests/upgrade/next.py --check
    end_all
    over check
fi
if part instructions; then # counts, of the build that is shipped
    build bins guards
    TEST_DATE= TEST_ZONE= counted instructions tests/guard/instructions.sh "$B/guard/trace"
    over instructions
fi
if part hot; then # calls
    build bins guards
    TEST_DATE= TEST_ZONE= counted hot tests/guard/hot.sh "$B/bin"
    over hot
fi
if part sys; then
    build "${programs[@]}"
    # shellcheck disable=SC2086
    LIMIT=7200 counted sys tests/sys/run.sh "$B/bin" ${SYS:-}
    grep '^slowest: ' "$log/sys.log"
    over sys
fi
if part e2e; then # the waiting page and the dashboard in a real browser
    build bins
    counted e2e_openapi tests/e2e/e2e_openapi.sh "$B/bin" # installs what they need
    for n in page dashboard dashboard_tasks pictures gates demo; do
        beside counted "e2e_$n" "tests/e2e/e2e_$n.sh" "$B/bin"
    done
    end_all
    over e2e
fi
if part chaos; then # all of it: make chaos
    build bins
    for f in ${CHAOS:-F11 F12}; do # the most telling ones
        TEST_DATE= TEST_ZONE= beside counted "chaos_$f" tests/chaos/run.sh --bin "$B/bin" "$f"
    done
    end_all
    grep -hi '^skipped' "$log"/chaos_*.log
    over chaos
fi
times=("$(printf '%-12s %4d' build "$built")" "${times[@]}" "$(printf '%-12s %4d' all "$SECONDS")")
finish
