#!/bin/bash
# test_deb.sh [DIR]: the Debian packages on a clean Debian 12. Builds them (deploy/deb.sh, lintian has a
# word), bootstraps a system with mmdebstrap from what apt of this machine uses, and there, in namespaces
# of its own: installs an older build, starts every unit as systemd would (its user, folders,
# credentials, command line), upgrades, removes, purges. DIR has packages already: they are not built.
# It needs root; 77: something that it needs is not there. Last line: "test_deb: N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 2
for p in mmdebstrap dpkg-buildpackage lintian unshare; do
    command -v $p >/dev/null || { echo "skipped: $p is not installed (deploy/deps.sh night)"; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root"; exit 77; }

work=$(mktemp -d)
root=$work/root
trap 'rm -rf --one-file-system "$work"' EXIT
passed=0
failed=0
ok() { passed=$((passed + 1)); }
no() { failed=$((failed + 1)); echo "FAIL test_deb: $*"; }
done_now() { echo "test_deb: $passed passed, $failed failed"; [ "$failed" -eq 0 ]; exit; }

# ---- the packages
if [ -n "${1:-}" ]; then
    debs=$1
else
    debs=$work/debs
    if deploy/deb.sh "$debs" >"$work/deb.log" 2>&1; then ok; else no "they are not built, or lintian complains: $(tail -n 20 "$work/deb.log")"; done_now; fi
fi
new=$(ls "$debs"/segq_*.deb)
version=$(dpkg-deb -f "$new" Version)
if [ "${version%-*}" = "$(cat VERSION)" ]; then ok; else no "the package's version is $version"; fi
# An older build of the same: only its number is lower.
dpkg-deb -R "$new" "$work/older"
sed -i "s/^Version: .*/Version: ${version%-*}-0/" "$work/older/DEBIAN/control"
dpkg-deb -b "$work/older" "$work/older.deb" >/dev/null
rm -r "$work/older"

# ---- the system
apt-get indextargets --format '$(ORIGIN) deb $(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    sed -n 's/^Debian //p' | sort -u >"$work/sources.list"
needs=$(dpkg-deb -f "$new" Depends | tr ',' '\n' | sed 's/|.*//; s/(.*//; s/ //g' | grep -vx systemd | paste -sd,)
if mmdebstrap --variant=minbase --dpkgopt=force-unsafe-io --include="$needs,systemd-standalone-sysusers,curl" bookworm "$root" "$work/sources.list" >"$work/boot.log" 2>&1; then
    ok
else
    no "no Debian is bootstrapped: $(tail -n 5 "$work/boot.log")"
    done_now
fi
mkdir "$root/debs"
cp "$new" "$root/debs/new.deb"
cp "$work/older.deb" "$root/debs/older.deb"
cp "$debs"/segq-doc_*.deb "$debs"/segq-client-dev_*.deb "$root/debs/"
cp tests/deploy/deb_story.sh "$root/debs/story.sh"
# What README has people type, word for word; the packages lie elsewhere, and apt asks nobody.
awk '/^## /{ on = /Install/ } on && /^```$/ { exit } on && code { print } on && /^```sh$/ { code = 1 }' README.md |
    sed 's|\./build/deb/segq_\*\.deb|-y /debs/older.deb|; s/ *#.*//' >"$root/debs/typed"

# ---- the story, in namespaces that end with it
# shellcheck disable=SC2016
unshare --mount --pid --net --uts --ipc --fork --kill-child bash -c '
    ip link set lo up && mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/run" &&
        exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C VERSION="$1" bash /debs/story.sh' \
    "$root" "$version" >"$work/story.log" 2>&1
sed '$d' "$work/story.log" | grep -v '^ok ' | tail -n 40
last=$(tail -n 1 "$work/story.log")
if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
else
    no "the story broke off: $last"
fi
done_now
