#!/bin/bash
# fuzz.sh DIR SECONDS: every fuzz target in DIR over its corpus (tests/fuzz/corpus/NAME).
# SECONDS 0: only replays the corpora. New finds are kept under build/fuzz/found.
set -u
cd "$(dirname "$0")/.." || exit 2
dir=$1
seconds=$2
passed=0
failed=0
found=build/fuzz/found
mkdir -p "$found"
for src in tests/fuzz/fuzz_*.c; do
    name=$(basename "$src" .c)
    corpus=tests/fuzz/corpus/${name#fuzz_}
    if [ ! -x "$dir/$name" ] || [ ! -d "$corpus" ]; then
        echo "FAIL $name: no program or no corpus $corpus"
        failed=$((failed + 1))
        continue
    fi
    if [ "$seconds" -eq 0 ]; then
        timeout 300 "$dir/$name" -runs=0 "$corpus" >"$found/$name.log" 2>&1
    else
        mkdir -p "$found/$name"
        timeout $((seconds + 120)) "$dir/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
            -artifact_prefix="$found/$name-" "$found/$name" "$corpus" >"$found/$name.log" 2>&1
    fi
    if [ $? -eq 0 ]; then
        echo "ok $name ($(ls "$corpus" | wc -l) inputs)"
        passed=$((passed + 1))
    else
        echo "FAIL $name"
        tail -30 "$found/$name.log"
        failed=$((failed + 1))
    fi
done
echo "fuzz: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
