#!/bin/sh
# secrets.sh [DIR [NAME...]]: makes the secrets of a cluster that are missing in DIR
# (/etc/segq/secrets), for its owner alone. The same ones belong on every machine of a cluster
# (README.md beside the units):
#   cluster.secret  all processes        admin.token  operators, and the manager
#   pass.key        segment nodes        task.token   servers that submit and take tasks; its hash,
#                                        task_tokens, is for routers
set -eu
dir=${1:-/etc/segq/secrets}
[ $# -eq 0 ] || shift
(umask 022 && mkdir -p -m 700 "$dir") # those above it are for everybody
umask 077
trap 'rm -f "$dir/${name:-}.new"' EXIT
for name in ${*:-cluster.secret pass.key admin.token task.token task_tokens}; do
    [ ! -e "$dir/$name" ] || continue
    case $name in
    task_tokens)
        [ -s "$dir/task.token" ] || { echo "secrets: task_tokens is the hash of $dir/task.token, which is not there" >&2; exit 2; }
        echo "$(tr -d '\n' <"$dir/task.token" | sha256sum | cut -d ' ' -f 1) submit,take,read *" ;;
    *.token) head -c 32 /dev/urandom | base64 | tr -d '=+/' ;;
    cluster.secret | pass.key) head -c 32 /dev/urandom | base64 ;;
    *) echo "secrets: there is no secret $name" >&2; exit 2 ;;
    esac >"$dir/$name.new"
    mv "$dir/$name.new" "$dir/$name"
done
