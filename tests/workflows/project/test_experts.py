"""The models of a project: what `providers`, `experts` and `default_expert` of `skelo.yaml` become."""

from __future__ import annotations

from pathlib import Path

import pytest

from openskelo import errors
from openskelo.providers import config
from openskelo.workflows.project import project_file
from tests.workflows import marking

WHOLE = """\
providers:
  small: {kind: local, model_path: models/small.gguf, n_ctx: 2048, threads: 2, timeout_ms: 60000}
  main:
    kind: openai
    base_url: http://127.0.0.1:8000/v1
    api_key: ${env:MAIN_KEY}
    model: big-1
    concurrency: 8
    prices: {input_usd_per_mtok: 1.5, output_usd_per_mtok: 6}
  kept: {kind: recorded, recordings: answers, record: main}
experts:
  writer:
    provider: main
    model: big-2
    max_tokens: 900
    temperature: 0.4
    top_p: 0.9
    seed: 7
    parameters: {top_k: 5}
    system: You write.
    modes: [normal, degraded]
    fallbacks: [helper]
  helper: {provider: small}
default_expert: writer
"""


def models(text: str, folder: Path) -> config.Config:
    (folder / "skelo.yaml").write_text(text)
    return project_file.load(folder).models


def test_everything_about_models_is_read(tmp_path: Path) -> None:
    assert models(WHOLE, tmp_path) == config.Config(
        providers={
            "small": config.ProviderConfig(
                name="small",
                kind="local",
                model_path="models/small.gguf",
                n_ctx=2048,
                threads=2,
                timeout_ms=60_000,
                concurrency=1,
            ),
            "main": config.ProviderConfig(
                name="main",
                kind="openai",
                base_url="http://127.0.0.1:8000/v1",
                api_key="${env:MAIN_KEY}",
                model="big-1",
                concurrency=8,
                prices=config.Prices(input_usd_per_mtok=1.5, output_usd_per_mtok=6),
            ),
            "kept": config.ProviderConfig(name="kept", kind="recorded", recordings="answers", record="main"),
        },
        experts={
            "writer": config.ExpertConfig(
                name="writer",
                provider="main",
                model="big-2",
                max_tokens=900,
                temperature=0.4,
                top_p=0.9,
                seed=7,
                parameters={"top_k": 5},
                system="You write.",
                modes=("normal", "degraded"),
                fallbacks=("helper",),
            ),
            "helper": config.ExpertConfig(name="helper", provider="small"),
        },
        default_expert="writer",
    )


def test_a_project_that_names_no_model_has_the_embedded_one(tmp_path: Path) -> None:
    assert models("name: blog\n", tmp_path) == config.embedded()
    assert config.embedded().experts["default"].max_tokens == 512


def test_one_provider_alone_is_the_default_expert(tmp_path: Path) -> None:
    found = models("providers: {main: {kind: anthropic, model: m}}\n", tmp_path)
    assert found.experts == {"default": config.ExpertConfig(name="default", provider="main")}
    assert found.default_expert == "default"


def test_experts_alone_are_of_the_embedded_model(tmp_path: Path) -> None:
    found = models("experts: {short: {provider: local, max_tokens: 40}}\n", tmp_path)
    assert found.providers == config.embedded().providers
    assert found.default_expert == "short"


def test_of_several_experts_the_one_called_default_is_it(tmp_path: Path) -> None:
    assert models("experts: {a: {provider: local}, default: {provider: local}}\n", tmp_path).default_expert == "default"
    assert models("experts: {a: {provider: local}, b: {provider: local}}\n", tmp_path).default_expert is None


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        ("PROVIDER_UNKNOWN", "providers: {a: {kind: ‸openia}}\n"),
        ("MISSING_KEY", "providers: {a: ‸{model: m}}\n"),
        ("UNKNOWN_KEY", "providers: {a: {kind: openai, ‸base_ulr: x}}\n"),
        ("UNKNOWN_KEY", "providers: {a: {kind: local, ‸api_key: '${env:K}'}}\n"),
        ("ADDRESS_INVALID", "providers: {a: {kind: openai, base_url: ‸localhost}}\n"),
        ("ADDRESS_INVALID", "providers: {a: {kind: openai, base_url: ‸'http://[::1'}}\n"),
        ("SECRET_INVALID", "providers: {a: {kind: openai, base_url: ‸'http://me:pass@host/'}}\n"),
        ("SECRET_INVALID", "providers: {a: {kind: openai, api_key: ‸sk-123}}\n"),
        ("RANGE", "providers: {a: {kind: openai, concurrency: ‸0}}\n"),
        ("TYPE", "providers: {a: {kind: openai, timeout_ms: ‸soon}}\n"),
        ("TYPE", "providers: ‸[a]\n"),
        ("TYPE", "providers: {a: ‸openai}\n"),
        ("NAME_INVALID", "providers: {‸'a b': {kind: local}}\n"),
        ("MISSING_KEY", "providers: {a: {kind: openai, prices: ‸{input_usd_per_mtok: 1}}}\n"),
        ("PROVIDER_UNKNOWN", "providers: {a: {kind: recorded, record: ‸b}}\n"),
        ("CONFLICT", "providers: {a: {kind: recorded, record: ‸b}, b: {kind: recorded}}\n"),
        ("PROVIDER_UNKNOWN", "providers: {main: {kind: local}}\nexperts: {e: {provider: ‸mian}}\n"),
        ("MISSING_KEY", "experts: {e: ‸{model: m}}\n"),
        ("RANGE", "experts: {e: {provider: local, temperature: ‸3}}\n"),
        ("CHOICE", "experts: {e: {provider: local, modes: [‸online]}}\n"),
        ("EXPERT_UNKNOWN", "experts: {e: {provider: local, fallbacks: [‸f]}}\n"),
        ("CONFLICT", "experts: {e: {provider: local, fallbacks: ‸e}}\n"),
        ("EXPERT_UNKNOWN", "default_expert: ‸e\n"),
    ],
)
def test_a_mistake_about_models_is_found_at_its_place(codes: str, text: str, tmp_path: Path) -> None:
    clean, wanted = marking.expected(codes, text)
    (tmp_path / "skelo.yaml").write_text(clean)
    assert marking.errors(project_file.check(tmp_path)[1]) == wanted
    with pytest.raises(errors.InvalidWorkflow):
        project_file.load(tmp_path)


def test_a_mistyped_kind_has_a_suggestion(tmp_path: Path) -> None:
    (tmp_path / "skelo.yaml").write_text("providers: {a: {kind: openia}}\n")
    (found,) = project_file.check(tmp_path)[1]
    assert found.hint == "did you mean 'openai'?"


def test_a_key_written_into_the_file_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "skelo.yaml").write_text("providers: {a: {kind: openai, api_key: sk-hunter2}}\n")
    found = project_file.check(tmp_path)[1]
    assert found
    assert "hunter2" not in str(found)
