#!/bin/bash
# run.sh [BIN [story...]]: runs the stories one after the other, each in its own folder and
# on its own ports; the last line is "sys: N passed, N failed".
set -u
here=$(cd "$(dirname "$0")" && pwd)
bin=${1:-$here/../../build/rel/bin}
[ $# -gt 0 ] && shift
SEGQ_SYS_DIR=$(mktemp -d /tmp/segq-sys.XXXXXX)
export SEGQ_SYS_DIR
stories=("$@")
[ $# -gt 0 ] || stories=("$here"/sys_*.sh)
passed=0 failed=0
for s in "${stories[@]}"; do
    s=$(basename "$s" .sh)
    t0=$SECONDS
    timeout -k 60 "${STORY_LIMIT:-900}" "$here/sys_${s#sys_}.sh" "$bin" >"$SEGQ_SYS_DIR/$s.out" 2>&1
    rc=$?
    grep -E '^(ok|FAIL) ' "$SEGQ_SYS_DIR/$s.out"
    ok=$(grep -c '^ok ' "$SEGQ_SYS_DIR/$s.out")
    bad=$(grep -c '^FAIL ' "$SEGQ_SYS_DIR/$s.out")
    [ $rc -eq 0 ] || [ "$bad" -gt 0 ] || { bad=1; echo "FAIL $s: ended with $rc"; }
    [ "$ok" -gt 0 ] || [ "$bad" -gt 0 ] || { bad=1; echo "FAIL $s: claimed nothing"; }
    [ "$bad" -eq 0 ] || sed -n '/^---- logs/,$p' "$SEGQ_SYS_DIR/$s.out"
    echo "     $s: $((SECONDS - t0)) s"
    passed=$((passed + ok))
    failed=$((failed + bad))
done
[ $failed -eq 0 ] && rm -rf "$SEGQ_SYS_DIR" || echo "kept: $SEGQ_SYS_DIR"
echo "sys: $passed passed, $failed failed"
[ $failed -eq 0 ]
