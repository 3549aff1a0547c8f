#!/usr/bin/env python3
"""sbom.py BIN >segq.spdx.json: what the programs in BIN are linked with, as an SPDX 2.3 document.

Names, versions and licences are what dpkg knows of the packages whose libraries are linked here.
A licence is that of "Files: *" in a package's copyright file, in Debian's words (LicenseRef-debian-...)
where SPDX has no such name; NOASSERTION where that file is not for machines. SOURCE_DATE_EPOCH is the
time that it says (0 if not given), so equal libraries give equal bytes.
"""
import functools
import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS = ("router", "segment", "task", "queuemng", "rt_cluster", "seg_cluster", "task_cluster", "mng_cluster",
            "segqctl")
SPDX = {  # Debian's short name, in small letters -> SPDX's
    "expat": "MIT", "mit": "MIT", "isc": "ISC", "zlib": "Zlib", "curl": "curl", "apache-2.0": "Apache-2.0",
    "bsd-2-clause": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause",
    "lgpl-2.1": "LGPL-2.1-only", "lgpl-2.1+": "LGPL-2.1-or-later",
}
PROSE = {"libc6": "LGPL-2.1-or-later"}  # whose copyright file is not for machines


def run(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def libraries(program):
    """Paths of the libraries that it names itself; theirs are the business of their packages."""
    named = set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-dW", program)))
    paths = dict(re.findall(r"^\s*(\S+) => (/\S+)", run("ldd", program), re.M))
    return [paths[n] for n in sorted(named) if n in paths]


@functools.cache
def package_of(path):
    """The package of a library, under either name of a merged /usr."""
    for p in (path, os.path.realpath(path), "/usr" + path, path.removeprefix("/usr")):
        got = subprocess.run(["dpkg-query", "-S", p], capture_output=True, text=True)
        if got.returncode == 0:
            return got.stdout.split(": ")[0].split(",")[0]
    sys.exit(f"sbom: {path} is of no Debian package")


def licence_of(package):
    """(SPDX expression, Debian's word)"""
    with open(f"/usr/share/doc/{package.split(':')[0]}/copyright", encoding="utf-8", errors="replace") as f:
        text = f.read()
    for part in re.split(r"\n\s*\n", text) if text.startswith("Format:") else []:
        if re.search(r"^Files:\s*\*\s*$", part, re.M):
            word = re.search(r"^License:\s*(\S.*)$", part, re.M)[1].strip()
            return SPDX.get(word.lower(), "LicenseRef-debian-" + re.sub(r"[^A-Za-z0-9.]+", "-", word).strip("-")), word
    return PROSE.get(package.split(":")[0], "NOASSERTION"), ""


def described(package):
    name, version, arch = run("dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture}", package).split()
    licence, word = licence_of(package)
    return {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "name": name, "versionInfo": version,
            "supplier": "Organization: Debian", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": licence, "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/debian/{name}@{version}?arch={arch}"}]}, (licence, word)


def document(folder):
    with open(os.path.join(ROOT, "VERSION"), encoding="utf-8") as f:
        version = f.read().strip()
    links, words = {}, {}
    for p in PROGRAMS:
        for path in libraries(os.path.join(folder, p)):
            links.setdefault(package_of(path), []).append(p)
    packages, relations = [], []
    for package, programs in sorted(links.items()):
        said, (licence, word) = described(package)
        if licence.startswith("LicenseRef-"):
            words[licence] = word
        packages.append(said)
        relations.append({"spdxElementId": "SPDXRef-segq", "relationshipType": "DYNAMIC_LINK",
                          "relatedSpdxElement": said["SPDXID"], "comment": " ".join(sorted(set(programs)))})
    own = "LicenseRef-not-chosen" if not glob.glob(os.path.join(ROOT, "LICENSE*")) else "NOASSERTION"
    if own.startswith("LicenseRef-"):
        words[own] = "The owner has not chosen a licence yet."
    segq = {"SPDXID": "SPDXRef-segq", "name": "segq", "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": own,
            "copyrightText": "NOASSERTION"}
    digest = hashlib.sha256(json.dumps(packages, sort_keys=True).encode()).hexdigest()[:32]
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"segq-{version}", "documentNamespace": f"urn:segq:sbom:{version}:{digest}",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(
                int(os.environ.get("SOURCE_DATE_EPOCH", "0")))), "creators": ["Tool: segq-sbom.py"]},
            "packages": [segq, *packages],
            "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                               "relatedSpdxElement": "SPDXRef-segq"}, *relations],
            "hasExtractedLicensingInfos": [{"licenseId": i, "extractedText": w} for i, w in sorted(words.items())]}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n", 1)[0])
    json.dump(document(sys.argv[1]), sys.stdout, indent=1)
    print()
