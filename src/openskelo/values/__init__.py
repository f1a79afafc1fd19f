"""JSON values and their meaning: canonical JSON, JSON Schema, CEL expressions, templates, regular expressions.

This is the only package that imports the libraries which give values their meaning (orjson, rfc8785, jsonschema-rs,
cel-expr-python, google-re2). A hash, a check or an expression therefore gives the same answer in the loader, in an
executor, in a replay and in a verifier. Two rules hold for everything here:

- Text from authors is compiled once, and its faults are found then: schemas, expressions, templates and patterns each
  have a `compile` that raises `InvalidInput` with a stable code.
- Work is bounded: every compiled form has a limit on its length and on the time and memory it can take.

    canonical      where a value enters (`admit`) and becomes bytes (`dumps`); start there
    schema/        JSON Schema: check a value, compare two schemas, compose them
    cel/           expressions
    template       text with expressions in it
    regex          patterns whose matching takes linear time; path_scope applies them to the paths of a change
    plan_refs      references such as `var:x` in the arguments of a plan
    json_pointer   the path to a part of a document
    fences         data between Markdown fences, in prompts and in answers
    suggestions    "did you mean …"
"""
