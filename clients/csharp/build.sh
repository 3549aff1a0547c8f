#!/bin/sh
# build.sh DIR: Segq.dll and the programs of its tests in DIR, with Mono's mcs (Segq.csproj is for the .NET SDK).
set -eu
cd "$(dirname "$0")"
out=$1
mkdir -p "$out"
mcs() { command mcs -langversion:7.2 -warnaserror -r:System.Net.Http.dll -r:System.Core.dll -r:System.Numerics.dll "$@"; }
mcs -target:library -out:"$out/Segq.dll" src/*.cs
for t in Conformance Tests; do
    mcs -out:"$out/$t.exe" -r:Mono.Posix.dll src/*.cs aspnetcore/*.cs tests/AspNetCoreStubs.cs tests/P256.cs "tests/$t.cs"
done
