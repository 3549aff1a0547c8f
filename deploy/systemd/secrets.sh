#!/bin/sh
# secrets.sh [DIR]: makes the secrets of a cluster that are missing in DIR (/etc/segq/secrets), for
# root alone. The same ones belong on every machine of a cluster: README.md beside the units.
set -eu
dir=${1:-/etc/segq/secrets}
umask 077
mkdir -p "$dir"
for s in cluster.secret pass.key admin.token; do
    [ ! -e "$dir/$s" ] || continue
    head -c 32 /dev/urandom | base64 | if [ $s = admin.token ]; then tr -d '=+/'; else cat; fi >"$dir/$s.new"
    mv "$dir/$s.new" "$dir/$s"
done
