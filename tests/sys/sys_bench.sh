#!/bin/bash
# The bench, quickly: every row goes through all of its code and gives figures, whatever they
# are; ended half way it writes what it has; nothing of it is left either time.
. "$(dirname "$0")/lib.sh"

build=$(dirname "$BIN")
export TMPDIR=$DIR/tmp
mkdir -p "$TMPDIR"
chmod 711 "$TOP" "$DIR" "$TMPDIR" # Postgres does not run as root: it has a folder in there
bench=("$root/tests/bench/bench.py" --quick --build "$build")
about() { jq -r "$2" "$DIR/$1/bench.json"; }
leftovers() { # processes that were started for a row name its folder
    local p
    for p in /proc/[0-9]*; do
        { tr '\0' ' ' <"$p/cmdline" | grep -F "$TMPDIR"; } 2>/dev/null
    done
}
nothing_left() { [ -z "$(leftovers)" ] && [ -z "$(ls -A "$TMPDIR")" ]; }
has_figures() { # every case of every row of this file has a number
    jq -e --arg id "$1" '[.rows[] | select(.from == $id) | .cases[].segq.median] |
        length > 0 and all(type == "number")' "$DIR/whole/bench.json" >/dev/null
}

t0=$SECONDS
timeout -k 10 800 "${bench[@]}" --out "$DIR/whole" >"$DIR/whole.log" 2>&1
check_eq "it ends well" $? 0
in_time "in a short time" $(((SECONDS - t0) * 1000)) 200000
[ -s "$DIR/whole/bench.json" ] || { tail -30 "$DIR/whole.log"; give_up "no bench.json"; }
mapfile -t ids < <("${bench[@]}" --list)
for id in "${ids[@]}"; do
    why=$(jq -r --arg id "$id" '.failed[$id] // ""' "$DIR/whole/bench.json" | head -c 500)
    check "$id has figures $why" has_figures "$id"
done
check_eq "no row failed" "$(about whole '.failed | length')" 0
check "the page names every row" test "$(grep -c '^## ' "$DIR/whole/bench.md")" -ge "$(about whole '.rows | length')"
check "charts of it" test -s "$DIR/whole/charts/summary.svg"
wait_for 5 "nothing is left" nothing_left

"${bench[@]}" --out "$DIR/half" >"$DIR/half.log" 2>&1 &
pid=$!
helpers+=("$pid")
half_way() { [ "$(about half '.rows | length' 2>/dev/null)" != "" ]; }
wait_for 60 "the first row is written" half_way
kill -TERM "$pid"
wait "$pid"
check_eq "ended half way" $? 130
check "what there was is there" test "$(about half "[.rows[] | select(.from == \"${ids[0]}\")] | length")" -gt 0
check "the rest is named" test "$(about half '.not_run | length')" -gt 0
check "and in the page" grep -q 'not run' "$DIR/half/bench.md"
wait_for 5 "nothing is left then either" nothing_left
