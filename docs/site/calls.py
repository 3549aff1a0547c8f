"""calls.py: proto/REFERENCE.md and the explorer, made of proto/openapi.yaml: each call with its request and
its answer, as the examples show them.
"""
import html
import json
import os
import re
import textwrap

METHODS = ("get", "put", "post", "patch", "delete")
GROUPS = {"public": "For people in line", "tasks": "For requests in line", "compat": "For callers of other API queues",
          "aws": "For clients of AWS' Virtual Waiting Room",
          "system": "For processes", "admin": "For operators"}
TOKENS = {"serverToken": "SERVER_TOKEN", "adminToken": "ADMIN_TOKEN", "pass": "PASS"}
WIDTH = 96
HEADER = """# Every call, with request and answer

Made of [openapi.yaml](openapi.yaml) by `make reference`. [The API](../docs/api.md) is the list, and
says what all calls have in common: errors, rights, repeats. `make docs` makes
a page of it that asks a cluster of yours (`explorer.html`).
"""


def at(api, node):
    """The node that a $ref leads to, else the node itself."""
    while isinstance(node, dict) and "$ref" in node:
        ref, node = node["$ref"], api
        for part in ref.lstrip("#/").split("/"):
            node = node[part]
    return node


def example_of(api, media):
    return media.get("example", at(api, media.get("schema", {})).get("example"))


def written(value, indent=0):
    """JSON, with what fits into a line in one line."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + indent <= WIDTH or not isinstance(value, (dict, list)) or not value:
        return line
    pad = " " * (indent + 2)
    if isinstance(value, dict):
        rows = [f"{pad}{json.dumps(k)}: {written(v, indent + 2)}" for k, v in value.items()]
    else:
        rows = [pad + written(v, indent + 2) for v in value]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return begin + "\n" + ",\n".join(rows) + "\n" + " " * indent + end


def words(node):
    return " ".join(node.get("description", "").split())


def parameters(api, item, op):
    return [at(api, p) for p in item.get("parameters", []) + op.get("parameters", [])]


def token_of(op):
    """The word for the token that a call needs; None: none."""
    names = [name for row in op.get("security") or [] for name in row]
    return next((TOKENS[n] for n in names if n in TOKENS), None)


def described(p):
    schema = p.get("schema", {})
    allowed = " or ".join(f"`{v}`" for v in schema.get("enum", []))
    bounds = [f"{word} {schema[key]}" for key, word in (("minimum", "at least"), ("maximum", "at most"))
              if key in schema]
    return "; ".join(x for x in (words(p), allowed, ", ".join(bounds)) if x)


def request_of(api, path, method, op):
    head = [f"{method.upper()} {path} HTTP/1.1"]
    token = token_of(op)
    if token:
        head.append(f"Authorization: Bearer {token}")
    for kind, media in at(api, op.get("requestBody", {})).get("content", {}).items():
        example = example_of(api, media) if kind == "application/json" else None
        if example is not None:
            return head + ["Content-Type: application/json", "", written(example)]
    return head


def wrapped(text, hang=""):
    return textwrap.fill(text, WIDTH, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False)


def answers_of(api, op):
    """Lines of Markdown: answers with a body that is no error; then the other statuses. What many calls have
    (a $ref) is told once, at the end of the page."""
    out, own, shared, shown = [], [], {}, None
    for status, node in op["responses"].items():
        answer = at(api, node)
        example = example_of(api, answer.get("content", {}).get("application/json", {}))
        if status[0] == "2" and example is not None:
            out += [wrapped(f"`{status}`: {words(answer)}"), ""]
            out += ["```json", written(example), "```", ""] if example != shown else []
            shown = example
        elif "$ref" in node:
            shared.setdefault(node["$ref"].rsplit("/", 1)[1], []).append(f"`{status}`")
        else:
            own.append(wrapped(f"* `{status}`: {words(answer)}", "  "))
    return out + own + [wrapped(f"* {', '.join(statuses)}: [{name}](#{name.lower()})", "  ")
                        for name, statuses in shared.items() if statuses != ["`default`"]] + [""]


def common(api, text):
    """The answers that many calls have, as far as the text leads to them."""
    out = ["## Answers of many calls", ""]
    for name, node in api["components"]["responses"].items():
        if f"(#{name.lower()})" in text:
            out += [f"### {name}", "", wrapped(words(node)), ""]
    return out


def call(api, path, item, method):
    op = item[method]
    out = [f"### {op['summary']}", "", "```http", *request_of(api, path, method, op), "```", ""]
    if op.get("description"):
        out += [line if len(line) <= WIDTH + 4 else wrapped(line) for line in op["description"].strip().split("\n")] + [""]
    rows = [wrapped(f"* `{p['name']}` ({p['in']}{'' if p.get('required') else ', may be absent'}): {described(p)}"
                    .rstrip(": "), "  ") for p in parameters(api, item, op)]
    return out + rows + ([""] if rows else []) + answers_of(api, op)


def each(api):
    for path, item in api["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, item, method


def reference(api):
    """The text of proto/REFERENCE.md."""
    out = [HEADER]
    for tag, title in GROUPS.items():
        out.append(f"## {title}\n")
        for path, item, method in each(api):
            if item[method]["tags"][0] == tag and not item[method]["summary"].startswith("Likewise"):
                out += call(api, path, item, method)
    out += common(api, "\n".join(out))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).rstrip() + "\n"


def explored(api):
    """What the explorer knows of each call."""
    out = []
    for path, item, method in each(api):
        op = item[method]
        media = at(api, op.get("requestBody", {})).get("content", {})
        body = example_of(api, media["application/json"]) if "application/json" in media else None
        out.append({"id": op["operationId"], "tag": op["tags"][0], "method": method.upper(), "path": path,
                    "summary": op["summary"], "description": op.get("description", ""), "token": token_of(op) or "",
                    "parameters": [{"name": p["name"], "in": p["in"], "required": p.get("required", False),
                                    "description": described(p)} for p in parameters(api, item, op)],
                    "body": None if body is None else written(body), "takes_body": bool(media)})
    return {"groups": GROUPS, "servers": [s["url"] for s in api["servers"]], "calls": out}


def explorer(api, folder):
    """The page's HTML: one file, which asks nothing but the cluster that its reader names."""
    def text(name):
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            return f.read()
    known = json.dumps(explored(api), ensure_ascii=False).replace("<", "\\u003c")
    return (text("explorer.html").replace("/*style*/", text("site.css") + text("explorer.css"))
            .replace("{}/*api*/", known).replace("/*script*/", text("explorer.js"))
            .replace("<!--version-->", html.escape(str(api["info"]["version"]))))
