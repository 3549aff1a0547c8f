#!/bin/bash
# Secrets stay in their files: not in a command line, an environment, a log, a metric, a
# status file, an answer, or a core dump; and a file that others can read is refused.
. "$(dirname "$0")/lib.sh"

up --release-per-s 100
t=$(join_queue "$R" login '{"subject":"anna \"<b>"}' | token_in)
admitted() { poll "$t" >"$DIR/ticket"; [ "$(field state <"$DIR/ticket")" = admitted ]; }
wait_for 10 "a player is admitted" admitted
poll "${t%?}X" >"$DIR/forged"
http -H 'Authorization: Bearer wrong-token-0123456789' "$A/v1/admin/cluster" >"$DIR/denied"

# ---- every form in which a secret may show
S=$C/secrets
: >"$DIR/patterns"
for f in cluster.secret pass.key; do
    text=$(cat "$S/$f")
    hex=$(base64 -d <<<"$text" | od -An -tx1 | tr -d ' \n')
    printf '%s\n' "${text%=*}" "$(tr '+/' '-_' <<<"${text%=*}")" "$hex" "${hex^^}" >>"$DIR/patterns"
done
cat "$S/admin.token" >>"$DIR/patterns"
sed -i '/^$/d' "$DIR/patterns"
check_eq "nine forms of three secrets are looked for" "$(grep -c . "$DIR/patterns")" 9
hidden() { # claim file...
    if grep -aqFf "$DIR/patterns" "${@:2}"; then fail "$1: $(grep -alFf "$DIR/patterns" "${@:2}")"
    else ok "$1"; fi
}
cp "$S/admin.token" "$DIR/planted"
check "the search finds what is there" grep -aqFf "$DIR/patterns" "$DIR/planted"
rm "$DIR/planted"

pids=$(jq -r '.pids[]' "$C/cluster.json")
check "there are processes to look at" test "$(wc -w <<<"$pids")" -ge 6
for p in $pids; do
    cat "/proc/$p/cmdline" "/proc/$p/environ" >>"$DIR/proc"
    grep -q 'Max core file size *0 ' "/proc/$p/limits" || echo "$p" >>"$DIR/cores"
done
hidden "no command line or environment has a secret" "$DIR/proc"
# supervisors hold no secret; their children must not leave one in a core file
for n in queuemng router.0 segment.0; do
    p=$(pid_of $n)
    check "$n writes no core" grep -q 'Max core file size *0 ' "/proc/$p/limits"
done
for p in 1 30 70; do http "http://127.0.0.1:$((PORT + p))/metrics" >>"$DIR/metrics"; done
check "there are metrics of all three" test "$(grep -c '^segq_' "$DIR/metrics")" -gt 60
hidden "no metric has a secret" "$DIR/metrics"
hidden "no log has one" "$C"/logs/*.log
hidden "no state file has one" $(find "$C/state" "$C/config" -type f)
admin GET /v1/admin/cluster >"$DIR/cluster"
http "$R/.well-known/jwks.json" >"$DIR/jwks"
hidden "no answer has one" "$DIR/cluster" "$DIR/jwks" "$DIR/ticket" "$DIR/forged" "$DIR/denied"
for p in router segment queuemng; do
    "$BIN/$p" -t -c "$C/config/$p.yaml" >>"$DIR/effective"
done
hidden "nor has the effective configuration" "$DIR/effective"
check "a whole token is in no log" bash -c "! grep -qF '$t' '$C'/logs/*.log"
pass=$(field pass <"$DIR/ticket")
check "nor is a pass" bash -c "! grep -qF '$pass' '$C'/logs/*.log"

# ---- files
for f in cluster.secret pass.key admin.token; do
    check_eq "$f is for its owner alone" "$(stat -c %a "$S/$f")" 600
done
cp "$S/cluster.secret" "$DIR/open.secret"
chmod 644 "$DIR/open.secret"
for p in router segment queuemng; do
    timeout 100 "$BIN/$p" --set "secret_file=$DIR/open.secret" --set listen=127.0.0.1:0 \
        --set admin=127.0.0.1:0 >"$DIR/refused" 2>&1
    check_eq "$p does not start with a secret that others can read" $? 1
    check "and says what to do" grep -q 'chmod 600' "$DIR/refused"
done
echo sesame-0123456789 >"$DIR/open.password"
chmod 644 "$DIR/open.password"
timeout 100 "$BIN/queuemng" --set "secret_file=$S/cluster.secret" --set "admin_token_file=$S/admin.token" \
    --set redis=127.0.0.1:1 --set "redis_password_file=$DIR/open.password" --set listen=127.0.0.1:0 \
    --set admin=127.0.0.1:0 >"$DIR/refused" 2>&1
check_eq "nor does queuemng with a password of Redis that others can read" $? 1
check "and says what to do" grep -q 'open.password.*chmod 600' "$DIR/refused"
check "but not the password" bash -c "! grep -q sesame '$DIR/refused'"
