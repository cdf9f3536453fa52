"""A wheel with compiled kernels runs a scene without compiling anything."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from continua.numerics.kernel_cache import families

ROOT = Path(__file__).resolve().parents[1]
FAMILY = "x86-64-v3"


@pytest.mark.skipif(FAMILY not in [name for _, name, _ in families()], reason=f"needs an {FAMILY} processor")
def test_a_wheel_with_compiled_kernels_runs_the_bridge_without_compiling(tmp_path):
    command = [sys.executable, str(ROOT / "tools" / "compiled_wheel.py"), "--cpu", FAMILY, "--no-isolation"]
    command += ["--scenes", "bridge", "-o", str(tmp_path)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    version = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    assert f"-{version}-none-" in wheel.name
    site = tmp_path / "site"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--no-index",
        "--quiet",
        "--target",
        str(site),
    ]
    subprocess.run([*pip, str(wheel)], check=True, timeout=300)
    with zipfile.ZipFile(wheel) as archive:
        assert any(name.startswith("continua/compiled_kernels/kernels-") for name in archive.namelist())

    cache = tmp_path / "cache"
    env = {**os.environ, "PYTHONPATH": str(site), "CONTINUA_CACHE": str(cache)}
    for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"):
        env.pop(name, None)
    where = subprocess.run(
        [sys.executable, "-c", "import continua; print(continua.__file__)"], env=env, cwd=tmp_path, **PIPE
    )
    assert Path(where.stdout.strip()).is_relative_to(site)
    out = tmp_path / "out"
    run = [sys.executable, "-m", "continua", "run", "bridge", "--seconds", "0.1", "-o", str(out)]
    done = subprocess.run(run, env=env, cwd=tmp_path, **PIPE)
    assert done.returncode == 0, done.stderr
    report = json.loads((out / "report.json").read_text())
    assert report["this_run"]["kernels_compiled"] == 0
    assert not list(cache.rglob("*.nbc"))


PIPE = {"capture_output": True, "text": True, "timeout": 300}
