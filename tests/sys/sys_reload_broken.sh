#!/bin/bash
# HUP with a broken file: the old configuration stays, the log names file and line.
# HUP with a good one: the new numbers hold within a second.
. "$(dirname "$0")/lib.sh"

up --release-per-s 50
wait_for 10 "50 a second" rate_is 50
boss=$(pid_of mng_cluster)
pid=$(pid_of queuemng)
log=$C/logs/queuemng.0.log
file=$C/config/queuemng.yaml
cp "$file" "$DIR/good.yaml"

hup() { kill -HUP "$boss"; } # the supervisor passes it on
said() { grep -E ' (error|warn) ' "$log" | grep -c "$1"; }
says() { [ "$(said "$1")" -gt "$2" ]; } # more often than that
refused() { # claim line text
    printf '%s\n' "$3" | cat "$DIR/good.yaml" - >"$file"
    line=$(wc -l <"$file")
    was=$(said "queuemng.yaml:$line")
    hup
    wait_for 10 "$1: the log names line $line" says "queuemng.yaml:$line" "$was"
    check_eq "$1: still the same process" "$(pid_of queuemng)" "$pid"
    check "$1: still 50 a second" rate_is 50
}
refused "an unknown key" 1 'no_such_key: 1'
refused "no YAML at all" 1 'queues: [[['
refused "an alias" 1 'node: *x'
refused "a wrong type" 1 'tick: "soon"'

rm "$file" && mkfifo "$file"
hup
wait_for 10 "a pipe: the log says so" says "a pipe cannot be read again" 0
check "  and nobody waits for it" rate_is 50
rm "$file"

sed 's/release_per_s: 50/release_per_s: 80/' "$DIR/good.yaml" >"$file"
hup
wait_for 10 "a good file: 80 a second" rate_is 80
check_eq "by the same process" "$(pid_of queuemng)" "$pid"

# The supervisor's own file.
cp "$C/config/rt_cluster.yaml" "$DIR/rt.yaml"
echo 'children: many' >>"$C/config/rt_cluster.yaml"
kill -HUP "$(pid_of rt_cluster)"
refused_rt() { grep -q 'reload_refused.*rt_cluster.yaml' "$C/logs/rt_cluster.log"; }
wait_for 10 "rt_cluster refuses a broken file" refused_rt
check_eq "its router goes on" "$(status_of "$R/healthz")" 200
sed 's/^children: 1/children: 2/' "$DIR/rt.yaml" >"$C/config/rt_cluster.yaml"
kill -HUP "$(pid_of rt_cluster)"
wait_for 15 "a good one with two children: a second router" has_status 200 "$R2/readyz"
heard() { admin GET /v1/admin/live | jq -e '.routers[] | select(.name == "router.1") | .load != null' >/dev/null; }
wait_for 10 "  of which the manager has heard" heard
cp "$DIR/rt.yaml" "$C/config/rt_cluster.yaml"
second=$(pid_of router.1)
kill -HUP "$(pid_of rt_cluster)"
wait_for 15 "back to one: the second ends" is_gone "$second"
ended=$SECONDS
check_eq "the first goes on" "$(status_of "$R/readyz")" 200

# What a supervisor passes on is known to its children alone: they are asked.
asked() { # supervisor key=value: exit 2, with the child's sentence
    "$BIN/$1" -c "$C/config/$1.yaml" --set "set=$2" -t >"$DIR/t.out" 2>"$DIR/t.err"
    [ $? = 2 ] && grep -q "a child would not start: .*${2%%=*}" "$DIR/t.err"
}
check "rt_cluster -t asks a router" asked rt_cluster 'trusted_proxies=nonsense'
check "seg_cluster -t asks a segment node" asked seg_cluster 'no_such_key=1'
check "mng_cluster -t asks a manager" asked mng_cluster 'tick=soon'
check "a good one passes" "$BIN/rt_cluster" -c "$C/config/rt_cluster.yaml" -t
check "a program that is not there" eval '! "$BIN/rt_cluster" -c "$C/config/rt_cluster.yaml" --set program=/nope -t 2>"$DIR/t.err" >&2 &&
    grep -q "program /nope" "$DIR/t.err"'
{ sed '/^set:/d' "$DIR/rt.yaml"; echo "set: ['trusted_proxies=[]']"; } >"$C/config/rt_cluster.yaml"
router=$(pid_of router.0)
kill -HUP "$(pid_of rt_cluster)"
refused_child() { grep -q 'reload_refused.*a child would not start.*trusted_proxies' "$C/logs/rt_cluster.log"; }
wait_for 15 "a reload with it is refused" refused_child
check_eq "  the router goes on" "$(pid_of router.0) $(status_of "$R/readyz")" "$router 200"

is_stale() { [ $((SECONDS - ended)) -gt 11 ]; } # LOAD_STALE_MS
wait_for 15 "a router that does not come back is gone after ten seconds" is_stale
check_eq "  one that said that it leaves is missed by nobody" "$(admin GET /v1/admin/live | jq -c '[.routers, .routers_gone | map(.name)]')" '[["router.0"],[]]'
