"""A naive interpreter of plans, written from the words of the design alone: it shares no code with the package.

A plan is a dict: `entry`, `variables`, `outputs`, `budgets` (`steps`, `tokens`, `tool`) and `steps`, a dict of dicts by
id. What the world answers is a `World`: for each step a list of answers that are given in turn, again and again; under
`STEP?` those of a person who is asked whether the effect of the step, which happens once, has happened.
"""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from typing import Any, cast


@dataclass
class World:
    """What experts, tools, checkers and people say, in turn."""

    answers: dict[str, list[dict[str, Any]]]
    given: dict[str, int] = field(default_factory=dict[str, int])

    def next(self, step: str) -> dict[str, Any]:
        """What the step is told this time."""
        turn = self.given.get(step, 0)
        self.given[step] = turn + 1
        return self.answers[step][turn % len(self.answers[step])]


class Over(Exception):
    """The run is over."""

    def __init__(self, ending: str, **error: Any) -> None:
        super().__init__(ending)
        self.ending = ending
        self.error = error or None


class Failed(Exception):
    """A try of a step has failed."""

    def __init__(self, code: str, kind: str = "error") -> None:
        super().__init__(code)
        self.code = code
        self.kind = kind  # error, final, broken, denied, lost (its effect is unknown), refused (it was done)


def resolve(known: dict[str, Any], text: str) -> Any:
    """What a ref stands for; LookupError or ValueError where there is nothing."""
    kind, _, rest = text.partition(":")
    head, *path = re.split(r"[.\[]", rest.replace("]", ""))
    value = known[kind][head]
    for part in path:
        if type(value) not in (list, dict):
            raise KeyError(part)
        value = value[int(part) if type(value) is list else part]
    return value


def is_ref(text: str) -> bool:
    """Whether the text stands for something else."""
    return text.startswith(("var:", "input:", "ctx:", "snap:"))


def fill(known: dict[str, Any], value: Any, missing: str) -> Any:
    """The value with all refs resolved; where one leads nowhere, null (`missing` is `null`) or a failure."""
    if isinstance(value, str) and is_ref(value):
        try:
            return copy.deepcopy(resolve(known, value))
        except (LookupError, ValueError):
            if missing == "null":
                return None
            raise Failed("REF_UNSET", "final") from None
    if type(value) is list:
        return [fill(known, part, missing) for part in cast("list[Any]", value)]
    if type(value) is dict:
        held = cast("dict[str, Any]", value)
        if "$literal" in held:
            return held["$literal"]
        return {key: fill(known, part, missing) for key, part in held.items()}
    return value


def is_final(step: dict[str, Any], failed: Failed) -> bool:
    """Whether no other try may be made: it would not help, or repeat what happens once and has happened."""
    return failed.kind == "final" or (failed.kind == "refused" and step.get("effect") == "once")


@dataclass
class Interpreter:
    """One run, from its first step to its end; `trace` has every try."""

    plan: dict[str, Any]
    world: World
    inputs: dict[str, Any] = field(default_factory=dict[str, Any])
    contexts: dict[str, Any] = field(default_factory=dict[str, Any])
    trace: list[tuple[str, int, int, str]] = field(default_factory=list[tuple[str, int, int, str]])
    used: dict[str, int] = field(default_factory=lambda: {"steps": 0, "tokens": 0, "tool": 0})
    visits: dict[str, int] = field(default_factory=dict[str, int])
    emitted: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        self.variables: dict[str, Any] = copy.deepcopy(self.plan["variables"])

    def run(self) -> dict[str, Any]:
        """Interpret the plan; gives all that can be seen of the run."""
        ending, error = "ok", None
        try:
            at: str | None = self.plan["entry"]
            while at is not None:
                at = self.visit(at)
        except Over as over:
            ending, error = over.ending, over.error
        return {
            "ending": ending,
            "error": error,
            "trace": self.trace,
            "used": self.used,
            "variables": self.variables,
            "outputs": self.outputs(),
        }

    def outputs(self) -> dict[str, Any]:
        """What the run gives."""
        if self.emitted is not None:
            return {"result": self.emitted["result"], "audit": self.emitted["audit"]}
        declared = fill(self.known(), self.plan["outputs"], "null")
        return {re.sub("_refs?$", "", name): value for name, value in declared.items()}

    def known(self) -> dict[str, Any]:
        """What refs can name."""
        contexts: dict[str, dict[str, Any]] = {"ctx": {}, "snap": {}}
        for name, value in self.contexts.items():
            contexts[name.split(":")[0]][name.split(":")[1]] = value
        return {"var": self.variables, "input": self.inputs, **contexts}

    # -- one step -----------------------------------------------------------------------------------------------------

    def enter(self, key: str) -> dict[str, Any]:
        """Count a visit; one too many ends the run."""
        step = self.plan["steps"][key]
        self.visits[key] = self.visits.get(key, 0) + 1
        limit = step.get("max_visits")
        if limit is not None and self.visits[key] > limit:
            raise Over("failed", code="LOOP_LIMIT", node=key)
        return step

    def visit(self, key: str) -> str | None:
        """Do a step, and say which is next."""
        step = self.enter(key)
        if step["op"] == "ask_human":
            return self.ask(key, step)
        if step["op"] == "retry":
            return self.retry(key, step)
        try:
            return self.once(key, step, tries=1, under=None)
        except Denied as denied:
            return denied.goto

    def retry(self, key: str, step: dict[str, Any]) -> str | None:
        """The retry is a step; then its target is tried, and what follows is what follows the retry."""
        self.pay(key, 1, {})
        self.trace.append((key, self.visits[key], 1, "succeeded"))
        self.check_overrun()
        target = step["target"]
        inner = self.enter(target)
        try:
            self.once(target, inner, tries=step["tries"], under=step)
        except Denied as denied:
            return denied.goto
        return step.get("next")

    def once(self, key: str, step: dict[str, Any], tries: int, under: dict[str, Any] | None) -> str | None:
        """One visit: up to so many tries, and repairs beside them."""
        failures = repairs = attempt = 0
        while True:
            attempt += 1
            self.pay(key, attempt, step.get("reserve", {}))
            try:
                value, goto = self.work(key, step, under is not None)
            except Failed as failed:
                self.trace.append((key, self.visits[key], attempt, "failed"))
                if failed.kind == "denied":
                    self.deny(key, step, failed)
                if failed.kind == "lost" and step.get("effect") == "once":
                    said = self.doubt(key)
                    if said["kind"] == "again":
                        continue
                    value, goto = said["value"], step.get("next")
                else:
                    mends = failed.kind == "broken" and repairs < step.get("repairs", 0)
                    repairs, failures = repairs + mends, failures + (not mends)
                    if not mends and (failures >= tries or is_final(step, failed)):
                        code = "RETRY_EXHAUSTED" if under is not None and failures >= tries else failed.code
                        cause = {} if code == failed.code else {"cause": failed.code}
                        raise Over("failed", code=code, node=key, **cause) from None
                    self.check_overrun()
                    continue
            self.trace.append((key, self.visits[key], attempt, "succeeded"))
            for holder in (step, under or {}):
                if holder.get("save_as"):
                    self.variables[holder["save_as"]] = value
            self.check_overrun()
            if step["op"] == "emit":
                status = step["args"]["status"]
                raise Over(status) if status == "ok" else Over(status, code="EMITTED", node=key)
            return goto

    def doubt(self, key: str) -> dict[str, Any]:
        """A person is asked whether it happened, and says that it did, to do it again, or that it failed."""
        self.check_overrun()
        said = self.world.next(f"{key}?")
        if said["kind"] == "denied":
            raise Over("failed", code="UNCERTAIN_EFFECT", node=key)
        return said

    def deny(self, key: str, step: dict[str, Any], failed: Failed) -> None:
        """A denial ends the run, or leads elsewhere."""
        if step.get("on_denied") is None:
            raise Over("denied", code=failed.code, node=key)
        if step.get("save_as"):
            self.variables[step["save_as"]] = {"denied": True, "code": failed.code, "message": f"no {failed.code}"}
        self.check_overrun()
        raise Denied(step["on_denied"])

    # -- the eight ops ------------------------------------------------------------------------------------------------

    def work(self, key: str, step: dict[str, Any], under_retry: bool) -> tuple[Any, str | None]:
        """The value of a step, and where it goes."""
        op = step["op"]
        args = fill(self.known(), step["args"], "null" if op == "emit" else "fail")
        if op == "emit" and step["args"]["status"] == "ok":
            args["result_ref"] = fill(self.known(), step["args"]["result_ref"], "fail")
        if op == "branch":
            holds = self.holds(args["cond"])
            goto = step["then"] if holds else step["otherwise"]
            return {"holds": holds, "goto": goto}, goto
        if op == "transform":
            return self.add(args["add"]), step.get("next")
        if op == "emit":
            self.emitted = {"result": args["result_ref"], "audit": args["audit_refs"], "status": args["status"]}
            return self.emitted, None
        said = self.world.next(key)
        self.used["tokens"] += said.get("tokens", 0)
        self.used["tool"] += said.get("tool", 0)
        if said["kind"] != "ok":
            raise Failed(said["code"], said["kind"])
        if op == "verify" and under_retry and said["value"]["ok"] is False:
            raise Failed("VERIFY_FAILED")
        return said["value"], step.get("next")

    def holds(self, cond: dict[str, Any]) -> bool:
        """A strict boolean, or a comparison of a variable with a number."""
        if "less" in cond:
            name, bound = cond["less"]
            if type(self.variables.get(name)) is not int:
                raise Failed("EXPR_FAILED", "final")
            return self.variables[name] < bound
        (value,) = cond.values()
        if not isinstance(value, bool):
            raise Failed("COND_NOT_BOOLEAN", "final")
        return value

    def add(self, what: list[Any]) -> int:
        """A variable and a number."""
        name, number = what
        if type(self.variables.get(name)) is not int:
            raise Failed("EXPR_FAILED", "final")
        return self.variables[name] + number

    def ask(self, key: str, step: dict[str, Any]) -> str | None:
        """A person's answer is the value; a no ends the run."""
        try:
            request = step["args"]["request"]  # its kind and its message are text, even if they look like a ref
            fill(self.known(), [request[name] for name in request if name not in ("kind", "message")], "fail")
        except Failed as failed:
            raise Over("failed", code=failed.code, node=key) from None
        steps = self.plan["budgets"].get("steps")
        if steps is not None and self.used["steps"] + 1 > steps:
            raise Over("budget_exceeded", code="BUDGET_EXCEEDED", node=key)
        self.used["steps"] += 1
        said = self.world.next(key)
        if said["kind"] == "denied":
            self.trace.append((key, self.visits[key], 1, "failed"))
            raise Over("denied", code="APPROVAL_DENIED", node=key)
        self.trace.append((key, self.visits[key], 1, "succeeded"))
        if step.get("save_as"):
            self.variables[step["save_as"]] = {"note": "none", **said["value"]}
        if step.get("next") is None:
            raise Over("escalated", code="ESCALATED", node=key)
        return step["next"]

    # -- budgets ------------------------------------------------------------------------------------------------------

    def pay(self, key: str, attempt: int, reserve: dict[str, int]) -> None:
        """A try needs room for what it reserves, and a step; the run ends without it."""
        del attempt
        wanted = {"steps": 1, "tokens": reserve.get("tokens", 0), "tool": reserve.get("tool", 0)}
        for name, amount in wanted.items():
            limit = self.plan["budgets"].get(name)
            if limit is not None and self.used[name] + amount > limit:
                raise Over("budget_exceeded", code="BUDGET_EXCEEDED", node=key)
        self.used["steps"] += 1

    def check_overrun(self) -> None:
        """What was really used may be more than was reserved; then the run ends."""
        for name in ("tokens", "tool"):
            limit = self.plan["budgets"].get(name)
            if limit is not None and self.used[name] > limit:
                raise Over("budget_exceeded", code="BUDGET_EXCEEDED")


class Denied(Exception):
    """The step was not allowed, and the plan goes on elsewhere."""

    def __init__(self, goto: str) -> None:
        super().__init__(goto)
        self.goto = goto
