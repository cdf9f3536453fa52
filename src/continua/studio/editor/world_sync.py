"""Keeps the parameters of a running world equal to those of its document."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from continua.errors import InputError
from continua.scene.build_environment import build_collider
from continua.studio.editor.parameter_paths import obstacles_key, same_lists, split_parameters
from continua.studio.interaction.flow_sketch import plane_flow

if TYPE_CHECKING:
    from continua.scene import Scene
    from continua.studio.controls.control_panel import ControlPanel
    from continua.world import World

__all__ = ["WorldSync"]

_UNKNOWN = object()


class WorldSync:
    """What a world was built from, and the parameters that were set in it since.

    Values that the world changes by itself, such as a scheduled change of a material, are not followed.

    Args:
        scene: The scene that the world was built from.
    """

    def __init__(self, scene: Scene) -> None:
        self._values, self._rest = split_parameters(scene)

    def note(self, key: str, value: Any) -> None:
        """Remember a parameter that was set in the world."""
        body, _, rest = key.partition("/")
        for known in list(self._values):
            # Another integrator or wind has its own constants; what a body chooses itself depends on its material.
            chosen = rest.startswith(("material/", "part/")) and known.startswith(f"{body}/boundary/")
            if known.startswith(f"{key}/") or (chosen and self._values[known] is None):
                del self._values[known]
        self._values[key] = list(value) if isinstance(value, tuple) else value

    def note_obstacles(self, scene: Scene, flow: str) -> None:
        """Remember that a 2D flow of the world has the obstacles of the scene."""
        key = obstacles_key(flow)
        self.note(key, split_parameters(scene)[0].get(key, _UNKNOWN))

    def follow(self, scene: Scene, world: World, panel: ControlPanel) -> bool:
        """Set the parameters in which the world differs from a scene; return whether it then corresponds to it."""
        values, rest = split_parameters(scene)
        numbered = self._bodies_with_same_lists(rest)
        changed = True
        while changed:  # a value may be valid only after another has changed
            changed = False
            for key, value in values.items():
                if self._values.get(key, _UNKNOWN) != value and _may_be_set(key, numbered):
                    with suppress(InputError):
                        _set(key, value, scene, world, panel)
                        self.note(key, value)
                        changed = True
        return rest == self._rest and all(
            self._values.get(key, _UNKNOWN) == value for key, value in values.items()
        )

    def _bodies_with_same_lists(self, rest: dict[str, Any]) -> set[str]:
        """Return the bodies whose parts and boundary conditions have the same numbers in scene and world."""
        built = {body["name"]: body for body in self._rest["bodies"]}
        return {
            body["name"]
            for body in rest["bodies"]
            if body["name"] in built and same_lists(body, built[body["name"]])
        }


def _may_be_set(key: str, numbered: set[str]) -> bool:
    """Return whether a key means the same in scene and world."""
    body, _, rest = key.partition("/")
    return not rest.startswith(("part/", "boundary/")) or body in numbered


def _set(key: str, value: Any, scene: Scene, world: World, panel: ControlPanel) -> None:
    """Set a parameter of the world, or raise `InputError`."""
    flow = plane_flow(world)
    if flow is None or key != obstacles_key(flow.name):
        panel.set_value(key, tuple(value) if isinstance(value, list) else value)
        return
    number = next(n for n, body in enumerate(scene.bodies) if body.name == flow.name)
    shapes = [
        build_collider(scene, item, "bodies", number, "obstacles", k)
        for k, item in enumerate(scene.bodies[number].obstacles)
    ]
    with warnings.catch_warnings():  # a thin wall is made thicker, but drawn as it is
        warnings.simplefilter("ignore", UserWarning)
        flow.obstacles = shapes
