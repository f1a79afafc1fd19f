-- Version 3: answered questions are found by run and by age, however many there were.

CREATE INDEX closed_approvals_newest ON closed_approvals (number);
CREATE INDEX closed_approvals_run ON closed_approvals (run_id);
