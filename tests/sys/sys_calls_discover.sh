#!/bin/bash
# Targets that a name server finds (discover=dns), as a headless service of Kubernetes has them: each address gets
# calls under the service's name; addresses come and go while calls are under way; a server that is silent, or that
# knows the name no more, takes nothing away, also behind a kill -9 of the manager. All of it on a network of its own.
if [ -z "${SEGQ_OWN_NETWORK:-}" ]; then
    for how in "" "--user --map-root-user"; do
        # shellcheck disable=SC2086
        unshare $how --net --mount --propagation private \
            sh -c 'ip link set lo up && mount -t tmpfs none /run' 2>/dev/null || continue
        # shellcheck disable=SC2086
        SEGQ_OWN_NETWORK=1 exec unshare $how --net --mount --propagation private bash "$0" "$@"
    done
    echo "ok   ${0##*/}: skipped: needs root (or user namespaces)"
    exit 0
fi
ip link set lo up || exit 1
. "$(dirname "$0")/lib.sh"

T=$((PORT + 90)) D=$((PORT + 91)) # target.py; the name server
printf 'nameserver 127.0.0.1:%s\noptions timeout:1 attempts:1\n' "$D" >"$DIR/resolv.conf"
mount --bind "$DIR/resolv.conf" /etc/resolv.conf || give_up "the name server cannot be replaced"
says() { echo "gpu.test $*" >"$DIR/names.new" && mv "$DIR/names.new" "$DIR/names"; }
says 127.0.0.2 127.0.0.3
for a in 2 3 4; do helper python3 "$here/target.py" $T "$DIR/seen$a" 127.0.0.$a; done
helper python3 "$here/dns.py" "127.0.0.1:$D" "$DIR/names" "$DIR/asked"
up --routers 1 --seg-nodes 1 --task-nodes 2 --task-store journal
token=$(task_token)

ctl() { "$BIN/segqctl" --dir "$C" "$@"; }
targets() { # addresses that are up, in their order
    admin GET /v1/admin/endpoints/gpu/targets | jq -r '[.targets[] | select(.state == "up") | .address] | sort | join(" ")'
}
are() { [ "$(targets)" = "$*" ]; }
call() { http -H "segq-token: $token" "$R/v1/call/gpu/$1"; }
failing() { admin GET /v1/admin/endpoints/gpu/targets | jq -r '.names[0].failing'; }
fails() { [ -n "$(failing)" ]; }
is_well() { [ -z "$(failing)" ]; }
reaches() { for a in "$@"; do # each of them gets a call
    call "echo/$a" >/dev/null
    [ -s "$DIR/seen$a" ] || return 1
done; }

ctl endpoint add gpu allow='["127.0.0.0/8"]' discovery.min=1s \
    targets="[{\"url\":\"http://gpu.test:$T\",\"max_concurrent\":2,\"discover\":\"dns\"}]" >/dev/null
wait_for 15 "each address of the name is a target" are 127.0.0.2 127.0.0.3
wait_for 15 "  and is called" reaches 2 3
check_eq "  by the name" "$(jq -r '.headers.host' "$DIR/seen2" | sort -u)" "gpu.test:$T"
check "  and shown with it" grep -q "^http://gpu.test:$T (127.0.0.2) *up" <<<"$(ctl endpoint targets gpu)"

S=$(http -H "Authorization: Bearer $token" -d '{"path":"/slow/4000","method":"GET"}' "$R/v1/queues/gpu/tasks" | jq -r .task)
at() { a=$(grep -l /slow/4000 "$DIR"/seen? | sed 's/.*seen//') && [ -n "$a" ]; }
wait_for 10 "a slow call is under way" at
says "$(echo 127.0.0.2 127.0.0.3 127.0.0.4 | sed "s/127.0.0.$a//")" # its address goes, another one comes
left=$(for x in 2 3 4; do [ "$x" = "$a" ] || echo -n "127.0.0.$x "; done)
# shellcheck disable=SC2086
wait_for 10 "  while its address goes, and another one comes" are $left
ends() { [ "$(http "$R/v1/tasks/$S" | field state)" = succeeded ]; }
wait_for 10 "  and it ends well" ends
check_eq "  at its first attempt" "$(http "$R/v1/tasks/$S" | field attempts)" 1
wait_for 10 "  the one that came is called" reaches 4

was=$(targets)
says "?"
wait_for 30 "a silent name server is shown" fails
check "  in endpoint list, too" grep -q "its addresses cannot be discovered, 2 that are known stay" <<<"$(ctl endpoint list)"
check_eq "  and takes nothing away" "$(targets)" "$was"
p=$(pid_of queuemng) && kill -9 "$p"
wait_for 20 "  nor does a kill -9 of the manager" restarted queuemng "$p"
# shellcheck disable=SC2086
wait_for 20 "  behind which targets are what they were" are $was
check_eq "  and are called" "$(call status/200)" "status 200"
echo "other.test 127.0.0.2" >"$DIR/names" # there is no such name
knows_none() { grep -q "no address" <<<"$(failing)"; }
wait_for 40 "a server that does not know the name takes nothing away" knows_none
check_eq "  either" "$(targets)" "$was"
says 127.0.0.2
wait_for 20 "an address is enough" are 127.0.0.2
check "  and all is well" is_well
check_eq "what was said once was logged once for each manager" "$(grep -c 'event=discovery_failing' "$C"/logs/queuemng*.log)" 2
