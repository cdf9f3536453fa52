"""Surfaces that are open, not a manifold or not oriented: what is wrong with them, and what filling them has changed.

The mesher itself does the repair: it keeps the boundary within an envelope of the surface and takes for inside what the
winding number says (Hu et al. 2020), so it needs no closed surface.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.mesh import locate_kernels
from continua.mesh.box_tree import box_tree
from continua.mesh.checks import some
from continua.mesh.locate import components, is_much
from continua.mesh.surface_mesh import SurfaceMesh
from continua.mesh.tet_mesh import TetMesh
from continua.mesh.unique_rows import unique_rows
from continua.validation import pluralize

__all__ = ["check_not_flat", "check_sound", "cleaned", "repair_report"]

_OFFER = "or ask for repair=True"


def check_not_flat(surface: SurfaceMesh) -> None:
    """Raise InputError if all nodes lie in a plane: there is nothing to fill, but there are plane bodies."""
    if surface.is_flat:
        raise InputError(
            "the surface is flat: it has no volume to fill; make a plane body of it with TriMesh(points, triangles, "
            "thickness=...), points in the plane z = 0 (in a scene, a mesh of type rectangle), or give it a thickness "
            "in the program that made it"
        )


def check_sound(surface: SurfaceMesh) -> None:
    """Raise InputError if a surface is open, not a manifold or not consistently oriented."""
    if not surface.is_manifold:
        edges = surface.non_manifold_edges
        raise InputError(
            f"the surface is not a manifold: {len(edges)} edges belong to more than two triangles, the first joins "
            f"nodes {some(edges[0])}; remove inner or doubled triangles there, {_OFFER}"
        )
    if not surface.is_closed:
        edges = surface.open_edges
        raise InputError(
            f"the surface is open at {pluralize(len(edges), 'edge')}, the first joins nodes {some(edges[0])}; "
            f"close it, {_OFFER}"
        )
    if not surface.is_oriented:
        raise InputError(
            f"neighbouring triangles of the surface face opposite ways; make them face outward, {_OFFER}"
        )


def cleaned(surface: SurfaceMesh) -> tuple[SurfaceMesh, tuple[str, ...]]:
    """Return the surface without doubled triangles, and what is wrong with it, one sentence each."""
    notes = []
    _, _, order, starts = unique_rows(np.sort(surface.triangles, axis=1), surface.node_count)
    first = order[starts[:-1]]
    if len(first) < surface.triangle_count:
        notes.append(f"dropped {pluralize(surface.triangle_count - len(first), 'doubled triangle')}")
        surface = surface.subset(np.sort(first))
    faults = []
    if not surface.is_closed:
        faults.append(
            f"{pluralize(len(surface.open_edges), 'open edge')} around {pluralize(_hole_count(surface), 'hole')}"
        )
    if not surface.is_manifold:
        count = len(surface.non_manifold_edges)
        faults.append(f"{pluralize(count, 'edge')} with more than two triangles")
    if not surface.is_oriented:
        faults.append("neighbours that face opposite ways")
    if faults:
        notes.append(f"the surface had {' and '.join(faults)}")
    return surface, tuple(notes)


def _hole_count(surface: SurfaceMesh) -> int:
    """Return how many separate groups of open edges there are."""
    edges = surface.open_edges
    nodes, local = np.unique(edges, return_inverse=True)
    return int(components(local.reshape(-1, 2).astype(np.int32), len(nodes)).max()) + 1


def repair_report(surface: SurfaceMesh, mesh: TetMesh) -> Iterator[str]:
    """Yield what filling a surface has made of it: the volume, and distances between both boundaries."""
    diagonal = float(np.linalg.norm(surface.bounds[1] - surface.bounds[0]))
    lost = _distances(
        np.concatenate([surface.points, surface.points[surface.triangles].mean(axis=1)]), mesh.surface
    )
    added = _distances(mesh.surface.points, surface)
    yield (
        f"repaired: the volume is {mesh.volume:.4g} m3, the surface is within {lost.max():.3g} m "
        f"({100 * lost.max() / diagonal:.2g} % of its diagonal) of the new boundary, and new parts of the boundary are "
        f"up to {added.max():.3g} m from the surface"
    )


def _distances(points: NDArray[np.float64], surface: SurfaceMesh) -> NDArray[np.float64]:
    """Return the distances of points to a surface [m], shape [n]."""
    tree = box_tree(surface.points[surface.triangles])
    n, none = len(points), np.zeros((surface.triangle_count, 3))
    nearest, weights, distances = np.empty(n, np.int32), np.empty((n, 3)), np.empty(n)
    locate_kernels.nearest_triangles.variant(is_much(n))(
        surface.points, surface.triangles, *tree, none,
        np.zeros(surface.triangle_count, np.int32), points, np.zeros((n, 3)), np.zeros(n, np.int32),
        np.ones((1, 1), np.bool_), nearest, weights, distances,
    )  # fmt: skip
    return distances
