#!/bin/bash
# run.sh: what `make run` starts: a cluster in the foreground in ./run, until Ctrl-C.
# One queuemng, two routers, two segment nodes, one task node; queue `login`, let in by this machine's cpu.
#   BASE_PORT=8070   routers on +10, +11; admin API on +1 (deploy/local.sh has the rest)
#   RUN_DIR=run  BIN=build/rel/bin  WAIT_S=60 (until it must answer)
set -u
cd "$(dirname "$0")/.." || exit 1
port=${BASE_PORT:-8070}
dir=${RUN_DIR:-run}
bin=${BIN:-build/rel/bin}

quote() { printf "'%s'" "${1//\'/\'\'}"; } # YAML
end() {
    trap '' INT TERM
    echo
    deploy/local.sh down --dir "$dir" --bin "$bin"
    exit 0
}
trap end INT TERM

# For `make gate`: a proxy on this machine is believed (nobody else reaches the routers, they
# listen on loopback), and may end and extend sessions with a secret. For claims: a key.
secrets=$PWD/$dir/secrets
case $dir in /*) secrets=$dir/secrets ;; esac
mkdir -p -m 700 "$dir" "$secrets"
for s in gate.secret claim.key; do
    [ -f "$secrets/$s" ] || (umask 077 && head -c 24 /dev/urandom | base64 >"$secrets/$s")
done
PORT_HINT='BASE_PORT=%d make run' deploy/local.sh up --dir "$dir" --base-port "$port" --bin "$bin" --wait "${WAIT_S:-60}" --routers 2 --seg-nodes 2 --task-nodes 1 \
    --set router.trusted_proxies=127.0.0.1/32 --set "router.gate_secret_file=$secrets/gate.secret" \
    --set "router.claim_keys=[{kid: shop, alg: HS256, secret_file: $(quote "$secrets/claim.key")}]" \
    --set router.rooms=login --set router.join_groups=true \
    --set router.aws_events='[{event_id: Sample, queue: login}]' --set "segment.audit_dir=${secrets%/secrets}/audit" || exit 1
# The task below has a queue of its own: the pages' examples (images) find theirs as they are printed.
url=http://127.0.0.1:$((port + 10))
admin=http://127.0.0.1:$((port + 1))
cat <<EOT

segq is running. Two routers: $url and http://127.0.0.1:$((port + 11))

  start page      $url/
  waiting room    $url/q/login    (an empty line lets you in at once; to see it, pause it first, and resume later:
                  $bin/segqctl --dir $dir pause login)
  the dashboard   $admin/#token=$(cat "$dir/secrets/admin.token")
  a crowd         make demo       (in a second shell)
  before a site   make gate

  stand in line   curl -s -X POST $url/v1/queues/login/tickets
  ask again       curl -s $url/v1/tickets/TOKEN
  leave           curl -i -X DELETE $url/v1/tickets/TOKEN
  the queue       curl -s $url/v1/queues/login
  in one go       t=\$(curl -s -X POST $url/v1/queues/login/tickets | sed 's/.*"token": *"\([^"]*\)".*/\1/'); curl -s $url/v1/tickets/\$t

  submit a task   curl -s -X POST $url/v1/queues/hello/tasks -H "Authorization: Bearer \$(cat $dir/secrets/task.token)" -d '{"payload":"a cat"}'
  take it         curl -s -X POST $url/v1/queues/hello/tasks/take -H "Authorization: Bearer \$(cat $dir/secrets/task.token)" -d '{"n":1}'
  it is done      curl -s -X POST $url/v1/tasks/TASK/ack -H "Authorization: Bearer \$(cat $dir/secrets/task.token)" -d '{"lease_id":"LEASE"}'
  a million       make demo-tasks
  10 000 calls    make demo-calls (to a target that bears 300 a second, on a page)
  model servers   make demo-gpu   (three, 200 tenants before them, one floods; on a page)

  the cluster     $bin/segqctl --dir $dir status
  operators' API  curl -s -H "Authorization: Bearer \$(cat $dir/secrets/admin.token)" $admin/v1/admin/cluster
  metrics         curl -s $admin/metrics

  logs in $dir/logs; Ctrl-C ends it.
EOT
while sleep 1; do :; done
