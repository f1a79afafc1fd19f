"""Text -> a JSON value that knows the position of each of its parts -> Problems that point at a line and column.

    file ── source.read ──> Source(value, positions) ──> Cursor ── reads and checks ──> Report ──> Problems

    source       reads a file and chooses the parser
    yaml_text    YAML, in one pass over the parser's events; json_text spells JSON as YAML first
    positions    the line and column of each value
    cursor       one place of a document: reads the value there and checks it
    problems     a Problem: what is wrong, where, and what to do about it

A value and its positions are two trees of the same form: plain JSON, and a tree of `positions.Position`. So the value
can be hashed, stored and passed on as it is, and only a Problem needs the second tree. A loader walks both with a
`Cursor`, whose readers (`text`, `integer`, `fields`, …) check the type of a value and report a Problem instead of
raising. Reading goes on after a Problem, so that an author sees all of them at once. Only text that is not YAML or JSON
at all stops the reading, with one Problem.
"""
