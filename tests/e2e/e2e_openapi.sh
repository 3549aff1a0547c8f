#!/bin/bash
# proto/openapi.yaml against the OpenAPI specification, by a validator of its own (no cluster).
#   e2e_openapi.sh [BIN]
. "$(dirname "$0")/../sys/lib.sh"
. "$(dirname "$0")/browser.sh"

browser_install
node_run openapi.js "$root/proto/openapi.yaml"
