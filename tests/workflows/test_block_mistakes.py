"""Each mistake in a block is a Problem with its code, at its line and column, and nothing else is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workflows import marking

ASKING = "blocks: [{id: a, mode: deterministic, deterministic: {handler: builtin:http-request, config: {%s}}}]\n"
GATED = "blocks: [{id: a, mode: deterministic, deterministic: {handler: local:f}, pre_gates: [{%s}]}]\n"

CASES = {
    "a key that is not known": ("UNKNOWN_KEY", "blocks:\n  - id: a\n    ‸promt: hi\n"),
    "a key at the top that is not known": ("UNKNOWN_KEY", "‸blokcs_: 1\nblocks: [{id: a}]\n"),
    "no blocks": ("MISSING_KEY", "‸name: x\n"),
    "blocks that are empty": ("EMPTY", "blocks: ‸[]\n"),
    "blocks that are a map": ("TYPE", "blocks: ‸{a: 1}\n"),
    "a block that is a text": ("TYPE", "blocks:\n  - ‸hello\n"),
    "a file that is a list": ("TYPE", "‸- a\n- b\n"),
    "a block without id": ("MISSING_KEY", "blocks:\n  - ‸mode: ai\n"),
    "an id that begins with a digit": ("ID_INVALID", "blocks: [{id: ‸9lives}]\n"),
    "an id with a blank": ("ID_INVALID", 'blocks: [{id: ‸"a b"}]\n'),
    "an id that is a number": ("TYPE", "blocks: [{id: ‸7}]\n"),
    "an id that is reserved": ("ID_RESERVED", "blocks: [{id: ‸inputs}]\n"),
    "two blocks of one id": ("DUPLICATE_ID", "blocks:\n  - id: a\n  - id: ‸a\n"),
    "a mode that is not known": ("CHOICE", "blocks: [{id: a, mode: ‸determinstic}]\n"),
    "a name that is empty": ("EMPTY", 'name: ‸""\nblocks: [{id: a}]\n'),
    "a name that is too long": ("NAME_INVALID", f"name: ‸{'n' * 201}\nblocks: [{{id: a}}]\n"),
    "a version that is a list": ("TYPE", "version: ‸[1]\nblocks: [{id: a}]\n"),
    "a deterministic block without handler": ("MISSING_KEY", "blocks:\n  - ‸id: a\n    mode: deterministic\n"),
    "a deterministic section without handler": (
        "MISSING_KEY",
        "blocks: [{id: a, mode: deterministic, deterministic: ‸{config: {}}}]\n",
    ),
    "an approval block without approval": ("MISSING_KEY", "blocks:\n  - ‸id: a\n    mode: approval\n"),
    "a handler on an ai block": ("WRONG_MODE", "blocks:\n  - id: a\n    ‸deterministic: {handler: local:f}\n"),
    "a prompt on a deterministic block": (
        "WRONG_MODE",
        "blocks: [{id: a, mode: deterministic, ‸prompt: x, deterministic: {handler: local:f}}]\n",
    ),
    "silence that cannot fill the form": (
        "CONFLICT",
        "blocks: [{id: a, mode: approval, inputs: {x: string}, approval: {prompt: ok?, on_timeout: ‸approve, "
        "form: {x: string, y: string, z: {type: string, default: q}, w: string?}}}]\n",
    ),
    "gates on an approval block": ("WRONG_MODE", "blocks: [{id: a, mode: approval, prompt: ok?, ‸post_gates: []}]\n"),
    "foreach on an approval block": (
        "WRONG_MODE",
        'blocks: [{id: a, mode: approval, prompt: ok?, ‸foreach: {items: "[1]"}}]\n',
    ),
    "a built-in that is not there": (
        "HANDLER_UNKNOWN",
        "blocks: [{id: a, mode: deterministic, deterministic: {handler: ‸builtin:writefile}}]\n",
    ),
    "a handler that is a number": ("TYPE", "blocks: [{id: a, mode: deterministic, deterministic: {handler: ‸1}}]\n"),
    "a handler file that is not there": (
        "HANDLER_NOT_FOUND",
        "blocks: [{id: a, mode: deterministic, deterministic: {handler: ‸handlers/slug.py}}]\n",
    ),
    "a handler outside of the project": (
        "HANDLER_OUTSIDE",
        "blocks: [{id: a, mode: deterministic, deterministic: {handler: ‸../slug.py}}]\n",
    ),
    "a handler whose name no file system takes": (
        "HANDLER_OUTSIDE",
        f"blocks: [{{id: a, mode: deterministic, deterministic: {{handler: ‸{'x' * 300}}}}}]\n",
    ),
    "a handler by an absolute path": (
        "HANDLER_OUTSIDE",
        "blocks: [{id: a, mode: deterministic, deterministic: {handler: ‸/bin/true}}]\n",
    ),
    "a function of a file that is not Python": (
        "HANDLER_INVALID",
        'blocks: [{id: a, mode: deterministic, deterministic: {handler: ‸"run.sh:main"}}]\n',
    ),
    "a config key that is not known": (
        "UNKNOWN_KEY",
        "blocks:\n  - id: a\n    mode: deterministic\n    inputs: {c: string}\n    deterministic:\n"
        "      handler: builtin:write-file\n      config:\n        content_from: c\n        path_from: c\n"
        "        ‸overwite: true\n",
    ),
    "a config without what it needs": (
        "DET_CONFIG_INVALID",
        "blocks: [{id: a, mode: deterministic, deterministic: {handler: builtin:read-file, config: ‸{}}}]\n",
    ),
    "a config value of a wrong type": (
        "DET_CONFIG_INVALID",
        "blocks: [{id: a, mode: deterministic, inputs: {c: string}, deterministic: "
        "{handler: builtin:write-file, config: {content_from: c, path_from: c, mkdir: ‸maybe}}}]\n",
    ),
    "a status that is none among several": (
        "DET_CONFIG_INVALID",
        "blocks: [{id: a, mode: deterministic, deterministic: "
        "{handler: builtin:http-request, config: {url: 'http://a.example', accept_status: [404, ‸42]}}}]\n",
    ),
    "a URL that is none": (
        "URL_INVALID",
        ASKING % "url: ‸'ftp://a.example'",
    ),
    "a URL without a host": (
        "URL_INVALID",
        ASKING % "url: ‸'http:///x'",
    ),
    "a URL with a port that is none": (
        "URL_INVALID",
        ASKING % "url: ‸'http://a.example:99999/'",
    ),
    "a URL with a password": (
        "URL_INVALID",
        ASKING % "url: ‸'https://me:pass@a.example/'",
    ),
    "a URL that cannot be read": (
        "URL_INVALID",
        ASKING % "url: ‸'http://[::1/'",
    ),
    "a header of the transport": (
        "DET_CONFIG_INVALID",
        ASKING % "url: 'http://a.example', headers: {‸Host: b}",
    ),
    "a header that cannot be sent": (
        "DET_CONFIG_INVALID",
        ASKING % "url: 'http://a.example', headers: {‸x: grüße}",
    ),
    "a header that is there twice": (
        "CONFLICT",
        ASKING % "url: 'http://a.example', headers: {X-A: '1', ‸x-a: '2'}",
    ),
    "an address of a gate that is none": (
        "URL_INVALID",
        GATED % "type: http, url: ‸'http://a.example:0/'",
    ),
    "an address of a gate that should be filled in": (
        "URL_INVALID",
        GATED % "type: http, url: ‸'http://a.example/{{ inputs.x }}'",
    ),
    "a home that is a folder": (
        "DET_CONFIG_INVALID",
        "blocks: [{id: a, mode: deterministic, deterministic: "
        "{handler: builtin:read-file, config: {path: ‸~/a.md}}}]\n",
    ),
    "a timestamp that never changes": (
        "DET_CONFIG_INVALID",
        "blocks: [{id: a, mode: deterministic, inputs: {c: string}, deterministic: {handler: builtin:write-file, "
        "config: {content_from: c, default_path_template: '{timestamp}', timestamp_format: ‸now}}}]\n",
    ),
    "a timestamp as Python writes it": (
        "DET_CONFIG_INVALID",
        "blocks: [{id: a, mode: deterministic, inputs: {c: string}, deterministic: {handler: builtin:write-file, "
        "config: {content_from: c, default_path_template: '{timestamp}', timestamp_format: ‸'%Y%m%d'}}}]\n",
    ),
    "a timestamp with a short year": (
        "DET_CONFIG_INVALID",
        "blocks: [{id: a, mode: deterministic, inputs: {c: string}, deterministic: {handler: builtin:write-file, "
        "config: {content_from: c, default_path_template: '{timestamp}', timestamp_format: ‸YYMMDD}}}]\n",
    ),
    "an output that is mapped and written": (
        "CONFLICT",
        "blocks: [{id: a, mode: deterministic, outputs: {x: string}, deterministic: "
        "{handler: builtin:transform, config: {map: {x: \"'a'\"}, template: {‸x: b}}}}]\n",
    ),
    "a config that names no input": (
        "UNKNOWN_PORT",
        "blocks: [{id: a, mode: deterministic, inputs: {text: string}, deterministic: "
        "{handler: builtin:write-file, config: {content_from: ‸txt, default_path_template: a}}}]\n",
    ),
    "a file to write that has no path": (
        "DET_CONFIG_INVALID",
        "blocks: [{id: a, mode: deterministic, inputs: {c: string}, deterministic: "
        "{handler: builtin:write-file, config: ‸{content_from: c}}}]\n",
    ),
    "a field that a path template does not have": (
        "DET_CONFIG_INVALID",
        "blocks: [{id: a, mode: deterministic, inputs: {c: string}, deterministic: "
        "{handler: builtin:write-file, config: {content_from: c, default_path_template: '{run_id}-{‸runid}.md'}}}]\n",
    ),
    "a field that a path to read does not have": (
        "DET_CONFIG_INVALID",
        "blocks:\n  - id: a\n    mode: deterministic\n    deterministic:\n      handler: builtin:read-file\n"
        "      config:\n        path: in/{index}/{‸day}.md\n",
    ),
    "a file to read whose path is no input": (
        "UNKNOWN_PORT",
        "blocks: [{id: a, mode: deterministic, inputs: {file: string}, deterministic: "
        "{handler: builtin:read-file, config: {path_from: ‸fil}}}]\n",
    ),
    "an output that a built-in never gives": (
        "UNKNOWN_PORT",
        "blocks: [{id: a, mode: deterministic, outputs: {‸text: string}, deterministic: "
        "{handler: builtin:read-file, config: {path: a.txt}}}]\n",
    ),
    "an output of another type than a built-in gives": (
        "TYPE_MISMATCH",
        "blocks: [{id: a, mode: deterministic, outputs: {status: ‸string}, deterministic: "
        "{handler: builtin:http-request, config: {url: 'http://a.example'}}}]\n",
    ),
    "an address with a port that is not there": (
        "UNKNOWN_PORT",
        "blocks: [{id: a, mode: deterministic, inputs: {id: string}, deterministic: "
        "{handler: builtin:http-request, config: {url: 'http://a.example/{{ inputs.‸idd }}'}}}]\n",
    ),
    "a text in JSON with a port that is not there": (
        "UNKNOWN_PORT",
        "blocks: [{id: a, mode: deterministic, inputs: {id: string}, deterministic: "
        "{handler: builtin:http-request, config: {url: 'http://a.example', json: {x: ['{{ inputs.‸idd }}']}}}}]\n",
    ),
    "a request with two bodies": (
        "CONFLICT",
        "blocks: [{id: a, mode: deterministic, deterministic: "
        "{handler: builtin:http-request, config: {url: 'http://a.example', json: 1, ‸body: x}}}]\n",
    ),
    "a transform to an output that is not declared": (
        "UNKNOWN_PORT",
        "blocks: [{id: a, mode: deterministic, outputs: {y: integer}, deterministic: "
        '{handler: builtin:transform, config: {map: {y: "1", ‸z: "2"}}}}]\n',
    ),
    "a transform that leaves an output out": (
        "OUTPUT_MISSING",
        "blocks: [{id: a, mode: deterministic, outputs: {y: integer, z: integer}, deterministic: "
        '{handler: builtin:transform, config: ‸{map: {y: "1"}}}}]\n',
    ),
    "a transform of another type than its output": (
        "TYPE_MISMATCH",
        "blocks: [{id: a, mode: deterministic, outputs: {y: integer}, deterministic: "
        "{handler: builtin:transform, config: {map: {y: ‸\"'text'\"}}}}]\n",
    ),
    "a timeout of nothing": ("RANGE", "blocks: [{id: a, timeout_ms: ‸0}]\n"),
    "a timeout that is a text": ("TYPE", 'blocks: [{id: a, timeout_ms: ‸"5"}]\n'),
    "too many attempts": ("RANGE", "blocks: [{id: a, retry: {max_attempts: ‸101}}]\n"),
    "no attempt at all": ("RANGE", "blocks: [{id: a, retry: {max_attempts: ‸0}}]\n"),
    "a backoff that is not known": ("CHOICE", "blocks: [{id: a, retry: {backoff: ‸expo}}]\n"),
    "a retry key that is not known": ("UNKNOWN_KEY", "blocks: [{id: a, retry: {‸attempts: 3}}]\n"),
    "yes instead of true": ("TYPE", "blocks: [{id: a, repeatable: ‸yes}]\n"),
    "an effect that is not known": ("CHOICE", "blocks: [{id: a, effect: ‸twice}]\n"),
    "a cached effect that happens once": ("CONFLICT", "blocks: [{id: a, effect: once, cache: ‸true}]\n"),
    "tokens of a deterministic block": (
        "ESTIMATE_INVALID",
        "blocks: [{id: a, mode: deterministic, estimate: {tokens: ‸5}, deterministic: {handler: local:f}}]\n",
    ),
    "cost of a deterministic block": (
        "ESTIMATE_INVALID",
        "blocks: [{id: a, mode: deterministic, estimate: {cost_usd: ‸0.1}, deterministic: {handler: local:f}}]\n",
    ),
    "an estimate below nothing": ("RANGE", "blocks: [{id: a, estimate: {duration_sec: ‸-1}}]\n"),
    "too many repairs": ("RANGE", "blocks: [{id: a, contract_repair_attempts: ‸4}]\n"),
    "a budget below nothing": ("RANGE", "budgets: {max_steps: ‸-1}\nblocks: [{id: a}]\n"),
    "a budget that is not whole": ("TYPE", "budgets: {max_tokens: ‸1.5}\nblocks: [{id: a}]\n"),
    "a budget that is not known": ("UNKNOWN_KEY", "budgets: {‸max_cost: 1}\nblocks: [{id: a}]\n"),
    "a default that is not known": ("UNKNOWN_KEY", "defaults: {‸timeout: 1}\nblocks: [{id: a}]\n"),
    "a when that is not CEL": ("EXPR_INVALID", 'blocks:\n  - id: a\n    when: "1 +‸"\n'),
    "a when that is a number": ("EXPR_TYPE", 'blocks: [{id: a, when: ‸"1 + 1"}]\n'),
    "a when over a variable that is not there": ("EXPR_INVALID", "blocks: [{id: a, when: ‸nothing == 1}]\n"),
    "a when over a port that is not there": (
        "UNKNOWN_PORT",
        "blocks:\n  - id: a\n    inputs: {topic: string}\n    when: inputs.‸topc != ''\n",
    ),
    "a field that a run does not have": ("EXPR_INVALID", "blocks: [{id: a, when: run.‸nam == ''}]\n"),
    "arithmetic over different numbers": (
        "EXPR_INVALID",
        "blocks: [{id: a, mode: deterministic, inputs: {n: integer}, outputs: {y: number}, deterministic: "
        "{handler: builtin:transform, config: {map: {y: inputs.n ‸* 0.5}}}}]\n",
    ),
    "arithmetic over an input that has a default": (
        "EXPR_INVALID",
        "blocks: [{id: a, inputs: {t: {type: string, default: x}}, when: inputs.t ‸+ 1 > 2}]\n",
    ),
    "a transform of an input whose type is not the output's": (
        "TYPE_MISMATCH",
        "blocks: [{id: a, mode: deterministic, inputs: {n: integer}, outputs: {y: string}, deterministic: "
        "{handler: builtin:transform, config: {map: {y: ‸inputs.n}}}}]\n",
    ),
    "a mistake on the second line of an expression": (
        "EXPR_INVALID",
        "blocks:\n  - id: a\n    when: |\n      1 == 1 &&\n        ‸bogus\n",
    ),
    "a foreach without items": ("MISSING_KEY", "blocks: [{id: a, foreach: ‸{as: x}}]\n"),
    "a foreach over no list": ("EXPR_TYPE", "blocks: [{id: a, foreach: {items: ‸\"'x'\"}}]\n"),
    "a foreach with a bad name": ("NAME_INVALID", 'blocks: [{id: a, foreach: {items: "[1]", as: ‸run}}]\n'),
    "a foreach that runs none at once": ("RANGE", 'blocks: [{id: a, foreach: {items: "[1]", concurrency: ‸0}}]\n'),
    "a prompt whose braces stay open": ("TEMPLATE_INVALID", 'blocks: [{id: a, prompt: "say ‸{{ inputs.x"}]\n'),
    "a prompt over a port that is not there": (
        "UNKNOWN_PORT",
        'blocks: [{id: a, inputs: {topic: string}, prompt: "about {{ inputs.‸tpic }}"}]\n',
    ),
    "an after that is not there": ("UNKNOWN_BLOCK", "blocks: [{id: a}, {id: b, after: [‸aa]}]\n"),
    "metadata that is a list": ("TYPE", "blocks: [{id: a, metadata: ‸[1]}]\n"),
}


@pytest.mark.parametrize("case", CASES)
def test_mistake_is_found_at_its_place(case: str, tmp_path: Path) -> None:
    text, wanted = marking.expected(*CASES[case])
    assert marking.errors(marking.check(text, tmp_path)) == wanted
