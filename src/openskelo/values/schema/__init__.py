"""JSON Schema (draft 2020-12): contracts of nodes, forms, arguments of tools.

- `validator` compiles a schema once and checks values; it refuses schemas that could make one check unbounded
  work, or make the library fetch something. It is the only place that builds a validator.
- `keywords` says what the keywords of a schema hold, and which drafts are known.
- `composition` builds one schema out of several (the ports of a node) and takes parts out again, and keeps the order
  in which an author wrote the fields of a form.
- `compatibility` compares two schemas without a value: can an output be wired to that input?
"""
