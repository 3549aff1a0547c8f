#!/bin/bash
# A start that cannot be: a port that is taken, a file that is refused, a process that does not
# start. One line, soon, that names the setting; nothing is left running.
. "$(dirname "$0")/lib.sh"

# fails_soon "claim" MS command...: it fails within MS on a free machine, says one line (in $said)
# and leaves nothing behind
fails_soon() {
    local what=$1 most=$2 t0
    shift 2
    t0=$(now_ms)
    "$@" >"$DIR/out" 2>&1 </dev/null && fail "$what: it started"
    in_time "$what: it ends" $(($(now_ms) - t0)) "$most"
    said=$(cat "$DIR/out")
    check_eq "  one line: $said" "$(wc -l <"$DIR/out")" 1
    check "  nothing runs" nothing_runs
}
nothing_runs() { ! grep -lzqF "$C/" $(ls -d /proc/[0-9]*/cmdline 2>/dev/null) 2>/dev/null; }
says() { # "claim" pattern
    if grep -qE "$2" <<<"$said"; then ok "$1"; else fail "$1: it said '$said'"; fi
}
make_run() { env BASE_PORT="$PORT" RUN_DIR="$C" BIN="$BIN" WAIT_S=240 "$@" "$root/deploy/run.sh"; }
local_up() { "$root/deploy/local.sh" up --dir "$C" --base-port "$PORT" --bin "$BIN" --wait 240 "$@"; }

# ---- a port
taken=$((PORT + 10))
helper python3 -c "
import socket, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('127.0.0.1', $taken)); s.listen(); print('bound', flush=True); time.sleep(3600)"
wait_for 10 "somebody has the routers' port" grep -q bound "$DIR/helper.log"
fails_soon "make run" 2000 make_run
says "  which port, who has it, what to type" \
    "^local.sh: port $taken is in use \(by python3, pid $H\): BASE_PORT=[0-9]+ make run\$"
advised=$(sed 's/.*BASE_PORT=\([0-9]*\).*/\1/' <<<"$said")
check "  another base port" test "$advised" != "$PORT"
"$BIN/router" --set listen=127.0.0.1:$((PORT + 20)) --set admin=127.0.0.1:$taken --set create_keys=true \
    --set secret_file="$C/secrets/alone.secret" >"$DIR/out" 2>&1
check_eq "a router alone ends" $? 1
said=$(cat "$DIR/out")
says "  with the setting, and the port" "cannot.start.*admin: .*127.0.0.1:$taken: Address already in use"
end_pid "$H"

# ---- a port that the kernel has given to a client
helper python3 -c "
import socket, time
s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()
c = socket.socket(); c.bind(('127.0.0.1', $taken)); c.connect(s.getsockname()); print('connected', flush=True); time.sleep(3600)"
wait_for 10 "a client's connection has the routers' port" grep -q connected "$DIR/helper.log"
fails_soon "make run" 2000 make_run
says "  the same advice" "^local.sh: port $taken is in use \(by python3, pid $H\): BASE_PORT=[0-9]+ make run\$"
end_pid "$H"

# ---- a file
fails_soon "claim above pass_ttl" 2000 local_up --set claim=10m --set pass_ttl=1m
says "  the two settings" 'queue login: claim is longer than pass_ttl'
fails_soon "a key that is none" 2000 local_up --set router.join_limit=5
says "  the key" 'router: --set join_limit=5: unknown key "join_limit"'
fails_soon "a value that is none" 2000 local_up --set segment.journal=sometimes
says "  the key, the value, what is allowed" 'segment: --set: journal: sometimes is not allowed here; allowed: '

# ---- a process that ends at the start
fails_soon "no folder for the manager" 4000 local_up --set queuemng.data_dir=/proc/nowhere
says "  who, and why" '^local.sh: queuemng.0: .*/proc/nowhere: .*\(logs: '
fails_soon "no folder for the journal" 4000 local_up --set segment.journal_dir=/proc/nowhere
says "  who, and why" '^local.sh: segment.0: .*/proc/nowhere: .*\(logs: '

# ---- the same folder, all of it good; and a port where a server, gone now, had accepted a connection
helper python3 -c "
import socket, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('127.0.0.1', $taken)); s.listen()
c = socket.create_connection(('127.0.0.1', $taken)); a = s.accept(); s.close(); print('accepted', flush=True); time.sleep(3600)"
wait_for 10 "such a connection is there" grep -q accepted "$DIR/helper.log"
up
check "then it starts in the same folder" eval '! nothing_runs'
