#!/bin/bash
# One place per person: a hundred joins at once under one name, through two routers, make one
# ticket; also over the end of a tail, while a segment node is killed, after merges and after
# everything was killed. Who has lost the token gets the place back by joining again.
. "$(dirname "$0")/lib.sh"

up --routers 2 --seg-nodes 3 --capacity 60 --release-per-s 100 --set state=paused \
    --set idle.game=30m --set claim=30m --set pass_ttl=30m
complete() { # every node's share, of all three
    [ "$(metric 70 segq_segment_directory_complete)" = 1 ] &&
        [ "$(metric 71 segq_segment_directory_complete)" = 1 ] &&
        [ "$(metric 72 segq_segment_directory_complete)" = 1 ]
}
wait_for 10 "all nodes have said whom they hold" complete

asks() { # FILE-OF-NAMES: a join for each line, through both routers in turn
    awk -v a="$R" -v b="$R2" '{ printf "POST %s/v1/queues/login/tickets {\"subject\":\"%s\"}\n",
        NR % 2 ? a : b, $1 }' "$1"
}
# "status method url body" per line. Who is told 503 asks again, as anybody does: a slow
# machine may take its time. (What is behind the URL's ? is not sent: it tells them apart.)
at_once() {
    local round
    awk '{ $2 = $2 "?" NR; print }' >"$DIR/ask"
    for round in $(seq 60); do
        python3 "$here/at_once.py" 50 <"$DIR/ask" >"$DIR/got"
        grep -v '^503' "$DIR/got"
        awk 'NR == FNR { if ($1 == 503) again[$3] = 1; next } $2 in again' "$DIR/got" \
            "$DIR/ask" >"$DIR/ask.again"
        [ -s "$DIR/ask.again" ] || return 0
        mv "$DIR/ask.again" "$DIR/ask"
    done
}
join_as() { # ROUTER NAME -> the ticket
    echo "POST $1/v1/queues/login/tickets {\"subject\":\"$2\"}" | at_once | tickets
}
tickets() { cut -d' ' -f4-; }

# ---- a hundred at once ----------------------------------------------------------------

yes alice | head -100 >"$DIR/alice"
asks "$DIR/alice" | at_once >"$DIR/alice.ans"
check_eq "a hundred joins of one person: one is new" "$(grep -c '^201' "$DIR/alice.ans")" 1
check_eq "the others find it" "$(grep -c '^200' "$DIR/alice.ans")" 99
check_eq "all have the same token" "$(tickets <"$DIR/alice.ans" | token_in | sort -u | wc -l)" 1

# ---- a join that is repeated with its key ------------------------------------------------

keyed() { # ROUTER KEY...: "status answer"
    http -X POST -H "Idempotency-Key: $2" -w '%{http_code}\n' -o - "$1/v1/queues/login/tickets"
}
again_if_busy() { # a machine that is busy may say 503: asked again, as it is told
    local said
    for _ in $(seq 100); do
        said=$(keyed "$@")
        case $said in *503) ;; *) echo "$said"; return ;; esac
    done
}
key=8e03978e-40d5-43dd-bc93-6894a57f9324
key_pids=()
for i in $(seq 20); do
    again_if_busy "$([ $((i % 2)) = 0 ] && echo "$R" || echo "$R2")" $key >"$DIR/key.$i" &
    key_pids+=($!)
done
wait "${key_pids[@]}"
check_eq "twenty joins with one key, over two routers: one is new" "$(cat "$DIR"/key.* | grep -c '201$')" 1
check_eq "the others find it" "$(cat "$DIR"/key.* | grep -c '200$')" 19
check_eq "all have the same token" "$(cat "$DIR"/key.* | grep -o '"token":"[^"]*"' | sort -u | wc -l)" 1
check "another key is another place" grep -q '201$' <(again_if_busy "$R" another-key-of-a-join-1)
check "and so is the key as a name" grep -q '^201' <(echo "POST $R/v1/queues/login/tickets {\"subject\":\"$key\"}" | at_once)
check "a key that could be guessed is none" grep -q '400$' <(keyed "$R" 1)

# ---- over the ends of tails -------------------------------------------------------------

# 60 people, eight times each, among 150 who have no name: the line takes four segments.
for i in $(seq 60); do for k in 1 2 3 4 5 6 7 8; do echo "p$i"; done; done | shuf >"$DIR/names"
{
    asks "$DIR/names"
    for i in $(seq 150); do echo "POST $R/v1/queues/login/tickets"; done
} | shuf | at_once >"$DIR/all.ans"
check_eq "all of 630 joins are answered" "$(grep -c '^20[01]' "$DIR/all.ans")" 630
check_eq "of them are new: 150 without a name, 60 people" "$(grep -c '^201' "$DIR/all.ans")" 210
check "they stand in several segments" test "$(n_segments)" -ge 4

seq -f 'p%g' 60 >"$DIR/people"
again() { asks "$DIR/people" | python3 "$here/at_once.py" 50 >"$DIR/$1.ans"; }
token_of() { tickets <"$DIR/$1.ans" | token_in | sort; }
same_number() { again first && [ "$(grep -c '^20' "$DIR/first.ans")" = 60 ]; }
same() { # NAME: all have the places of before
    again "$1"
    [ "$(grep -c '^200' "$DIR/$1.ans")" = 60 ] && [ "$(token_of "$1")" = "$(token_of first)" ]
}
wait_for 20 "all of them ask again" same_number
check_eq "who lost the token gets the old place" "$(grep -c '^200' "$DIR/first.ans")" 60
check_eq "sixty places" "$(token_of first | sort -u | wc -l)" 60

# ---- a node is killed -------------------------------------------------------------------

kill -KILL "$(pid_of segment.1)"
again killed
check_eq "meanwhile nobody gets a second place" "$(grep -cE '^(201|40)' "$DIR/killed.ans")" 0
wait_for 20 "when it is back all have their places" same back

# ---- merges -----------------------------------------------------------------------------

before=$(n_segments)
grep '^201' "$DIR/all.ans" | tickets | token_in >"$DIR/new"
grep -vxF -f <(token_of first) "$DIR/new" | sed "s|.*|DELETE $R/v1/tickets/&|" | at_once >"$DIR/left.ans"
check_eq "those without a name leave" "$(grep -c '^204' "$DIR/left.ans")" 150
merged() { [ "$(n_segments)" -lt "$before" ]; }
wait_for 30 "segments are merged" merged
wait_for 10 "all have their places in what they were merged into" same merged

# ---- everything is killed ------------------------------------------------------------------

kill -KILL $(for p in segment.0 segment.1 segment.2 router.0 router.1 queuemng; do pid_of "$p"; done)
wait_for 40 "everything is there again, and all have their places" same restarted

# ---- and when it is over -------------------------------------------------------------------

one=$(join_as "$R" p1 | token_in)
check_eq "one leaves" "$(status_of -X DELETE "$R2/v1/tickets/$one")" 204
two=$(join_as "$R2" p1 | token_in)
check "and has a new place" test -n "$two" -a "$two" != "$one"
admin POST /v1/admin/queues/login/resume >/dev/null
wait_for 20 "is let in" is_admitted "$two"
pass=$(poll "$two" | field pass)
check_eq "joins again, and has the same pass" \
    "$(join_as "$R" p1 | field pass)" "$pass"
