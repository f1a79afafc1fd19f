"""Telemetry of a server: metrics (Prometheus), traces (OpenTelemetry) and its log.

Metrics and traces are derived from the store's feed, which has the events of all processes. So no run waits for them.
"""
