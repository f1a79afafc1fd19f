"""The command line `skelo`: parses arguments, calls the engine or the history, and prints the result.

    main                  finds the command and imports only its module (`commands`, one file per command)
    parsing               what all parsers share; `reference` generates docs/reference/cli.md from them
    project_context       the project, its store, the workflow file and the user of a command
    workspace_choice      the workspaces that a command is about
    drive                 follows a run that this process drives, asks for approvals, and handles Ctrl-C
    run_view, render, explanation    print runs and workflows
    output, exit_codes    print documents and tables; end with the code of a run
    json_fields           reads members of the documents that are printed
    service_log           the log of commands that run until they are stopped
    inputs, scripted_tests           read inputs and answers; run `skelo test`

Standard output has the result and nothing else, so that a script can read it; progress, questions and logs go to
standard error. Nothing heavy is imported before the command needs it, because `skelo --help` must be fast.
"""
