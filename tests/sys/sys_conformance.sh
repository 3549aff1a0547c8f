#!/bin/bash
# Every client does what clients/conformance/table.txt says, against a real cluster whose routers and
# task node die; and what its README shows first does what it says.
# CLIENTS="go js": which; ROWS="resume leave": some rows.
. "$(dirname "$0")/conformance.sh"

cluster_for_clients
play run.py --clients "${CLIENTS:-}" --rows "${ROWS:-}"

# The first and the second example, as they stand there but for the port and the queue, all at once.
example() { # FILE LANGUAGE N
    awk -v begin="\`\`\`$2" -v n="$3" '$0 == begin { on = ++k == n; next } /^```$/ { on = 0 } on' "$1"
}
ln -s "$C" "$DIR/run"
cd "$DIR" || exit 1
go=/usr/bin/go # Debian's
[ -x $go ] || go=$(command -v go)
export PYTHONPATH=$root/clients/python PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
mkdir node_modules && ln -s "$root/clients/js" node_modules/segq

declare -A programs statuses persons workers
readme() { # FOLDER LANGUAGE SUFFIX PROGRAM [STATUS]: what its README shows first; how SIGTERM ends it
    local readme=$root/clients/$1/README.md
    if [ "$1" != c ]; then
        check "docs/clients.md shows the same worker ($1)" \
            cmp <(example "$readme" "$2" 2) <(example "$root/docs/clients.md" "$2" 1)
    fi
    for n in 1 2; do
        example "$readme" "$2" $n | sed "s#http://localhost:8080#$R#; s#\"images\"#\"images-$1\"#; s#'images'#'images-$1'#" \
            >"$([ $n = 1 ] && echo person || echo worker)_$1.$3"
    done
    programs[$1]=$4 statuses[$1]=${5:-0}
    $4 "person_$1.$3" >"person_$1.out" &
    persons[$1]=$!
    $4 "worker_$1.$3" >"worker_$1.out" 2>&1 &
    workers[$1]=$!
    helpers+=($!)
}
all_do() {
    local l ended
    for l in "${!programs[@]}"; do
        check "a person of the README's is let in ($l)" wait "${persons[$l]}"
        check "with a pass" grep -qE '^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$' "person_$l.out"
        wait_for 20 "a worker of the README's does its task ($l)" grep -q "prompt.*a cat.*} 1" "worker_$l.out"
        kill -TERM "${workers[$l]}"
    done
    for l in "${!programs[@]}"; do
        ended=0
        wait "${workers[$l]}" || ended=$?
        check_eq "and ends well ($l)" $ended "${statuses[$l]}"
    done
}
run_go() { # FILE: in a fresh folder
    mkdir "${1%.go}" && cp "$1" "${1%.go}" && cd "${1%.go}" &&
        "$go" mod init example.org/mine 2>/dev/null &&
        "$go" mod edit -require segq.example/segq@v0.0.0 -replace "segq.example/segq=$root/clients/go" &&
        GOPROXY=off GOFLAGS=-mod=mod GOTOOLCHAIN=local "$go" build -o main . && cd .. && exec "${1%.go}/main"
}
run_csharp() { # FILE
    mcs -langversion:7.2 -nowarn:28 -lib:"$MONO_PATH" -r:Segq.dll "$1" "$root/clients/csharp/tests/Entry.cs" && exec mono "${1%.cs}.exe"
}
export MONO_PATH=$root/build/clients/csharp

run_c() { # FILE
    local more=segq.c
    case $1 in worker*) more="segq_*.c -ljansson -lcrypto -lpthread" ;; esac
    (cd "$root/clients/c" && cc -std=c11 -Wall -Wextra -Werror -I. -o "$DIR/${1%.c}-c" "$DIR/$1" $more -lcurl) && exec "./${1%.c}-c"
}

readme python python py python3
readme c c c run_c
if command -v node >/dev/null; then readme js js mjs node; fi
jar=$root/build/clients/java/segq-client.jar
if [ -e "$jar" ]; then readme java java java "java -XX:TieredStopAtLevel=1 -cp $jar" 143; fi
if [ -n "$go" ]; then readme go go go run_go; fi
if [ -e "$MONO_PATH/Segq.dll" ]; then readme csharp csharp cs run_csharp 143; fi
all_do
