"""Tetrahedra inside a closed surface, through fTetWild (Hu et al. 2020) by way of pytetwild."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.mesh.checks import compact
from continua.mesh.ftetwild_process import TIME_LIMIT, Deadline, run_mesher
from continua.mesh.node_optimization import smoothed
from continua.mesh.quality import Quality
from continua.mesh.repair import check_not_flat, check_sound, cleaned, repair_report
from continua.mesh.structured import MAX_ELEMENTS
from continua.mesh.surface_mesh import SurfaceMesh
from continua.mesh.tet_mesh import TetMesh
from continua.numerics.kernel_cache import cache_root
from continua.numerics.progress import Progress, report_progress
from continua.validation import flag, function, instance_of, number, pluralize

__all__ = ["tetrahedralize"]

_REGULAR = 1.0 / (6.0 * np.sqrt(2.0))  # volume of a regular tet with edges of length 1
_ATTEMPTS = 6
# How hard the mesher works on shapes: it stops at an energy, or after some passes. At the second it may not come down.
_EFFORTS = ((10.0, 40), (8.0, 12))


def tetrahedralize(
    surface: SurfaceMesh,
    *,
    size: float | None = None,
    max_volume: float | None = None,
    min_dihedral: float | None = None,
    max_radius_edge: float | None = None,
    tolerance: float = 1e-3,
    repair: bool = False,
    time_limit: float = TIME_LIMIT,
    cache: bool = True,
    progress: Progress | None = None,
) -> TetMesh:
    """Fill a closed surface with tetrahedra.

    The mesher works with random numbers that cannot be fixed, so results are kept in the user's cache
    folder: the same surface and options give the same mesh again. To have it on other machines too, write it
    to a file.

    Args:
        surface: Closed surface, or any with `repair`. Doubled nodes are welded, and one that is inside out is turned.
        size: Wanted length of edges [m]; if neither this nor max_volume is given, a twentieth of the
            diagonal. Details of the surface may need shorter ones.
        max_volume: No tet is larger than this [m3]; the mesh is made finer until it holds.
        min_dihedral: Wanted smallest angle between faces [degrees]. The mesh is improved towards it; `notes`
            say if it was not reached. Up to about 15 is realistic.
        max_radius_edge: Wanted largest circumradius of a tet over its shortest edge; a regular tet has 0.61. The
            mesh is improved towards it; `notes` say if it was not reached. Down to about 1.6 is realistic.
        tolerance: How far the boundary may leave the surface, relative to the diagonal.
        repair: Accept a surface that is open, not a manifold, not oriented or goes through itself. Its boundary stays
            within the tolerance, and holes are closed where the winding number is one half; `notes` report what was
            wrong, the volume, and how far the boundary is from the surface.
        time_limit: Time after which the mesher is stopped [s].
        cache: Whether to look for and keep results in the cache folder.
        progress: Called a few times a second with None, because nobody knows how far the mesher is, and with what
            it does. What it raises ends the mesher; by default whoever is `progress_listener` hears it.

    Raises:
        InputError: The surface is flat, or without `repair` open, not a manifold or not consistently oriented, an
        option makes no sense, or the mesher takes longer than the limit. MissingExtraError: pytetwild is not installed.
    """
    instance_of(surface, SurfaceMesh, "the surface")
    repair, cache = flag(repair, "repair"), flag(cache, "cache")
    time_limit = number(time_limit, "time_limit", above=0.0, unit="s")
    tolerance = number(tolerance, "tolerance, relative to the diagonal,", low=1e-6, high=0.1)
    if progress is not None:
        function(progress, "progress", "a function of a fraction and a text")
    ready, notes = _ready(surface, repair)
    diagonal = float(np.linalg.norm(ready.bounds[1] - ready.bounds[0]))
    length = _edge_length(ready, diagonal, size, max_volume)
    wish = _QualityTarget(min_dihedral, max_radius_edge)
    options = (length, max_volume, wish, tolerance)
    kept = _cache_file(ready, options) if cache else None
    if kept is not None and (found := _load(kept)) is not None:
        points, tets = found
    else:
        deadline = Deadline(time_limit)
        points, tets = _fill(
            ready, length, max_volume, wish, tolerance, deadline, progress or report_progress
        )
        if kept is not None:
            _store(kept, points, tets)
    mesh = TetMesh(points, tets)
    return TetMesh._trusted(
        mesh.points, mesh.tets, notes=(*notes, *mesh.notes, *_remarks(ready, mesh, wish, repair))
    )


def _ready(surface: SurfaceMesh, repair: bool) -> tuple[SurfaceMesh, tuple[str, ...]]:
    """Return a surface to be filled and what was done to it, or say why there is none."""
    check_not_flat(surface)
    notes: tuple[str, ...] = ()
    if not surface.is_closed:
        welded = surface.welded()
        if welded.node_count < surface.node_count:
            notes = (f"welded {pluralize(surface.node_count - welded.node_count, 'doubled node')}",)
            surface = welded
    if repair:
        surface, faults = cleaned(surface)
        notes += faults
    else:
        check_sound(surface)
    if surface.volume < 0.0:
        notes = (*notes, "turned the surface, which was inside out")
        surface = surface.flipped()
    extent = surface.bounds[1] - surface.bounds[0]
    if not repair and surface.volume <= 1e-9 * extent.max() ** 3:
        raise InputError(
            "the surface encloses no volume: its sheets lie on each other; give it a thickness in the program that "
            "made it"
        )
    return surface, notes


def _edge_length(
    surface: SurfaceMesh, diagonal: float, size: float | None, max_volume: float | None
) -> float:
    """Return the edge length to ask for, refusing absurd ones."""
    for name, value in (("size", size), ("max_volume", max_volume)):
        if value is not None:
            number(value, name, above=0.0)
    length = min(float(size), diagonal) if size is not None else diagonal
    if size is None and max_volume is None:
        length = diagonal / 20.0
    if max_volume is not None:
        length = min(length, 0.85 * (max_volume / _REGULAR) ** (1.0 / 3.0))
    expected = abs(surface.volume) / (_REGULAR * length**3)
    if expected > MAX_ELEMENTS / 10:
        raise InputError(
            f"edges of {length:.3g} m would make about {expected:.2g} tets, too many; ask for larger ones"
        )
    return length


@dataclass(frozen=True)
class _QualityTarget:
    """Which shapes tets should have; None where there is no wish."""

    angle: float | None
    ratio: float | None

    def __post_init__(self) -> None:
        if self.angle is not None:
            number(self.angle, "min_dihedral", low=0.0, below=60.0, unit="degrees")
        if self.ratio is not None:
            number(self.ratio, "max_radius_edge, which is 0.61 for a regular tet,", low=0.65, high=1e6)

    def badness(self, quality: Quality) -> float:
        """Return by what factor a mesh misses a wish, 1 or less if it misses none."""
        return max(
            (self.angle or 0.0) / max(quality.min_dihedral, 1e-9),
            quality.max_radius_edge / self.ratio if self.ratio else 0.0,
        )


def _fill(
    surface: SurfaceMesh,
    length: float,
    max_volume: float | None,
    wish: _QualityTarget,
    tolerance: float,
    deadline: Deadline,
    report: Progress,
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Run the mesher until no tet is too large, and take the best of a few if there are wishes for shapes."""
    best: tuple[float, TetMesh] | None = None
    efforts = iter(_EFFORTS)
    effort = next(efforts)
    for _ in range(_ATTEMPTS):
        mesh = smoothed(_run(surface, length, tolerance, effort, deadline, report), wish.angle, wish.ratio)
        if max_volume is not None and mesh.volumes.max() > max_volume:
            length *= 0.9 * float(max_volume / mesh.volumes.max()) ** (1.0 / 3.0)
            continue
        badness = wish.badness(mesh.quality())
        if best is None or badness < best[0]:
            best = badness, mesh
        following = next(efforts, None)
        if badness <= 1.0 or following is None:
            break
        effort = following
    if best is None:
        raise InputError(
            f"no mesh without tets larger than {max_volume:.3g} m3 came out in {_ATTEMPTS} attempts; "
            "give a smaller size as well"
        )
    return best[1].points, best[1].tets


def _run(
    surface: SurfaceMesh,
    length: float,
    tolerance: float,
    effort: tuple[float, int],
    deadline: Deadline,
    report: Progress,
) -> TetMesh:
    kept, cells, _ = compact(*run_mesher(surface, length, tolerance, effort, deadline, report))
    return TetMesh(kept, cells)


def _remarks(surface: SurfaceMesh, mesh: TetMesh, wish: _QualityTarget, repair: bool) -> Iterator[str]:
    """Say where the result is not what was asked for."""
    if wish.angle is not None or wish.ratio is not None:
        shapes = mesh.quality()
        if wish.angle is not None and shapes.min_dihedral < wish.angle:
            yield f"the smallest dihedral angle is {shapes.min_dihedral:.1f} degrees, not {wish.angle:g}"
        if wish.ratio is not None and shapes.max_radius_edge > wish.ratio:
            yield f"the largest ratio of radius to edge is {shapes.max_radius_edge:.2f}, not {wish.ratio:g}"
    sound = surface.is_closed and surface.is_manifold and surface.is_oriented
    change = mesh.volume / surface.volume - 1.0 if surface.volume else 0.0
    if sound and abs(change) > 0.01:
        yield (
            f"the volume differs by {100 * change:+.1f} % from the surface's; "
            "it may cut itself or have details below the tolerance"
        )
    if repair and not sound:
        yield from repair_report(surface, mesh)


def _cache_file(surface: SurfaceMesh, options: tuple) -> Path | None:
    try:
        version = metadata.version("pytetwild")
    except metadata.PackageNotFoundError:
        return None
    recipe = (*options, _EFFORTS, version, 2)
    digest = hashlib.sha256(repr(recipe).encode())
    digest.update(surface.points.tobytes())
    digest.update(surface.triangles.tobytes())
    return cache_root() / "meshes" / f"{digest.hexdigest()[:32]}.npz"


def _load(path: Path) -> tuple[NDArray, NDArray] | None:
    try:
        with np.load(path) as data:
            return data["points"], data["tets"]
    except (OSError, KeyError, ValueError, BadZipFile, EOFError):
        return None


def _store(path: Path, points: NDArray, tets: NDArray) -> None:
    """Keep a result, written aside and renamed; a cache that cannot be written is no error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, aside = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            np.savez(file, points=points, tets=tets)
        os.replace(aside, path)
    except OSError:
        return
