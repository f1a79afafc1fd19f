"""Checkers that judge work by its files alone: no run, no model, no project is needed.

    artifacts/     a folder has the artifacts that its steps require
    scope/         a repository has changed only where it may
    sync_celery/   Python code can run in a synchronous Celery worker
    trace_map/     every field of a schema is traced to the lines of a source

    all_checks     every checker that applies to a project, and the project's tests

Each is a plain function that returns a report, and is used in three places: a command (`skelo check NAME`), a gate type
(`gates/NAME.py`), and the code of skills. A report says everything that was found; what could not be read is found,
too, so a checker never passes what it has not seen. `json_files` reads the files whose formats the checkers say.
"""
