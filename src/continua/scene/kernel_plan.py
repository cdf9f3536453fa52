"""Which kernels a scene will call, so that they can be compiled before it starts.

`kernels.json` lists the kernels that the shipped scenes call, and the features of these scenes: the types of their
bodies, meshes, materials, colliders and so on. A shipped scene has its own list. Any other scene is compared with the
shipped scenes whose kinds of bodies it has, those of the same kinds together: a kernel is expected if the scene has all
the features that those of them which call this kernel have in common. Expecting too much or too little costs time only:
what is missing is compiled when it is called.

`python -m benchmarks.record_kernels` records the file again, after a change of kernels or of shipped scenes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from continua.numerics.precompile import KernelRequest, is_cached
from continua.scene.models import Scene

__all__ = ["all_kernels", "expected_kernels", "features", "missing_kernels"]

FILE = Path(__file__).with_name("kernels.json")


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


def _kinds(found: frozenset[str]) -> frozenset[str]:
    """Return the features that are kinds of bodies."""
    return frozenset(one for one in found if one.startswith("bodies "))


def _tuples(kind: Any) -> Any:
    """Return a type as `encode_type` gives it."""
    return tuple(map(_tuples, kind)) if isinstance(kind, list) else kind


class _Plan:
    """The contents of `kernels.json`."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        types = [_tuples(kind) for kind in data["types"]]
        self.kernels = [
            KernelRequest(name, parallel, tuple(factory), tuple(types[i] for i in arguments), seconds)
            for name, parallel, factory, arguments, seconds in data["kernels"]
        ]
        self.scenes: dict[str, list[int]] = {name: one["kernels"] for name, one in data["scenes"].items()}
        self.features = {name: frozenset(one["features"]) for name, one in data["scenes"].items()}
        self.common: dict[tuple[frozenset[str], int], frozenset[str]] = {}
        for name, indices in self.scenes.items():
            own = self.features[name]
            for index in indices:
                key = _kinds(own), index
                self.common[key] = self.common.get(key, own) & own


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
    found = {
        index: None
        for (kinds, index), common in plan.common.items()
        if kinds and kinds <= _kinds(own) and common <= own
    }
    return [plan.kernels[index] for index in found]


def missing_kernels(scene: Scene) -> list[KernelRequest]:
    """Return the expected kernels that are not compiled yet."""
    return [request for request in expected_kernels(scene) if not is_cached(request)]
