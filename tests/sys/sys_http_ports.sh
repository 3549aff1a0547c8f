#!/bin/bash
# Every HTTP port of every process reads HTTP alike, and strictly: the public port, and the
# admin and metrics ports of router, segment node and manager (T1). No request is smuggled in
# a body or behind a request that can be read in two ways.
. "$(dirname "$0")/lib.sh"

up
port_of() { # NAME: the address that the process says it has
    grep -ho 'admin=[^ ]*' "$C/logs/$1.log" | tail -1 | sed 's/.*://'
}
ports=(public=$((PORT + 10)) manager=$((PORT + 1)))
for p in router.0 segment.0; do
    n=$(port_of "$p")
    check "$p says where its admin port is ($n)" test -n "$n"
    ports+=("$p=$n")
done
python3 "$here/http_ports.py" "${ports[@]}" >"$DIR/report" 2>&1
cat "$DIR/report"
for p in "${ports[@]}"; do
    check "${p%%=*}: no request is read in two ways" grep -Eq "^${p%%=*}: [0-9]{3} requests, 0 wrong$" "$DIR/report"
done
for url in "http://127.0.0.1:${ports[2]#*=}/metrics" "http://127.0.0.1:${ports[3]#*=}/metrics" "$A/metrics" "$A/"; do
    check_eq "and people are served: $url" "$(status_of "$url")" 200
done
