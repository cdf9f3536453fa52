"""The first run of each shipped scene with an empty kernel cache, up to its first frame and picture.

Foreground processor time is that of the process the user waits for; other processes compile at the same time, and their
time is listed beside it. Each scene runs again with the cache of its first run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.report import Result, against
from benchmarks.run import Run
from continua.scene import shipped_scenes

BRIDGE, OTHERS = 15.0, 30.0  # at most, foreground processor seconds
_CODE = """
import json, resource, sys, time
from pathlib import Path
start = time.perf_counter()
from continua.numerics import compile_stats
from continua.cli.run import run_scene
from continua.scene import load_scene
name, folder = sys.argv[1:]
scene = load_scene(name)
scene = scene.with_options(seconds=1.0 / scene.fps)
run_scene(scene, name, folder=Path(folder), force=True, quiet=True)
own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(json.dumps([own.ru_utime + own.ru_stime, others.ru_utime + others.ru_stime,
                  time.perf_counter() - start, *compile_stats()]))
"""


def first_frame(name: str, folder: Path) -> tuple[float, float, float, int, float]:
    """Run a scene to its first frame with the kernel cache in a folder.

    Returns:
        Processor seconds of the foreground and of other processes, wall seconds, and how many functions the foreground
        compiled itself in how many seconds.
    """
    done = subprocess.run(
        [sys.executable, "-c", _CODE, name, str(folder / "out")],
        env={**os.environ, "CONTINUA_CACHE": str(folder / "cache"), "CONTINUA_QUIET": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    own, others, wall, count, seconds = json.loads(done.stdout.splitlines()[-1])
    return own, others, wall, count, seconds


def main(run: Run) -> Result:
    """Run the scenes cold and warm."""
    rows: list[dict[str, object]] = []
    worst = {"bridge": 0.0, "others": 0.0}
    ratios: list[float] = []
    names = run.choose(("newton-cradle",), ("bridge", *(n for n in shipped_scenes() if n != "bridge")))
    for name in run.cases(names):
        with TemporaryDirectory() as folder:
            cold = first_frame(name, Path(folder))
            warm = first_frame(name, Path(folder))
        kind = "bridge" if name == "bridge" else "others"
        worst[kind] = max(worst[kind], cold[0])
        ratios.append(warm[0] / cold[0])
        rows.append(
            {"scene": name, "foreground s": cold[0], "warm s": warm[0], "cold / warm": cold[0] / warm[0],
             "wall s": cold[2], "compiling s": cold[1] + cold[4], "late kernels": cold[3]}
        )  # fmt: skip
    notes = [against(f"{kind}: foreground [s]", value, BRIDGE if kind == "bridge" else OTHERS, at_most=True)
             for kind, value in worst.items() if value]  # fmt: skip
    return Result(
        "First frame of each scene with an empty kernel cache, and again with a warm one",
        rows,
        min(ratios),
        None,
        [*notes, "ratio = warm over cold foreground time, the smallest of all scenes"],
    )
