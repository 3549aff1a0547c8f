#!/bin/bash
# The two clients that docs/game.md shows, as they stand there, against a real cluster: both
# end with a pass that the router's published key verifies.
. "$(dirname "$0")/lib.sh"

e2e=$root/tests/e2e

# The function, from its first line to the first closing brace in the first column.
the_function() { sed -n '/^async function waitForPass/,/^}/p' "$1"; }
the_function "$e2e/client.js" >"$DIR/client"
the_function "$root/docs/game.md" >"$DIR/page"
check "client.js has the function" test -s "$DIR/client"
check "docs/game.md shows the very same, letter by letter" cmp "$DIR/client" "$DIR/page"

check "client.c compiles without a warning" \
    "${CC:-cc}" -Wall -Wextra -Werror -o "$DIR/client-c" "$e2e/client.c" -lcurl -ljansson

up --release-per-s 5 --set poll_min=200ms --set pass_ttl=30m
has_pass() { # file: three parts between dots, nothing else
    grep -qE '^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$' "$1" && [ "$(wc -l <"$1")" = 1 ]
}
good() { node "$e2e/verify.js" "$R/.well-known/jwks.json" "${2:-login}" <"$1" >"$1.claims" 2>"$1.why"; }

# Twenty people stand before them, so that they have to wait and to poll.
join_many 20 "$DIR/j"
timeout 280 "$DIR/client-c" "$R" login >"$DIR/pass.c" 2>"$DIR/c.err" &
c_pid=$!
timeout 280 node "$e2e/client.js" "$R" login >"$DIR/pass.js" 2>"$DIR/js.err" &
js_pid=$!
helpers+=("$c_pid" "$js_pid")
check "the C client ends well" wait "$c_pid"
check "the JavaScript client ends well" wait "$js_pid"
for k in c js; do
    check "$k: one pass in three parts" has_pass "$DIR/pass.$k"
    check "$k: verified with the router's key" good "$DIR/pass.$k"
done
check "they are two people" test "$(jq -r .jti "$DIR"/pass.*.claims | sort -u | wc -l)" = 2

# What is no pass is seen as none.
not_good() { ! good "$@"; }
check "not for another queue" not_good "$DIR/pass.c" other
p=$(cat "$DIR/pass.c")
first=${p%"${p##*.}"} # header and claims, with the dot behind
echo "$first$(cut -d. -f3 "$DIR/pass.js")" >"$DIR/mixed"
check "another's signature is refused" not_good "$DIR/mixed"
check "and for that reason" grep -q 'signature is wrong' "$DIR/mixed.why"

# Both say what the matter is when there is no such queue.
fails_saying() { local what=$1; shift; ! "$@" >"$DIR/out" 2>&1 && grep -qi "$what" "$DIR/out"; }
check "C: no such queue" fails_saying 'no.*queue' timeout 60 "$DIR/client-c" "$R" nosuch
check "JavaScript: no such queue" fails_saying 'no.*queue' timeout 60 node "$e2e/client.js" "$R" nosuch
