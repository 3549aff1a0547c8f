#!/bin/sh
# demo.sh: 100 000 simulated players against the cluster that `make run` started.
#   PLAYERS=N  RUN_DIR=DIR  BIN=DIR
set -eu
cd "$(dirname "$0")/.."
dir=${RUN_DIR:-run}
bin=${BIN:-build/rel/bin}
if [ ! -f "$dir/cluster.json" ]; then
    echo "demo: no cluster here ($dir/cluster.json): start one with 'make run' in another shell" >&2
    exit 1
fi
flat=$(tr -d '\n ' <"$dir/cluster.json")
routers=$(printf %s "$flat" | sed 's/.*"router":\[\([^]]*\)\].*/\1/' | tr -d '"' | tr ',' '\n' | sed 's/^/--router /')
admin=$(printf %s "$flat" | sed 's/.*"admin":"\([^"]*\)".*/\1/')
token=$(printf %s "$flat" | sed 's/.*"admin_token":"\([^"]*\)".*/\1/')
umask 077
printf %s "$token" >"$dir/demo.token"
# shellcheck disable=SC2086
exec "$bin/swarm" $routers --admin "$admin" --admin-token-file "$dir/demo.token" --queue login \
    --players "${PLAYERS:-100000}" --arrive-s 15 --until-admitted --max-s 170 --json "$dir/demo.json"
