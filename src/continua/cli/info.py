"""`continua info` and `continua mesh`: contents of a file, and tetrahedra from a surface."""

from __future__ import annotations

import math
import os
import time as clock
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from continua.cli.formatting import bytes_text, pairs, print_json, status, table
from continua.errors import InputError

if TYPE_CHECKING:
    from continua.checkpoint import Checkpoint
    from continua.mesh import HexMesh, SurfaceMesh, TetMesh
    from continua.registry import BodySummary
    from continua.scene import Scene

__all__ = ["describe", "make_mesh"]

SCENES = {".yaml", ".yml"}
CHECKPOINTS = {".h5", ".hdf5"}
_PROBE_STEPS, _PROBE_SECONDS = 20, 10.0


def describe(file: str, settings: Sequence[str] = (), *, probe: bool = False, as_json: bool = False) -> None:
    """Print a summary of a mesh, a scene, a distance field or a checkpoint.

    Args:
        file: The file, or the name of a shipped scene.
        settings: Other options of a scene, as given by `--set`.
        probe: Whether a few steps of a scene are run to estimate the duration.
        as_json: Print JSON instead of text.
    """
    from continua.scene import shipped_scenes

    suffix = Path(file).suffix.lower()
    is_scene = suffix in SCENES or (file in shipped_scenes() and not os.path.lexists(file))
    if is_scene or (not suffix and not os.path.lexists(file)):
        from continua.cli.scenes import load

        _describe_scene(load(file, settings), as_json, probe)
        return
    if probe:
        raise InputError(f"runs a scene, and {file} is none", where="--probe")
    if settings:
        raise InputError(f"changes the options of a scene, and {file} is none", where="--set")
    if suffix == ".sdf":
        from continua.cli.sdf import describe_field

        describe_field(Path(file), as_json=as_json)
    elif suffix in CHECKPOINTS:
        _describe_checkpoint(Path(file), as_json)
    elif os.path.isdir(file) and (Path(file) / "checkpoint.h5").is_file():
        _describe_checkpoint(Path(file) / "checkpoint.h5", as_json)
    else:
        from continua.mesh import read

        mesh = read(file)
        if as_json:
            print_json(_mesh_data(file, mesh))
        else:
            _describe_mesh(file, mesh)


def make_mesh(source: Path, target: Path, **wishes: float | None) -> None:
    """Read `source`, fill it with tetrahedra if it is a surface, write `target` and print the quality."""
    from continua.mesh import SurfaceMesh, read, write

    given: dict[str, Any] = {key: value for key, value in wishes.items() if value is not None}
    for key, value in given.items():
        if value is not True and not (math.isfinite(value) and value > 0):
            raise InputError(f"must be greater than 0 (got {value})", where="--" + key.replace("_", "-"))
    if not target.parent.is_dir():
        raise InputError("there is no such folder", where=str(target.parent))
    if target.exists() and target.samefile(source):
        raise InputError("is the input; choose another name for the output", where=str(target))
    mesh = read(source)
    if isinstance(mesh, SurfaceMesh) and (
        given or target.suffix.lower() not in {".stl", ".obj", ".ply", ".off"}
    ):
        from continua.mesh import tetrahedralize

        print(f"filling {source} with tetrahedra ...", flush=True)
        with status("meshing") as show:
            mesh = tetrahedralize(mesh, **given, progress=lambda _part, text: show(text))
    elif given:
        raise InputError("is not a surface, so its elements are kept; omit the options", where=str(source))
    write(mesh, target)
    _describe_mesh(str(target), mesh)
    print(f"wrote {target}")


def _mesh_data(label: str, mesh: TetMesh | HexMesh | SurfaceMesh) -> dict[str, Any]:
    from continua.mesh import SurfaceMesh

    data: dict[str, Any] = {"file": label, "nodes": mesh.node_count, "bounds": mesh.bounds.tolist()}
    if isinstance(mesh, SurfaceMesh):
        closed = mesh.is_closed and mesh.is_manifold
        data |= {"kind": "surface", "triangles": mesh.triangle_count, "area": mesh.area}
        data |= {"closed": closed, "volume": mesh.volume if closed else None}
    else:
        kind = "tetrahedra" if hasattr(mesh, "tets") else "hexahedra"
        data |= {"kind": kind, "elements": mesh.element_count, "volume": mesh.volume}
        data["regions"] = {name: len(elements) for name, elements in mesh.regions.items()}
    return {**data, "notes": list(mesh.notes)}


def _describe_mesh(label: str, mesh: TetMesh | HexMesh | SurfaceMesh) -> None:
    from continua.mesh import SurfaceMesh

    rows = [("nodes", f"{mesh.node_count:,}"), ("bounds", _bounds(mesh.bounds))]
    if isinstance(mesh, SurfaceMesh):
        rows.insert(1, ("triangles", f"{mesh.triangle_count:,}"))
        rows.append(("area", f"{mesh.area:.6g} m²"))
        closed = mesh.is_closed and mesh.is_manifold
        volume = f"{mesh.volume:.6g} m³" if closed else "none: the surface is not closed"
        rows.append(("volume", "none: the surface is flat" if mesh.is_flat else volume))
        pairs(f"{label}: a surface", rows)
        _print_notes(mesh)
        return
    kind = "tetrahedra" if hasattr(mesh, "tets") else "hexahedra"
    rows.insert(1, (kind, f"{mesh.element_count:,}"))
    rows.append(("volume", f"{mesh.volume:.6g} m³"))
    if mesh.regions:
        rows.append(("regions", ", ".join(f"{name} ({len(ids):,})" for name, ids in mesh.regions.items())))
    pairs(f"{label}: a mesh of {kind}", rows)
    _print_notes(mesh)
    print(f"\n{mesh.quality()}")


def _print_notes(mesh: TetMesh | HexMesh | SurfaceMesh) -> None:
    for note in mesh.notes:
        print(f"  note: {note}")


def _describe_scene(scene: Scene, as_json: bool, probe: bool) -> None:
    from continua.scene.cost import BASE_MEMORY, estimate_cost, time_text

    cost = estimate_cost(scene)
    if probe:
        cost.check_memory()
    bodies = [
        (body, _summary(scene, number, large=cost.is_large)) for number, body in enumerate(scene.bodies)
    ]
    dofs = sum(about.unknowns for _, about in bodies)
    memory = sum(about.memory for _, about in bodies)
    frames, steps_per_frame, dt = _plan(scene)
    duration = _probe(scene, dt) * frames * steps_per_frame if probe else None
    if as_json:
        print_json(
            {
                "name": scene.name,
                "description": scene.description,
                "bodies": [
                    {
                        "name": body.name,
                        "type": body.type,
                        "elements": about.elements,
                        "order": about.order,
                        "unknowns": about.unknowns,
                        "material": about.material,
                    }
                    for body, about in bodies
                ],
                "colliders": [collider.type for collider in scene.colliders],
                "seconds": scene.seconds,
                "fps": scene.fps,
                "frames": frames + 1,
                "steps": frames * steps_per_frame,
                "dt": dt,
                "unknowns": dofs,
                "memory_bytes": round(BASE_MEMORY + memory),
                "start_seconds": round(cost.seconds, 3),
                "run_seconds": None if duration is None else round(duration, 3),
                "estimated": cost.is_large,
            }
        )
        return
    rows = [
        (
            body.name,
            about.elements,
            about.order,
            f"{about.unknowns:,}" if about.unknowns else "-",
            about.material,
        )
        for body, about in bodies
    ]
    print(f"{scene.name}: {scene.description}\n" if scene.description else scene.name)
    table(("body", "elements", "order", "unknowns", "material"), rows)
    colliders = ", ".join(collider.type for collider in scene.colliders) or "none"
    print()
    pairs(
        "run",
        [
            ("time", f"{scene.seconds:g} s, {frames + 1:,} frames at {scene.fps:g} per second"),
            ("steps", f"{frames * steps_per_frame:,} of {dt * 1000:.4g} ms"),
            ("colliders", colliders),
            ("unknowns", "-" if cost.is_large else f"{dofs:,}"),
            ("memory", f"about {bytes_text(BASE_MEMORY + memory)}"),
            ("start", f"about {time_text(cost.seconds)}" if cost.seconds >= 1.0 else time_text(cost.seconds)),
            *([] if duration is None else [("duration", f"about {time_text(duration)}, without files")]),
        ],
    )
    if cost.is_large:
        print(f"\n  note: the scene needs {cost}; its meshes were not made to describe it")
        if not cost.fits:
            print("  note: this machine does not have so much memory; use coarser meshes")


def _probe(scene: Scene, dt: float) -> float:
    """Return the wall time of a step [s], from a few steps after the first, which compiles and starts cold."""
    with status("running a few steps"):
        world = scene.build()
        world.step(dt)
        started, taken = clock.perf_counter(), 0
        while taken < _PROBE_STEPS and (taken < 2 or clock.perf_counter() - started < _PROBE_SECONDS):
            world.step(dt)
            taken += 1
        return (clock.perf_counter() - started) / taken


def _summary(scene: Scene, number: int, *, large: bool) -> BodySummary:
    """Return what is known of a body; those of a large scene are estimated, not made."""
    from continua.registry import BodySummary, body_kind
    from continua.scene.cost import count_text

    kind = body_kind(scene.bodies[number])
    cost = kind.cost_of(scene, number) if large else None
    if cost is None:
        return kind.summary_of(scene, number)
    return BodySummary(f"about {count_text(cost.count)} {cost.what}", 0, "-", memory=cost.memory)


def _plan(scene: Scene) -> tuple[int, int, float]:
    from continua.world import World

    return World([], dt=scene.dt).frame_plan(scene.seconds, scene.fps)


def _describe_checkpoint(path: Path, as_json: bool) -> None:
    from continua import checkpoint
    from continua.scene import parse_scene

    saved = checkpoint.load(path)
    time = saved.state.get("world/time", 0.0)
    size = sum(getattr(value, "nbytes", 8) for value in saved.state.values())
    if not saved.scene:
        _describe_saved_world(path, saved, float(time), size, as_json)
        return
    scene = parse_scene(saved.scene, path=path, label=str(path))
    frames, _, _ = _plan(scene.with_options(seconds=saved.seconds, fps=saved.fps))
    if as_json:
        print_json(
            {
                "file": str(path),
                "scene": scene.name,
                "time": float(time),
                "seconds": saved.seconds,
                "step": int(saved.state.get("world/step", 0)),
                "frames_done": saved.frames_done,
                "frames": frames + 1,
                "fps": saved.fps,
                "bodies": [body.name for body in scene.bodies],
                "state_bytes": size,
                "version": saved.version,
            }
        )
        return
    pairs(
        f"{path}: a checkpoint of '{scene.name}'",
        [
            ("time", f"{float(time):g} of {saved.seconds:g} s"),
            ("step", f"{int(saved.state.get('world/step', 0)):,}"),
            ("frames", f"{saved.frames_done:,} of {frames + 1:,} at {saved.fps:g} per second"),
            ("bodies", ", ".join(body.name for body in scene.bodies)),
            ("state", bytes_text(size)),
            ("written by", f"Continua {saved.version}"),
        ],
    )


def _describe_saved_world(path: Path, saved: Checkpoint, time: float, size: int, as_json: bool) -> None:
    """Describe a file of `World.save`, which has no scene."""
    step, bodies = int(saved.state.get("world/step", 0)), list(saved.geometry)
    if as_json:
        print_json({"file": str(path), "time": time, "step": step, "bodies": bodies, "state_bytes": size,
                    "version": saved.version})  # fmt: skip
        return
    pairs(
        f"{path}: a checkpoint of a world made in Python; continue with `world.load`",
        [
            ("time", f"{time:g} s"),
            ("step", f"{step:,}"),
            ("bodies", ", ".join(bodies)),
            ("state", bytes_text(size)),
            ("written by", f"Continua {saved.version}"),
        ],
    )


def _bounds(bounds: Any) -> str:
    low, high = bounds
    return " x ".join(f"{a:.4g}..{b:.4g}" for a, b in zip(low, high, strict=True)) + " m"
