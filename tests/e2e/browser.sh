# browser.sh: sourced by stories with a real browser: playwright-core and axe-core from the
# lock file, in build/e2e; pictures go to build/e2e/shots. After lib.sh.
e2e=$root/tests/e2e
work=$root/build/e2e

# One story at a time: they begin together on a fresh clone, and npm ci empties the folder first.
browser_install() {
    mkdir -p "$work/shots"
    (
        flock 9
        cmp -s "$e2e/package-lock.json" "$work/installed.json" && exit
        cp "$e2e/package.json" "$e2e/package-lock.json" "$work/"
        cd "$work" && npm ci --no-audit --no-fund --ignore-scripts >npm.log 2>&1 || { cat npm.log; exit 1; }
        cp "$e2e/package-lock.json" "$work/installed.json"
    ) 9>"$work/lock" || give_up "npm does not install what the browser tests need"
}

# FILE.js [SCENARIO...]: a script of a browser, with the cluster's addresses.
browser_run() {
    export E2E_SHOTS=$work/shots ROUTER=$R ADMIN=$A
    ADMIN_TOKEN=$(admin_token)
    ROUTER_PID=$(pid_of router.0)
    export ADMIN_TOKEN ROUTER_PID
    node_run "$@"
}

# FILE.js [ARGUMENT...]: each line "ok ..." or "FAIL ..." of it is a claim.
node_run() {
    local word what code='' file=$1
    shift
    export E2E_MODULES=$work/node_modules
    while read -r word what; do
        case $word in
        ok) ok "$what" ;;
        FAIL) fail "$what" ;;
        ended) code=$what ;;
        *) echo "     $word $what" ;;
        esac
    done < <(timeout 900 node "$e2e/$file" "$@" 2>&1; echo "ended $?")
    check "$file came to its end" test "$code" = 0
}
