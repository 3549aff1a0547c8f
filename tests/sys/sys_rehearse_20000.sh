#!/bin/bash
# Is a rehearsal of 20 000 people true, too? The same story, as far as it depends on how many.
export PEOPLE=20000 ARRIVE_S=20 RATE=200
. "$(dirname "$0")/sys_rehearse.sh"
