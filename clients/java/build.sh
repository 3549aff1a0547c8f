#!/bin/sh
# build.sh DIR: the client as a jar, and its tests' classes, in DIR; with the JDK alone (pom.xml does the same).
# The servlet filter is compiled where Debian's libservlet-api-java is.
set -eu
cd "$(dirname "$0")"
out=$1
rm -rf "$out/main" "$out/test"
mkdir -p "$out/main" "$out/test"
set -- src/main/java/segq/*.java
servlet=/usr/share/java/servlet-api.jar
[ ! -e $servlet ] || set -- "$@" src/servlet/java/segq/servlet/*.java
javac --release 17 -Xlint:all,-serial,-path -Werror -cp "$servlet" -d "$out/main" "$@"
printf 'Automatic-Module-Name: segq\n' >"$out/manifest"
jar -c -f "$out/segq-client.jar" -m "$out/manifest" -C "$out/main" .
javac --release 17 -Xlint:all,-serial,-path -Werror -cp "$out/main" -d "$out/test" src/test/java/segq/*.java
