"""Converts a plan to a blocks file and back, if a run of the result has the same ending and the same outputs.

    file          the entry: load, convert, load the result again as a check
    to_blocks     plan -> blocks; `conditions` are the `when` of each step
    from_blocks   blocks -> plan; `sources` are the values of ports, `block_steps` questions and gates
    conversion    the result of a conversion, its failure, and CEL texts

A conversion is exact or refused. What the other form cannot express (a loop, a foreach, a bounce) is a Problem
NOT_CONVERTIBLE at the step or block, never an approximation: a run of the converted file makes the same decisions.
"""
