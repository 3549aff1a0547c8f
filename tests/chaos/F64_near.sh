#!/bin/bash
# F64, the row of each day: a router 80 ms away from its line, one way, as people there see it.
. "$(dirname "$0")/lib.sh"
. "$chaos/far.sh"

far_up 80
far_row 80 ""
