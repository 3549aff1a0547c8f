#!/bin/bash
# F64, wider: seas of 300 ms, one way, that lose a packet in a hundred; a region is away for a minute,
# another one for ever.
EU_US=300 EU_AP=300 US_AP=300 LOSS=0.01 AWAY=60 SLACK=1.5
. "$(dirname "$0")/F64_regions.sh"
