#!/bin/bash
# F6: kill -9 of the manager, and its supervisor does not start it again for a while. Joins and
# polls go on with the last map, releases pause; when it is back there is one tail, and what was
# not let in meanwhile is not made up for.
. "$(dirname "$0")/lib.sh"
. "$chaos/procs.sh"

machines "m0 s0 s1 r0 r1"
cluster_up --capacity 600 --release-per-s 12
observe
wait_for 60 "people are answered" answered poll 200 300
open_tails() { segments | awk '$2 != "sealed" { n++ } END { print n + 0 }'; }
old=$(pid_of m0.0)

phase away
stop m0
kill9 m0.0
wait_for 40 "the manager is gone" is_gone "$old"
hold 18
wait_for 60 "people join meanwhile" answered join 201 50
wait_for 60 "people are answered meanwhile" answered poll 200 500
share=$(jq -s 'map(.status == 503) | (map(select(.)) | length) * 100 / length | floor' "$HISTORY")
check "hardly anybody is put off: $share % of all" test "$share" -le 5

phase back
cont m0
wait_for 60 "it is started again" another m0.0 "$old"
wait_for 60 "s0 registers" registered s0.0 2
wait_for 60 "so does s1" registered s1.0 2
is_let_in() { jq -r --argjson t "$(tail -1 "$DIR/phases.jsonl" | jq .t)" \
    'select(.t0 >= $t and .state == "admitted") | .who' "$HISTORY" 2>/dev/null | sort -u | awk 'END { exit NR < 20 }'; }
wait_for 60 "people are let in again" is_let_in
check_eq "there is one open tail" "$(open_tails)" 1
observe_end --rate 12 --slowest away:8000 --gap away:20 --served away:500 --served back:100
