"""Model calls: the prompt is written (`prompt`), sent within the budget (`model_call`), and its answer read (`answer`).

AI nodes, turns of live graphs, the op `route_expert` and the gate `llm_review` all call models through here.
"""
