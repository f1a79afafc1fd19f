"""Approvals: a person answers them through a command, so there is no work to perform."""

from __future__ import annotations

from openskelo import errors
from openskelo.executors import api
from openskelo.executors.attempt import port_contract
from openskelo.kernel import definition


class ApprovalExecutor(api.Executor):
    """Refuses to perform: the kernel waits for a person and never starts an attempt of an approval."""

    def prepare(self, node: definition.Node, services: api.Services, outputs: port_contract.PortContract) -> api.Work:
        raise errors.AttemptFailed("only a person can answer an approval", code="NOT_PERFORMED", retryable=False)


EXECUTOR = ApprovalExecutor()
