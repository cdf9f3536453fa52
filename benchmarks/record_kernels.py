"""Records which kernels the shipped scenes call: `python -m benchmarks.record_kernels`.

It writes `scene/kernels.json` of the package, from which `continua run`, `continua warmup` and the studio know what to
compile before a scene starts. Run it after a change of kernels or of shipped scenes; it takes about 15 minutes. With
names of scenes it records these again and keeps what it has of the others.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

from numba.core import event

from continua.atomic_io import atomic_write
from continua.numerics.kernel import dispatchers
from continua.numerics.precompile import KernelRequest, Precompiler, encode_type, recording
from continua.render import picture
from continua.scene import load_scene, shipped_scenes
from continua.scene.kernel_plan import FILE, features
from continua.scene.run_info import run_info

SECONDS = 10.0  # of processor time, for the steps of a scene


def record(names: Sequence[str], seconds: float = SECONDS) -> None:
    """Run shipped scenes for some seconds each, and write the kernels that they call to `kernels.json`.

    How long a kernel takes to compile is measured when a scene compiles it, or else by compiling it again.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = dict(zip(names, pool.map(partial(_run, seconds=seconds), names), strict=True))
    costs = {
        request.with_seconds(1.0): request.seconds
        for requests, _ in runs.values()
        for request in requests
        if request.seconds
    }
    kept = {name: one for name, one in _recorded().items() if name in shipped_scenes() and name not in runs}
    costs |= {one.with_seconds(1.0): one.seconds for requests, _ in kept.values() for one in requests}
    both = kept | runs
    runs = {
        name: ([one.with_seconds(1.0) for one in both[name][0]], both[name][1])
        for name in shipped_scenes()
        if name in both
    }
    kernels = list(dict.fromkeys(request for requests, _ in runs.values() for request in requests))
    costs |= _compile_seconds([request for request in kernels if request not in costs])
    types = list(dict.fromkeys(json.dumps(kind) for request in kernels for kind in request.types))
    place = {request: index for index, request in enumerate(kernels)}
    rows = [
        [
            request.kernel,
            request.parallel,
            request.factory,
            [types.index(json.dumps(kind)) for kind in request.types],
            costs[request],
        ]
        for request in kernels
    ]
    scenes = {
        name: {"features": sorted(own), "kernels": [place[request] for request in requests]}
        for name, (requests, own) in runs.items()
    }
    lines = ",\n".join(json.dumps(row) for row in rows)
    about = ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in scenes.items())
    with atomic_write(FILE, "w") as file:
        file.write(
            f'{{"types": [{", ".join(types)}],\n"kernels": [\n{lines}\n],\n"scenes": {{\n{about}\n}}}}\n'
        )


def _recorded() -> dict[str, tuple[list[KernelRequest], frozenset[str]]]:
    """Return what was recorded before, of kernels that still exist."""
    if not FILE.exists():
        return {}
    known = json.loads(FILE.read_text())
    types = [_tuples(kind) for kind in known["types"]]
    requests = [
        KernelRequest(kernel, parallel, _tuples(factory), tuple(types[k] for k in kinds), seconds)
        for kernel, parallel, factory, kinds, seconds in known["kernels"]
    ]
    return {
        name: ([requests[k] for k in scene["kernels"] if _exists(requests[k])], frozenset(scene["features"]))
        for name, scene in known["scenes"].items()
    }


def _exists(request: KernelRequest) -> bool:
    """Return whether there still is a kernel with as many arguments; those of factories are not checked."""
    if request.factory:
        return True
    try:
        importlib.import_module(request.kernel.rpartition(".")[0])
    except ModuleNotFoundError:
        return False
    kernel = dispatchers.get((request.kernel, request.parallel))
    return kernel is not None and kernel.py_func.__code__.co_argcount == len(request.types)


def _compile_seconds(kernels: Sequence[KernelRequest]) -> dict[KernelRequest, float]:
    with TemporaryDirectory() as folder:
        compiler = Precompiler(kernels, settings={"CONTINUA_CACHE": folder})
        compiler.wait()
    if compiler.failed:
        raise RuntimeError("; ".join(compiler.failed))
    return {request: round(seconds, 2) for request, seconds in compiler.measured.items()}


def _run(name: str, seconds: float) -> tuple[list[KernelRequest], frozenset[str]]:
    """Run a scene in a process of its own, as kernels are noted when they are first called."""
    code = f"from benchmarks.record_kernels import record_one; record_one({name!r}, {seconds})"
    print(name, flush=True)
    out = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout
    rows, own = json.loads(out.splitlines()[-1])
    requests = [
        KernelRequest(kernel, parallel, tuple(factory), _tuples(types), seconds)
        for kernel, parallel, factory, types, seconds in rows
    ]
    return requests, frozenset(own)


def _tuples(types: Any) -> Any:
    return tuple(map(_tuples, types)) if isinstance(types, list) else types


def record_one(name: str, seconds: float) -> None:
    """Print what a scene calls: to build it, to step, and to draw pictures at the start and at the end."""
    with recording() as found, _timing() as seconds_of:
        scene = load_scene(name)
        world = scene.build()
        start, view = time.process_time(), run_info(scene).view
        for frame in world.run(scene.seconds, scene.fps):
            if frame.index in (0, 1) or time.process_time() - start > seconds:
                picture(frame, **view)
            if time.process_time() - start > seconds:
                break
        world.energy()
        world.state()
        picture(world.frame(), **view)
    requests = [one.with_seconds(seconds_of.get((one.kernel, one.parallel, one.types), 0.0)) for one in found]
    print(json.dumps([requests, sorted(features(scene))]))


@contextmanager
def _timing() -> Iterator[dict[tuple[object, ...], float]]:
    """Measure the processor time of the kernels that are compiled inside of the block."""
    found: dict[tuple[object, ...], float] = {}
    begun: list[float] = []

    class Listener(event.Listener):
        def on_start(self, event: event.Event) -> None:
            begun.append(time.process_time())

        def on_end(self, event: event.Event) -> None:
            start, kernel = begun.pop(), event.data["dispatcher"]
            for (name, parallel), other in dispatchers.items():
                if other is kernel and not begun:
                    types = tuple(map(encode_type, event.data["args"]))
                    found[name, parallel, types] = round(time.process_time() - start, 2)

    with event.install_listener("numba:compile", Listener()):
        yield found


if __name__ == "__main__":
    record(sys.argv[1:] or list(shipped_scenes()))
