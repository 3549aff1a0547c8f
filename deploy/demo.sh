#!/bin/bash
# demo.sh: 100 000 simulated players against the cluster that `make run` started. While it
# lasts the queue `login` has a fixed rate, slower than they come: so there is a line. At the
# end, also after Ctrl-C, the queue is as it was.
#   PLAYERS=N  RATE=N (let in per second)  ARRIVE_S=N  RUN_DIR=DIR  BIN=DIR
set -u
cd "$(dirname "$0")/.." || exit 1
dir=${RUN_DIR:-run}
bin=${BIN:-build/rel/bin}
players=${PLAYERS:-100000} rate=${RATE:-1000} arrive_s=${ARRIVE_S:-15}
die() { echo "demo: $*" >&2; exit 1; }
ctl() { "$bin/segqctl" --dir "$dir" "$@"; }

[ -f "$dir/cluster.json" ] || die "no cluster here ($dir/cluster.json): start one with 'make run' in another shell"
flat=$(tr -d '\n ' <"$dir/cluster.json")
routers=$(sed 's/.*"router":\[\([^]]*\)\].*/\1/' <<<"$flat" | tr -d '"' | tr ',' '\n' | sed 's/^/--router /')
admin=$(sed 's/.*"admin":"\([^"]*\)".*/\1/' <<<"$flat")
token=$(sed 's/.*"admin_token":"\([^"]*\)".*/\1/' <<<"$flat")
(umask 077 && printf %s "$token" >"$dir/demo.token")

# ---- the queue, for as long as it lasts -----------------------------------------------

key() { # name -> its value in the queue's definition
    tr -d '\n ' <<<"$queue" | sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"
}
restore() {
    trap '' INT TERM
    [ -z "$swarm" ] || { kill -TERM "$swarm" 2>/dev/null; wait "$swarm"; }
    if [ "$was" = 0 ]; then set -- rate login limits; else set -- rate login "$was"; fi
    ctl "$@" >/dev/null || echo "demo: the queue keeps the demo's rate: $bin/segqctl --dir $dir $*" >&2
}
queue=$(ctl --json queue show login) || die "the cluster does not answer: is 'make run' still there?"
[ "$(key state)" = open ] || die "login is $(key state): $bin/segqctl --dir $dir open login (or resume login)"
[ "$(key mode)" = rate ] || die "login has slots: $bin/segqctl --dir $dir queue set login mode=rate"
was=$(key release_per_s)
was=${was%.0} swarm=
trap restore EXIT
trap 'exit 130' INT TERM
ctl rate login "$rate" >/dev/null || die "the rate cannot be set"

# ---- the players -----------------------------------------------------------------------

# Who joins an empty line is answered when he is let in, and has his connection until then.
conns=$(ulimit -Hn)
[ "$conns" != unlimited ] && [ "$conns" -lt 4200 ] && conns=$((conns - 200)) || conns=4000
cat <<EOT
Watch it: $admin/#token=$token
          (or $bin/segqctl --dir $dir watch login)

$players players come within $arrive_s s, $rate a second are let in; Ctrl-C ends it.

EOT
# shellcheck disable=SC2086
"$bin/swarm" $routers --admin "$admin" --admin-token-file "$dir/demo.token" --queue login --conns "$conns" \
    --players "$players" --arrive-s "$arrive_s" --until-admitted \
    --max-s $((players / rate + arrive_s + 60)) --json "$dir/demo.json" &
swarm=$!
wait $swarm
rc=$?
swarm=
exit $rc
