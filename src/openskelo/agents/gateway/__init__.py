"""The gateway: the only way from an agent to its model. It has the key, reserves budget and counts what is used.

    agent ── its token ──> gateway ── the real key ──> the model's server

    gateway            forwards a request after the budget has room for it, and cuts an answer that becomes too long
    model_protocols    which paths are forwarded, and where an answer says what it has used
    call_prices        what a call costs, by the project's prices or the public list

An agent asks its model as often as it likes within one turn, and reports the cost later or never. A budget that must
hold has to see each call before it is made, so the calls pass through a process of ours. The same place keeps the key
out of the agent's environment.
"""
