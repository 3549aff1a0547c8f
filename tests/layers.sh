#!/bin/bash
# layers.sh: one-way dependencies. A header whose first comment says "Pure" promises that
# neither it nor its .c reaches a socket, file, clock, libevent, protobuf or libyaml, and
# that it includes only what is pure itself. Ends with "layers: N passed, N failed".
set -u
cd "$(dirname "$0")/.." || exit 2
passed=0
failed=0
ok() { passed=$((passed + 1)); }
no() { failed=$((failed + 1)); echo "FAIL $*"; }
gen=$(ls -d build/*/gen 2>/dev/null | head -1)
flags="-std=gnu11 -Wall -Wextra -I. -I${gen:-build/rel/gen} $(pkg-config --cflags libevent libprotobuf-c yaml-0.1 jansson libsodium hiredis 2>/dev/null)"

is_pure() { awk '{print} /\*\//{exit}' "$1" | grep -qw 'Pure'; }

headers=$(ls common/*.h router/*.h segment/*.h queuemng/*.h)
for h in $headers; do
    # shellcheck disable=SC2086
    if gcc $flags -fsyntax-only -x c "$h" 2>/tmp/layers.$$; then ok; else
        no "$h does not compile alone"; head -5 /tmp/layers.$$; fi
done
rm -f /tmp/layers.$$

banned='event2/|\.pb-c\.h|hiredis|yaml\.h|sys/socket|netinet/|arpa/|sys/epoll|<time\.h>|sys/time\.h|<poll\.h>|<fcntl\.h>'
for h in $headers; do
    is_pure "$h" || continue
    for f in "$h" "${h%.h}.c"; do
        [ -f "$f" ] || continue
        bad=$(grep -nE "^#include.*($banned)" "$f")
        if [ -n "$bad" ]; then no "$f is pure, yet: $bad"; else ok; fi
        for inc in $(sed -n 's/^#include "\(.*\.h\)".*/\1/p' "$f"); do
            [ -f "$inc" ] || continue
            case $inc in common/log.h | */*_int.h) continue ;; esac # log: a settable sink
            if is_pure "$inc"; then ok; else no "$f is pure, but includes $inc"; fi
        done
    done
done

rooms="router segment queuemng"
for a in $rooms; do
    for b in $rooms; do
        [ "$a" = "$b" ] && continue
        bad=$(grep -lE "^#include \"$b/" "$a"/*.[ch])
        if [ -n "$bad" ]; then no "$a includes $b: $bad"; else ok; fi
    done
    bad=$(grep -lE "^#include \"$a/" common/*.[ch])
    if [ -n "$bad" ]; then no "common includes $a: $bad"; else ok; fi
done

only() { # pattern, allowed files as an extended regular expression
    local bad
    bad=$(grep -lE "^#include.*$1" common/*.[ch] router/*.[ch] segment/*.[ch] queuemng/*.[ch] | grep -vE "^($2)$")
    if [ -n "$bad" ]; then no "$1 is included outside its place: $(echo $bad)"; else ok; fi
}
only '\.pb-c\.h' 'common/codec_[a-z_]*\.[ch]'
only 'yaml\.h' 'common/cfg_yaml\.c'
only 'event2/' 'common/[a-z_]*\.[ch]|queuemng/(monitor[a-z_]*|segqctl[a-z_]*)\.[ch]'
only 'hiredis' 'queuemng/redis_(link|ans)\.c'
echo "layers: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
