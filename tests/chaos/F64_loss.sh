#!/bin/bash
# F64, seas that lose a packet in a hundred: a lost one holds up all that comes behind it for a way
# there and back and three ticks. So what routers know may be older: replica_fresh, and poll_min above it.
. "$(dirname "$0")/lib.sh"
. "$chaos/far.sh"

far_up 80 --set router.request_timeout=4s --set router.replica_fresh=1s --set poll_min=3s --set poll_max=4s
for ms in 80 150 300; do far_row $ms "loss=0.01"; done
