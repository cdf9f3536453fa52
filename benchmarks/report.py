"""What every benchmark prints: the machine, a table, and one ratio."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numba
import numpy as np


@dataclass
class Result:
    """A benchmark's table and its one figure.

    Attributes:
        title: What was measured.
        rows: One mapping a line of the table; columns in order of first appearance.
        ratio: The baseline's time over ours, the smallest over the cases that count; larger is better.
        bar: What the ratio should reach, or None.
        notes: Sentences under the table.
    """

    title: str
    rows: list[dict[str, object]]
    ratio: float
    bar: float | None = None
    notes: list[str] = field(default_factory=list)

    def print(self) -> None:
        """Print the machine, the table, the notes and, last, the ratio."""
        print(self.title)
        print(machine())
        print()
        columns = list(dict.fromkeys(key for row in self.rows for key in row))
        cells = [[_text(row.get(key, "")) for key in columns] for row in self.rows]
        widths = [max(len(line[i]) for line in [columns, *cells]) for i in range(len(columns))]
        for line in [columns, ["-" * w for w in widths], *cells]:
            print("  ".join(text.ljust(w) for text, w in zip(line, widths, strict=True)).rstrip())
        print()
        for note in self.notes:
            print(note)
        if self.bar is not None:
            print(f"bar: {self.bar:g} ({'met' if self.ratio >= self.bar else 'not met'})")
        print(f"ratio: {self.ratio:.3g}")

    def write(self, path: Path) -> None:
        """Write everything as JSON."""
        data = {"title": self.title, "machine": machine(), "rows": self.rows, "notes": self.notes}
        path.write_text(json.dumps({**data, "bar": self.bar, "ratio": self.ratio}, indent=2) + "\n")


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def machine() -> str:
    """Return one line on the machine, the load and the software."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"{model}, {os.cpu_count()} cores, {numba.get_num_threads()} threads{load}, "
        f"Python {platform.python_version()}, NumPy {np.__version__}, Numba {numba.__version__}"
    )


def best_of(
    functions: dict[str, Callable[[], object]], rounds: int = 10, repeats: int = 3
) -> dict[str, float]:
    """Return the least seconds of each function, taken in turns so that all see the same drift of the machine."""
    best = dict.fromkeys(functions, float("inf"))
    for function in functions.values():
        function()
    for _ in range(rounds):
        for name, function in functions.items():
            for _ in range(repeats):
                start = time.perf_counter()
                function()
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def against(what: str, figure: float, bar: float, *, at_most: bool = False) -> str:
    """Return a line with a figure, its bar, and whether it is met."""
    met = figure <= bar if at_most else figure >= bar
    sign = "at most" if at_most else "at least"
    return f"{'met    ' if met else 'NOT MET'}  {what}: {figure:.3g} (bar: {sign} {bar:g})"
