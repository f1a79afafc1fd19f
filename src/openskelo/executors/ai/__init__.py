"""Model calls: write a prompt, send it within the budget, and check the answer against the contract.

    prompt        the messages of a block, within a length: the instructions, the inputs as fenced data, the errors of
                  the attempt before
    turn_prompt   the same for a turn of a live graph: its task, its inbox and its earlier turns
    input_files   the image and document inputs that are sent beside the text
    model_call    reserves budget, asks the experts in order, and repairs an answer that breaks the contract

AI nodes, turns of live graphs, the op `route_expert` and the gate `llm_review` all call models through `model_call`. So
a limit, a repair and a fallback work in the same way everywhere.
"""
