"""Mantaflow of Blender on the scenes of `smoke-step`, on one thread, in its own process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from benchmarks.run import PeerError, PeerStoppedError

SCRIPT = r"""
import json, sys, time
import bpy

kind, cells, frames, cache = sys.argv[sys.argv.index("--") + 1 :]
bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene
scene.frame_start, scene.frame_end, scene.render.fps = 1, int(frames), 25
scene.render.threads_mode, scene.render.threads = "FIXED", 1


def box(size, center):
    bpy.ops.mesh.primitive_cube_add(size=1, location=center)
    bpy.context.object.scale = size
    bpy.ops.object.transform_apply(location=False, rotation=False, scale=True)
    return bpy.context.object


def ball(radius, center):
    bpy.ops.mesh.primitive_uv_sphere_add(radius=radius, location=center)
    return bpy.context.object


def add_fluid(thing, role):
    bpy.context.view_layer.objects.active = thing
    bpy.ops.object.modifier_add(type="FLUID")
    thing.modifiers[-1].fluid_type = role
    return thing.modifiers[-1]


tank = box((1, 1, 1), (0, 0, 0.5))
domain = add_fluid(tank, "DOMAIN").domain_settings
if kind == "smoke":
    domain.domain_type = "GAS"
    source = add_fluid(ball(0.1, (0, 0, 0.15)), "FLOW").flow_settings
    source.flow_type, source.flow_behavior = "SMOKE", "INFLOW"
    add_fluid(ball(0.12, (0.02, 0, 0.5)), "EFFECTOR").effector_settings.effector_type = "COLLISION"
else:
    domain.domain_type = "LIQUID"
    block = add_fluid(box((0.3, 0.96, 0.6), (-0.33, 0, 0.32)), "FLOW").flow_settings
    block.flow_type, block.flow_behavior = "LIQUID", "GEOMETRY"
    domain.use_mesh = True
domain.resolution_max, domain.cache_directory, domain.cache_type = int(cells), cache, "ALL"
domain.cache_frame_start, domain.cache_frame_end = 1, int(frames)
bpy.context.view_layer.objects.active = tank
tank.select_set(True)
wall, cpu = time.perf_counter(), time.process_time()
with bpy.context.temp_override(object=tank, active_object=tank, selected_objects=[tank], scene=scene):
    done = bpy.ops.fluid.bake_all()
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
print("RESULT", json.dumps({"done": list(done), "wall": wall / int(frames), "cpu": cpu / int(frames)}))
"""


def blender() -> str | None:
    """Return the Blender to run: that of $CONTINUA_BLENDER, or the one on the path; None if there is none."""
    return os.environ.get("CONTINUA_BLENDER") or shutil.which("blender")


def mantaflow(kind: str, cells: int, frames: int, limit: float) -> float:
    """Return the processor seconds of a frame of "smoke" or "liquid".

    Raises:
        ImportError: There is no Blender.
        PeerError: It failed, or was stopped after `limit` seconds.
    """
    program = blender()
    if program is None:
        raise ImportError("Blender is not installed")
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "scene.py")
        script.write_text(SCRIPT)
        try:
            answer = subprocess.run(
                [program, "-b", "-t", "1", "-P", script, "--", kind, str(cells), str(frames), folder],
                capture_output=True,
                text=True,
                check=False,
                timeout=max(limit, 1.0),
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
        except subprocess.TimeoutExpired:
            raise PeerStoppedError(f"stopped after {limit:.0f} s on the {kind} of {cells}^3 cells") from None
    lines = [line for line in answer.stdout.splitlines() if line.startswith("RESULT ")]
    result = json.loads(lines[0].removeprefix("RESULT ")) if lines else {"done": []}
    if result["done"] != ["FINISHED"]:
        raise PeerError(f"failed to bake the {kind}: {(answer.stderr or answer.stdout).strip()[-400:]}")
    return float(result["cpu"])
