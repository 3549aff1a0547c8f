#!/bin/bash
# What sys_redis_cluster claims holds with TLS, too: the node that MOVED names is dialled with it.
export REDIS_TLS=1
. "$(dirname "$0")/sys_redis_cluster.sh"
