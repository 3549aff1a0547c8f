#!/bin/bash
# What one person does at the same moment (F31), over two routers: joins again before the first
# was answered, many polls while the release comes, leaves while being released, polls after the
# pass. One place, one pass; of a leave and a release one wins, and it stays so.
. "$(dirname "$0")/lib.sh"

up --routers 2 --seg-nodes 2 --capacity 100 --release-per-s 2000 --set state=paused
order() { admin POST "/v1/admin/queues/login/$1" >/dev/null; }
at_once() { python3 "$here/at_once.py" 40; }
on_both() { # METHOD: of each token one request to each router
    while read -r t; do
        printf '%s\n' "$1 $R/v1/tickets/$t" "$1 $R2/v1/tickets/$t"
    done
}
statuses() { cut -d' ' -f1 "$1" | sort | uniq -c | tr -s ' \n' ' '; }
tokens_in() { grep -o '"token":"[^"]*"' "$1" | cut -d'"' -f4; }

# ---- the same person joins many times -------------------------------------------------------

for _ in $(seq 40); do
    printf 'POST %s/v1/queues/login/tickets {"subject":"ann"}\n' "$R" "$R2"
done | at_once >"$DIR/ann"
check_eq "80 joins of one subject at once, over two routers: one new ticket, and this one again" \
    "$(statuses "$DIR/ann")" " 79 200 1 201 "
check_eq "it is one" "$(tokens_in "$DIR/ann" | sort -u | wc -l)" 1
wait_for 20 "one waits" waiting_is 1
ann=$(tokens_in "$DIR/ann" | head -1)

# ---- many polls of few while they are released ------------------------------------------------

join_many 20 "$DIR/j"
{ echo "$ann"; tokens_of "$DIR/j"; } >"$DIR/tokens"
check_eq "21 wait" "$(wc -l <"$DIR/tokens")" 21
for _ in $(seq 100); do cat "$DIR/tokens"; done | on_both GET >"$DIR/all"
at_once <"$DIR/all" >"$DIR/polls" &
poller=$!
helpers+=($poller)
some_polls() { [ "$(wc -l <"$DIR/polls")" -ge 200 ]; }
wait_for 20 "they poll, again and again at once" some_polls
order resume
wait $poller
check_eq "every poll was answered well" "$(statuses "$DIR/polls")" " 4200 200 "
all_admitted() {
    on_both GET <"$DIR/tokens" | at_once >"$DIR/last"
    cat "$DIR/last" >>"$DIR/polls"
    [ "$(grep -c '"state":"admitted"' "$DIR/last")" = 42 ]
}
wait_for 20 "all are admitted" all_admitted
cut -d' ' -f4- "$DIR/polls" | jq -r 'select(.state == "admitted") | "\(.token) \(.pass)"' |
    sort -u >"$DIR/passes"
check_eq "one pass each, however often and wherever it was asked for" "$(wc -l <"$DIR/passes")" 21
check_eq "no two share one" "$(cut -d' ' -f2 "$DIR/passes" | sort -u | wc -l)" 21
check_eq "a later poll has it, too" "$(poll "$ann" "$R2" | jq -r '"\(.token) \(.pass)"')" \
    "$(grep "^$ann " "$DIR/passes")"
check_eq "ann joins again, and has the same ticket" \
    "$(join_queue "$R2" login '{"subject":"ann"}' | token_in)" "$ann"

# ---- leaving while being released ----------------------------------------------------------------

order pause
N=400
join_many $N "$DIR/k"
tokens_of "$DIR/k" >"$DIR/leavers"
check_eq "$N more wait" "$(wc -l <"$DIR/leavers")" $N
released=$(metric 1 segq_manager_released_total)
while read -r t; do
    printf '%s\n' "GET $R/v1/tickets/$t" "DELETE $R2/v1/tickets/$t" "GET $R/v1/tickets/$t"
done <"$DIR/leavers" >"$DIR/all"
at_once <"$DIR/all" >"$DIR/race" &
racer=$!
helpers+=($racer)
begun() { grep -q ' DELETE ' "$DIR/race"; }
wait_for 20 "they poll and leave" begun
order resume
wait $racer
grep ' DELETE ' "$DIR/race" >"$DIR/leaves"
grep ' GET ' "$DIR/race" >"$DIR/beside"
check_eq "every leave was heard" "$(statuses "$DIR/leaves")" " $N 204 "
check_eq "every poll beside it said waiting, admitted or gone" "$(grep -vcE '^(200|410) ' "$DIR/beside")" 0
on_both GET <"$DIR/leavers" | at_once >"$DIR/after"
check_eq "who has left is gone, whoever won" "$(statuses "$DIR/after")" " $((2 * N)) 410 "
# A block of which nobody is left forgets who died of what: then it is "expired".
check_eq "because it has left, or was admitted and has finished" \
    "$(cut -d' ' -f4- "$DIR/after" | jq -r .reason | sort -u | grep -vcE '^(left|finished|expired)$')" 0
wait_for 20 "nobody waits" waiting_is 0
gone=$(($(metric 1 segq_manager_released_total) - released))
check "none was released twice ($gone of $N were released)" test "$gone" -le $N
check_eq "the others have what they had" "$(poll "$ann" | field state)" admitted
