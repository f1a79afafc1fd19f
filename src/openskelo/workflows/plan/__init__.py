"""Plans: steps that a run takes one at a time, over named values.

    text ── step ──▶ drafts ── plan_loader ──▶ jumps ── control_flow ──▶ paths ── checks ──▶ nodes (build) ──▶ Workflow
                              name_check                data_flow

Each op (`openskelo.ops`) says which arguments it has; the parser (`step`), the published schema and the guide for
models that draft plans (both in `drafting_guide`) all read it. `step` turns each entry of
the text into a draft whose refs and jumps are still names. `plan_loader` resolves the jumps, `name_check` looks up
experts, tools and checkers in the project, and `checks` follows every path of the control flow: each variable is set
before it is read, each loop has a bound, each path has an ending, and the budget can suffice. Only a plan without
errors becomes the nodes of a Workflow. This is why a run of a plan can only fail in its work and not in its wiring.
"""
