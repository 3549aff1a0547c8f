#!/usr/bin/env python3
"""prose.py [--wrap] FILE...: prose in Markdown is at most 100 columns wide.

Says each line that is longer and could be broken, and exits with 1 if there is one. Tables, code
blocks, headings, what a program writes (from <!-- NAME --> to <!-- end -->), and words that have
no blank in them (long links, commands between backticks) may be longer. --wrap breaks and fills
the paragraphs of the files.
"""
import re
import sys
import unicodedata

WIDTH = 100
ITEM = re.compile(r"(\s*)(?:[*+-]|\d+\.) +")
# At the beginning of a line these would mean something else.
MARK = re.compile(r"(?:[*+-]|\d+\.|#+|>|\|)$|\||```|<!--")
FIXED = re.compile(r"\s*(?:$|\||#|>|!\[|<!--|\[[^]]+\]: )")
STOPS = "，。；：、！？）”》"


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
        out += fill(body, first, " " * len(first))
    return "\n".join(out)


def too_long(text):
    for n, lines, prose in blocks(text):
        for i, line in enumerate(lines if prose else []):
            if width(line) > WIDTH and len(wrap(line).split("\n")) > 1:
                yield n + i, width(line)


def main(args):
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
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
