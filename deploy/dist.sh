#!/bin/bash
# dist.sh DIR: DIR/segq-VERSION.tar.gz of this tree, equal bytes for equal files: names are sorted,
# owners are numbers, modes are two, and every time is that of the last commit. A tree that was
# unpacked from such a tarball makes the same one again.
# dist.sh --epoch: that time, in seconds.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(cat VERSION)
in_git() { [ -e .git ]; }
epoch=${SOURCE_DATE_EPOCH:-$(if in_git; then git log -1 --format=%ct; else stat -c %Y VERSION; fi)}
[ "$1" != --epoch ] || { echo "$epoch"; exit 0; }
mkdir -p "$1"
out=$(cd "$1" && pwd)/segq-$version.tar.gz

names() { # of git; or all that is there but what a build makes
    if in_git; then git ls-files -z
    else find . \( -path ./build -o -path ./run -o -path ./debian \) -prune -o \( -type f -o -type l \) -printf '%P\0'; fi |
        LC_ALL=C sort -z
}
names | tar --create --no-recursion --null --files-from=- --format=ustar --owner=0 --group=0 --numeric-owner \
    --mode='u+rw,go=u-w' --mtime="@$epoch" --transform="s|^|segq-$version/|" | gzip -9n >"$out.new"
mv "$out.new" "$out"
