#!/bin/bash
# Every client does what clients/conformance/table.txt says, against a real cluster whose routers and
# task node die. CLIENTS=python: which; ROWS="resume leave": some rows.
. "$(dirname "$0")/conformance.sh"

cluster_for_clients
for client in ${CLIENTS:-python js}; do
    play run.py --client "$client" --rows "${ROWS:-}"
done
