"""Counts the warnings of steps, and selects those that a user has not heard of yet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from continua.frames import StepReport, WarningCount

__all__ = ["RateLimiter", "WarningTally"]

_NUMBER = re.compile(r"\d[\d.]*(e[+-]?\d+)?")
_FIRST_INTERVAL = 100  # steps until a warning is repeated
_GROWTH = 5


def _kinds(reports: Iterable[StepReport]) -> Iterator[tuple[tuple[str, str], StepReport, str]]:
    """Yield the warnings of a step with their kinds: sentences that differ only in numbers are of one kind."""
    for report in reports:
        for text in {_NUMBER.sub("#", text): text for text in report.warnings}.values():
            yield (report.body, _NUMBER.sub("#", text)), report, text


class WarningTally:
    """Counts the steps with a warning, by body and kind of warning."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], WarningCount] = {}

    @property
    def counts(self) -> tuple[WarningCount, ...]:
        """What was counted, in the order of the first occurrence."""
        return tuple(self._counts.values())

    def add(self, reports: Iterable[StepReport]) -> None:
        """Count the warnings of a step."""
        for kind, report, text in _kinds(reports):
            before = self._counts[kind].count if kind in self._counts else 0
            self._counts[kind] = WarningCount(report.body, text, before + 1, report.step)

    def clear(self) -> None:
        """Forget everything."""
        self._counts.clear()


class RateLimiter:
    """Selects the warnings of steps that a user hears of: the first of each kind, then after ever more steps."""

    def __init__(self) -> None:
        self._heard: dict[
            tuple[str, str], tuple[int, int, int]
        ] = {}  # last step, steps until the next, count

    def select(self, reports: Iterable[StepReport]) -> list[str]:
        """Return sentences about the warnings of a step that are due."""
        due = []
        for kind, report, text in _kinds(reports):
            said = f"body '{report.body}', step {report.step}: {text}"
            if kind not in self._heard:
                self._heard[kind] = report.step, _FIRST_INTERVAL, 0
                due.append(said)
                continue
            last, interval, count = self._heard[kind]
            passed = report.step - last
            if passed < interval:
                self._heard[kind] = last, interval, count + 1
            else:
                self._heard[kind] = report.step, _GROWTH * interval, 0
                due.append(f"{said} (in {count + 1} of the last {passed} steps)")
        return due

    def clear(self) -> None:
        """Forget everything."""
        self._heard.clear()
