#!/usr/bin/env python3
"""make_site.py FOLDER API.json: README, docs/ and what they link to, as a site of static pages, and a page
that explores the calls of proto/openapi.yaml (as JSON: yaml2json).

Debian's cmark-gfm turns Markdown into HTML; here come headings with names, the navigation (README's
list of pages, "Pages"), and links from .md to .html. No scripts but the explorer's, nothing from elsewhere:
it can be read from a disk, or be put behind any web server. A link that leads nowhere ends it with 1.
"""
import html
import json
import os
import re
import shutil
import subprocess
import sys
from urllib.parse import unquote

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import calls  # noqa: E402
import pages  # noqa: E402

STYLE = "docs/site/site.css"
EXPLORER = "explorer.html"
STARTS = {"en": "README.md", "zh-CN": "README.zh-CN.md"}
WORDS = {"en": ("Skip to the text", "Pages", "简体中文"), "zh-CN": ("跳到正文", "页面", "English")}
LIST = {"en": "## Pages\n", "zh-CN": "## 页面\n"}


def target_of(page):
    """Where a page is in the site: beside where it is in the tree, so links stay as they are."""
    return re.sub(r"^README", "index", re.sub(r"\.md$", ".html", page))


def relative(page, target):
    return os.path.relpath(target, os.path.dirname(page) or ".")


def language(page):
    return "zh-CN" if page == STARTS["zh-CN"] or page.startswith("docs/zh/") else "en"


def other(page):
    """The same page in the other language, None: there is none."""
    return next((p for pair in pages.pairs() for p in pair if page in pair and p != page), None)


def to_html(text):
    got = subprocess.run(["cmark-gfm", "-e", "table", "-e", "autolink", "--unsafe"], input=text,
                         capture_output=True, text=True, check=True)
    return got.stdout


def with_names(body):
    """Headings get the names by which links call them."""
    def named(m):
        plain = html.unescape(re.sub(r"<[^>]*>", "", m.group(2)))
        return f'<h{m.group(1)} id="{pages.anchor(plain)}">{m.group(2)}</h{m.group(1)}>'
    return re.sub(r"<h([1-6])>(.*?)</h\1>", named, body)


def with_links(page, body, files):
    """Links to pages lead to pages of the site; other files that are linked are noted in FILES."""
    def linked(m):
        attr, link = m.groups()
        if re.match(r"\w+:|#", link):
            return m.group(0)
        path, _, name = html.unescape(link).partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(page), path))
        if path.endswith(".md"):
            path = target_of(path)
        else:
            files.add(path)
        return f'{attr}="{relative(page, path)}{"#" + name if name else ""}"'
    return re.sub(r'\b(href|src)="([^"]*)"', linked, body)


def with_mentions(page, body, known):
    """`deploy/nginx/README.md` in the text is a link, as far as it is a page of the site."""
    def mention(m):
        if m.group(1) not in known or m.group(1) == page:
            return m.group(0)
        return f'<a href="{relative(page, target_of(m.group(1)))}">{m.group(0)}</a>'
    parts = re.split(r"(<a .*?</a>|<pre>.*?</pre>)", body, flags=re.S)
    return "".join(p if i % 2 else re.sub(r"<code>([\w./-]+\.md)</code>", mention, p)
                   for i, p in enumerate(parts))


def without_seams(body):
    """A browser makes a blank of a line's end, which Chinese does not have."""
    seam = r"(?<=[，。；：、！？）”》])\n(?=[^<\s]|<(?:code|a|strong|em)\b)|(?<=[\u4e00-\u9fff])\n(?=[\u4e00-\u9fff（“])"
    parts = re.split(r"(<pre>.*?</pre>)", body, flags=re.S)
    return "".join(p if i % 2 else re.sub(seam, "", p) for i, p in enumerate(parts))


def navigation(page, lang):
    text = pages.text_of(STARTS[lang])
    body = to_html(text[text.index(LIST[lang]) + len(LIST[lang]):])
    out = [f'<p><a href="{relative(page, target_of(STARTS[lang]))}">segq</a></p>']
    for item in re.findall(r"<li>(.*?)</li>", body, re.S):
        links = re.findall(r'<a href="([^"]*)">(.*?)</a>', item, re.S)
        group = re.sub(r"<[^>]*>", "", item.split("</strong>")[0])
        rows = []
        for link, words in links:
            here = ' aria-current="page"' if link == page else ""
            path = target_of(link) if link.endswith(".md") else link
            rows.append(f'<li><a href="{relative(page, path)}"{here}>{words}</a></li>')
        out.append(f"<p>{group}</p><ul>{''.join(rows)}</ul>")
    twin = other(page) or STARTS["en" if lang == "zh-CN" else "zh-CN"]
    out.append(f'<p><a href="{relative(page, target_of(twin))}">{WORDS[lang][2]}</a></p>')
    return "".join(out)


def whole(page, known, files):
    lang = language(page)
    text = pages.text_of(page)
    title = re.search(r"^# (.*)$", text, re.M).group(1)
    body = with_links(page, with_names(without_seams(to_html(text))), files)
    body = body.replace(f"<code>{EXPLORER}</code>", f'<a href="{relative(page, EXPLORER)}">{EXPLORER}</a>')
    body = with_mentions(page, body, known).replace("<table>", '<div class="wide"><table>')
    body = body.replace("</table>", "</table></div>")
    # What may scroll is reached by the keyboard; a head without words heads nothing.
    body = body.replace("<pre>", '<pre tabindex="0">').replace('<div class="wide">', '<div class="wide" tabindex="0">')
    body = re.sub(r"<th([^>]*)></th>", r"<td\1></td>", body)
    name = title if title == "segq" else f"{title} - segq"
    skip, label = WORDS[lang][:2]
    return (f'<!doctype html><html lang="{lang}"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width,initial-scale=1">'
            f"<title>{html.escape(name)}</title>"
            f'<link rel="stylesheet" href="{relative(page, STYLE)}"></head><body>'
            f'<nav aria-label="{label}"><a class="skip" href="#text">{skip}</a>'
            f'{navigation(page, lang)}</nav><main id="text">\n{body}</main></body></html>\n')


def build(out, api):
    """Writes the site; gives back its pages (paths in the site)."""
    shutil.rmtree(out, ignore_errors=True)
    known, files = pages.documents(), {STYLE}
    # What README's list of pages links to, besides pages.
    for start in STARTS.values():
        files |= {t for t, _ in pages.links(pages.text_of(start)) if t and not t.endswith(".md")}
    os.makedirs(out)
    with open(os.path.join(out, EXPLORER), "w", encoding="utf-8") as f:
        f.write(calls.explorer(api, os.path.dirname(os.path.abspath(__file__))))
    made = [EXPLORER]
    for page in known:
        path = os.path.join(out, target_of(page))
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(whole(page, known, files))
        made.append(target_of(page))
    for f in sorted(files):
        if os.path.isfile(os.path.join(pages.ROOT, f)):
            os.makedirs(os.path.join(out, os.path.dirname(f)), exist_ok=True)
            shutil.copyfile(os.path.join(pages.ROOT, f), os.path.join(out, f))
    return made


def dead_links(out, made):
    """Each link of the site that leads nowhere, as (page, link)."""
    texts = {}
    for page in made:
        with open(os.path.join(out, page), encoding="utf-8") as f:
            texts[page] = f.read()
    for page, text in texts.items():
        for link in re.findall(r'\b(?:href|src)="([^"]*)"', text):
            if re.match(r"\w+:", link):
                continue
            path, _, name = unquote(html.unescape(link)).partition("#")
            path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            there = os.path.isfile(os.path.join(out, path))
            if not there or (name and f'id="{name}"' not in texts.get(path, "")):
                yield page, link


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n")[0])
    if not shutil.which("cmark-gfm"):
        sys.exit("make_site.py: cmark-gfm is not installed (deploy/deps.sh docs)")
    with open(sys.argv[2], encoding="utf-8") as f:
        made = build(sys.argv[1], json.load(f)[0])
    dead = list(dead_links(sys.argv[1], made))
    for page, link in dead:
        print(f"make_site.py: {page}: {link} leads nowhere", file=sys.stderr)
    print(f"{len(made)} pages: {os.path.join(sys.argv[1], 'index.html')}")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())
