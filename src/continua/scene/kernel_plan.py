"""Which kernels a scene will call, so that they can be compiled before it starts.

`kernels.json` lists the kernels that the shipped scenes call, and the features of these scenes: the types of their
bodies, meshes, materials, colliders and so on. A shipped scene has its own list. For any other scene a kernel is
expected if the scene has all the features that the scenes which call this kernel have in common. Expecting too much
or too little costs time only: what is missing is compiled when it is called.

`python -m continua.scene.kernel_plan` records the file anew; do this after a change of kernels or of shipped scenes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from continua.atomic_io import atomic_write
from continua.numerics.precompile import KernelRequest, Precompiler, is_cached, recording
from continua.scene.models import Scene

__all__ = ["all_kernels", "expected_kernels", "features", "missing_kernels", "record"]

FILE = Path(__file__).with_name("kernels.json")
SECONDS = 30.0  # of a scene that is recorded


def features(scene: Scene) -> frozenset[str]:
    """Return the types that a scene names, each with the key that it stands under, such as `material corotated`."""
    found = set(_types("scene", scene.model_dump(mode="json")))
    if len(scene.bodies) > 1:
        found.add("several bodies")
    return frozenset(found)


def _types(key: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if isinstance(value.get("type"), str):
            yield f"{key} {value['type']}"
        if isinstance(value.get("order"), int):
            yield f"order {value['order']}"
        for name, part in value.items():
            yield from _types(name, part)
    elif isinstance(value, list):
        for part in value:
            yield from _types(key, part)


class _Plan:
    """The contents of `kernels.json`."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        types = data["types"]
        self.kernels = [
            KernelRequest(name, parallel, tuple(factory), tuple(types[i] for i in arguments), seconds)
            for name, parallel, factory, arguments, seconds in data["kernels"]
        ]
        self.scenes: dict[str, list[int]] = {name: one["kernels"] for name, one in data["scenes"].items()}
        self.features = {name: frozenset(one["features"]) for name, one in data["scenes"].items()}
        self.common: dict[int, frozenset[str]] = {}
        for name, indices in self.scenes.items():
            for index in indices:
                self.common[index] = self.common.get(index, self.features[name]) & self.features[name]


@cache
def _plan() -> _Plan:
    return _Plan(json.loads(FILE.read_text("utf-8")))


def all_kernels() -> list[KernelRequest]:
    """Return the kernels of all shipped scenes."""
    return list(_plan().kernels)


def expected_kernels(scene: Scene) -> list[KernelRequest]:
    """Return the kernels that a scene is expected to call, those that are called first first."""
    plan, own = _plan(), features(scene)
    if plan.features.get(scene.name) == own:
        return [plan.kernels[index] for index in plan.scenes[scene.name]]
    return [plan.kernels[index] for index, common in plan.common.items() if common <= own]


def missing_kernels(scene: Scene) -> list[KernelRequest]:
    """Return the expected kernels that are not compiled yet."""
    return [request for request in expected_kernels(scene) if not is_cached(request)]


def record(names: Sequence[str], seconds: float = SECONDS) -> None:
    """Run shipped scenes for some seconds each, and write the kernels that they call to `kernels.json`.

    Then all kernels are compiled in an empty cache, to record how long each takes.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = dict(zip(names, pool.map(partial(_run, seconds=seconds), names), strict=True))
    kernels = list(dict.fromkeys(request for requests, _ in runs.values() for request in requests))
    costs = _compile_seconds(kernels)
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


def _compile_seconds(kernels: Sequence[KernelRequest]) -> dict[KernelRequest, float]:
    with TemporaryDirectory() as folder:
        before = os.environ.get("CONTINUA_CACHE")
        os.environ["CONTINUA_CACHE"] = folder
        try:
            compiler = Precompiler(kernels)
            compiler.wait()
        finally:
            os.environ.pop("CONTINUA_CACHE")
            if before is not None:
                os.environ["CONTINUA_CACHE"] = before
    if compiler.failed:
        raise RuntimeError("; ".join(compiler.failed))
    return {request: round(seconds, 2) for request, seconds in compiler.measured.items()}


def _run(name: str, seconds: float) -> tuple[list[KernelRequest], frozenset[str]]:
    """Run a scene in a process of its own, as kernels are noted when they are first called."""
    code = f"from continua.scene.kernel_plan import _record_one; _record_one({name!r}, {seconds})"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    rows, own = json.loads(out.splitlines()[-1])
    requests = [
        KernelRequest(kernel, parallel, tuple(factory), _tuples(types), seconds)
        for kernel, parallel, factory, types, seconds in rows
    ]
    return requests, frozenset(own)


def _tuples(types: Any) -> Any:
    return tuple(map(_tuples, types)) if isinstance(types, list) else types


def _record_one(name: str, seconds: float) -> None:
    """Print what a scene calls: to build it, to step, and to draw pictures at the start and at the end."""
    import time

    from continua.scene.parser import load_scene
    from continua.scene.run_info import run_info

    with recording() as found:
        from continua.render import picture

        scene = load_scene(name)
        world = scene.build()
        start, view = time.process_time(), dict(run_info(scene).view)
        view |= {"size": (160, 90)}
        for frame in world.run(scene.seconds, scene.fps):
            if frame.index in (0, 1) or time.process_time() - start > seconds:
                picture(frame, **view)
            if time.process_time() - start > seconds:
                break
        world.energy()
        world.state()
        picture(world.frame(), **view)
    print(json.dumps([list(found), sorted(features(scene))]))


if __name__ == "__main__":
    from continua.scene.parser import shipped_scenes

    record(sys.argv[1:] or shipped_scenes())
