"""Asserts in the parts that the kernel's tests share explain themselves like those in the tests."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.kernel.stage", "tests.kernel.play")
