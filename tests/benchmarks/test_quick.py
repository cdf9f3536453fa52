"""Every benchmark runs in its quick form and gives figures; times are not asserted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from math import isfinite
from pathlib import Path

import pytest

import continua as ct
from benchmarks.__main__ import main
from benchmarks.registry import BENCHMARKS

ROOT = Path(__file__).resolve().parents[2]
TIME = re.compile(r"(^|[ [])(s|ms|us|ns)\b|(steps|updates|queries|values|gradients|GB)/s")


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    count = ct.get_threads()
    yield
    ct.set_threads(count)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_quick_form_gives_a_table_of_positive_figures(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "result.json"
    assert main([name, "--quick", "--json", str(file)]) == 0
    printed, progress = capsys.readouterr()
    result = json.loads(file.read_text())
    assert (result["name"], result["size"]) == (name, "quick")
    assert result["title"] in printed
    assert name in progress
    assert result["rows"]
    for row in result["rows"]:
        figures = {key: value for key, value in row.items() if isinstance(value, float)}
        assert all(isfinite(value) for value in figures.values()), row
        times = [value for key, value in figures.items() if TIME.search(key)]
        assert all(value > 0.0 for value in times), row
    assert result["ratio"] is None or (isfinite(result["ratio"]) and result["ratio"] > 0.0)
    assert f"ratio: {'none' if result['ratio'] is None else ''}" in printed
    assert main(["compare", str(file), str(file)]) == 0
    ratios = [line.split()[-1] for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert "after/before" in ratios


def test_every_module_with_a_main_is_registered_and_documented() -> None:
    modules = {
        path.stem.replace("_", "-")
        for path in (ROOT / "benchmarks").glob("*.py")
        if "\ndef main(run: Run) -> Result:" in path.read_text(encoding="utf-8")
    }
    assert modules == set(BENCHMARKS)
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    table = set(re.findall(r"^\| `([a-z-]+)` \|", page, re.M))
    assert table >= set(BENCHMARKS), f"not in docs/benchmarks.md: {set(BENCHMARKS) - table}"


def test_benchmarks_use_no_private_names_of_continua() -> None:
    for path in (ROOT / "benchmarks").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        for line in re.findall(r"^(?:from|import) continua.*$", text, re.M):
            assert not re.search(r"[. ]_", line), f"{path.name}: {line}"
        private = re.findall(r"\b(?!self\b|cls\b)\w+\._[a-z]\w*", text)
        assert not [name for name in private if not name.startswith("os._exit")], f"{path.name}: {private}"
