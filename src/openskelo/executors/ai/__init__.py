"""Model calls: write the prompt, send it within the budget, and add what it used to the attempt.

    prompt         the prompt of an ai node: the contract of the answer, the task, and the faults of an earlier answer
    turn_prompt    the prompt of a turn in a live graph: role, conversation so far, inbox
    input_files    the files among the inputs: as text in the prompt, or attached
    model_call     one call: budget claimed, prompt kept, answer streamed, real use settled

AI nodes, turns of live graphs, the op `route_expert` and the gate `llm_review` all call models through `model_call`. So
in each of them the prompt is durable before it is sent, a call that does not fit the budget is not made, and a call
that was cancelled is counted.
"""
