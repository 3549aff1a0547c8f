"""openapi_spec.py: proto/openapi.yaml (as JSON) as the tests use it: its operations, and
schemas as JSON Schema (jsonschema validates)."""
import json
import re

import jsonschema

METHODS = ("get", "post", "put", "patch", "delete")
# What is no request, or is beyond a limit: the answer `default` of an operation. An unknown
# path is 404 everywhere, as `info` says: a name that no name can be makes one.
REFUSED = {400, 404, 408, 413, 414, 417, 431, 501, 505}


class Spec:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.doc = json.load(f)[0]  # a list of YAML documents
        self.validators = {}

    def at(self, node):
        """The node that a $ref leads to, else the node itself."""
        while isinstance(node, dict) and "$ref" in node:
            ref, node = node["$ref"], self.doc
            for part in ref.lstrip("#/").split("/"):
                node = node[part]
        return node

    def operations(self):
        for path, item in self.doc["paths"].items():
            for method in METHODS:
                if method in item:
                    yield path, method.upper(), item[method]

    def find(self, method, path):
        """The operation of a request; the literal path goes before the pattern."""
        hits = [(p, op) for p, m, op in self.operations() if m == method and
                re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(p)), path)]
        return min(hits, key=lambda h: h[0].count("{")) if hits else (None, None)

    def parameters(self, path, op):
        return [self.at(p) for p in
                self.doc["paths"][path].get("parameters", []) + op.get("parameters", [])]

    def schema(self, node, answer=False):
        """As JSON Schema: references followed, `nullable` made a type. Of an answer, members
        that are not described are faults; of a request, what is read-only is not looked at."""
        node = dict(self.at(node))
        for part in node.pop("allOf", []):
            part = self.schema(part, answer)
            both = {k: {**part[k], **node[k]} if k == "properties" else part[k] + node[k]
                    for k in ("properties", "required") if k in part and k in node}
            node = {**part, **node, **both}
        for either in ("oneOf", "anyOf"):
            if either in node:
                node[either] = [self.schema(s, answer) for s in node[either]]
        if "items" in node:
            node["items"] = self.schema(node["items"], answer)
        if "properties" in node:
            node["properties"] = {
                k: {"readOnly": True} if v.get("readOnly") and not answer else self.schema(v, answer)
                for k, v in node["properties"].items()}
            if answer:
                node.setdefault("additionalProperties", False)
        if node.pop("nullable", False) and "type" in node:
            node["type"] = [node["type"], "null"]
        node.pop("example", None)
        return node

    def faults(self, node, value, answer=True):
        """What of a value is not as its schema says, a line each."""
        key = id(self.at(node)), answer
        if key not in self.validators:
            self.validators[key] = jsonschema.Draft4Validator(self.schema(node, answer))
        return [f"{'.'.join(map(str, e.absolute_path))}: {e.message[:200]}"
                for e in self.validators[key].iter_errors(value)]

    def answer_faults(self, op, status, headers, body):
        """What of an answer to this operation is not described."""
        said = op["responses"].get(str(status))
        if said is None and status in REFUSED:
            said = op["responses"].get("default")
        if said is None:
            return ["a status that is not described"]
        content = self.at(said).get("content", {})
        kind = (headers.get("Content-Type") or "").split(";")[0]
        if not body:
            return []
        if "*/*" in content:
            return []
        if kind not in content:
            return [] if kind == "text/html" and not content else [f"{kind!r} is not described"]
        if "json" not in kind:
            return []
        try:
            value = json.loads(body)
        except ValueError as e:
            return [f"no JSON: {e}: {body[:200]!r}"]
        out = self.faults(content[kind]["schema"], value)
        if kind == "application/problem+json" and value.get("status") != status:
            out.append(f"status {value.get('status')!r} in the body")
        return out
