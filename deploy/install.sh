#!/bin/sh
# install.sh install|uninstall BUILD: `make install`, `make uninstall`. BUILD is the folder with the
# programs (build/rel). One list, files() below, is what both go through.
#   DESTDIR=             a folder in place of / (a package is made of it)
#   PREFIX=/usr/local    bin/ lib/segq/ share/ include/ are there
#   UNITDIR, SYSUSERSDIR, LIBDIR, DOCDIR, BASHDIR, ZSHDIR, FISHDIR   other places for some of it
# Configuration is in /etc/segq, which is where the units look. A file that is there stays as it is.
set -eu
cd "$(dirname "$0")/.."
what=${1:-}
build=${2:-}
case $what in install | uninstall) ;; *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | head -n -1 >&2; exit 2 ;; esac

umask 022 # services are of another user: what a careful root keeps from others, they could not read
root=${DESTDIR:-}
prefix=${PREFIX:-/usr/local}
lib=$prefix/lib/segq # the programs that services start: `router`, `task` are no names for everybody
units=${UNITDIR:-$prefix/lib/systemd/system}
sysusers=${SYSUSERSDIR:-$prefix/lib/sysusers.d}
libdir=${LIBDIR:-$prefix/lib}
doc=${DOCDIR:-$prefix/share/doc/segq}
man=$prefix/share/man
made=$build/install # what `make` made for it
die() { echo "$what: $*" >&2; exit 2; }
for place in "PREFIX=$prefix" "UNITDIR=$units" "SYSUSERSDIR=$sysusers" "LIBDIR=$libdir" "DOCDIR=$doc" \
    "BASHDIR=${BASHDIR:-/}" "ZSHDIR=${ZSHDIR:-/}" "FISHDIR=${FISHDIR:-/}"; do
    case ${place#*=} in # units and pkg-config name it
    [!/]* | *[!A-Za-z0-9/._+~-]*) die "$place: give an absolute path of letters, digits and /._+~-" ;;
    esac
done

# MODE SOURCE TARGET, a line each. Documents keep their places, so that their links lead somewhere.
files() {
    echo "755 $build/bin/segqctl $prefix/bin/segqctl"
    for p in router segment task queuemng rt_cluster seg_cluster task_cluster mng_cluster; do
        echo "755 $build/bin/$p $lib/$p"
        echo "644 $made/segq-$p.8 $man/man8/segq-$p.8"
    done
    echo "755 deploy/systemd/secrets.sh $lib/secrets"
    echo "644 $build/deploy/segqctl.1 $man/man1/segqctl.1"
    echo "644 $made/segqctl.bash ${BASHDIR:-$prefix/share/bash-completion/completions}/segqctl"
    echo "644 $made/segqctl.zsh ${ZSHDIR:-$prefix/share/zsh/site-functions}/_segqctl"
    echo "644 $made/segqctl.fish ${FISHDIR:-$prefix/share/fish/vendor_completions.d}/segqctl.fish"
    for u in mng rt seg task; do echo "644 deploy/systemd/segq-$u.service $units/segq-$u.service"; done
    echo "644 deploy/systemd/sysusers.conf $sysusers/segq.conf"
    for f in clients/js/segq.js clients/js/segq_events.js; do echo "644 $f $prefix/share/segq/${f##*/}"; done
    echo "644 clients/c/segq.h $prefix/include/segq.h"
    echo "644 $made/libsegq-client.a $libdir/libsegq-client.a"
    echo "644 $made/segq-client.pc $libdir/pkgconfig/segq-client.pc"
    for f in README.md README.zh-CN.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs/*.md docs/zh/*.md docs/pictures/* \
        proto/*.md proto/openapi.yaml tests/README.md conf/*.yaml deploy/*.md deploy/*/README.md \
        deploy/nginx/* deploy/haproxy/* deploy/envoy/* deploy/traefik/* deploy/oauth2-proxy/* deploy/prometheus/* \
        deploy/grafana/* deploy/bench/* deploy/endpoints/* clients/*/README.md clients/c/* clients/js/*.* clients/js/lib/* \
        clients/python/pyproject.toml clients/python/segq/*.py clients/python/segq/py.typed; do
        echo "644 $f $doc/$f"
    done | sort -u
}
settings() { for f in deploy/systemd/*.yaml; do echo "$f /etc/segq/${f##*/}"; done; }

put() { # mode source target
    mkdir -p "$root${3%/*}"
    case $2 in
    *.service | *.pc) # they name places
        sed "s|/usr/local/lib/segq/|$lib/|; s|/usr/local/share/doc/segq|$doc|; s|@prefix@|$prefix|; s|@libdir@|$libdir|" \
            "$2" >"$root$3" && chmod "$1" "$root$3" ;;
    *) install -m "$1" "$2" "$root$3" ;;
    esac
}

if [ "$what" = install ]; then
    files | while read -r mode from to; do put "$mode" "$from" "$to"; done
    settings | while read -r from to; do
        if [ -e "$root$to" ]; then echo "install: $to stays as it is"; else put 644 "$from" "$to"; fi
    done
    unknown=
    case $units in
    /etc/systemd/system | /usr/local/lib/systemd/system | /usr/lib/systemd/system | /lib/systemd/system) ;;
    *) unknown="  systemctl link $units/segq-*.service   # systemd does not look there by itself
" ;;
    esac
    [ -n "$root" ] || cat <<EOT
segq is installed. Next, as root:
  systemd-sysusers $sysusers/segq.conf        # the user segq
  $lib/secrets /etc/segq/secrets        # makes them, if they are missing
$unknown  systemctl daemon-reload && systemctl start segq-mng segq-seg segq-rt   # and segq-task
EOT
    exit 0
fi
[ -e "$root$prefix/bin/segqctl" ] || [ -d "$root$lib" ] || die "no segq in $root$prefix: was PREFIX or DESTDIR another one?"
files | while read -r _ _ to; do rm -f "$root$to"; done
for own in "$lib" "$prefix/share/segq" "$doc"; do
    [ ! -d "$root$own" ] || find "$root$own" -depth -type d -empty -delete
done
echo "uninstall: /etc/segq, /var/lib/segq-* and the user segq are left"
