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
umask 077
mkdir -p "$dir"
for name in ${*:-cluster.secret pass.key admin.token task.token task_tokens}; do
    [ ! -e "$dir/$name" ] || continue
    case $name in
    task_tokens) echo "$(tr -d '\n' <"$dir/task.token" | sha256sum | cut -d ' ' -f 1) submit,take,read *" ;;
    *.token) head -c 32 /dev/urandom | base64 | tr -d '=+/' ;;
    cluster.secret | pass.key) head -c 32 /dev/urandom | base64 ;;
    *) echo "secrets: there is no secret $name" >&2; exit 2 ;;
    esac >"$dir/$name.new"
    mv "$dir/$name.new" "$dir/$name"
done
