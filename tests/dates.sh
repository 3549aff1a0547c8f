#!/bin/bash
# dates.sh [part...]: parts of run.sh (unit check sys e2e) on other dates and in other time
# zones. Ends with what failed, and "dates: N passed, M failed". all.sh has one of them.
#   DATES="leap west"  only these of the list below
set -u
cd "$(dirname "$0")/.." || exit 2
[ $# -gt 0 ] || set -- unit check sys e2e
list='
day|1 day|UTC0
month|1 month|UTC0
years|3 years|UTC0
leap|2028-02-28T23:59:00Z|UTC0
leapday|2028-02-29T23:59:00Z|UTC0
newyear|2027-12-31T23:59:00Z|UTC0
spring|2027-03-28T00:59:00Z|CET-1CEST,M3.5.0,M10.5.0/3
autumn|2027-10-31T00:59:00Z|CET-1CEST,M3.5.0,M10.5.0/3
half|2028-09-30T15:29:00Z|<+1030>-10:30<+11>-11,M10.1.0,M4.1.0
west|2026-12-31T11:59:00Z|<-12>12
east|2026-12-31T09:59:00Z|<+14>-14
y2038|2038-01-19T03:13:00Z|UTC0'
passed=0 failed=0 failures=

while IFS='|' read -r name date zone; do
    [ -n "$name" ] || continue
    [ -z "${DATES:-}" ] || case " $DATES " in *" $name "*) ;; *) continue ;; esac
    echo "---- $name: from $date, TZ=$zone"
    out=$(TEST_DATE=$date TEST_ZONE=$zone tests/run.sh "$@" </dev/null | tee /dev/stderr)
    read -r p f < <(sed -n '$s/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' <<<"$out")
    passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1}))
    failures+=$(sed -n "s/^FAILED /\n$name: /p" <<<"$out")
done <<<"$list"
echo "$failures"
echo "dates: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
