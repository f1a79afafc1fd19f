"""Loops that make no progress: the same verdict on the same (or just as bad) output, again and again."""

from __future__ import annotations

from typing import Literal

from openskelo.frozen import plain


@plain
class Streak:
    """How often in a row the same verdict came back, and whether the output was the same each time too.

    `item` is which one it was about, of a node that is entered again and again with several.
    """

    verdict: tuple[str, str] = ("", "")
    output: str = ""
    length: int = 0
    same_output: bool = True
    item: int | None = None

    def extended(self, verdict: tuple[str, str], output: str, item: int | None = None) -> Streak:
        """The streak after one more failure. A failure without any output (a crash, a timeout) ends a streak."""
        if not output:
            return NO_STREAK
        if verdict != self.verdict or item != self.item or not self.length:
            return Streak(verdict=verdict, output=output, length=1, item=item)
        return Streak(
            verdict=verdict,
            output=output,
            length=self.length + 1,
            same_output=self.same_output and output == self.output,
            item=item,
        )


#: Nothing has failed yet, or what failed last was something else.
NO_STREAK = Streak()


def kind(streak: Streak, stall_after: int) -> Literal["output", "verdict"] | None:
    """What stalls, if anything does: `stall_after` failures of the same kind in a row (0 never stalls)."""
    if not stall_after or streak.length < stall_after:
        return None
    return "output" if streak.same_output else "verdict"
