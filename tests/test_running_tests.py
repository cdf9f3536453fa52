"""How `python -m pytest` runs: in several processes, with a count at the end and a line on a missing browser."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
FILES = ("tests/test_textures.py", "tests/studio/test_studio_formula.py")
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def test_files_are_shared_among_processes_and_a_missing_browser_is_told(tmp_path):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *FILES, "-v"],
        cwd=ROOT,
        env={**environment, "CONTINUA_BROWSER": "none", "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (f"{min(CORES, 2)}/{min(CORES, 2)} workers" in done.stdout) == (CORES > 1)
    told = r"^(\d+) studio tests were skipped: no Chromium found; install chromium to run them$"
    (skipped,) = re.findall(told, done.stdout, re.MULTILINE)
    count = re.fullmatch(r"=* ?(\d+) passed, (\d+) skipped in .*", done.stdout.strip().splitlines()[-1])
    assert count, done.stdout
    assert int(count[1]) > 0
    assert count[2] == skipped


@pytest.mark.parametrize(
    ("args", "capture", "processes"),
    [
        (["tests"], "fd", CORES if CORES > 1 else 0),
        (list(FILES), "fd", min(CORES, 2) if CORES > 1 else 0),
        ([f"{FILES[0]}::test_png_keeps_every_pixel", FILES[0]], "fd", 0),
        (["tests"], "no", 0),
    ],
)
def test_processes_by_default(args, capture, processes, monkeypatch):
    """One for every core and file, none for a single file and with `-s`."""
    monkeypatch.delenv("PYTEST_XDIST_AUTO_NUM_WORKERS", raising=False)
    spec = importlib.util.spec_from_file_location("tests_conftest", ROOT / "tests" / "conftest.py")
    conftest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conftest)
    config = SimpleNamespace(
        args=args, invocation_params=SimpleNamespace(dir=ROOT), option=SimpleNamespace(capture=capture)
    )
    assert conftest.pytest_xdist_auto_num_workers(config) == processes
