#!/bin/bash
# all.sh rel|asan...: every test of these builds, after what tests need has been installed.
# Ends with the seconds of each part, what failed by name, and "N passed, N failed".
#
# The parts that look at the clock, and mostly wait, come one after the other. What only
# computes (the next build, the simulation, checks, counts of instructions, corpora) goes on
# beside them, in the time that nobody else wants (SCHED_IDLE: whoever wakes up has the
# processor at once).
# A line comes for each program and story as it ends, of both; build/log/PART.FLAVOUR has each alone.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
[ $# -gt 0 ] || { echo "usage: all.sh rel|asan..." >&2; exit 2; }
logs=build/log
mkdir -p $logs
rm -f $logs/* build/*/log/summary* build/*/log/counts*
deps=0 other=0
# The sanitizer build is tested amid the night to a leap day, years and hours away: what works
# only on the day on which it was written fails (tests/README.md, "Other dates").
date='2028-02-28 23:50' zone='NST3:30NDT,M3.2.0,M11.1.0' # TZ without the files of tzdata
trap '[ $deps = 0 ] || kill $deps; [ $other = 0 ] || kill -- -$other; exit 130' INT TERM

rc=0
run() { # NAME FLAVOUR part...
    local counts=build/$2/log/counts.$1
    RUN=$1 FLAVOUR=$2 tests/run.sh "${@:3}" 2>&1 | tee "$logs/$1.$2" && return
    rc=1
    [ -s "$counts" ] && return
    echo "FAILED $2 ${*:3}: it ended early" | tee -a "$logs/$1.$2"
    mkdir -p "${counts%/*}"
    echo "0 1" >"$counts"
}

computes() {
    local f
    for f in "$@"; do run tests "$f" tests; done
    for f in "$@"; do
        case $f in
        rel) run computes rel sim fuzz check instructions ;;
        asan) run computes asan sim ;;
        esac
    done
    return $rc
}

waits() {
    local f
    for f in "$@"; do
        [ "$f" != asan ] || export TEST_DATE=$date TEST_ZONE=$zone
        run stories "$f" sys
        case $f in
        rel) run others rel unit hot e2e chaos ;;
        asan) run others asan unit chaos ;;
        esac
        unset TEST_DATE TEST_ZONE
    done
}

echo "The tests of $*: a line for each as it ends; about 20 minutes on two free cores, at the end a summary."
deploy/deps.sh build || exit 1
deploy/deps.sh test bench e2e >$logs/deps 2>&1 & # programs need none of these
deps=$!
echo "---- building ($1)"
run bins "$1" bins
[ $rc -eq 0 ] || { cat build/"$1"/log/summary.bins; echo "0 passed, 1 failed"; exit 1; }
wait $deps || { cat $logs/deps; echo "0 passed, 1 failed"; exit 1; }
deps=0
set -m # a process group of its own, to be ended as one
(
    renice -n 19 -p $BASHPID >/dev/null
    chrt -i -p 0 $BASHPID
    LIMIT=7200 computes "$@"
) 2>&1 </dev/null &
other=$!
set +m
waits "$@"
wait $other || rc=1
other=0
echo
echo "---- all of it: $SECONDS s"
cat build/*/log/summary.*
cat $logs/*.* | grep 'it ended early$'
for f in "$@"; do sed -n "s/^slowest:/slowest stories of $f:/p" "$logs/stories.$f"; done
cat build/*/log/counts.* |
    awk '{ p += $1; f += $2 } END { printf "\n%d passed, %d failed\n", p, f; exit f > 0 || p == 0 }' || rc=1
exit $rc
