"""Projects: find the root around a workflow and read its `skelo.yaml`.

`project_file` reads the file (Problems with line and column, as for a workflow) and `project_at` turns it into the
`openskelo.project.Project` that executors and engine receive. Three sections have a module of their own: `experts` (the
models), `agents` (coding agents) and `registries` (what plans may use).
"""
