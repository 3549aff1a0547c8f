#!/bin/bash
# Rows of clients/conformance/table.txt can fail: each defect of planted.txt, in a copy of the Python
# client, is noticed by its row.
. "$(dirname "$0")/conformance.sh"

cluster_for_clients
play planted.py --rows "${ROWS:-}"
