"""The kind `ollama`: what it sends, what it reads, and what the loader knows of it."""

from __future__ import annotations

from pathlib import Path

from openskelo.kernel.json import JsonObject
from openskelo.providers import config, kinds, prices, protocol, router
from tests.providers.servers import loopback, ollama_chat
from tests.providers.test_remote import SCHEMA, TEXT, ask, failing, provider, request, run, serving


def test_parameters_are_options_of_the_model_and_some_belong_to_the_request() -> None:
    extras: JsonObject = {"num_ctx": 4096, "keep_alive": "5m"}
    with serving(ollama_chat.Ollama, loopback.Say(text=TEXT)) as server:
        one = provider(server)
        run(
            one, lambda: one.complete(request(SCHEMA, temperature=0.1, stop="END", model_params=extras), lambda _: None)
        )
        (body,) = server.asked
    assert body == {
        "model": "llama3",
        "messages": [
            {"role": "system", "content": "You write."},
            {"role": "user", "content": "About bees."},
            {"role": "assistant", "content": "{}"},
            {"role": "user", "content": "Again."},
        ],
        "stream": True,
        "keep_alive": "5m",
        "options": {"temperature": 0.1, "stop": ["END"], "num_ctx": 4096, "num_predict": 64},
        "format": SCHEMA,
    }
    assert server.paths == ["/api/chat"]


def test_thoughts_are_not_part_of_the_answer() -> None:
    speech = ollama_chat.Ollama()
    thought = speech.line({"message": {"role": "assistant", "content": "", "thinking": "Hm, bees."}})
    with serving(ollama_chat.Ollama, loopback.Send(events=[thought, *speech.events(TEXT, "stop")])) as server:
        assert ask(server).text == TEXT


def test_an_error_within_the_stream_is_transient_and_what_came_before_is_counted() -> None:
    speech = ollama_chat.Ollama()
    events = [speech.events(TEXT, "stop")[0], b'{"error": "out of memory"}\n']
    with serving(ollama_chat.Ollama, loopback.Send(events=events)) as server:
        error = failing(server)
    assert isinstance(error, protocol.BrokenAnswer)
    assert (error.code, error.retryable, error.message) == ("PROVIDER_UNAVAILABLE", True, "main: out of memory")
    assert error.answer.usage.tokens_out > 0


def test_a_model_that_is_not_pulled_is_final() -> None:
    with serving(ollama_chat.Ollama, loopback.Fail(status=404, message="model 'llama3' not found")) as server:
        error = failing(server)
    assert (error.code, error.retryable) == ("PROVIDER_BAD_REQUEST", False)
    assert error.hint == "check the model's name and the base_url"


def test_it_needs_no_extra_and_no_key_and_is_free(tmp_path: Path) -> None:
    settings = config.ProviderConfig(name="here", kind="ollama", model="llama3")
    assert router.missing_requirement(settings, root=tmp_path, environment={}) is None
    assert prices.cost(settings, "llama3", protocol.Usage(tokens_in=5, tokens_out=5)) == 0
    assert not kinds.KINDS["ollama"].local
