"""Kernels compiled in other processes: types as text, the cache that they fill, and processes that end."""

import os
import signal
import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np
import pytest
from numba import typeof, types

from continua.numerics.precompile import (
    KernelRequest,
    Precompiler,
    decode_type,
    encode_type,
    is_cached,
)
from continua.scene.kernel_plan import all_kernels

TOTAL = KernelRequest("continua.numerics.primitives.total_pair", False, (), ("float64[2C]", "float64[1C]"))


class Pair(NamedTuple):
    first: np.ndarray
    second: float


class Same(NamedTuple):
    first: float
    second: float


def readonly(values):
    values.flags.writeable = False
    return values


@pytest.mark.parametrize(
    "value",
    [
        1.0, np.float32(1), 3, np.uint8(3), True, None, (1.0, 2.0), (1, 2.0), Pair(np.zeros(3), 1.0), Same(1.0, 2.0),
        np.zeros((2, 3)), np.zeros((2, 3), order="F"), np.zeros((4, 4))[::2, ::2], np.zeros(3, np.int32),
        readonly(np.zeros((2, 2), np.uint16)), (np.zeros(2), (1, np.zeros(3, bool))),
    ],
)  # fmt: skip
def test_types_survive_as_text(value):
    kind = typeof(value)
    assert decode_type(encode_type(kind)) == kind


def test_types_without_a_short_form_are_left_out():
    assert encode_type(types.unicode_type) is None
    assert encode_type(typeof((1.0, "text"))) is None


def test_calls_are_recorded_once(tmp_path):
    code = (
        "import numpy as np\n"
        "from continua.numerics import total\n"
        "from continua.numerics.precompile import recording\n"
        "with recording() as found:\n"
        "    total(np.ones((5, 3))); total(np.ones((7, 3)))\n"
        "for request in found: print(request.kernel, request.parallel)\n"
    )
    env = {**os.environ, "CONTINUA_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300)
    lines = done.stdout.splitlines()
    assert lines == ["continua.numerics.primitives.total_pair False"], done.stderr


def test_other_processes_fill_the_cache(monkeypatch, tmp_path):
    request = min(all_kernels(), key=lambda request: request.seconds)
    monkeypatch.setenv("CONTINUA_CACHE", str(tmp_path))
    assert not is_cached(request)
    reports = []
    compiler = Precompiler([request], jobs=3)
    compiler.wait(lambda *report: reports.append(report))
    assert compiler.failed == []
    assert (compiler.done, compiler.total) == (1, 1)
    assert reports[-1] == (1, 1, 0.0)
    assert is_cached(request)


def test_what_cannot_be_compiled_is_reported_and_nothing_waits(monkeypatch, tmp_path):
    monkeypatch.setenv("CONTINUA_CACHE", str(tmp_path))
    wrong = KernelRequest("continua.numerics.primitives.no_such_kernel", False, (), ("float64",))
    assert not is_cached(wrong)
    assert not is_cached(wrong._replace(kernel="continua.no_such_module.kernel"))
    compiler = Precompiler([wrong], jobs=1)
    compiler.wait()
    assert len(compiler.failed) == 1
    assert "no_such_kernel" in compiler.failed[0]


def test_an_interrupted_wait_ends_the_processes(monkeypatch, tmp_path):
    monkeypatch.setenv("CONTINUA_CACHE", str(tmp_path))
    compiler = Precompiler([TOTAL] * 50, jobs=2)

    def stop(done, total, left):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compiler.wait(stop)
    assert not compiler.running
    assert all(process.poll() is not None for process in compiler._processes)


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_processes_end_with_a_parent_that_is_killed(tmp_path):
    code = (
        "import time\n"
        "from continua.numerics.precompile import KernelRequest, Precompiler\n"
        "one = KernelRequest('continua.numerics.primitives.total_pair', False, (), ('float64[2C]', 'float64[1C]'))\n"
        "compiler = Precompiler([one] * 1000, jobs=2)\n"
        "print(*(process.pid for process in compiler._processes), flush=True)\n"
        "time.sleep(60)\n"
    )
    env = {**os.environ, "CONTINUA_CACHE": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True) as parent:
        workers = [int(word) for word in parent.stdout.readline().split()]
        assert len(workers) == 2
        parent.send_signal(signal.SIGKILL)
    end = time.monotonic() + 60.0
    while any(_alive(pid) for pid in workers) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(_alive(pid) for pid in workers)


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
