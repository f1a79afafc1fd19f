"""The built-in tools: files and HTTP by the built-in handlers, and git for reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openskelo import errors
from openskelo.executors import git, job, limit, task, work
from openskelo.executors.ops import given
from openskelo.handlers import op_catalog, registry
from openskelo.kernel.json import Json, JsonObject

_LOG_FORMAT = "%H%x1f%an%x1f%aI%x1f%s"
_LOG_MAX = 50


async def call(one: job.Job, tool: registry.Tool, own: JsonObject, means: work.Means) -> Json:
    """What the built-in gives for the plan's arguments `own` with the project's over them."""
    fixed = given.expanded(tool.config, means.project.secrets)
    args = given.merged(own, fixed if isinstance(fixed, Mapping) else {})
    given.check(repr(tool.name), args, op_catalog.TOOLS[tool.target].args)
    match tool.target:
        case "read-file":
            from openskelo.handlers.read_file import read_file  # noqa: PLC0415 -- each is loaded when first used

            config = {"path_from": "path", **_some(args, "encoding", "max_bytes")}
            done = read_file(given.to(one, means, _some(args, "path"), config), means.project)
            return await limit.within(tool.timeout_ms, done)
        case "write-file":
            from openskelo.handlers.write_file import write_file  # noqa: PLC0415

            config = {"path_from": "path", "content_from": "content", **_some(args, "mkdir", "overwrite")}
            done = write_file(given.to(one, means, _some(args, "path", "content"), config), means.project)
            return await limit.within(tool.timeout_ms, done)
        case "http-request":
            return await _http(one, tool, {**args, "headers": own.get("headers") or {}}, means)
        case _:
            return await limit.within(tool.timeout_ms, _git(tool.target, args, means.project))


async def _http(one: job.Job, tool: registry.Tool, args: JsonObject, means: work.Means) -> Json:
    from openskelo.handlers.http_request import http_request  # noqa: PLC0415 -- brings httpx

    builtin = op_catalog.TOOLS["http-request"]
    if given.refers_to_secret(tool.config) and "url" not in tool.config and tool.args == builtin.args:
        raise errors.Denied(
            f"{tool.name!r} sends a secret along, and a plan may send it anywhere",
            hint="fix `url` under its `config`, or narrow it by a `pattern` under its `args`",
        )
    # As inputs, not as settings: what a plan says holds no expressions.
    named = {"url_from": "url", "headers_from": "headers", "body_from": "body", "json_from": "json"}
    config = {key: name for key, name in named.items() if name in args}
    config |= _some(args, "method", "timeout_ms", "max_bytes")
    config["headers"] = tool.config.get("headers") or {}  # as written: it knows by that which hold a secret
    config["follow_redirects"] = tool.args == builtin.args  # a project that limits the address limits all of them
    ctx = given.to(one, means, _some(args, "url", "headers", "body", "json"), config)
    return await limit.within(tool.timeout_ms, http_request(ctx, means.project))


async def _git(name: str, args: JsonObject, project: task.Project) -> Json:
    folder = git.folder_of(str(args.get("repo") or "."), project)
    await git.check_repository(folder)
    revisions = [git.check_revisions(text)] if (text := str(args.get("range") or "")) else []
    paths = ["--", *_paths(args.get("paths"))]
    match name:
        case "git-diff":
            return await git.read(folder, "diff", "--no-ext-diff", "--no-textconv", *revisions, *paths)
        case "git-log":
            most = f"--max-count={args.get('max') or _LOG_MAX}"
            said = await git.read(folder, "log", f"--format={_LOG_FORMAT}", most, *revisions, *paths)
            return [_commit(line) for line in said.splitlines()]
        case _:
            revision = git.check_revisions(str(args.get("revision") or "HEAD"))
            return await git.read(folder, "show", "--no-textconv", f"{revision}:./{args['path']}")


def _commit(line: str) -> JsonObject:
    commit, author, at, subject = line.split("\x1f", 3)
    return {"commit": commit, "author": author, "at": at, "subject": subject}


def _paths(found: Json) -> list[str]:
    listed = found if isinstance(found, Sequence) and not isinstance(found, str) else ()
    return [f":(literal){path}" for path in listed]


def _some(args: JsonObject, *names: str) -> dict[str, Json]:
    return {name: args[name] for name in names if name in args}
