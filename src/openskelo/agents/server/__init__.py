"""The HTTP server through which agents reach OpenSkelo: tools, the permission hook, and the model gateway.

    session_server    one server for all agents; each session has a secret path and a token
    toolbox           the tools that we give an agent, as an MCP server

Agents bring along three ways to call back: MCP for tools, a command as a hook, and the address of the model. All of
them end at this server, which knows the session by its address. When the session is closed, its path and token open
nothing.
"""
