"""The result of a benchmark: a table, one ratio and the facts of the machine; and the comparison of two results."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path
from typing import Any

import numba
import numpy as np

from continua.errors import InputError

_MET, _NOT_MET = "met    ", "NOT MET"


@dataclass
class Result:
    """The table of a benchmark and its ratio.

    Attributes:
        title: What was measured.
        rows: One mapping per line of the table; columns in order of first appearance. Measured values are floats.
        ratio: Time of the baseline or peer over ours in the same run, the smallest of the cases that count; larger is
            better. None if the peer is not installed.
        bar: What the ratio should reach, or None.
        notes: Sentences below the table.
        keys: Columns that identify a row in a comparison; by default those before the first that holds a float.
        settings: Name, size and budget of the run.
    """

    title: str
    rows: list[dict[str, object]]
    ratio: float | None
    bar: float | None = None
    notes: list[str] = field(default_factory=list)
    keys: tuple[str, ...] | None = None
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """The columns of the table."""
        return list(dict.fromkeys(key for row in self.rows for key in row))

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        if self.keys is not None:
            return self.keys
        names = []
        for name in self.columns:
            if any(isinstance(row.get(name), float) for row in self.rows):
                break
            names.append(name)
        return tuple(names)

    def print(self) -> None:
        """Print the machine, the table, the notes and, last, the ratio."""
        print(self.title)
        print(machine_line(machine()))
        print()
        print(table(self.columns, [[row.get(key, "") for key in self.columns] for row in self.rows]))
        print()
        for note in self.notes:
            print(note)
        if self.ratio is None:
            print("ratio: none (nothing to compare with in this run)")
            return
        if self.bar is not None:
            print(f"bar: {self.bar:g} ({'met' if self.ratio >= self.bar else 'not met'})")
        print(f"ratio: {self.ratio:.3g}")

    def write(self, path: Path) -> None:
        """Write everything as JSON."""
        data = {
            **self.settings,
            "title": self.title,
            "machine": machine(),
            "keys": self.key_columns,
            "rows": self.rows,
            "notes": self.notes,
            "bar": self.bar,
            "ratio": self.ratio,
        }
        path.write_text(json.dumps(data, indent=2, default=_plain) + "\n", encoding="utf-8")


def table(columns: list[str], rows: list[list[object]]) -> str:
    """Return a table as text, columns aligned to the left."""
    cells = [[_text(value) for value in row] for row in rows]
    widths = [max(len(line[i]) for line in [columns, *cells]) for i in range(len(columns))]
    lines = [columns, ["-" * width for width in widths], *cells]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _plain(value: object) -> object:
    """Return a NumPy number as a Python number, for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a result holds a {type(value).__name__}, which JSON cannot")


def machine() -> dict[str, object]:
    """Return the facts of the machine, its load and the software."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    facts: dict[str, object] = {
        "cpu": model,
        "cores": os.cpu_count() or 1,
        "threads": numba.get_num_threads(),
        "system": platform.platform(),
        "python": platform.python_version(),
    }
    if hasattr(os, "getloadavg"):
        facts["load"] = round(os.getloadavg()[0], 1)
    for package in ("continua", "numpy", "scipy", "numba"):
        try:
            facts[package] = version(package)
        except PackageNotFoundError:  # run from the source tree
            facts[package] = "not installed"
    return facts


def machine_line(facts: Mapping[str, Any]) -> str:
    """Return one line on the machine, its load and the software."""
    load = f", load {facts['load']:.1f}" if "load" in facts else ""
    return (
        f"{facts['cpu']}, {facts['cores']} cores, {facts['threads']} threads{load}, "
        f"Python {facts['python']}, NumPy {facts['numpy']}, Numba {facts['numba']}"
    )


def against(what: str, figure: float, bar: float, *, at_most: bool = False) -> str:
    """Return a line with a figure, its bar, and whether it is met."""
    met = figure <= bar if at_most else figure >= bar
    sign = "at most" if at_most else "at least"
    return f"{_MET if met else _NOT_MET}  {what}: {figure:.3g} (bar: {sign} {bar:g})"


def without_bars(result: Result) -> None:
    """Remove the bars from a result of tiny sizes, whose times mean nothing."""
    result.bar = None
    lines = [note for note in result.notes if not note.startswith((_MET, _NOT_MET))]
    result.notes = [*lines, "quick form: the sizes are too small for the times to mean anything"]


def compare(before: Path, after: Path) -> str:
    """Return a table of the measured values in two JSON files of one benchmark, and the ratios after/before.

    Raises:
        InputError: A file is not a result, or they belong to different benchmarks.
    """
    one, two = _read(before), _read(after)
    if one.get("name") != two.get("name"):
        raise InputError(
            f"{before} holds the benchmark '{one.get('name')}', {after} '{two.get('name')}': nothing to compare"
        )
    lines = [f"{one.get('name')}: {before} (before) and {after} (after)"]
    facts = {"cpu": "processors", "threads": "numbers of threads", "python": "Pythons", "numba": "Numbas"}
    for fact, text in facts.items():
        a, b = one["machine"].get(fact), two["machine"].get(fact)
        if a != b:
            lines.append(f"different {text}: {a} and {b}")
    if one.get("size") != two.get("size"):
        lines.append(f"different sizes: {one.get('size')} and {two.get('size')}")
    keys = [key for key in one["keys"] if key in two["keys"]]
    others = _by_key(two["rows"], keys)
    rows: list[list[object]] = []
    for key, row in _by_key(one["rows"], keys).items():
        if key not in others:
            lines.append(f"only before: {' '.join(key[:-1])}")
            continue
        for name, value in row.items():
            new = others[key].get(name)
            if name in keys or not (_is_measured(value) and _is_measured(new)):
                continue
            rows.append([*key[:-1], name, float(value), float(new), float(new) / float(value)])
    lines += [f"only after: {' '.join(key[:-1])}" for key in others if key not in _by_key(one["rows"], keys)]
    lines += ["", table([*keys, "value", "before", "after", "after/before"], rows)]
    if _is_measured(one["ratio"]) and _is_measured(two["ratio"]):
        lines += ["", f"ratio: {one['ratio']:.3g} before, {two['ratio']:.3g} after"]
    return "\n".join(lines)


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise InputError(f"{path} is not a JSON file") from None
    if not (isinstance(data, dict) and {"rows", "machine", "keys", "ratio"} <= data.keys()):
        raise InputError(f"{path} is not the result of a benchmark (make one with --json)")
    return data


def _by_key(rows: list[dict[str, Any]], keys: list[str]) -> dict[tuple[str, ...], dict[str, Any]]:
    """Return the rows by their key columns; rows with equal keys are told apart by their order."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in rows:
        key = tuple(_text(row.get(name, "")) for name in keys)
        number = 0
        while (*key, str(number)) in found:
            number += 1
        found[(*key, str(number))] = row
    return found


def _is_measured(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and value > 0
