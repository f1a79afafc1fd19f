"""One attempt, from its request to a judged outcome. `performer` is the way through; the rest are its stations.

running_attempt    the request, the attempt in progress, and the artifacts that it leaves: log, prompts, refused answers
budget_claims      what it has used, and what it may use
lazy_copies        inputs that the items of a foreach share, copied when they are read
port_contract      its inputs, hashed, checked and copied; whether values keep the contract of a node's ports
"""
