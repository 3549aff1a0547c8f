#!/bin/bash
# demo-gpu.sh: a line before model servers. Three made-up servers stream tokens at a bounded speed, 200
# tenants call them as they would call a provider, one of them floods; a server dies, another one comes.
# Ends with a judgement: fairness, order, nothing lost, no limit exceeded. Uses the cluster that
# `make run` started, or starts one; a page shows it. Endpoint and tokens of tenants go with its end; if it
# is killed (kill -9), with the end of the next one.
#   TENANTS=N  FLOOD=N  STAY=1 (the page stays when it is over)  RUN_DIR=DIR  BIN=DIR
. "$(dirname "$0")/demo-cluster.sh"
/usr/bin/python3 deploy/demo_gpu.py "$dir/cluster.json" "$dir" &
demo=$!
wait "$demo"
