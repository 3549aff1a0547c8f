# demo-cluster.sh, for demos (source it): the cluster that `make run` started, or one that is started
# here, and ends with the demo. Sets dir, admin, token; what has its pid in $demo is ended, too.
# Descriptor 9 is a lock, which $demo holds, too: two demos of a name would take away each other's endpoint.
set -u
cd "$(dirname "$0")/.." || exit 1
dir=${RUN_DIR:-run}
name=$(basename "$0" .sh)
die() { echo "$name: $*" >&2; exit 1; }
run='' demo=''
end() {
    trap '' INT TERM
    [ -z "$demo" ] || { kill -TERM "$demo" 2>/dev/null; wait "$demo"; }
    [ -z "$run" ] || { kill -TERM "$run" 2>/dev/null; wait "$run"; }
}
trap end EXIT
trap 'exit 130' INT TERM

admin_of() { tr -d '\n ' <"$dir/cluster.json" 2>/dev/null | sed 's/.*"admin":"\([^"]*\)".*/\1/'; }
answers() { [ -f "$dir/cluster.json" ] && curl -sf -o /dev/null --max-time 2 "$(admin_of)/healthz"; }
mkdir -p -m 700 "$dir" || exit 1
exec 9>"$dir/$name.lock" || exit 1
flock -n 9 || die "another one runs here ($dir): end it first"
if ! answers; then
    echo "No cluster answers here ($dir): starting one."
    deploy/run.sh >"$dir/run.log" 2>&1 9>&- &
    run=$!
    until answers; do
        kill -0 "$run" 2>/dev/null || die "$(tail -n 1 "$dir/run.log")"
        sleep 0.2
    done
fi
[ -f "$dir/secrets/task.token" ] || die "no $dir/secrets/task.token: was this cluster started with 'make run'?"
admin=$(admin_of)
token=$(tr -d '\n ' <"$dir/cluster.json" | sed 's/.*"admin_token":"\([^"]*\)".*/\1/')
