"""The workspace of an agent: a folder of its own, in which its changes are tracked and from which they are applied.

    workspace           the folder, its snapshots, and the diff of each turn
    create_workspace    makes it: a git worktree or an empty folder, copied files, the set-up commands
    workspace_access    what of it, of the repository and of the project the sandbox lets the agent reach
    apply_changes       merges the changes into the user's repository
    env_files           the values of env files that are copied into it, which are masked as secrets

An agent never works in the user's checkout. Snapshots are made with a git dir of ours, because git obeys the config,
hooks and filters of a repository, and the agent can write those. So a turn can be undone, compared and repeated, and
nothing reaches the user's branch before a person or a workflow applies it.
"""
