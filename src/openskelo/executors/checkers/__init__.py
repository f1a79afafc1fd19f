"""The shipped checkers, one idea a file: each looks at a value and says `{"ok": true or false, …}`."""
