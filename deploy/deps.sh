#!/bin/sh
# deps.sh build [test] [bench] [e2e] [gate] [tasks] [clients] [docs] [deb] [night]: installs the Debian
# packages that are missing, and says which.
# Nothing is asked of apt when everything is there.
set -eu

build="gcc make pkg-config libc6-dev protobuf-c-compiler libevent-dev libprotobuf-c-dev
    libyaml-dev libjansson-dev libsodium-dev libhiredis-dev zlib1g-dev libcurl4-openssl-dev libssl-dev
    curl tzdata"
tests="nodejs clang libclang-rt-14-dev llvm libcriterion-dev libhttp-parser-dev jq python3
    procps iproute2 prometheus prometheus-node-exporter redis-server valgrind
    python3-hypothesis python3-jsonschema strace haproxy nginx libnginx-mod-http-lua openssl systemd cmark-gfm
    zsh fish groff-base python3-uvicorn"
bench="nginx libnginx-mod-http-lua lua-nginx-redis lua-resty-core lua-cjson redis-server wrk
    nghttp2-client python3 procps curl util-linux beanstalkd postgresql-15"

gate="nginx openssl python3"
tasks="python3"
clients="python3 python3-uvicorn nodejs node-typescript golang-go openjdk-17-jdk-headless libservlet-api-java
    mono-mcs mono-runtime libmono-system-net-http4.0-cil libmono-posix4.0-cil"
docs="cmark-gfm python3"
deb="debhelper dpkg-dev lintian cmark-gfm python3"
night="$deb mmdebstrap devscripts"

want=""
# Playwright and axe-core come from npm (tests/e2e/package-lock.json). npm: Debian's, unless
# another nodejs has brought its own.
e2e="chromium-headless-shell nodejs fonts-wqy-microhei nginx haproxy openssl"
command -v npm >/dev/null || e2e="$e2e npm"

for group in "$@"; do
    case $group in
    build) want="$want $build" ;;
    test) want="$want $tests" ;;
    bench) want="$want $bench" ;;
    e2e) want="$want $e2e" ;;
    gate) want="$want $gate" ;;
    tasks) want="$want $tasks" ;;
    clients) want="$want $clients" ;;
    docs) want="$want $docs" ;;
    deb) want="$want $deb" ;;
    night) want="$want $night" ;;
    *) echo "usage: $0 build [test] [bench] [e2e] [gate] [tasks] [clients] [docs] [deb] [night]" >&2; exit 2 ;;
    esac
done
missing=""
for p in $want; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q '^install ok installed' ||
        missing="$missing $p"
done
[ -n "$missing" ] || exit 0

echo "installing:$missing"
as_root=""
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "deps: run as root: apt-get install$missing" >&2; exit 1; }
    as_root="sudo"
fi
# Services that Debian would start by itself (prometheus) are not wanted: tests start their own.
policy=/usr/sbin/policy-rc.d
made=""
if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy >/dev/null
    $as_root chmod 755 $policy
    made=yes
fi
rc=0
# shellcheck disable=SC2086
{ $as_root apt-get update -q >/dev/null &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >/dev/null; } || rc=$?
[ -z "$made" ] || $as_root rm -f $policy
[ $rc -eq 0 ] || echo "deps: apt-get could not install:$missing" >&2
exit $rc
