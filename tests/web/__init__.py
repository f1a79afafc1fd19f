"""The dashboard, driven in a real browser against a real server, and its model against ours."""
