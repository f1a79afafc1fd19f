"""Blocks files: from a checked text to a `Workflow` that can be run.

`blocks_loader.read` is the entry; its docstring names the phases. What it uses, from the inside out:

- `ports`, `limits`, `expression_scope`: what several sections share: typed ports, amounts, checked CEL texts.
- `gates`, `handlers`, `model_settings`, `approvals`: one section of a block each.
- `block`: one block by itself, as a `Draft` whose references to other blocks are still names.
- `edges`: connects the ports of blocks with each other and with the inputs of the run, and says where a failed gate
  sends the run back to.
- `topology`: order, cycles, what may be skipped.
- `inlining`: a block with `uses` is replaced by the nodes of the other file.
- `editor_schema`: the same rules as a JSON Schema, as far as it can express them, for editors.

Everything reports Problems through a `text.cursor.Cursor` and goes on.
"""
