"""Access control of the server: tokens, browser sessions, and the guard that checks every request.

A token names a person or program and its role (viewer, approver, operator). Programs send it as a bearer token; a
browser logs in with it once and gets a signed cookie. The guard is the only place that lets a request in; routes read
from it who the caller is.
"""
