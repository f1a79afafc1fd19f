"""Text -> a JSON value that knows the position of each of its parts -> Problems that point at a line and column.

    file ── source.read ──> Source(value, positions) ──> Cursor ── reads and checks ──> Report ──> Problems
                 │
                 └── yaml_text: one pass over the parser's events; json_text spells JSON as YAML first

A value and its positions are two trees of the same form: plain JSON, and a tree of `positions.Position`. So the value
can be hashed, stored and passed on as it is, and only a Problem needs the second tree. A loader walks both with a
`Cursor`, whose readers (`text`, `integer`, `fields`, …) check the type of a value and report a Problem instead of
raising. Reading goes on after a Problem, so that an author sees all of them at once. Only text that is not YAML or JSON
at all stops the reading, with one Problem.
"""
