#!/bin/bash
# The clients of clients/c and clients/js against a real cluster of two routers: they wait, outlive
# dead routers, take up a saved place, leave, and say why they cannot join.
. "$(dirname "$0")/lib.sh"

check "the C client compiles without a warning" \
    "${CC:-cc}" -std=c99 -Wall -Wextra -Wshadow -Werror -o "$DIR/line-c" \
    "$root/clients/c/example.c" "$root/clients/c/segq.c" -lcurl
check "and so does one that leaves early" "${CC:-cc}" -std=c99 -Wall -Wextra -Werror -o "$DIR/leave-c" \
    "$root/tests/e2e/leave.c" "$root/clients/c/segq.c" -lcurl
check "segq.js is less than 10 KB" test "$(wc -c <"$root/clients/js/segq.js")" -lt 10240
check "and segq_events.js less than 4" test "$(wc -c <"$root/clients/js/segq_events.js")" -lt 4096

up --set away=0 --routers 2 --release-per-s 0.0001 --set poll_min=200ms --set poll_max=500ms --set idle.game=10m
NOBODY=http://127.0.0.1:$((PORT + 99)) # where nobody listens

line_c() { exec timeout 600 "$DIR/line-c" "$@"; }
line_js() { exec timeout 600 node "$root/tests/e2e/line.js" "$@"; }
leave_c() { timeout 600 "$DIR/leave-c" "$@" >"$DIR/leave.said"; }
leave_js() { timeout 600 node "$root/tests/e2e/leave.js" "$@"; }
start() { # c|js NAME arguments...: in the background, pid in $L
    rm -f "$DIR/$2.pass" "$DIR/$2.said" # said() must not see what an earlier one of this name said
    (cd "$DIR" && "line_$1" "${@:3}") >"$DIR/$2.pass" 2>"$DIR/$2.said" &
    L=$!
    helpers+=("$L")
}
said() { grep -q "$2" "$DIR/$1.said"; }
release() { admin POST "/v1/admin/queues/login/release?n=$1" >/dev/null; }
lets_in() { # N OF: when the manager knows that OF wait
    wait_for 20 "$k: $2 wait" waiting_is "$2"
    release "$1"
}
everybody_in() { release 1000; waiting_is 0; }
token_of() { sed -n 's/.*token //p' "$DIR/$1.said" | tail -1; }
good() { node "$root/tests/e2e/verify.js" "$R/.well-known/jwks.json" login <"$1" >"$1.claims"; }

# Nobody has answered yet: there is no place that could be kept.
start c none login "$NOBODY"
wait_for 60 "c: without a router it says that it has no place yet" said none 'no place yet'
check "  and not that one is kept" eval '! said none kept'
end_pid "$L"

for k in c js; do
    # One router of the three does not exist, one will be killed.
    join_many 5 "$DIR/before.$k"
    start $k one login "$NOBODY" "$R" "$R2"
    one=$L
    wait_for 60 "$k: it waits behind five" said one '^6 of 6'
    check "$k: a time that is not known is no time" eval '! said one " -1 s"'
    kill -9 "$(pid_of router.0)"
    lets_in 3 6
    wait_for 60 "$k: a router's death does not stop it" said one '^3 of 3'
    lets_in 3 3
    check "$k: it ends well" wait "$one"
    check "$k: with a pass that the router's key verifies" good "$DIR/one.pass"
    check "$k: it never joined twice" test "$(sed -n 's/.*token //p' "$DIR/one.said" | sort -u | wc -l)" = 1

    # A saved place.
    start $k two login "$R2" "$R"
    two=$L
    wait_for 60 "$k: another one waits" said two '^1 of 1'
    kill -9 "$two"
    wait_for 20 "$k: the router is started again" has_status 200 "$R/readyz"
    join_many 2 "$DIR/behind.$k"
    SEGQ_TOKEN=$(token_of two) start $k three login "$R2" "$R"
    three=$L
    wait_for 60 "$k: started anew it has its old place" said three '^1 of 3'
    lets_in 1 3
    check "$k: and is let in first" wait "$three"
    check "$k: on the saved ticket" good "$DIR/three.pass"

    # Leaving, and not getting in.
    SEGQ_LEAVE_AT=3 start $k four login "$R2" "$R"
    check "$k: one can leave" wait "$L"
    check "$k: and knows it" said four left
    wait_for 60 "$k: the place is free" waiting_is 2
    check "$k: also before the join is answered" "leave_$k" login "$R2"
    wait_for 60 "$k: which leaves no place behind" waiting_is 2
    start $k five nosuch "$R2"
    five=$L
    check "$k: no such queue is no success" eval "! wait $five"
    check "$k: it says so" said five queue_not_found
    SEGQ_TOKEN=forged-token start $k six login "$R2"
    six=$L
    check "$k: a forged token is no success" eval "! wait $six"
    check "$k: it says so, too" said six unknown
    wait_for 60 "$k: the line is empty again" everybody_in

    # The join's answer is lost: the place that was given is found again.
    python3 "$here/swallow.py" $((PORT + 98)) "$R2" >"$DIR/swallow.$k" 2>&1 &
    swallow=$!
    helpers+=("$swallow")
    swallows() { has_status 200 "http://127.0.0.1:$((PORT + 98))/readyz"; }
    wait_for 20 "$k: a proxy that loses the answer to a join" swallows
    start $k lost login "http://127.0.0.1:$((PORT + 98))"
    lost=$L
    wait_for 60 "$k: it waits all the same" said lost '^1 of 1'
    check_eq "$k: the router had given a place" "$(cat "$DIR/swallow.$k")" "lost 201"
    last=$(join_queue "$R2" | field position)
    check_eq "$k: and that is its place, there is no other" "$last" 2
    lets_in 1 2
    check "$k: it is let in, though this router knows of no events" wait "$lost"
    check "$k: on that place" good "$DIR/lost.pass"
    end_pid "$swallow"
    wait_for 60 "$k: the line is empty" everybody_in
done
