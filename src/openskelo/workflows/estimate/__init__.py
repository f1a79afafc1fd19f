"""Estimates of a run before it starts: steps, tokens, cost and time, in the best, the expected and the worst case.

    attempt_cost   the most that one attempt may take: prompt, answer limits and prices of its experts
    estimator      a blocks file: each block times its visits; time along the longest path of the graph
    plan_estimate  a plan: paths through its steps, every loop as often as it may be entered
    quantities     the amounts, the three cases, and the report

The best case assumes that everything that may be skipped is skipped, and that an attempt takes what its author says,
or nothing; but a budget must have room for the largest reservation that a run cannot avoid, so the best case is no less
than that. The expected case takes each block once, as in past runs if there are any. The worst case uses up every
retry, repair, bounce and loop, and every attempt takes as long as it may. The expected case is a guess; the worst
case is a bound except where a note in the report says so (a wait without a timeout, a list of unknown length).
"""
