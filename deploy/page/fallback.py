#!/usr/bin/env python3
"""fallback.py FOLDER...: writes segq_busy.html into each: what a gate shows to people while no
router answers. Made of the waiting page's own words and style, so that it looks the same; it loads
nothing from elsewhere and tries again by itself, with and without scripts. One file has all
languages, so that no gate needs to choose: the browser shows its own, and without scripts all of
them, one below the other. `make fallback` runs it for deploy/nginx and deploy/haproxy; the files
are checked in, since the installation of a gate builds nothing, and tests/check.sh compares them.
"""
import base64
import hashlib
import html
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
FILE = "segq_busy.html"
MOST = 15000  # HAProxy answers from one buffer of 16 KB
PAGE = """<!doctype html>
<html lang="en" dir="ltr">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '{style_hash}'; script-src '{script_hash}'; img-src data:">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<noscript><meta http-equiv="refresh" content="10"></noscript>
<title>{unavailable}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<main>
{articles}</main>
<script>{script}</script>
</body>
</html>
"""
ARTICLE = """<article lang="{lang}" dir="{dir}">
<h1>{unavailable}</h1>
<p class="say">{unavailable_say}</p>
<p class="say"><a href="">{again}</a></p>
</article>
"""
# The first of the browser's languages that is here (zh-TW is written as zh-Hant), else English. It
# asks again as the page's own script does: not all at the same moment, and always a GET.
SCRIPT = """
const all=[...document.querySelectorAll('article')],of=tag=>all.find(a=>a.lang===tag)
let mine
for(const tag of navigator.languages)try{const l=new Intl.Locale(tag).maximize();mine=mine||of(l.language+'-'+l.script)||of(l.language)}catch(e){}
mine=mine||of('en')
for(const a of all)a.hidden=a!==mine
Object.assign(document.documentElement,{lang:mine.lang,dir:mine.dir})
document.title=mine.querySelector('h1').textContent
setTimeout(()=>location.replace(location.pathname+location.search),4e3+4e3*Math.random())
"""


def hash_of(text):
    """As a policy names what may stand in a page."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def words(lang):
    """The texts of one language, as HTML."""
    said = json.loads((HERE / f"{lang}.json").read_text(encoding="utf-8"))
    return {name: html.escape(text) for name, text in said.items() if isinstance(text, str)}


def page():
    """The page: English first, then the others."""
    langs = sorted((f.stem for f in HERE.glob("*.json")), key=lambda lang: (lang != "en", lang))
    style = (HERE / "page.css").read_text(encoding="utf-8")
    articles = "".join(ARTICLE.format(lang=lang, **words(lang)) for lang in langs)
    return PAGE.format(style=style, script=SCRIPT, articles=articles, style_hash=hash_of(style),
                       script_hash=hash_of(SCRIPT), unavailable=words("en")["unavailable"])


made = page()
if len(made.encode()) > MOST:
    sys.exit(f"{FILE} has {len(made.encode())} bytes, more than {MOST}")
for folder in sys.argv[1:]:
    (pathlib.Path(folder) / FILE).write_text(made, encoding="utf-8")
