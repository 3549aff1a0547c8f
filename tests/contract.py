#!/usr/bin/python3
"""contract.py SPEC.json: is proto/openapi.yaml (as JSON) good enough to make clients and pages of?

  * every operation has an operationId of its own, and a summary;
  * every JSON body of a request, and of an answer that is no error, has an example: where it stands, or in
    its schema, and the example is as the schema says;
  * such a body of several members is a named schema, so that generators have a name for it;
  * every error is a Problem.
A line per fault; ends with "contract: N passed, N failed".
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "sys"))

from openapi_spec import Spec  # noqa: E402

PROBLEM = {"$ref": "#/components/schemas/Problem"}


def bodies(spec, op):
    """(where, is it an answer, media type, what is said of it) of each body of an operation."""
    for kind, media in spec.at(op.get("requestBody", {})).get("content", {}).items():
        yield "request", False, kind, media
    for status, answer in op["responses"].items():
        for kind, media in spec.at(answer).get("content", {}).items():
            yield status, True, kind, media


def example_of(spec, media):
    """The example of a body; None: it has none."""
    return media.get("example", spec.at(media["schema"]).get("example"))


def faults_of(spec, where, is_answer, kind, media):
    schema = media.get("schema", {})
    if kind == "application/problem+json":
        return [] if schema == PROBLEM else [f"{where}: an error that is no Problem"]
    if kind != "application/json":
        return []
    out = []
    if len(schema.get("properties", {})) > 1:
        out.append(f"{where}: a shape without a name: move it to components/schemas")
    example = example_of(spec, media)
    if example is None:
        return out + [f"{where}: no example"]
    return out + [f"{where}: its example: {f}" for f in spec.faults(schema, example, is_answer)]


def main():
    spec = Spec(sys.argv[1])
    passed, bad, names = 0, [], set()
    for path, method, op in spec.operations():
        faults = []
        if op.get("operationId") in names | {None} or not op.get("summary"):
            faults.append("needs an operationId of its own, and a summary")
        names.add(op.get("operationId"))
        for body in bodies(spec, op):
            faults += faults_of(spec, *body)
        bad += [f"FAIL {method} {path}: {f}" for f in faults]
        passed += not faults
    print("\n".join(bad + [f"contract: {passed} passed, {len(bad)} failed"]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
