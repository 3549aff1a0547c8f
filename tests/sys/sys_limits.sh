#!/bin/bash
# Limits of one address: who is too fast gets 429 and keeps the place, others do not notice;
# a trusted proxy speaks for its clients, nobody else does; connections per address.
. "$(dirname "$0")/lib.sh"

up --release-per-s 1 --set state=paused --set router.trusted_proxies=127.0.9.0/24 \
    --set router.join_limit_per_s=2 --set router.join_burst=10 \
    --set router.poll_limit_per_s=20 --set router.poll_burst=40 \
    --set router.bad_limit_per_s=1 --set router.bad_burst=5

from() { http --interface "127.0.$1" "${@:2}"; } # 0.11 curl-arguments...
code_from() { from "$1" -o /dev/null -w '%{http_code}' "${@:2}"; }
# how many of N requests of one address ended with this status
flood() { # 0.11 N status curl-arguments... (the URL last; ?[1-N] is added)
    curl -s -Z --parallel-max 8 --max-time 200 --interface "127.0.$1" -o /dev/null \
        -w '%{http_code}\n' "${@:4:$#-4}" "${!#}?[1-$2]" | grep -c "$3"
}
J=$R/v1/queues/login/tickets
metric_429() {
    http "http://127.0.0.1:$((PORT + 30))/metrics" |
        sed -n "s/^segq_router_too_fast_total{budget=\"$1\"} //p"
}

# ---- joins
t=$(from 0.11 -X POST "$J" | token_in)
check "a first join is let in" test -n "$t"
t0=$(now_ms)
n=$(flood 0.11 60 201 -X POST "$J")
most=$((9 + ($(now_ms) - t0) * 2 / 1000 + 1))
check "of 60 more at once the rest of the burst is let in ($n of $most)" test "$n" -ge 9 -a "$n" -le $most
check_eq "another address joins meanwhile" "$(code_from 0.12 -X POST "$J")" 201
check "429s are counted by budget" test "$(metric_429 join)" -ge $((60 - most))
check_eq "and not as polls" "$(metric_429 poll)" 0

# ---- polls: the place is kept
before=$(from 0.12 "$R/v1/tickets/$t" | field position)
t0=$(now_ms)
n=$(flood 0.11 300 429 "$R/v1/tickets/$t")
most=$((260 - ($(now_ms) - t0) * 20 / 1000 - 1))
check "of 300 polls at once all beyond the burst are told to come later ($n)" \
    test "$n" -ge "$most" -a "$n" -gt 0
caught() { # in a crowd of the same address: the one that is told to wait the longest
    rm -f "$DIR"/slow.*
    from 0.11 -Z --parallel-max 8 -i -o "$DIR/slow.#1" "$R/v1/tickets/$t?[1-120]" 2>/dev/null
    grep -o '"poll_after_ms":[0-9]*' $(grep -l '^HTTP/1.1 429' "$DIR"/slow.*) /dev/null |
        sort -t : -k 3n | tail -n 1 | cut -d : -f 1 >"$DIR/which"
    [ -s "$DIR/which" ] && cp "$(cat "$DIR/which")" "$DIR/slow"
}
wait_for 20 "so are some of 120 more" caught
check "429 says when to come: Retry-After" grep -q '^Retry-After: [1-9]' "$DIR/slow"
check_eq "with the code too_fast" "$(sed '1,/^\r$/d' "$DIR/slow" | field code)" too_fast
told=$(sed '1,/^\r$/d' "$DIR/slow" | field poll_after_ms)
check "the told interval has grown with the excess ($told ms)" test "$told" -gt 1000
check_eq "the same ticket is served to another address" "$(code_from 0.12 "$R/v1/tickets/$t")" 200
again() { [ "$(code_from 0.11 "$R/v1/tickets/$t")" = 200 ]; }
wait_for 10 "and soon to the fast one, too" again
check_eq "its place was kept" "$(from 0.12 "$R/v1/tickets/$t" | field position)" "$before"

# ---- bad requests
t0=$(now_ms)
n=$(flood 0.13 30 404 "$R/v1/tickets/forged")
check "guessing tokens is slowed down ($n of 30 were looked at)" test "$n" -ge 5 -a "$n" -le $((6 + ($(now_ms) - t0) / 1000))
check_eq "who guesses may still poll a real one" "$(code_from 0.13 "$R/v1/tickets/$t")" 200
check_eq "/readyz is never refused" "$(flood 0.13 100 200 "$R/readyz")" 100

# ---- proxies
X='X-Forwarded-For: 203.0.113'
check_eq "a trusted proxy's client has a budget of its own" \
    "$(flood 9.1 10 201 -X POST -H "$X.7" "$J")" 10
# A budget of its own would take ten at once; of one that is spent a few come back meanwhile.
spent() { [ "$(flood "$1" 10 429 -X POST -H "$2" "$J")" -ge 1 ]; }
check "which ends" spent 9.1 "$X.7"
check_eq "its other clients have theirs" "$(code_from 9.2 -X POST -H "$X.8" "$J")" 201
check "what the client wrote before counts for nothing" spent 9.1 "$X.99, 203.0.113.7"
flood 9.1 12 201 -X POST -H 'X-Forwarded-For: 2001:db8:1:2::1' "$J" >/dev/null
check "an IPv6 /64 is one address" spent 9.1 'X-Forwarded-For: 2001:db8:1:2:ffff::9'
check_eq "the next /64 is another" \
    "$(code_from 9.1 -X POST -H 'X-Forwarded-For: 2001:db8:1:3::1' "$J")" 201
flood 0.14 12 201 -X POST "$J" >/dev/null
check "nobody else is believed" spent 0.14 "$X.55"
code_from 9.3 -H 'X-Forwarded-For: <script>' "$R/v1/queues/login" >/dev/null
check_eq "a malformed header is counted" "$(metric 30 segq_router_forwarded_malformed_total)" 1

# ---- connections, and a change in the running router
cat >"$DIR/hold.py" <<'EOT'
"""Opens N connections from one address, each with one request, and says how many stayed."""
import socket
import sys

port, addr, n = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
socks, alive = [], 0
for _ in range(n):
    s = socket.create_connection(("127.0.0.1", port), 60, (addr, 0))
    s.settimeout(60)
    try:
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        alive += s.recv(4096).startswith(b"HTTP/1.1 200")
    except OSError:
        pass
    socks.append(s)
print(alive, flush=True)
open(sys.argv[4]).read()
EOT
sed -i 's/^conns_per_addr: 0/conns_per_addr: 20/' "$C/config/router.yaml"
kill -HUP "$(pid_of router.0)"
read_again() { grep -q 'event=reloaded' "$C/logs/router.0.log"; }
wait_for 5 "the router reads its configuration again" read_again
mkfifo "$DIR/end"
helper python3 "$DIR/hold.py" $((PORT + 10)) 127.0.0.21 30 "$DIR/end"
stayed() { tail -n 1 "$DIR/helper.log" | grep -qx 20; }
wait_for 10 "of 30 connections of one address 20 stay" stayed
check_eq "10 were refused" "$(metric 30 segq_router_http_refused_total)" 10
check_eq "another address connects" "$(code_from 0.22 "$R/healthz")" 200
check "this one not" test "$(code_from 0.21 "$R/healthz")" = 000
end_pid "$H"
free_again() { [ "$(code_from 0.21 "$R/healthz")" = 200 ]; }
wait_for 5 "but when it has closed some" free_again
