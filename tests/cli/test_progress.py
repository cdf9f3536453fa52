"""The progress line: right numbers, and silence about the future while nothing is known."""

import pytest

from continua.cli.formatting import bytes_text, time_text
from continua.cli.progress import Progress


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


def test_compiling_does_not_count_as_stepping(clock, capsys):
    progress = Progress(10.0)
    progress.step(0.1, 1, 1)
    progress._compiling("assemble")
    clock[0] += 100.0
    progress.step(0.2, 2, 2)
    clock[0] += 6.0
    progress.step(0.3, 3, 3)
    err = capsys.readouterr().err
    assert "compiling kernels (once) ..." in err
    assert f"{1 / 6:.1f} steps/s" in err.splitlines()[-1]


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
