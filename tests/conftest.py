"""How the tests run: on all cores, a file at a time in each process, with kernels that are compiled once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Every process tests with two threads, as many as it takes to compare their results with those of one. Set before
# NumPy and Numba are imported, and inherited by the processes.
os.environ.setdefault("NUMBA_NUM_THREADS", "2")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

MANY_FILES = 40  # so many test files use most kernels


def selected_files(config: pytest.Config) -> set[Path]:
    """Return the test files below the paths of the command line."""
    places = [Path(config.invocation_params.dir, arg.split("::")[0]) for arg in config.args]
    return {file for place in places for file in (place.rglob("test_*.py") if place.is_dir() else [place])}


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Return a process for every core, but no more than there are files, and none for one file or with `-s`."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = min(cores, len(selected_files(config)))
    return 0 if workers == 1 or config.option.capture == "no" else workers


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the kernels of the shipped scenes before the processes start, which would each compile them."""
    option, plugins = session.config.option, session.config.pluginmanager
    whole = len(selected_files(session.config)) >= MANY_FILES and not option.keyword and not option.markexpr
    if option.dist == "no" or not whole or option.collectonly:
        return
    with plugins.getplugin("capturemanager").global_and_fixture_disabled():
        print("compiling the kernels of the shipped scenes, before the tests start", flush=True)
        subprocess.run([sys.executable, "-m", "continua", "warmup"], check=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that drive the studio in a browser; the fixture skips them if there is none."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line what a missing browser skips."""
    reports = terminalreporter.stats.get("skipped", ())
    count = sum("browser" in report.keywords and "Chromium" in str(report.longrepr) for report in reports)
    if count:
        tests = "1 studio test was" if count == 1 else f"{count} studio tests were"
        terminalreporter.write_line(f"{tests} skipped: no Chromium found; install chromium to run them")
