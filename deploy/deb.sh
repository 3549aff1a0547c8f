#!/bin/bash
# deb.sh DIR: Debian packages of this tree in DIR, built in an unpacked tarball of it (dist.sh), by
# deploy/debian. The version is VERSION's, with DEB_REVISION (1). lintian has the last word.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "$1"
out=$(cd "$1" && pwd)
version=$(cat VERSION)
revision=${DEB_REVISION:-1}
SOURCE_DATE_EPOCH=$(deploy/dist.sh --epoch)
export SOURCE_DATE_EPOCH

deploy/dist.sh "$out"
rm -rf "$out/segq-$version" "$out"/*.deb
mv "$out/segq-$version.tar.gz" "$out/segq_$version.orig.tar.gz"
tar -C "$out" -xzf "$out/segq_$version.orig.tar.gz"
tree=$out/segq-$version
cp -r deploy/debian "$tree/debian"
cat >"$tree/debian/changelog" <<EOT
segq ($version-$revision) unstable; urgency=medium

  * Release $version: /usr/share/doc/segq/CHANGELOG.md (package segq-doc).

 -- $(sed -n 's/^Maintainer: //p' deploy/debian/control)  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
EOT
(cd "$tree" && env -u MAKEFLAGS -u MAKELEVEL -u DESTDIR -u PREFIX dpkg-buildpackage -b -us -uc -j"$(nproc)" >"$out/build.log" 2>&1) ||
    { tail -n 30 "$out/build.log" >&2; exit 1; }
lintian --fail-on error,warning "$out/segq_$version-$revision"_*.changes
ls -l "$out"/*.deb
