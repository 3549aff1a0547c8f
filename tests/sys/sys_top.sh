#!/bin/bash
# segqctl top, watch: pictures in their place at a terminal, one below the other elsewhere.
. "$(dirname "$0")/lib.sh"

up --set away=0 --seg-nodes 2 --task-nodes 1 --set release_per_s=5 --set state=paused
ctl() { "$BIN/segqctl" --dir "$C" "$@" >"$DIR/out" 2>"$DIR/err" </dev/null; }
says() { grep -qE -- "$1" "$DIR/out"; }
pictures() { grep -c '^QUEUE ' "$DIR/out"; }

# ---- elsewhere ----
join_many 30 "$DIR/j"
seen() { ctl top -n 1 && says '^login +paused +30 '; }
wait_for 5 "top: 30 wait" seen
check_eq "  one picture" "$(pictures)" 1
check "  both nodes, the router, the pool, the task node" test \
    "$(grep -cE '^(segment\.[01] +up|router\.0 +up|\* +open|task\.0 +up) ' "$DIR/out")" = 5
check "  nothing steers a terminal" test "$(grep -c $'\e' "$DIR/out")" = 0
check "top -n 2" ctl top -n 2
check_eq "  two pictures" "$(pictures)" 2
check "  the second one has rates of change" says '^1 queue: 30 wait \(0/s\), 0/s arrive'
check "top -o json" ctl top -n 2 -o json
check_eq "  two answers" "$(jq -r .manager "$DIR/out" | wc -l)" 2
check "watch -n 2 --interval 1" ctl watch -n 2 --interval 1 login
check_eq "  two pictures" "$(grep -c '^queue login' "$DIR/out")" 2
check "task top -n 1" ctl task top -n 1
check "  has the pool" says '^\* +open'
refuses() { ctl "${@:2}"; [ $? = 2 ] && grep -q -- "$1" "$DIR/err"; }
check "an interval that is none" refuses '--interval takes 1 to 3600 seconds' top --interval 0
check "a command that has none" refuses 'status does not take --interval' status --interval 2

# ---- at a terminal: the same lines are drawn anew; q, Ctrl-C, another size, a cluster that is gone ----
PYTHONPATH=$here python3 - "$BIN/segqctl" "$C" >"$DIR/terminal" 2>&1 <<'E'
import re, sys
from terminal import Terminal

def claim(what, yes, seen=b""):
    print("ok" if yes else f"FAIL {seen[-1500:]!r}", what, flush=True)

def begin(lines, *words):
    return Terminal(lines, 100, [sys.argv[1], "--dir", sys.argv[2], *words])

def picture(t):
    """The next one: from home to the place where errors go."""
    return t.until(rb"\x1b\[H(?s:.)*?\x1b7")

t = begin(40, "top")
picture(t)  # empty: the screen is ours
one, two = picture(t), picture(t)
claim("two pictures, each with its queue", b"login" in one and b"login" in two, one)
claim("nothing is cleared but the rest of each line", b"\x1b[2J" not in one + two and
      one.count(b"\n") == one.count(b"\x1b[K\r\n"), two)
claim("heads are bold", b"\x1b[1mQUEUE\x1b[0m" in two, two)
claim("keys are not shown", not t.echoes())
t.size(14, 100)
small = picture(t)
while small.count(b"\n") > 11:
    small = picture(t)
claim("a smaller terminal is not overrun", b"segq at" in small, small)
t.type("q")
claim("q ends it", t.end() == 0)
claim("the terminal is as it was", t.echoes() and t.rest.endswith(b"\x1b[?25h"), t.rest)

t = begin(40, "watch", "login")
picture(t)
picture(t)
t.type("\x03")
claim("Ctrl-C ends watch", t.end() == 0)
claim("the terminal is as it was", t.echoes() and t.rest.endswith(b"\x1b[?25h"), t.rest)

t = begin(40, "top", "--timeout", "1", "--admin", "http://127.0.0.1:1", "--token-file", sys.argv[2] + "/secrets/admin.token")
error = rb"\x1b8\x1b\[Jsegqctl: [^\n]*127.0.0.1:1[^\n]*\n"
t.until(error)
t.until(error)
claim("nobody answers: it says so each time, in the same place", True)
t.type("q")
claim("q ends it: 1", t.end() == 1)

t = begin(40, "top", "-n", "1")
t.until(b"login")
claim("one picture alone is no screen", t.end() == 0 and b"\x1b[H" not in t.rest, t.rest)
E
check_eq "terminal.py came to its end" $? 0
while read -r word what; do
    if [ "$word" = ok ]; then ok "$what"; else fail "$what"; fi
done <"$DIR/terminal"
check_eq "all of it was claimed" "$(grep -cE '^(ok|FAIL)' "$DIR/terminal")" 12
