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

for p in router segment queuemng rt_cluster seg_cluster; do
    sample=conf/$p.yaml
    if [ ! -f "$sample" ]; then no "no $sample"; continue; fi
    if out=$("$bin/$p" -t -c "$sample" 2>&1); then ok; else no "$p -t -c $sample: $out"; fi
    # every top-level key of the effective configuration stands in the sample, if only as
    # a comment
    for key in $("$bin/$p" -t -c "$sample" 2>/dev/null | sed -n 's/^\([a-z_]*\):.*/\1/p'); do
        if grep -qE "^#? ?$key:" "$sample"; then ok; else no "$sample does not name $key"; fi
    done
done

for path in '/v1/queues/{queue}/tickets' '/v1/tickets/{token}' '/v1/queues/{queue}' /healthz /readyz \
    /.well-known/jwks.json /v1/admin/cluster /v1/admin/queues '/v1/admin/queues/{queue}' /v1/admin/targets; do
    if grep -qF "$path:" proto/openapi.yaml; then ok; else no "openapi.yaml does not describe $path"; fi
done
for verb in pause resume close open flush release; do
    if grep -qF "/v1/admin/queues/{queue}/$verb:" proto/openapi.yaml; then ok; else no "openapi.yaml does not describe $verb"; fi
done
for key in $(sed -n 's/^    { "\([a-z_]*\)", CFG_.*/\1/p' queuemng/queue_def.c | sort -u); do
    if grep -qE "^ +$key:" proto/openapi.yaml; then ok; else no "openapi.yaml does not describe the key $key"; fi
done
for code in $(sed -n 's/.*admin_problem([^"]*"\([a-z_]*\)".*/\1/p' queuemng/*.c | sort -u); do
    if grep -qw "$code" proto/openapi.yaml; then ok; else no "openapi.yaml does not name code $code"; fi
done
if python3 -c 'import yaml' 2>/dev/null; then
    if python3 -c 'import yaml,sys; yaml.safe_load(open("proto/openapi.yaml"))'; then ok; else no "openapi.yaml is not YAML"; fi
fi
for type in $(sed -n 's/^ *X(\([A-Z_]*\), [0-9]*).*/\1/p' common/msg.h); do
    if grep -q "$type" proto/PROTOCOL.md common/rpc.h; then ok; else no "PROTOCOL.md does not name $type"; fi
done
if out=$(python3 tests/bench/kit/sizing.py --check deploy/SIZING.md 2>&1); then ok; else no "$out"; fi

# PROTOCOL.md, bounds and threats: each constant is in its file, each test exists.
section() { sed -n "/^## [0-9]*\\. $1\$/,/^## /p" proto/PROTOCOL.md; }
while IFS='|' read -r _ what bound where _; do
    # shellcheck disable=SC2046
    for name in $(grep -oE '`[A-Za-z_]+`' <<<"$bound" | tr -d '`'); do
        if grep -qwE "$name" $(grep -oE '`[a-z_/.]+`' <<<"$where" | tr -d '`') 2>/dev/null; then ok
        else no "PROTOCOL.md, bounds of$what: no $name in$where"; fi
    done
done < <(section Bounds | grep '^| ' | tail -n +2)
tests=$(section Threats)
for t in $(grep -oE '\btest_[a-z_]+/[a-z_0-9]+' <<<"$tests" | sort -u); do
    if grep -qE "Test\(\w+, ${t#*/}\b" "tests/unit/${t%/*}.c" 2>/dev/null; then ok; else no "PROTOCOL.md, threats: there is no $t"; fi
done
for t in $(grep -oE '\b(sys|fuzz)_[a-z_]+' <<<"$tests" | sort -u); do
    if [ -f "tests/sys/$t.sh" ] || [ -f "tests/fuzz/$t.c" ]; then ok; else no "PROTOCOL.md, threats: there is no $t"; fi
done

# What the compiler and linker are told to do against memory errors, seen in the result.
# (Sanitized builds have defences of their own, and other code.)
hard() { # program "what is missing" pattern: looked for in what readelf says of it
    if grep -qE -e "$3" <<<"$elf"; then ok; else no "$1: $2"; fi
}
for p in router segment queuemng rt_cluster seg_cluster mng_cluster segqctl; do
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
for s in deploy/*.sh tests/*.sh tests/sys/*.sh .ci/run; do
    if bash -n "$s"; then ok; else no "$s does not parse"; fi
done
echo "check: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
