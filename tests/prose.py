#!/usr/bin/env python3
"""prose.py [--wrap] FILE... | --comments [--list]: the form of prose.

FILE: prose in Markdown is at most 100 columns wide, and no blank divides two Chinese words.

Says each line that is longer and could be broken, or has such a blank, and exits with 1 if there
is one. Tables, code blocks, headings, what a program writes (from <!-- NAME --> to <!-- end -->),
and words that have no blank in them (long links, commands between backticks) may be longer. --wrap
breaks and fills the paragraphs of the files.

--comments: comments of the product begin with a noun or an imperative verb. Counts those that begin
with a word of WEAK (--list says where they stand), and fails if there are more than MOST. Lower
MOST with each clean-up: the number may only fall.
"""
import re
import sys
import unicodedata

WEAK = set("of what who its it one nobody those that there as so".split())
MOST = 10
TOKEN = re.compile(r"""\"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/""", re.S)

WIDTH = 100
ITEM = re.compile(r"(\s*)(?:[*+-]|\d+\.) +")
# At the beginning of a line these would mean something else.
MARK = re.compile(r"(?:[*+-]|\d+\.|#+|>|\|)$|\||```|<!--")
FIXED = re.compile(r"\s*(?:$|\||#|>|!\[|<!--|\[[^]]+\]: )")
STOPS = "，。；：、！？）”》"
# A line that was broken between two Chinese words and filled again has a blank there.
SPLIT = re.compile(r"(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff（])")


def width(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def words(text):
    """(blank before it, word): words end at blanks outside of `code`, and behind a Chinese stop."""
    out, blank, word, code = [], "", "", False
    for i, c in enumerate(text):
        if c == "`":
            code = not code
        if c == " " and not code:
            if word:
                out.append((blank, word))
            blank, word = " ", ""
            continue
        word += c
        if c in STOPS and not code and text[i + 1:i + 2] not in tuple(STOPS) + ("*", "`", " ", ""):
            out.append((blank, word))
            blank, word = "", ""
    if word:
        out.append((blank, word))
    return out


def fill(text, first, rest):
    """The lines of a paragraph; FIRST stands before its first line, REST before the others."""
    lines, line = [], first
    for i, (blank, word) in enumerate(words(text)):
        if i > 0 and width(line + blank + word) > WIDTH and not MARK.match(word):
            lines.append(line)
            line = rest + word
        else:
            line += (blank if i > 0 else "") + word
    return lines + [line]


def join(a, b):
    return a + ("" if a[-1:] in STOPS else " ") + b.strip()


def blocks(text):
    """(number of its first line, lines, is it prose) of each paragraph, list item, other line.

    None in place of "is it prose": a line of code that is indented.
    """
    out, fenced, written = [], False, False
    for n, line in enumerate(text.split("\n"), 1):
        fence = line.lstrip().startswith("```")
        if line.startswith("<!-- "):
            written = line != "<!-- end -->"
        code = line.startswith("    ") and out and (out[-1][1] == [""] or out[-1][2] is None)
        if code:
            out.append((n, [line], None))
        elif fenced or fence or written or FIXED.match(line):
            fenced ^= fence
            out.append((n, [line], False))
        elif ITEM.match(line) or not out or not out[-1][2]:
            out.append((n, [line], True))
        else:
            out[-1][1].append(line)
    return out


def wrap(text):
    out = []
    for _, lines, prose in blocks(text):
        if not prose:
            out += lines
            continue
        item = ITEM.match(lines[0])
        first = item.group(0) if item else re.match(r"\s*", lines[0]).group(0)
        body = lines[0][len(first):].rstrip()
        for line in lines[1:]:
            body = join(body, line.rstrip())
        out += fill(SPLIT.sub("", body), first, " " * len(first))
    return "\n".join(out)


def too_long(text):
    for n, lines, prose in blocks(text):
        for i, line in enumerate(lines if prose else []):
            if width(line) > WIDTH and len(wrap(line).split("\n")) > 1:
                yield n + i, width(line)


def split(text):
    for n, lines, prose in blocks(text):
        for i, line in enumerate(lines if prose else []):
            if SPLIT.search(line):
                yield n + i


def comments(text):
    """(line, words) of each comment; lines of // one below the other are one comment."""
    last = 0
    for m in TOKEN.finditer(text):
        token = m.group(0)
        if token[0] in "\"'":
            continue
        n = text.count("\n", 0, m.start()) + 1
        alone = not text[text.rfind("\n", 0, m.start()) + 1:m.start()].strip()
        if token.startswith("//"):
            goes_on = alone and last == n - 1
            last = n if alone else 0
            if goes_on:
                continue
        yield n, token.strip("/* \n")


def weak_comments(show):
    """Counts the comments that begin weakly; 1 if there are more than MOST."""
    import tree  # it goes to the root, where FILE of the other use need not be
    count = total = 0
    for name in tree.sources():
        for n, words_of_it in comments(tree.read(name)):
            first = re.match(r"[A-Za-z']+", words_of_it)
            total += 1
            if first and first.group(0).lower() in WEAK:
                count += 1
                if show:
                    print(f"{name}:{n}: {words_of_it.splitlines()[0]}")
    print(f"{count} of {total} comments begin with a weak word (at most {MOST})")
    return count > MOST


def main(args):
    if "--comments" in args:
        return weak_comments("--list" in args)
    bad = 0
    for name in [a for a in args if a != "--wrap"]:
        with open(name, encoding="utf-8") as f:
            text = f.read()
        if "--wrap" in args:
            with open(name, "w", encoding="utf-8") as f:
                f.write(wrap(text))
            continue
        for n, wide in too_long(text):
            print(f"{name}:{n}: {wide} columns")
            bad = 1
        for n in split(text):
            print(f"{name}:{n}: a blank between two Chinese words")
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
