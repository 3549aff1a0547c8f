#!/bin/bash
# check.sh [BIN]: what is written down matches what the programs do: every sample in conf/
# is accepted by its program and names every key; the API description names every public
# path and error code; shell scripts parse. Ends with "check: N passed, N failed".
set -u
cd "$(dirname "$0")/.." || exit 2
bin=${1:-build/rel/bin}
passed=0
failed=0
ok() { passed=$((passed + 1)); }
no() { failed=$((failed + 1)); echo "FAIL $*"; }

for p in router segment task queuemng rt_cluster seg_cluster task_cluster; do
    sample=conf/$p.yaml
    if [ ! -f "$sample" ]; then no "no $sample"; continue; fi
    if out=$("$bin/$p" -t -c "$sample" 2>&1); then ok; else no "$p -t -c $sample: $out"; fi
    # every key that it has stands in the sample, also those of lists, if only as a comment
    for key in $("$bin/$p" -h | sed '1,/^keys/d' | sed -nE 's/^  +([a-z_]+) +.*/\1/p' | sort -u); do
        if grep -qE "\b$key:" "$sample"; then ok; else no "$sample does not name $key"; fi
    done
done

if out=$("$bin/segqctl" rehearse conf/night.yaml 2>&1) && ! grep -q "^  NOT" <<<"$out"; then ok; else no "rehearse conf/night.yaml: $out"; fi

for sample in deploy/endpoints/*.yaml; do
    if out=$("$bin/queuemng" -t -c "$sample" 2>&1); then ok; else no "queuemng -t -c $sample: $out"; fi
done

# `$?` behind a command substitution is the status of that one: such a claim cannot fail.
if out=$(grep -nE '\$\([^(].*\)[^;]* \$\?' tests/*/*.sh); then no "a status is read too late: $out"; else ok; fi

# A test that stands outside of the rooms is not built.
if ls tests/unit/*.[ch] >/dev/null 2>&1; then no "$(ls tests/unit/*.[ch] | tr '\n' ' ')belongs into a room of tests/unit"; else ok; fi

# One number of the release: VERSION, the newest entry of CHANGELOG.md, images, programs.
v=$(cat VERSION)
if [ "$(sed -nE 's/^## ([0-9][0-9.]*).*/\1/p' CHANGELOG.md | head -1)" = "$v" ]; then ok; else no "CHANGELOG.md does not begin with $v"; fi
if grep -o 'newTag: [^}]*' deploy/kubernetes/base/kustomization.yaml | grep -qvx "newTag: $v"; then no "kustomization.yaml: images of another release than $v"; else ok; fi
for p in router segment task queuemng rt_cluster seg_cluster task_cluster mng_cluster segqctl; do
    if "$bin/$p" --version | grep -qF " $v"; then ok; else no "$p --version does not say $v"; fi
done

# FILE:BEGINNING of the line that says it.
for f in clients/python/segq/transport.py:'VERSION = "' clients/js/lib/transport.mjs:"export const VERSION = '" \
    clients/js/package.json:'  "version": "' clients/go/client.go:'const Version = "' \
    clients/java/pom.xml:'<version>' clients/java/src/main/java/segq/Http.java:'VERSION = "' \
    clients/csharp/Segq.csproj:'<Version>' clients/csharp/src/Router.cs:'Version = "'; do
    if grep -qF "${f#*:}$v" "${f%%:*}"; then ok; else no "${f%%:*} says another release than $v"; fi
done

# What gates show while no router answers is made of the waiting page's words and style.
fresh=$(mktemp -d)
deploy/page/fallback.py "$fresh"
for f in "$fresh"/*; do
    for gate in nginx haproxy; do
        if cmp -s "$f" "deploy/$gate/${f##*/}"; then ok; else no "deploy/$gate/${f##*/} is not what deploy/page makes: make fallback"; fi
    done
done
rm -r "$fresh"

# Routes and codes of the code are in the description (sys_readme asks them all, and compares).
# "/v1/tickets/" is there as the beginning of a path.
for path in $(sed -nE 's/.*(IS|BEGINS)\(.*"(\/[^"]*)".*/\2/p' router/api/request.c); do
    if grep -qE "^  ${path//./\\.}[^ ]*:" proto/openapi.yaml; then ok; else no "openapi.yaml does not describe $path"; fi
done
if out=$(tests/routes.py); then ok; else no "$out"; fi
for code in $(sed -nE 's/^ +X\([A-Z_]+, [0-9]+, "([a-z_]+)"\).*/\1/p' router/api/response.h); do
    if grep -qE "^ +- $code\$" proto/openapi.yaml; then ok; else no "openapi.yaml does not name code $code"; fi
done
for key in $(sed -n '/key_pin_keys\[\]/,/^};/d; s/^    { "\([a-z_]*\)", CFG_.*/\1/p' queuemng/policy/queue_def.c queuemng/policy/pool_def.c | sort -u); do
    if grep -qE "^ +$key:" proto/openapi.yaml; then ok; else no "openapi.yaml does not describe the key $key"; fi
    if grep -qE "\b$key:" conf/queuemng.yaml; then ok; else no "conf/queuemng.yaml does not show the key $key"; fi
done
for code in $(sed -n 's/.*admin_problem([^"]*"\([a-z_]*\)".*/\1/p' queuemng/*/*.c | sort -u); do
    if grep -qw "$code" proto/openapi.yaml; then ok; else no "openapi.yaml does not name code $code"; fi
done
if python3 -c 'import yaml' 2>/dev/null; then
    if python3 -c 'import yaml,sys; yaml.safe_load(open("proto/openapi.yaml"))'; then ok; else no "openapi.yaml is not YAML"; fi
fi
if out=$("$bin/../deploy/yaml2json" proto/openapi.yaml >"$bin/../openapi.json" && tests/contract.py "$bin/../openapi.json"); then ok; else no "$out"; fi
for type in $(sed -n 's/^ *X(\([A-Z_]*\), [0-9]*[,)].*/\1/p' common/wire/msg.h); do
    if grep -q "$type" proto/PROTOCOL.md common/net/rpc.h; then ok; else no "PROTOCOL.md does not name $type"; fi
done
if out=$(python3 tests/bench/kit/sizing.py --check deploy/SIZING.md --segqctl "$bin/segqctl" 2>&1); then ok; else no "$out"; fi

if out=$(docs/site/reference.py --check "$bin" 2>&1); then ok; else no "$out"; fi

# Prose is wrapped (tests/prose.py --wrap FILE does it).
for f in README.md README.zh-CN.md docs/*.md docs/zh/*.md CHANGELOG.md CONTRIBUTING.md proto/*.md tests/README.md deploy/*.md deploy/*/README.md clients/*/README.md; do
    [ -f "$f" ] || continue
    if out=$(tests/prose.py "$f"); then ok; else no "tests/prose.py --wrap mends it: $out"; fi
done

# A header whose guard is another's is left out where both are included.
twice=$(git ls-files 'common/*.h' 'router/*.h' 'segment/*.h' 'queuemng/*.h' 'task/*.h' 'rehearse/*.h' 'tests/*.h' |
    xargs grep -hoE '^#ifndef [A-Z_0-9]+_H$' | sort | uniq -d)
if [ -z "$twice" ]; then ok; else no "two headers have this guard: $twice"; fi

# Comments begin with a noun or an imperative verb; those that do not may only become fewer.
if out=$(tests/prose.py --comments); then ok; else no "$out: tests/prose.py --comments --list"; fi

# PROTOCOL.md, bounds and threats: each constant is in its file, each test exists.
section() { sed -n "/^## [0-9]*\\. $1\$/,/^## /p" proto/PROTOCOL.md; }
while IFS='|' read -r _ what bound where _; do
    # shellcheck disable=SC2046
    for name in $(grep -oE '`[A-Za-z_]+`' <<<"$bound" | tr -d '`'); do
        if grep -qwE "$name" $(grep -oE '`[a-z_/.]+`' <<<"$where" | tr -d '`') 2>/dev/null; then ok
        else no "PROTOCOL.md, bounds of$what: no $name in$where"; fi
    done
done < <(section Bounds | grep '^| ' | tail -n +2)
# Every test that a text names: test_FILE/NAME, sim_FILE/NAME, test_FILE, sim_FILE, sys_STORY,
# fuzz_TARGET, chaos/SCENARIO.
named_tests() { # "where" text: one claim per name, and at least one name
    local t n=0
    for t in $(grep -oE '\b(test|sim|sys|fuzz)_[a-z_0-9]+(/[a-z_0-9]+)?|\bchaos/F[0-9]+\w*' <<<"$2" | sort -u); do
        n=$((n + 1))
        case $t in
        test_*/*) grep -qE "Test\(\w+, ${t#*/}\b" tests/unit/*/"${t%/*}.c" 2>/dev/null ;;
        sim_*/*) grep -qE "Test\(\w+, ${t#*/}\b" "tests/sim/${t%/*}.c" 2>/dev/null ;;
        test_*) ls tests/unit/*/"$t.c" >/dev/null 2>&1 ;;
        sim_*) [ -f "tests/sim/$t.c" ] ;;
        sys_*) [ -f "tests/sys/$t.sh" ] ;;
        fuzz_*) [ -f "tests/fuzz/$t.c" ] ;;
        chaos/*) compgen -G "tests/$t[_.]*sh" >/dev/null ;; # F1 is not F11
        esac && ok || no "$1: there is no $t"
    done
    [ $n -gt 0 ] || no "$1 names no test"
}
named_tests "PROTOCOL.md, threats" "$(section Threats)"
# FAULTS.md: a row for each fault and each chaos scenario, tests in each row.
last=$(sed -n 's/^| F\([0-9]*\) |.*/\1/p' proto/FAULTS.md | tail -1)
for f in "docs/promises.md:F1 to F$last:" "docs/zh/promises.md:F1 到 F$last："; do
    if grep -q "${f#*:}" "${f%%:*}"; then ok; else no "${f%%:*} does not say ${f#*:}, as FAULTS.md has them"; fi
done
for f in $(seq "${last:-0}" | sed 's/^/F/') $(ls tests/chaos 2>/dev/null | grep -oE '^F[0-9]+' | sort -u); do
    row=$(grep "^| $f | " proto/FAULTS.md)
    if [ -n "$row" ]; then named_tests "FAULTS.md, $f" "$row"; else no "FAULTS.md has no row $f"; fi
done
for f in docs/*.md docs/zh/*.md; do
    case $f in */promises.md | */website.md | */operations.md | */game.md) named_tests "$f" "$(cat "$f")" ;; esac
done

# What the compiler and linker are told to do against memory errors, seen in the result.
# (Sanitized builds have defences of their own, and other code.)
hard() { # program "what is missing" pattern: looked for in what readelf says of it
    if grep -qE -e "$3" <<<"$elf"; then ok; else no "$1: $2"; fi
}
for p in router segment task queuemng rt_cluster seg_cluster task_cluster mng_cluster segqctl; do
    elf=$(readelf -W -h -l -d -n --dyn-syms "$bin/$p" 2>/dev/null)
    grep -q '__asan_init' <<<"$elf" && continue
    hard $p "not position independent" 'Type: +DYN'
    hard $p "relocations stay writable (-z relro)" 'GNU_RELRO'
    hard $p "symbols are bound lazily (-z now)" 'FLAGS_1.* NOW|BIND_NOW'
    hard $p "the stack is not said to be data" 'GNU_STACK.* RW '
    hard $p "no stack protector" '__stack_chk_fail'
    hard $p "library calls are not checked (_FORTIFY_SOURCE)" '__[a-z]+_chk'
    # Debian's crti.o has no mark for it, so the linker sets none: we look at the code
    [ "$(uname -m)" = x86_64 ] && elf=$elf$(objdump -d --disassemble=main "$bin/$p") &&
        hard $p "no -fcf-protection" endbr64
    if grep -qE 'LOAD.* RWE ' <<<"$elf"; then no "$p: memory that is written and run"; else ok; fi
done
# deploy/systemd: sound units with next to no rights, and configuration that goes with them.
# "Exposure" is systemd's own mark: 0 to 10, 2.0 at most here; it gives 9.6 without a word.
tmp=$(mktemp -d)
for u in mng rt seg task; do
    unit=deploy/systemd/segq-$u.service
    sed "s|=/usr/local/lib/segq/|=$(cd "$bin" && pwd)/|" $unit >"$tmp/segq-$u.service"
    out=$(systemd-analyze verify --man=no "$tmp/segq-$u.service" 2>&1 | grep "segq-$u") # not: of others
    if [ -z "$out" ]; then ok; else no "$unit: $out"; fi
    if systemd-analyze security --offline=true --threshold=20 "$tmp/segq-$u.service" >"$tmp/exposure"; then ok
    else no "$unit: $(tail -1 "$tmp/exposure")"; fi
    for secret in $(sed -n 's/^LoadCredential=\([^:]*\):.*/\1/p' $unit); do
        if grep -q "/run/credentials/segq-$u.service/$secret\$" deploy/systemd/*.yaml; then ok; else no "$unit: nobody reads $secret"; fi
    done
done
grep -v '^SystemCallFilter\|^CapabilityBoundingSet\|^DynamicUser\|^Restrict' deploy/systemd/segq-rt.service >"$tmp/weak.service"
if systemd-analyze security --offline=true --threshold=20 "$tmp/weak.service" >"$tmp/exposure"; then no "a weak unit passes"; else ok; fi
sed 's/^ProtectClock=/ProtectTime=/' deploy/systemd/segq-rt.service >"$tmp/wrong.service"
if systemd-analyze verify --man=no "$tmp/wrong.service" 2>&1 | grep -q ProtectTime; then ok; else no "a wrong unit passes"; fi
for p in mng_cluster queuemng rt_cluster router seg_cluster segment task_cluster task; do
    sed 's|/etc/segq/|deploy/systemd/|' deploy/systemd/$p.yaml >"$tmp/$p.yaml" # a supervisor asks its children, too
    if out=$("$bin/$p" -t -c "$tmp/$p.yaml" 2>&1); then ok; else no "$p -t -c deploy/systemd/$p.yaml: $out"; fi
done
rm -rf "$tmp"
# Kept verdicts: the gates of nginx and HAProxy have the same lines.
kept_lines() { sed -n '/^local MOST_MS/,/^-- End of kept verdicts/p' "$1"; }
if [ -n "$(kept_lines deploy/nginx/segq_keep.lua)" ] && out=$(diff <(kept_lines deploy/nginx/segq_keep.lua) <(kept_lines deploy/haproxy/segq_gate.lua)); then
    ok
else
    no "deploy/nginx/segq_keep.lua and deploy/haproxy/segq_gate.lua keep verdicts in two ways: ${out:-}"
fi
for s in clients/*.py clients/*/*.py clients/*/*/*.py; do
    [ -f "$s" ] || continue
    if python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), feature_version=(3, 9))' "$s"; then ok; else no "$s is not Python 3.9"; fi
done
for s in deploy/*.sh tests/*.sh tests/sys/*.sh tests/chaos/*.sh tests/dates/*.sh .ci/run; do
    if bash -n "$s"; then ok; else no "$s does not parse"; fi
done
# Each event that queuemng logs is a sentence on the dashboard.
for e in $(cat queuemng/*/*.c | tr -d '\n' | grep -oE 'log_(error|warn|info)\( *"event=[a-z_]+' | sed 's/.*event=//' | sort -u); do
    case $e in cannot_start | stopped | peer_up | node_up) continue ;; esac # not shown
    if grep -qE "^  $e: " deploy/dashboard/events.js; then ok; else no "event=$e has no sentence in deploy/dashboard/events.js"; fi
done
if out=$(tests/events.py); then ok; else no "$out"; fi
echo "check: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
