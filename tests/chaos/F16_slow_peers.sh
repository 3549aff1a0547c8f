#!/bin/bash
# F16: clients that ask and never read the answers, and a segment node behind a cable that
# carries next to nothing. Only they suffer: memory stays bounded, others are answered as ever.
. "$(dirname "$0")/lib.sh"

# AddressSanitizer keeps freed memory back: less of it, or its size is what we measure.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=8
machines "m0 s0 s1+ r0 r1"
cluster_up --capacity 60 --release-per-s 12 --set queuemng.skip_after=60s
observe --first 300
wait_for 60 "people are answered" answered poll 200 300
router=$(pid_of r0.0) segment=$(pid_of s0.0)
rss_kib() { awk '/VmRSS/ { print $2 }' "/proc/$1/status"; }
rss=$(rss_kib "$router") seg_rss=$(rss_kib "$segment")

phase greedy
helper_on o0 python3 "$chaos/hostile.py" greedy "$(addr r0)" 8080 40 /.well-known/jwks.json
greedy=$H
here() { grep -q "^here" "$DIR/helper.log"; }
wait_for 60 "forty clients ask and do not read" here
hold 6
end_pid "$greedy"
now_rss=$(rss_kib "$router")
check "the router's memory grew by less than 48 MiB ($rss -> $now_rss KiB)" test $((now_rss - rss)) -lt 49152
check_eq "it is the same process" "$(pid_of r0.0)" "$router"

phase narrow
slow s1 "rate=1000"
wait_for 60 "who waits behind it is put off" answered poll 503 3
hold 8
slow s1 ""
now_rss=$(rss_kib "$router") now_seg=$(rss_kib "$segment")
check "the router's memory grew by less than 48 MiB ($rss -> $now_rss KiB)" test $((now_rss - rss)) -lt 49152
check "the other segment node's by less than 16 MiB ($seg_rss -> $now_seg KiB)" test $((now_seg - seg_rss)) -lt 16384
wait_for 60 "everybody reaches everybody" ready r0 r1
phase drying # what was lost is sent again
hold 5

phase healed
wait_for 60 "people are answered" answered poll 200 300
observe_end --rate 12 --apart-s 2 --stale narrow --stale drying --p99 greedy@1:3000 \
    --p99 greedy@0:8000 --slowest narrow:15000 --p99 healed:6000 --served greedy:300 \
    --served narrow:50 --served healed:300
