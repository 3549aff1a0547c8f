#!/bin/bash
# F64, the rows of the night: 80, 150 and 300 ms one way, and joins that name a subject.
. "$(dirname "$0")/lib.sh"
. "$chaos/far.sh"

far_up 80 --set router.request_timeout=4s
for ms in 80 150 300; do far_row $ms ""; done
for ms in 300 150; do far_row $ms "" --named; done
