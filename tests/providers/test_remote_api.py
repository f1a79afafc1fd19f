"""Thoughts in front of an answer are taken out of it, however a server sends them."""

from __future__ import annotations

import pytest

from openskelo.providers import remote_api

ANSWER = '{"title": "Bees"}'


@pytest.mark.parametrize(
    ("said", "thought", "answer"),
    [
        (ANSWER, "", ANSWER),
        (ANSWER, "Hm. </think>", ANSWER),
        (f"<think>\nHm.\n</think>{ANSWER}", "", ANSWER),
        (f" \n<think></think>{ANSWER}", "", ANSWER),
        (f"Hm, bees.</think>{ANSWER}", "", ANSWER),
        ("", f"Hm.</think>{ANSWER}", ANSWER),
        ("", "Hm.", ""),
        ("<think>\nand on and on", "", "<think>\nand on and on"),
        ('{"title": "<think>a</think>b"}', "", '{"title": "<think>a</think>b"}'),
        ('```json\n{"title": "</think>"}\n```', "", '```json\n{"title": "</think>"}\n```'),
        ('<think>{"title": 1}</think>{"title": "</think>"}', "", '{"title": "</think>"}'),
    ],
)
def test_an_answer_is_what_stands_behind_the_thoughts(said: str, thought: str, answer: str) -> None:
    assert remote_api.without_thinking(said, thought) == answer
