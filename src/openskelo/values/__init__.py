"""Canonical JSON, schemas, expressions and templates: what a value is, everywhere the same."""
