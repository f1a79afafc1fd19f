"""JSON values and their meaning: canonical JSON, JSON Schema, CEL expressions, templates, regular expressions.

This is the only package that imports the libraries which give values their meaning (orjson, rfc8785, jsonschema-rs,
cel-expr-python, google-re2). A hash, a check or an expression therefore gives the same answer in the loader, in an
executor, in a replay and in a verifier. Two rules hold for everything here:

- Text from authors is compiled once, and its faults are found then: schemas, expressions, templates and patterns each
  have a `compile` that raises `InvalidInput` with a stable code.
- Work is bounded: every compiled form has a limit on its length and on the time and memory it can take.

`canonical` is where a value enters (`admit`) and becomes bytes (`dumps`); start there.
"""
