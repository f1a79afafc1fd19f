"""Tests of the sync-celery checker."""
