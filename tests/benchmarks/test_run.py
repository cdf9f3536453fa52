"""The budget and the command line of benchmarks, on a clock that the tests turn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import benchmarks.run
from benchmarks.__main__ import main
from benchmarks.registry import BENCHMARKS
from benchmarks.report import Result, compare
from benchmarks.run import PeerError, Run
from continua.errors import InputError


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(benchmarks.run, "time", clock)
    return clock


def test_cases_end_with_the_budget_and_the_rest_is_named(clock: Clock) -> None:
    run = Run(budget=100.0)
    done = []
    for case in run.cases(["a", "b", "c", "d"]):
        done.append(case)
        clock.pass_(40.0)
    assert done == ["a", "b", "c"]
    assert run.notes == ["budget of 100 s used up: 3 of 4 cases done, without d"]


def test_time_that_a_case_leaves_goes_to_the_others(clock: Clock) -> None:
    run = Run(budget=100.0)
    shares = []
    for seconds in run.cases([10.0, 10.0, 80.0]):
        shares.append(run.seconds_left)
        clock.pass_(seconds)
    assert shares == pytest.approx([100.0 / 3.0, 90.0 / 2.0, 80.0])
    assert not run.notes


def test_steps_end_with_their_part_of_the_case(clock: Clock) -> None:
    run = Run(budget=100.0)
    for _ in run.cases(["pile"]):
        steps = 0
        for _ in run.steps(300, "peer", 0.5):
            clock.pass_(4.0)
            steps += 1
    assert steps == 13  # the first after 50 s is not begun
    assert run.notes == ["pile, peer: stopped after 52 s, 13 of 300 steps; compared on the steps done"]


def test_repetitions_end_with_the_case_but_one_is_always_timed(clock: Clock) -> None:
    run = Run(budget=10.0)
    calls = []

    def work() -> None:
        calls.append(1)
        clock.pass_(7.0)

    assert run.least(work, 20) == 7.0
    assert len(calls) == 2  # one to warm up, one timed


def test_missing_and_failed_peers_are_noted_once() -> None:
    run = Run()

    def missing() -> int:
        raise ImportError("no module")

    def failed() -> int:
        raise PeerError("stopped after 3 s without a result")

    assert run.peer("Peer", missing) is run.peer("Peer", missing) is run.peer("Other", failed) is None
    assert run.peer("Third", lambda: 3) == 3
    assert run.notes == [
        "Peer is not installed: left out",
        "Other stopped after 3 s without a result: left out",
    ]


def test_sizes_choose_values() -> None:
    assert [Run(size=size).choose(1, 2, 3) for size in ("quick", "default", "full")] == [1, 2, 3]
    assert Run(size="full").choose(1, 2) == 2


@pytest.mark.parametrize(
    ("options", "text"),
    [({"size": "tiny"}, "must be one of"), ({"threads": 0}, "at least 1"), ({"budget": 0.0}, "greater than 0 s")],
)  # fmt: skip
def test_options_that_cannot_be_are_refused(options: dict, text: str) -> None:
    with pytest.raises(InputError, match=text):
        Run(**options)


def test_without_a_name_and_with_a_wrong_one_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    listed = capsys.readouterr().out
    assert main(["beam"]) == 2
    refused = capsys.readouterr().err
    assert "there is no benchmark 'beam'" in refused
    for name, text in BENCHMARKS.items():
        assert f"{name:18}{text}" in listed
        assert f"{name:18}{text}" in refused
        assert text.endswith(".")


def _write(path: Path, name: str, rows: list[dict[str, object]], ratio: float | None = 2.0) -> Path:
    Result("title", rows, ratio, settings={"name": name, "size": "default"}).write(path)
    return path


def test_results_are_compared_row_by_row(tmp_path: Path) -> None:
    before = [{"n": 3, "what": "ours", "ms": 2.0, "steps": 10}, {"n": 6, "what": "ours", "ms": 8.0}]
    after = [{"n": 6, "what": "ours", "ms": 4.0}, {"n": 3, "what": "ours", "ms": 3.0, "steps": 10}]
    text = compare(_write(tmp_path / "a.json", "x", before), _write(tmp_path / "b.json", "x", after, 4.0))
    cells = [line.split() for line in text.splitlines()]
    assert ["3", "ours", "ms", "2", "3", "1.5"] in cells
    assert ["3", "ours", "steps", "10", "10", "1"] in cells
    assert ["6", "ours", "ms", "8", "4", "0.5"] in cells
    assert "ratio: 2 before, 4 after" in text


def test_rows_of_one_result_only_are_named(tmp_path: Path) -> None:
    one = _write(tmp_path / "a.json", "x", [{"n": 3, "ms": 2.0}, {"n": 4, "ms": 2.0}])
    two = _write(tmp_path / "b.json", "x", [{"n": 4, "ms": 2.0}, {"n": 5, "ms": 2.0}], None)
    text = compare(one, two)
    assert "only before: 3" in text
    assert "only after: 5" in text


def test_other_machines_and_sizes_are_pointed_out(tmp_path: Path) -> None:
    one = _write(tmp_path / "a.json", "x", [{"n": 3, "ms": 2.0}])
    data = json.loads(one.read_text())
    data["machine"]["cpu"], data["size"] = "Z80", "quick"
    two = tmp_path / "b.json"
    two.write_text(json.dumps(data))
    text = compare(one, two)
    assert "different processors" in text
    assert "Z80" in text
    assert "different sizes: default and quick" in text


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"rows": []}'])
def test_what_is_no_result_is_refused(tmp_path: Path, text: str) -> None:
    good, bad = _write(tmp_path / "a.json", "x", []), tmp_path / "b.json"
    bad.write_text(text)
    with pytest.raises(InputError, match=r"b\.json is not"):
        compare(good, bad)
    with pytest.raises(InputError, match="cannot be read"):
        compare(good, tmp_path / "none.json")
    with pytest.raises(InputError, match="nothing to compare"):
        compare(good, _write(tmp_path / "c.json", "y", []))
