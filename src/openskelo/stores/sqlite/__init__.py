"""The store in one SQLite file, with large values and copies of the log in files beside it.

    data_dir.py      opens a data dir: creates it if it is missing, refuses another version
    sqlite_store.py  the store: every method of `stores.api.Store`, built from the modules below
    queries.py       reads        appender.py  commits events      pruner.py  removes data
    event_files.py   events/*.jsonl, a copy of the log             connection.py  opens the database, waits for it
    damaged_wal.py   copies a write-ahead log that is damaged, before SQLite drops its end
    sql/             the statements and the schema

The rest of the program opens it with `stores.factory.open_store` and knows only `stores.api`.
"""
