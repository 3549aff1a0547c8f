#!/bin/bash
# on.sh DATE ZONE command...: runs the command as if it began at DATE (as date(1) reads it, in
# that zone; "": now), in the time zone ZONE (as in TZ; "": ours). WALL=wall.so
set -u
[ $# -ge 3 ] || { echo "usage: on.sh DATE ZONE command..." >&2; exit 2; }
wall=${WALL:-$(dirname "$0")/../../build/rel/dates/wall.so}
wall=$(realpath -e "$wall") || exit 2
[ -z "$2" ] || export TZ=$2
if [ -n "$1" ]; then
    at=$(date -d "$1" +%s) || exit 2
    export SEGQ_WALL_S=$((at - $(date +%s))) LD_PRELOAD=$wall
    export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
fi
shift 2
exec "$@"
