"""Tables and human-readable numbers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

__all__ = ["bytes_text", "pairs", "print_json", "status", "table", "time_text"]


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; long last columns wrap to the width of the terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    grid = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for number, head in enumerate(heads):
        grid.add_column(head, style="bold" if number == 0 else "", no_wrap=number == 0)
    for row in rows:
        grid.add_row(*row)
    Console(highlight=False).print(grid)


@contextmanager
def status(text: str) -> Iterator[Callable[[str], None]]:
    """Show a line on a terminal while the block runs; the yielded function changes it. Elsewhere nothing is shown."""
    if not sys.stderr.isatty():
        yield lambda _text: None
        return
    from rich.console import Console

    with Console(stderr=True, highlight=False).status(text) as line:
        yield lambda news: line.update(news)


def pairs(title: str, rows: Iterable[tuple[str, str]]) -> None:
    """Print a title and aligned `key  value` lines."""
    listed = list(rows)
    width = max((len(key) for key, _ in listed), default=0)
    print(title)
    for key, value in listed:
        print(f"  {key:<{width}}  {value}")


def print_json(data: object) -> None:
    """Print data as JSON, for other programs."""
    print(json.dumps(data, indent=2, ensure_ascii=False))


def bytes_text(count: float) -> str:
    """Return a human-readable number of bytes: `12.3 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return ""


def time_text(seconds: float) -> str:
    """Return a human-readable duration: `45 s`, `3:20 min`, `2:05 h`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02d} h"
