# conformance.sh: a cluster for clients/conformance, and its programs' claims as ours.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cluster_for_clients() {
    mkdir -p -m 700 "$C/secrets"
    (umask 077 && head -c 24 /dev/urandom | base64 >"$C/secrets/claim.key")
    up --routers 2 --task-nodes 1 --release-per-s 100 --set router.join_groups=true \
        --set 'router.groups=[{name: pair, queues: [pair-a, pair-b], others: keep}]' \
        --set "router.claim_keys=[{kid: shop, alg: HS256, secret_file: '$C/secrets/claim.key'}]"
}

play() { # PROGRAM [options]: of clients/conformance
    local before=$checks program=$1
    shift
    while read -r line; do
        case $line in
        "ok "*) ok "${line#ok }" ;;
        "FAIL "*) fail "${line#FAIL }" ;;
        "skip "*) skip "${line#skip }" ;;
        *) echo "     $line" ;;
        esac
    done < <("$root/clients/conformance/$program" --cluster "$C" --bin "$BIN" "$@" 2>&1)
    check "rows were played" test "$checks" -gt "$before"
}
