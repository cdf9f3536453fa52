"""The compile notice, the kernel cache and the choice of threads, as a user's process sees them."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from continua.errors import InputError
from continua.numerics import get_threads, kernel, kernel_cache, set_threads

TOTAL = "import numpy as np; from continua.numerics import total; print(total(np.ones(5)))"


def run(
    code: str, cache: Path, *, folder: Path | None = None, **settings: str
) -> subprocess.CompletedProcess:
    env = {key: value for key, value in os.environ.items() if key != "CONTINUA_QUIET"}
    env |= {"CONTINUA_CACHE": str(cache), **settings}
    result = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    return result


def test_the_first_run_says_once_that_it_compiles_and_the_second_is_silent(tmp_path):
    first = run(TOTAL, tmp_path)
    assert first.stdout == "5.0\n"
    assert first.stderr.splitlines() == ["continua: compiling kernels (once) ..."]
    second = run(TOTAL, tmp_path)
    assert (second.stdout, second.stderr) == ("5.0\n", "")


def test_a_listener_takes_the_place_of_the_notice(tmp_path):
    code = (
        "import numpy as np\n"
        "from continua.numerics import compile_stats, on_compile, total\n"
        "names = []\n"
        "with on_compile(names.append):\n"
        "    total(np.ones(5))\n"
        "print(names[0], compile_stats()[0] >= 1, compile_stats()[1] > 0)\n"
    )
    result = run(code, tmp_path)
    assert result.stdout == "total_pair True True\n"
    assert result.stderr == ""


def test_an_unwritable_cache_only_costs_time(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert run(TOTAL, blocked / "cache").stdout == "5.0\n"


def test_a_full_disk_under_the_cache_only_costs_time(tmp_path):
    code = (
        "import os, continua.numerics.kernel_cache as cache\n"
        "def full(*args): raise OSError(28, os.strerror(28))\n"
        "cache._write = full\n" + TOTAL
    )
    result = run(code, tmp_path)
    assert result.stdout == "5.0\n"
    assert result.stderr.count("cannot be kept in") == 1
    assert "No space left on device" in result.stderr


def _write_package(folder: Path, factor: int) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "helper.py").write_text(
        f"from continua.numerics import inline\n@inline\ndef scaled(x):\n    return {factor} * x\n"
    )
    (folder / "using.py").write_text(
        "from continua.numerics import kernel\nfrom helper import scaled\n"
        "@kernel\ndef apply(x):\n    return scaled(x)\n"
    )


def test_a_changed_helper_in_another_file_is_not_taken_from_the_cache(tmp_path):
    package, cache = tmp_path / "package", tmp_path / "cache"
    code = "from using import apply; print(apply(10), sum(apply.stats.cache_hits.values()))"
    _write_package(package, 3)
    assert run(code, cache, folder=package).stdout == "30 0\n"
    assert run(code, cache, folder=package).stdout == "30 1\n"
    _write_package(package, 7)
    assert run(code, cache, folder=package).stdout == "70 0\n"
    assert len(list(cache.glob("kernels-package.using-*"))) == 2


def test_the_cache_key_follows_imports_inside_the_package(monkeypatch, tmp_path):
    package = tmp_path / "continua"
    for folder in (package, package / "upper", package / "upper" / "inner"):
        folder.mkdir()
        (folder / "__init__.py").touch()
    (package / "helper.py").write_text("A = 1\n")
    (package / "upper" / "inner" / "helper.py").write_text("from continua.helper import A\n")
    (package / "upper" / "unrelated.py").write_text("B = 1\n")
    (package / "upper" / "user.py").write_text("from continua.upper.inner import (\n    helper,\n)\n")
    monkeypatch.setattr(kernel_cache, "_PACKAGE", package)

    def key():
        for function in (kernel_cache._imports, kernel_cache._file_digest, kernel_cache.source_key):
            function.cache_clear()
        return kernel_cache.source_key(package / "upper" / "user.py")

    first = key()
    (package / "upper" / "unrelated.py").write_text("B = 2\n")
    assert key() == first
    (package / "helper.py").write_text("A = 2\n")
    assert key() != first


def test_kernels_of_another_processor_are_not_taken_from_the_cache(tmp_path):
    package, cache = tmp_path / "package", tmp_path / "cache"
    code = "from using import apply; print(apply(10), sum(apply.stats.cache_hits.values()))"
    _write_package(package, 3)
    assert run(code, cache, folder=package).stdout == "30 0\n"
    for hits in (0, 1):
        found = run(code, cache, folder=package, NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")
        assert found.stdout == f"30 {hits}\n"
    assert run(code, cache, folder=package).stdout == "30 1\n"


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two threads")
def test_the_two_variants_of_a_pair_do_not_share_their_cache(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "who.py").write_text(
        "import numba, numpy as np\nfrom continua.numerics import kernel_pair\n"
        "@kernel_pair\ndef who(out):\n"
        "    for i in numba.prange(out.shape[0]):\n"
        "        work = 0.0\n"
        "        for k in range(20000):\n"  # so long that a second thread wakes up, whatever makes the threads
        "            work += np.sin(0.1 * k + i)\n"
        "        out[i] = numba.get_thread_id() if work < 1e9 else -1\n"
        "def count(function):\n"
        "    out = np.zeros(1000, np.int64)\n    function(out)\n    return len(np.unique(out))\n"
    )
    code = (
        "import numba; numba.set_num_threads(2); from who import who, count\n"
        "print(count(who.variant(False)), count(who.variant(True)) > 1)"
    )
    for _ in ("compiled", "from the cache"):
        assert run(code, tmp_path / "cache", folder=package).stdout == "1 True\n"


@kernel
def _is_nan(x):
    return x != x


def test_kernels_see_not_a_number():
    assert _is_nan(np.nan)
    assert not _is_nan(1.0)


@pytest.mark.parametrize("count", [0, -1, 10_000, 1.5, "2", None, True])
def test_odd_numbers_of_threads_are_refused(count):
    with pytest.raises(InputError, match="number of threads must be a whole number from 1 to"):
        set_threads(count)


def test_threads_can_be_set():
    before = get_threads()
    set_threads(np.int64(1))
    assert get_threads() == 1
    set_threads(before)
