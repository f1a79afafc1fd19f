"""An agent's attempt: a program works in a workspace of its own for one or more turns, and hands in its result.

    agent_task       the attempt: workspace, session, turns, diff
    conversation     its turns: a prompt, what the agent does, whether there is a result
    talk             what is said to the agent of a block, and which answer is its result
    graph_talk       the same for a turn of a live graph
    turn_record      calls, transcript, stderr and diff in the record
    artifact_tool    the tool with which it reads what its run has kept
    call_questions   questions to a person about calls, and the agent's own

`openskelo.agents` has what does not depend on attempts: the program, its session, its workspace, its permissions.
"""
