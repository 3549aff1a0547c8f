"""pages.py: the pages of the documentation, their headings and links.

Used by make_site.py (a site of them) and tests/deploy/test_readme.py (what they name is there).
"""
import os
import re
import unicodedata

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FENCE = re.compile(r"^```.*?^```$", re.S | re.M)
WRITTEN = re.compile(r"<!-- \w+ -->.*?<!-- end -->", re.S)  # by a program


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
        return f.read()


def names(folder=""):
    """Paths, from ROOT, of the Markdown files of a folder."""
    return sorted(os.path.join(folder, n) for n in os.listdir(os.path.join(ROOT, folder))
                  if n.endswith(".md"))


def pairs():
    """(English page, Chinese page): both must exist, test_readme.py says."""
    return [("README.md", "README.zh-CN.md")] + [
        (os.path.join("docs", n), os.path.join("docs", "zh", n))
        for n in sorted({os.path.basename(p) for p in names("docs") + names("docs/zh")})]


def documents():
    """All Markdown that people read: those pages, and what lies beside files in other folders."""
    out = [p for pair in pairs() for p in pair] + ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
    for folder in ("proto", "tests", "deploy"):
        out += names(folder)
    for top in ("clients", "deploy"):
        for d in sorted(os.listdir(os.path.join(ROOT, top))):
            if os.path.isdir(os.path.join(ROOT, top, d)):
                out += names(os.path.join(top, d))
    return out


def blocks(text):
    """What stands between fences: commands, code, configuration, pictures."""
    return FENCE.findall(text)


def prose(text):
    return FENCE.sub("", WRITTEN.sub("", text))


def anchor(heading):
    """The name that GitHub, and our site, give to a heading."""
    out = []
    for c in re.sub(r"[`*]", "", heading.strip()).lower():
        if c == " ":
            out.append("-")
        elif c in "-_" or unicodedata.category(c)[0] in "LN":
            out.append(c)
    return "".join(out)


def anchors(text):
    return {anchor(m) for m in re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.M)}


def links(text):
    """(target, anchor or "") of each link and picture that is no address of the web."""
    plain = re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))
    found = re.findall(r"\]\(([^)\s]+)\)", plain) + re.findall(r'(?:src|href)="([^"]+)"', plain)
    return [tuple((t + "#").split("#")[:2]) for t in found if not re.match(r"\w+:", t)]
