#!/bin/bash
# Random bytes, half frames, half handshakes and foreign protocols at the internal ports: each
# connection is closed with one log line that says why; the processes stay. queuemng takes peers
# without TLS, too, so that its reader of frames meets them; the segment node does not.
. "$(dirname "$0")/lib.sh"

up --release-per-s 50 --set queuemng.tls=accept
mng=$(pid_of queuemng) seg=$(pid_of segment.0)
closed() { grep -c 'event=link_down\|event=link_refused' "$C/logs/$1.log"; }

throw() { # port: 80 connections of rubbish
    local i fd
    for i in $(seq 20); do
        head -c $((RANDOM % 3000 + 1)) /dev/urandom | timeout 60 bash -c "cat >/dev/tcp/127.0.0.1/$1" 2>/dev/null
        printf 'GET / HTTP/1.1\r\nHost: a\r\n\r\n' | timeout 60 bash -c "cat >/dev/tcp/127.0.0.1/$1" 2>/dev/null
        # a frame that claims 4 GiB; a few bytes of one
        printf '\377\377\377\377\001\000\000\000\000\000\000\000\000\000\000\000' |
            timeout 60 bash -c "cat >/dev/tcp/127.0.0.1/$1" 2>/dev/null
        { printf '\026\003\001\002\000'; head -c 512 /dev/urandom; } | # a handshake that is none
            timeout 60 bash -c "cat >/dev/tcp/127.0.0.1/$1" 2>/dev/null
    done
    return 0
}
for p in "queuemng.0 $PORT" "segment.0 $((PORT + 50))"; do
    set -- $p
    was=$(closed "$1")
    throw "$2"
    lines() { [ $(($(closed "$1") - was)) -ge 80 ]; }
    wait_for 15 "$1: a line for each of 80 connections" lines "$1"
    check "$1: not more than one line each" test $(($(closed "$1") - was)) -le 84
done
said() { grep -c "why=.*$1" "$C/logs/$2.log"; }
check "queuemng's reader of frames refused theirs" test "$(said '\(not our frames\|above the limit\)' queuemng.0)" -ge 20
check "TLS refused its own there" test "$(said 'TLS: ' queuemng.0)" -ge 20
check "and at the segment node" test "$(said 'TLS: ' segment.0)" -ge 20
check_eq "queuemng is the same process" "$(pid_of queuemng)" "$mng"
check_eq "segment.0 is the same process" "$(pid_of segment.0)" "$seg"

# A silent connection is closed, too, and holds nobody up.
exec 7<>/dev/tcp/127.0.0.1/"$PORT" 8<>/dev/tcp/127.0.0.1/$((PORT + 50))
printf '\001\002' >&7
t=$(join_queue | token_in)
check "people join meanwhile" test -n "$t"
wait_for 10 "and are admitted" is_admitted "$t"
closed_by_peer() { read -r -t 0.01 -u "$1" -n 1; [ $? -eq 1 ]; }
wait_for 10 "queuemng closes a connection that says no hello" closed_by_peer 7
wait_for 10 "so does the segment node" closed_by_peer 8
