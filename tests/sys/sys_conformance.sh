#!/bin/bash
# Every client does what clients/conformance/table.txt says, against a real cluster whose routers and
# task node die. CLIENT=python: which; ROWS="resume leave": some rows.
. "$(dirname "$0")/conformance.sh"

cluster_for_clients
play run.py --client "${CLIENT:-python}" --rows "${ROWS:-}"
