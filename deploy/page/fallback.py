#!/usr/bin/env python3
"""fallback.py FOLDER...: writes segq_busy.LANG.html into each: what a gate shows to people
while no router answers. Made of the waiting page's own words and style, so that it looks the
same; nothing from elsewhere, tries again by itself, with and without scripts. In the languages that the
gates' files tell apart. `make fallback` runs it for deploy/nginx and deploy/haproxy; the files are checked in, since who installs a gate need not
build anything, and tests/check.sh looks whether they are as this makes them.
"""
import base64
import hashlib
import html
import json
import pathlib
import sys

LANGS = ("en", "zh")
HERE = pathlib.Path(__file__).resolve().parent
PAGE = """<!doctype html>
<html lang="{lang}" dir="{dir}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '{style_hash}'; script-src '{script_hash}'; img-src data:">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<noscript><meta http-equiv="refresh" content="5"></noscript>
<title>{unavailable} · {title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<main>
<header><p id="title">{title}</p></header>
<article class="unavailable">
<h1>{unavailable}</h1>
<p class="say">{unavailable_say}</p>
<p class="say"><a href="">{again}</a></p>
</article>
</main>
<script>{script}</script>
</body>
</html>
"""
# Asks again as the page's own script does: not all at the same moment, and always a GET.
SCRIPT = "setTimeout(()=>location.replace(location.pathname+location.search),4e3+4e3*Math.random())"


def hash_of(text):
    """As a policy names what may stand in a page."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def page(lang):
    """The page in one language."""
    said = json.loads((HERE / f"{lang}.json").read_text(encoding="utf-8"))
    style = (HERE / "page.css").read_text(encoding="utf-8")
    words = {name: html.escape(text) for name, text in said.items() if isinstance(text, str)}
    return PAGE.format(lang=lang, style=style, script=SCRIPT, style_hash=hash_of(style),
                       script_hash=hash_of(SCRIPT), **words)


for folder in sys.argv[1:]:
    for lang in LANGS:
        to = pathlib.Path(folder) / f"segq_busy.{lang}.html"
        to.write_text(page(lang), encoding="utf-8")
