"""A real MCP server for the tests, made with the SDK: over stdio, or over HTTP on the port that it is given."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.types import Tool


class Demo(MCPServer):
    """Lists its tools with the schema in DEMO_ARGS or DEMO_RETURNS, if there is one, instead of their own."""

    async def list_tools(self) -> list[Tool]:
        changes = {"input_schema": os.environ.get("DEMO_ARGS"), "output_schema": os.environ.get("DEMO_RETURNS")}
        schemas = {field: json.loads(text) for field, text in changes.items() if text}
        return [tool.model_copy(update=schemas) for tool in await super().list_tools()]


app = Demo("demo")


@app.tool()
def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


@app.tool(structured_output=False)
def shout(text: str) -> str:
    """The text in capitals."""
    return text.upper()


@app.tool()
def fail(text: str) -> str:
    """Never works."""
    raise ValueError(text)


@app.tool()
def slow(seconds: float) -> str:
    """Takes its time, and says beforehand who it is."""
    Path("slow.pid").write_text(str(os.getpid()))
    time.sleep(seconds)
    return "done"


@app.tool()
def who() -> dict[str, str]:
    """Its process, and what it sees of the environment."""
    return {"pid": str(os.getpid()), "token": os.environ.get("DEMO_TOKEN", ""), "key": os.environ.get("OTHER_KEY", "")}


@app.tool()
def die() -> str:
    """Ends the server in the middle of the call."""
    os.write(2, b"about to die\n")
    os._exit(3)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        app.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        app.run("stdio")
