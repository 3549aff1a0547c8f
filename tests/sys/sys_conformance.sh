#!/bin/bash
# Every client does what clients/conformance/table.txt says, against a real cluster whose routers and
# task node die. CLIENT=python: which; ROWS="resume leave": some rows.
. "$(dirname "$0")/lib.sh"

mkdir -p "$C/secrets"
chmod 700 "$C/secrets"
(umask 077 && head -c 24 /dev/urandom | base64 >"$C/secrets/claim.key")
up --routers 2 --task-nodes 1 --release-per-s 100 \
    --set "router.claim_keys=[{kid: shop, alg: HS256, secret_file: '$C/secrets/claim.key'}]"
while read -r line; do
    case $line in
    "ok "*) ok "${line#ok }" ;;
    "FAIL "*) fail "${line#FAIL }" ;;
    *) echo "     $line" ;;
    esac
done < <("$root/clients/conformance/run.py" --cluster "$C" --bin "$BIN" --client "${CLIENT:-python}" --rows "${ROWS:-}" 2>&1)
check "rows were played" test "$checks" -gt 0
