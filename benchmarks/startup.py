"""A warm process, from its start to the end of the first steps of a bridge, and its memory."""

from __future__ import annotations

import subprocess
import sys
import time

from benchmarks.report import Result, against
from benchmarks.run import Run

_CODE = """
import time, resource, sys
start = time.perf_counter()
import continua as ct
if {threads}:
    ct.set_threads({threads})
imported = time.perf_counter()
bridge = ct.SoftBody(ct.mesh.bridge({n}))
bridge.pin(where=lambda x: x[:, 0] < 1e-6)
world = ct.World([bridge])
built = time.perf_counter()
world.step()
world.step()
unit = 1 if sys.platform == "darwin" else 1024
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
print(imported - start, built - imported, memory)
"""
_BASELINE = "import numpy, scipy.sparse, numba"


def _process(code: str) -> tuple[float, str]:
    """Return the seconds of a Python process, and what it printed."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return time.perf_counter() - start, done.stdout


def main(run: Run) -> Result:
    """Run every process a few times (the first may compile) and report the fastest."""
    rows: list[dict[str, object]] = []
    rounds = run.choose(1, 3)
    worst, memories = 0.0, []
    for n in run.cases(run.choose((2,), (2, 16)), lambda n: f"bridge, {6 * 8 * n**3:,} tets"):
        code = _CODE.format(n=n, threads=run.threads or 0)
        if not run.quick:
            _process(code)
        total, text = min(_process(code) for _ in range(rounds))
        imported, built, memory = map(float, text.split())
        worst = max(worst, total)
        memories.append(memory)
        rows.append(
            {"process": f"bridge, {6 * 8 * n**3:,} tets", "total s": total, "import s": imported,
             "build s": built, "memory MB": memory}
        )  # fmt: skip
    baseline = min(_process(_BASELINE)[0] for _ in range(rounds))
    rows.append({"process": _BASELINE, "total s": baseline})
    return Result(
        "A warm process from its start to the end of two steps, and its peak memory",
        rows,
        baseline / worst,
        None,
        [
            against("slowest start [s]", worst, 3.0, at_most=True),
            against("memory [MB]", max(memories), 400.0, at_most=True),
            f"ratio = a process that runs `{_BASELINE}` over the slowest start",
        ],
    )
