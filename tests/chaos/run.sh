#!/bin/bash
# run.sh [--bin DIR] [F11|F12 ...]: chaos with real processes in network namespaces: one
# fault per scenario (all without arguments).
# Progress in lines; ends with "chaos: N passed, M failed". A scenario that cannot run here
# says so and is counted by nobody.
#   VERBOSE=1   shows every claim, also those that hold
set -u
here=$(cd "$(dirname "$0")" && pwd)
bin=$here/../../build/rel/bin
[ "${1:-}" = --bin ] && { bin=$2; shift 2; }
LIMIT_S=900 # a scenario that takes longer hangs
[ $# -gt 0 ] || set -- $(cd "$here" && ls F*.sh | sed 's/_.*//' | sort -Vu)
passed=0 failed=0 skipped=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT
for f in "$@"; do
    for s in "$here/$f"_*.sh; do
        [ -e "$s" ] || { echo "no scenario $f"; failed=$((failed + 1)); continue; }
        name=$(basename "$s" .sh) t0=$SECONDS
        timeout -k 20 $LIMIT_S bash "$s" "$bin" >"$out" 2>&1
        rc=$?
        if [ $rc -eq 77 ]; then
            cat "$out"
            skipped=$((skipped + 1))
            continue
        fi
        last=$(tail -1 "$out")
        p=$(sed -n 's/.*: \([0-9]*\) passed, .*/\1/p' <<<"$last")
        n=$(sed -n 's/.* passed, \([0-9]*\) failed.*/\1/p' <<<"$last")
        [ -n "$p" ] && [ -n "$n" ] || { p=0; n=1; }
        [ $rc -ne 0 ] && [ "$n" -eq 0 ] && n=1
        printf '%-32s %4d passed %3d failed %4d s\n' "$name" "$p" "$n" $((SECONDS - t0))
        if [ "$n" -gt 0 ] || [ -n "${VERBOSE:-}" ]; then cat "$out"; else grep ': phase ' "$out"; fi
        passed=$((passed + p)) failed=$((failed + n))
    done
done
[ $skipped -eq 0 ] || echo "SKIPPED: $skipped scenarios (they need root or user namespaces)"
echo "chaos: $passed passed, $failed failed"
[ $failed -eq 0 ]
