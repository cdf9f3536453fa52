"""Worlds run in other processes, whatever starts them, also after this process has run parallel kernels."""

import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "process_pools.py"
METHODS = multiprocessing.get_all_start_methods()


def results(kind, method):
    done = subprocess.run(
        [sys.executable, PROGRAM, kind, method], capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("method", METHODS)
def test_pools_give_the_same_bits(method):
    assert results("pool", method) == "same"


def test_executors_give_the_same_bits():
    assert results("executor", METHODS[0]) == "same"


@pytest.mark.skipif("fork" not in METHODS, reason="this system has no fork")
def test_a_fork_waits_until_the_compiler_is_free():
    assert results("compiling", "fork") == "same"


@pytest.mark.parametrize("kind", ["distributed", "dask"])
def test_dask_gives_the_same_bits(kind):
    pytest.importorskip("distributed")
    assert results(kind, "spawn") == "same"
