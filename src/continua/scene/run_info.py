"""The information about a scene that sinks need."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from continua.frames import RunInfo

if TYPE_CHECKING:
    from continua.scene.models import Scene

__all__ = ["run_info"]


def run_info(scene: Scene, progress: Callable[[str, int, int], None] | None = None) -> RunInfo:
    """Return the information that sinks need; `progress(what, done, total)` is called during long final writes."""
    shown = scene.output.picture
    view: dict[str, object] = shown.model_dump(exclude={"camera"})
    if "color" not in shown.model_fields_set and shown.inside == "none":
        del view["color"]  # the default need not suit any body; what is asked for must
        air = [body for body in scene.bodies if body.type in ("smoke", "wind_tunnel")]
        if air and not any(body.type == "soft" for body in scene.bodies):
            smoke = any(body.type == "smoke" or getattr(body, "streaks", 0) for body in air)
            view["color"] = "smoke" if smoke else "velocity"
    if shown.fluid == "auto":
        view["fluid"] = "points" if find_spec("pysplashsurf") is None else "surface"
    if shown.camera is not None:
        view["camera"] = shown.camera.model_dump(exclude_none=True)
    return RunInfo(
        name=scene.name,
        fps=scene.fps,
        seconds=scene.seconds,
        metadata={"scene": scene.name, "description": scene.description},
        view=view,
        progress=progress,
    )
