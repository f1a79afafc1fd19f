"""Whether everybody can use a page: axe-core, run in it in both themes, finds nothing serious."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

SCRIPT = Path(__file__).resolve().parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
_RUN = """async () => {
  const found = await axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]});
  return found.violations.map(({id, impact, help, nodes}) => ({
    id, impact, help,
    where: nodes.slice(0, 5).map(node => node.target.join(" ") + ": " + (node.any[0]?.message ?? node.html)),
  }));
}"""


@lru_cache
def _script() -> str:
    return SCRIPT.read_text("utf-8")


def violations(page: Page) -> list[dict[str, Any]]:
    """What is wrong with the page as it is shown now, and serious or worse."""
    page.evaluate(f"() => {{ if (!window.axe) {{ {_script()} }} }}")
    return [one for one in page.evaluate(_RUN) if one["impact"] in ("serious", "critical")]


def _settled(page: Page) -> list[dict[str, Any]]:
    """What is wrong for longer than colours and graphs take to come to rest."""
    found: list[dict[str, Any]] = []
    for _ in range(10):
        page.wait_for_timeout(250)
        found = violations(page)
        if not found:
            break
    return found


def check(page: Page) -> None:
    """Fail if the page has serious violations in the light or in the dark."""
    before = page.evaluate("document.documentElement.dataset.theme")
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        assert _settled(page) == [], theme
    page.evaluate("theme => { document.documentElement.dataset.theme = theme }", before)
