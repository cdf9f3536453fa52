"""`continua scenes`, `show` and `check`: the shipped scenes, their text, and whether scenes are valid."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from continua.cli.formatting import print_json, table, time_text
from continua.errors import ContinuaError

if TYPE_CHECKING:
    from continua.scene import Scene

__all__ = ["check_scenes", "list_scenes", "load", "scene_costs", "show_scene"]

COSTS = Path(__file__).with_name("scene_costs.json")  # written by `python -m benchmarks scenes`
_WORDS = {"fluid": "SPH", "wind_tunnel": "wind tunnel", "liquid": "grid liquid"}


def load(scene: str, options: Sequence[str] | None) -> Scene:
    """Load a scene that the user named, with the options given by `--set`."""
    from continua.scene import load_scene

    loaded = load_scene(scene)
    if not options:
        return loaded
    from continua.scene.overrides import override

    return override(loaded, options)


@cache
def scene_costs() -> dict[str, Any]:
    """Return the measured costs of the shipped scenes: "machine", and the seconds of each of "scenes"."""
    costs: dict[str, Any] = json.loads(COSTS.read_text(encoding="utf-8"))
    return costs


def kind_of(scene: Scene) -> str:
    """Return what a scene is made of, such as "soft, SPH"."""
    return ", ".join(dict.fromkeys(_WORDS.get(body.type, body.type) for body in scene.bodies))


def list_scenes(*, as_json: bool) -> None:
    """Print the shipped scenes with their kinds and costs."""
    from continua.scene import load_scene, shipped_scenes

    costs = scene_costs()
    entries = []
    for name in shipped_scenes():
        scene = load_scene(name)
        entries.append(
            {
                "name": name,
                "kind": kind_of(scene),
                **costs["scenes"].get(name, {}),
                "description": scene.description,
            }
        )
    if as_json:
        print_json(entries)
        return
    rows = [
        (
            entry["name"],
            entry["kind"],
            _cost_text(entry),
            entry["description"],
        )
        for entry in entries
    ]
    table(("scene", "kind", "cost", "what there is to see"), rows)
    print(
        f"\ncost: processor time of the steps of a run on one core, {costs['machine']}; ~ from its first frames"
    )
    print("Run one with  continua run NAME  or open it with  continua studio NAME")


def _cost_text(entry: dict[str, Any]) -> str:
    """Return the cost of a scene, with a tilde if only a part of its run was measured."""
    if "cpu_seconds" not in entry:
        return ""
    whole = entry["measured_frames"] == entry["frames"]
    return ("" if whole else "~") + time_text(entry["cpu_seconds"])


def show_scene(scene: str) -> None:
    """Print the text of a shipped scene or of a file."""
    from continua.scene.parser import scene_text

    print(scene_text(scene), end="")


def check_scenes(files: Sequence[str], options: Sequence[str] | None, *, build: bool, as_json: bool) -> bool:
    """Validate scenes and print the problems of each; return whether all are valid."""
    results = [_check(file, options, build) for file in files]
    if as_json:
        print_json(results)
    else:
        for result in results:
            print("\n".join(result["problems"] or [f"{result['file']}: valid"]))
            for warning in result["warnings"]:
                print(f"{result['file']}: warning: {warning}")
    return all(result["valid"] for result in results)


def _check(file: str, options: Sequence[str] | None, build: bool) -> dict[str, Any]:
    problems: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            scene = load(file, options)
            if build:
                scene.build()
        except ContinuaError as error:
            problems = str(error).splitlines()
    said = list(dict.fromkeys(str(warning.message) for warning in caught))
    return {"file": file, "valid": not problems, "problems": problems, "warnings": said}
