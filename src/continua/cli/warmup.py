"""`continua warmup`: the kernels of every shipped scene compiled ahead, in several processes."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

__all__ = ["warm_up"]

JOBS = 4  # more processes at once mostly compile the same helpers


def warm_up(names: Sequence[str] | None = None, jobs: int | None = None) -> None:
    """Take two steps and a picture of shipped scenes, so that all their kernels are in the cache.

    Kernels compile on one processor each, so the scenes are shared among processes. What one process has
    compiled, the others load from the cache.

    Args:
        names: Scenes to touch; all shipped ones by default.
        jobs: Processes at once; by default one for each processor, at most four.
    """
    from continua.scene import shipped_scenes

    todo = _apart(list(shipped_scenes()) if names is None else list(names))
    jobs = min(jobs or os.cpu_count() or 1, JOBS, len(todo))
    start, count, seconds = time.perf_counter(), 0, 0.0
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        running = {pool.submit(_touch, name): name for name in todo}
        for done, future in enumerate(as_completed(running), 1):
            more, took = future.result()
            count, seconds = count + more, seconds + took
            _say(f"warmed up {done} of {len(todo)} scenes: '{running[future]}', {count} functions compiled")
    if sys.stderr.isatty():
        _say("")
    print(
        f"compiled {count} functions in {seconds:.0f} s" if count else "all kernels were compiled already",
        f"({time.perf_counter() - start:.0f} s in all)",
    )


def _apart(names: list[str]) -> list[str]:
    """Order scenes so that those handed out together have little in common: solids beside fluids."""
    from continua.scene import load_scene

    kinds: dict[str, list[str]] = {}
    for name in names:
        bodies = load_scene(name).bodies
        kinds.setdefault(bodies[0].type if bodies else "", []).append(name)
    queues = sorted(kinds.values(), key=len, reverse=True)
    return [queue[i] for i in range(len(names)) for queue in queues if i < len(queue)]


def _touch(name: str) -> tuple[int, float]:
    """Build, step and draw a scene; return how many functions were compiled, and for how long [s]."""
    from continua.numerics import compile_stats, on_compile

    count, seconds = compile_stats()
    with on_compile(lambda kernel: None):
        from continua.render import picture
        from continua.scene import load_scene

        world = load_scene(name).build()
        for _ in range(2):
            world.step()
        picture(world.frame(), size=(64, 36), backend="raster")
    after, later = compile_stats()
    return after - count, later - seconds


def _say(text: str) -> None:
    """Show a line of progress: over the last one in a terminal, below it in a log."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{text:<{width}}"[: width + 1], end="" if text else "\r", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)
