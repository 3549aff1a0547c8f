#!/usr/bin/env python3
"""languages.py: each client's adapter: what starts it, what it needs, how it is built, and its own tests.

    languages.py [NAME ...]     runs their own tests; the last line is "clients: N passed, M failed"
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
CLIENTS, BUILT = os.path.join(ROOT, "clients"), os.path.join(ROOT, "build/clients")
ALL = frozenset(("people", "events", "gate", "tasks", "worker", "types", "hooks", "alone", "keys"))


def debian(name):
    """Debian's own program, else the first that is found."""
    return f"/usr/bin/{name}" if os.path.exists(f"/usr/bin/{name}") else shutil.which(name) or name


PYTHON, GO = debian("python3"), debian("go")
JAVA = [debian("java"), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
        f"{BUILT}/java/segq-client.jar:{BUILT}/java/test:/usr/share/java/servlet-api.jar"]


class Language(NamedTuple):
    """argv: the adapter. needs: programs and headers (of C), each with the package that has it. parts: what of table.txt it
    has. build: commands, run within clients/NAME, of what stands in build/clients/NAME. tests: its own."""
    argv: list
    needs: dict
    parts: frozenset = ALL
    build: list = []
    tests: list = []


OWN_GO = ["env", "GOPROXY=off", "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local", GO]
CC = ["cc", "-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Wshadow", "-Werror"]
C_FILES = sorted(f for f in os.listdir(f"{CLIENTS}/c") if f.startswith("segq") and f.endswith(".c"))
LANGUAGES = {
    "python": Language([PYTHON, f"{CLIENTS}/python/conformance.py"], {PYTHON: "python3"},
                       tests=[PYTHON, "tests/test_client.py"]),
    "java": Language([*JAVA, "segq.Conformance"], {JAVA[0]: "openjdk-17-jdk-headless", debian("javac"): "openjdk-17-jdk-headless"},
                     build=[["./build.sh", f"{BUILT}/java"]], tests=[*JAVA, "segq.Tests"]),
    "csharp": Language([debian("mono"), f"{BUILT}/csharp/Conformance.exe"], {debian("mono"): "mono-runtime", debian("mcs"): "mono-mcs"},
                       build=[["./build.sh", f"{BUILT}/csharp"]], tests=[debian("mono"), f"{BUILT}/csharp/Tests.exe"]),
    "js": Language(["node", f"{CLIENTS}/js/conformance.mjs"], {"node": "nodejs"}, tests=["node", "tests/test_client.mjs"]),
    "page": Language(["node", f"{CLIENTS}/js/conformance_page.js"], {"node": "nodejs"}, frozenset({"people"})),
    "c": Language([f"{BUILT}/c/conformance"], {"cc": "gcc", "curl/curl.h": "libcurl4-openssl-dev", "jansson.h": "libjansson-dev",
                                               "openssl/evp.h": "libssl-dev"}, ALL - {"types"},
                  [[*CC, "-o", f"{BUILT}/c/conformance", "conformance.c", *C_FILES, "-lcurl", "-ljansson", "-lcrypto", "-lpthread"],
                   [*CC, "-o", f"{BUILT}/c/tests", "test_client.c", "segq.c", "segq_key.c", "-lcurl", "-lcrypto", "-lpthread"]],
                  tests=[f"{BUILT}/c/tests"]),
    "go": Language([f"{BUILT}/go/conformance"], {GO: "golang-go"},
                   build=[[*OWN_GO, "build", "-o", f"{BUILT}/go/conformance", "./internal/conformance"]],
                   tests=["sh", "-c", "! gofmt -l . | grep . && exec \"$@\"", "sh", *OWN_GO, "test", "-count=1", "-v", "./..."]),
}


def newest(folder):
    """When a file below it was changed last."""
    return max((os.stat(os.path.join(d, f)).st_mtime for d, _, files in os.walk(folder) for f in files), default=0)


def has(need):
    """Whether this program, or this header, is here."""
    if not need.endswith(".h"):
        return shutil.which(need)
    said = subprocess.run(["cc", "-E", "-include", need, "-x", "c", "/dev/null"], capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"}, check=False)
    return not re.search("No such file|file not found", said.stderr)  # else the build says what is wrong


class Unbuilt(SystemExit):
    """A client that cannot be built, and why: the end, unless others are tried, too."""


def ready(name):
    """Builds its adapter, if it must; returns why it cannot be tried, or ""."""
    if name not in LANGUAGES:
        sys.exit(f"no client {name}; there are {', '.join(LANGUAGES)}")
    lang, source, built = LANGUAGES[name], f"{CLIENTS}/{name}", f"{BUILT}/{name}"
    for need, package in lang.needs.items():
        if not has(need):
            what = need if need.endswith(".h") else os.path.basename(need)
            return f"there is no {what} (Debian's {package}; make test-clients installs it)"
    if not lang.build:
        return ""
    os.makedirs(built, exist_ok=True)
    with open(f"{built}/stamp", "a", encoding="utf-8") as stamp:  # others may want it at the same time
        fcntl.flock(stamp, fcntl.LOCK_EX)
        wanted = f"{max(newest(source), os.stat(__file__).st_mtime)}"
        with open(f"{built}/stamp", encoding="utf-8") as f:
            if f.read() == wanted:
                return ""
        for argv in lang.build:
            said = subprocess.run(argv, cwd=source, capture_output=True, text=True, check=False)
            if said.returncode:
                raise Unbuilt(f"FAIL {name}: it cannot be built: {said.stdout}{said.stderr}")
        stamp.truncate(0)
        stamp.write(wanted)
    return ""


def main():
    passed = failed = 0
    tried = False
    for name in sys.argv[1:] or LANGUAGES:
        try:
            why = ready(name) or ("" if LANGUAGES[name].tests else "it has no tests of its own, only rows of table.txt")
        except Unbuilt as e:
            print(e)
            failed, tried = failed + 1, True
            continue
        if why:
            print(f"     {name} is not tried: {why}")
        else:
            said = subprocess.run(LANGUAGES[name].tests, cwd=f"{CLIENTS}/{name}", stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)
            print(said.stdout, end="")
            counts = re.findall(r"(\d+) passed, (\d+) failed", said.stdout)
            good, bad = map(int, counts[-1]) if counts else (
                len(re.findall(f"(?m)^ *--- {how}", said.stdout)) for how in ("PASS", "FAIL"))  # as Go says it
            bad += not bad and said.returncode != 0
            passed, failed, tried = passed + good, failed + bad, True
    print(f"clients: {passed} passed, {failed} failed")
    sys.exit(1 if failed else 0 if tried else 77)


if __name__ == "__main__":
    main()
