"""The progress line: right numbers, and silence about the future while nothing is known."""

import io
from types import SimpleNamespace

import pytest

from continua.cli.formatting import bytes_text, time_text
from continua.cli.progress import Progress
from continua.cli.timing import TimeLeft


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    return now


def test_rates_and_the_time_left(clock, capsys):
    progress = Progress(10.0)
    progress.step(0.1, 1, 30)
    for step in range(2, 12):
        clock[0] += 0.5
        progress.step(0.1 * step, step, 30 * step)
    lines = capsys.readouterr().err.splitlines()
    # 2 steps a second of 0.1 s each: 8.9 s of simulated time take 44.5 s
    for words in ("2.0 steps/s", "30.0 iterations/step", "44 s left", "1.100 / 10 s"):
        assert words in lines[-1]
    assert len(lines) == 2  # at most one every five seconds


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_time_left_fits_a_narrow_terminal(clock, columns, monkeypatch):
    from rich.console import Console

    progress = Progress(10.0, quiet=True)
    for step in range(1, 12):
        clock[0] += 5.0
        progress.step(0.01 * step, step, 300 * step)
    console = Console(width=columns, record=True, file=io.StringIO())
    monkeypatch.setattr(progress, "_live", SimpleNamespace(console=console))
    console.print(progress._line())
    (line,) = console.export_text().splitlines()
    assert " h left" in line
    assert line.index("0.110") > 8  # the bar
    assert ("iterations/step" in line) == (columns >= 80)


def test_compiling_does_not_count_as_stepping(clock, capsys, monkeypatch):
    compiling = [0.0]
    monkeypatch.setattr("continua.cli.timing.compile_stats", lambda: (0, compiling[0]))
    progress = Progress(10.0)
    progress.step(0.1, 1, 1)
    clock[0] += 6.0
    progress.step(0.2, 2, 2)
    progress._compiling("assemble")
    clock[0] += 106.0
    compiling[0] += 100.0
    progress.step(0.3, 3, 3)
    err = capsys.readouterr().err
    assert "compiling kernels (once) ..." in err
    assert f"{1 / 6:.1f} steps/s" in err.splitlines()[-1]
    assert "9:42 min left" in err.splitlines()[-1]  # 97 steps of 6 s: what was known before is not forgotten


def test_a_stage_shows_its_part_and_the_time_left(clock, capsys):
    progress = Progress(1.0)
    progress.expect("drawing mp4", 30.0)
    progress.expect("drawing gif", 20.0)
    progress.step(0.1, 1, 1)
    clock[0] += 5.0
    progress.step(0.2, 2, 1)
    assert "1:30 min left" in capsys.readouterr().err.splitlines()[-1]  # 40 s of steps and two films
    for done in range(3):
        clock[0] += 5.0
        progress.stage("drawing mp4", done, 10)
    # 8 pictures of 5 s, and the other film
    assert capsys.readouterr().err.splitlines()[-1] == "drawing mp4   2 / 10    20 %   1:00 min left"


def test_the_first_call_of_a_stage_is_not_part_of_it(clock):
    left = TimeLeft(10.0)
    left.update(0.0, 1000.0)
    assert left.seconds is None
    left.update(1.0, 2.0)
    assert left.seconds == pytest.approx(18.0)


def test_the_time_left_is_right_for_a_constant_speed_and_follows_a_new_one():
    left = TimeLeft(1000.0)
    for done in range(101):
        left.update(done, 0.3)
    assert left.seconds == pytest.approx(900 * 0.3)
    for done in range(101, 401):  # three times as slow
        left.update(done, 0.9)
    assert left.seconds == pytest.approx(600 * 0.9, rel=0.05)


def test_one_slow_step_does_not_upset_a_long_run():
    left = TimeLeft(2000.0)
    for done in range(1001):
        left.update(done, 0.1)
    before = left.seconds
    left.update(1001, 5.0)
    assert left.seconds < 1.25 * before


def test_quiet_is_silent(clock, capsys):
    progress = Progress(1.0, quiet=True)
    progress.step(0.5, 1, 1)
    progress.say("hello")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "0 s"), (59.4, "59 s"), (60, "1:00 min"), (3599, "59:59 min"), (7500, "2:05 h")],
)
def test_durations(seconds, text):
    assert time_text(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"), [(12, "12 B"), (1500, "1.5 kB"), (2.5e6, "2.5 MB"), (3e12, "3000.0 GB")]
)
def test_sizes(count, text):
    assert bytes_text(count) == text
