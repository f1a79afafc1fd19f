"""LangGraph with its SQLite checkpointer, every step durable before the next: a loop over one node."""

import json
import sqlite3
import sys
import time
from pathlib import Path
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    n: str
    left: int


def step(state: State) -> State:
    text = state["n"]
    return {"n": f"{int(text[:8]) + 1:08d}{text[8:]}", "left": state["left"] - 1}


def main(folder: Path, steps: int, size: int) -> float:
    connection = sqlite3.connect(folder / "peer.db", check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    graph = StateGraph(State)
    graph.add_node("step", step)
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", lambda state: "step" if state["left"] else END)
    compiled = graph.compile(checkpointer=SqliteSaver(connection))
    config = {"configurable": {"thread_id": "1"}, "recursion_limit": steps + 10}
    started = time.perf_counter()
    compiled.invoke({"n": "0" * 8 + "x" * (size - 8), "left": steps}, config, durability="sync")
    return time.perf_counter() - started


if __name__ == "__main__":
    print(json.dumps({"seconds": main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))}))
