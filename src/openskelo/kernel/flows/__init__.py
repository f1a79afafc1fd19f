"""Schedulers: which node may run next."""
