"""Cutting a tetrahedral mesh: subdomains of its elements, and the copies of nodes that let them move apart.

The cells of the elements that a surface meets are divided along it (`dissection_kernels`). The subdomains of an element
are its cells that are still connected. Two subdomains of adjacent elements that share a face of cells without a cut
share the nodes there. So a node has as many copies as its elements, with the cuts taken out, have connected parts. That
is the rule by which nodes are enriched (Koschier 2018): an element that is divided only in part has one subdomain, a
node all of whose elements are connected around the front of a cut has one copy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.cutting.cut_surface import CutSurface
from continua.cutting.dissection_kernels import elements_near, flag_facets, split_cells
from continua.errors import InputError
from continua.mesh import TetMesh, TopologyChange
from continua.mesh.checks import read_only
from continua.mesh.locate import components
from continua.mesh.subdomains import CutFacets, Subdomains
from continua.mesh.topology import copied_nodes

__all__ = ["cut_tets", "dissect"]

ON_PLANE = 1e-10
"""Distance within which a point lies on a plane, relative to the edges of the elements."""

SLIVER = 1e-9
"""Fraction of its element below which a subdomain goes to the other side of the cut (Koschier 2018)."""

NECK = 1e-8
"""Area of a face, relative to volume^(2/3) of its element, below which it connects nothing."""


def dissect(mesh: TetMesh, surface: CutSurface, whole: bool = False) -> Subdomains:
    """Return the subdomains of a mesh with its cells divided along a surface, and the faces of the cut flagged.

    The elements and nodes are those of the mesh. `whole` is that of new subdomains, see `Subdomains`.
    """
    sub = Subdomains.none(mesh, whole) if mesh.subdomains is None else mesh.subdomains
    surface = surface.within(mesh.bounds)
    corners = mesh.points[mesh.cells]
    tolerance = ON_PLANE * float(np.median(np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1)))
    tolerance += 1e-15 * float(np.abs(mesh.bounds).max())
    origins, normals = surface.planes
    regions, counts = surface.triangles, np.full(len(surface.triangles), 3)
    edges = surface.free_edges
    if len(edges):
        border = np.stack([edges[:, 0], edges[:, 1], edges[:, 1]], axis=1)
        regions = np.concatenate([regions, border])
        counts = np.concatenate([counts, np.full(len(edges), 2)])
        origins, normals = np.concatenate([origins, edges[:, 0]]), np.concatenate([normals, edges[:, 2]])
    regions, origins, normals = (np.ascontiguousarray(a) for a in (regions, origins, normals))
    near = elements_near(mesh.points, mesh.cells, regions, counts, origins, normals, tolerance)
    if not near.any():
        return sub
    # edges that are split belong to all elements at their ends
    site = np.zeros(len(sub.points), bool)
    site[sub.sites[mesh.cells[near]]] = True
    local = np.flatnonzero(site[sub.sites[mesh.cells]].any(axis=1)).astype(np.int32)
    number = np.full(mesh.element_count, -1, np.int32)
    number[local] = np.arange(len(local))
    has = np.zeros(mesh.element_count, bool)
    has[sub.owners] = True
    mine = number[sub.owners] >= 0
    fresh = local[~has[local]]
    cells = np.concatenate([sub.cells[mine], sub.sites[mesh.cells[fresh]]])
    owners = np.concatenate([number[sub.owners[mine]], number[fresh]])
    flags = np.concatenate([sub.flags[mine], np.zeros(len(fresh), np.uint8)])
    _, nodes = np.unique(sub.sites[mesh.cells[local]], return_inverse=True)
    boxes = np.concatenate([corners[local].min(axis=1), corners[local].max(axis=1)], axis=1)
    points, cells, owners, flags = split_cells(
        np.array(sub.points),
        cells.astype(np.int32),
        owners.astype(np.int32),
        flags,
        boxes,
        nodes.reshape(-1, 4).astype(np.int64),
        regions,
        counts,
        origins,
        normals,
        tolerance,
    )
    triangles = len(surface.triangles)
    flag_facets(
        points, cells, flags, regions[:triangles], origins[:triangles], normals[:triangles], tolerance
    )
    used = np.bincount(owners, minlength=len(local)) > 1
    used[owners[flags > 0]] = True
    kept = used[owners]
    return Subdomains(
        sub.sites,
        read_only(points),
        read_only(np.concatenate([sub.cells[~mine], cells[kept]]).astype(np.int32)),
        read_only(np.concatenate([sub.owners[~mine], local[owners[kept]]]).astype(np.int32)),
        read_only(np.concatenate([sub.flags[~mine], flags[kept]]).astype(np.uint8)),
        sub.whole,
    )


def cut_tets(mesh: TetMesh, surface: CutSurface, *, whole: bool = False) -> TopologyChange:
    """Cut a mesh along a surface, in its undeformed shape.

    Elements keep their numbers, and new ones follow; nodes keep theirs, and copies follow. A cut that ends inside the
    body opens up to the last element that it divides; the rest of the surface is remembered, and another cut may go on
    from there.

    Args:
        mesh: The mesh, with or without earlier cuts.
        surface: The surface.
        whole: Integrate over whole elements, as the virtual node algorithm does, instead of over the matter alone. Cuts
            of one mesh have the same integration.
    """
    if mesh.subdomains is not None and mesh.subdomains.whole != whole and len(mesh.subdomains.cells):
        raise InputError("a body that was cut keeps its integration; cut it with the same one again")
    sub = dissect(mesh, surface, whole)
    before = 0 if mesh.subdomains is None else int(_flag_count(mesh.subdomains))
    if _flag_count(sub) == before:
        raise InputError("the surface of the cut does not meet the body, or only where it is cut already")
    volumes = mesh.whole_volumes
    facets = sub.facets(mesh)
    connected = facets.areas > NECK * volumes[facets.owners[:, 0]] ** (2.0 / 3.0)
    parts = _parts(mesh, sub, facets, connected)
    sub, parts, facets, connected = _without_slivers(mesh, sub, facets, connected, parts, volumes)
    return _opened(mesh, sub, facets, connected, parts)


def _flag_count(sub: Subdomains) -> int:
    return int(np.unpackbits(sub.flags[:, None], axis=1).sum())


def _parts(
    mesh: TetMesh, sub: Subdomains, facets: CutFacets, connected: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """Return the number of the connected subdomain of each cell, then of each element, shape [s + m]."""
    one, other = facets.owners.T
    inside = (one == other) & ~facets.flagged & connected
    return components(facets.cells[inside], len(sub.cells) + mesh.element_count)


def _without_slivers(
    mesh: TetMesh,
    sub: Subdomains,
    facets: CutFacets,
    connected: NDArray[np.bool_],
    parts: NDArray[np.int32],
    volumes: NDArray[np.float64],
) -> tuple[Subdomains, NDArray[np.int32], CutFacets, NDArray[np.bool_]]:
    """Give subdomains that are too small to carry unknowns to the one across the cut with the largest common face.

    It is as if the surface passed on their other side: their faces towards other elements become cuts.
    """
    count = len(sub.cells)
    total = int(parts.max()) + 1
    matter = np.bincount(parts[:count], sub.cell_volumes, total)
    owner = np.zeros(total, np.int64)
    owner[parts[:count]] = sub.owners
    size = np.where(matter > 0.0, matter, 0.0) / volumes[owner]
    cells_of = np.bincount(parts[:count], minlength=total)
    largest = np.zeros(mesh.element_count)
    np.maximum.at(largest, owner[cells_of > 0], size[cells_of > 0])
    small = (cells_of > 0) & (size < SLIVER) & (size < largest[owner])
    if not small.any():
        return sub, parts, facets, connected
    one, other = facets.owners.T
    inner = np.flatnonzero((one == other) & (facets.cells[:, 1] >= 0))
    a, b = parts[facets.cells[inner]].T
    touching = inner[(a != b) & (small[a] | small[b])]
    a, b = parts[facets.cells[touching]].T
    # from each small part to its neighbours, the largest ones first
    source, target = np.concatenate([a, b]), np.concatenate([b, a])
    area = np.tile(facets.areas[touching], 2)
    pairs, index = np.unique(np.stack([source, target], axis=1), axis=0, return_inverse=True)
    shared = np.bincount(index.ravel(), area)
    usable = small[pairs[:, 0]]
    pairs, shared = pairs[usable], shared[usable]
    host = np.full(total, -1, np.int64)
    settled = ~small
    while True:
        ready = settled[pairs[:, 1]] & ~settled[pairs[:, 0]]
        if not ready.any():
            break
        rows = np.flatnonzero(ready)
        rows = rows[np.lexsort((pairs[rows, 1], -shared[rows], pairs[rows, 0]))]
        source, first = np.unique(pairs[rows, 0], return_index=True)
        target = pairs[rows[first], 1]
        host[source] = np.where(host[target] >= 0, host[target], target)
        settled[source] = True
    moved = host >= 0
    label = np.where(moved, host, np.arange(total))
    flags = np.array(sub.flags)
    ends = facets.cells
    both = (ends >= 0).all(axis=1)
    place = np.where(ends < 0, 0, ends)
    new = label[parts[place]]
    same = both & (one == other) & (new[:, 0] == new[:, 1]) & moved[parts[place]].any(axis=1)
    parted = both & (one != other) & (moved[parts[place[:, 0]]] != moved[parts[place[:, 1]]])
    for side in range(2):
        cell, local = facets.cells[:, side], facets.local[:, side]
        small_cells = cell < count
        join, open_ = np.flatnonzero(same & small_cells), np.flatnonzero(parted & small_cells)
        np.bitwise_and.at(flags, cell[join], np.uint8(255) ^ (np.uint8(1) << local[join].astype(np.uint8)))
        np.bitwise_or.at(flags, cell[open_], np.uint8(1) << local[open_].astype(np.uint8))
    sub = Subdomains(sub.sites, sub.points, sub.cells, sub.owners, read_only(flags), sub.whole)
    facets = CutFacets(
        facets.points,
        facets.owners,
        facets.cells,
        facets.local,
        (facets.flagged & ~same) | parted,
        facets.areas,
    )
    _, numbers = np.unique(label[parts], return_inverse=True)
    return sub, numbers.ravel().astype(np.int32), facets, connected | same


def _opened(
    mesh: TetMesh, sub: Subdomains, facets: CutFacets, connected: NDArray[np.bool_], parts: NDArray[np.int32]
) -> TopologyChange:
    """Return the change to a mesh with an element for each subdomain, and copies of nodes where they move apart."""
    count, m = len(sub.cells), mesh.element_count
    has = np.zeros(m, bool)
    has[sub.owners] = True
    whole = np.flatnonzero(~has)
    owner = np.full(int(parts.max()) + 1, -1, np.int64)
    owner[parts[:count]] = sub.owners
    owner[parts[count + whole]] = whole
    used = np.flatnonzero(owner >= 0)
    # the first element of a tetrahedron keeps its number: the one with most matter
    matter = np.zeros(len(owner))
    matter += np.bincount(parts[:count], sub.cell_volumes, len(owner))
    order = used[np.lexsort((used, -matter[used], owner[used]))]
    first = np.ones(len(order), bool)
    first[1:] = owner[order[1:]] != owner[order[:-1]]
    element = np.full(len(owner), -1, np.int64)
    element[order[first]] = owner[order[first]]
    rest = order[~first]
    element[rest] = m + np.arange(len(rest))
    parents = np.concatenate([np.arange(m), owner[rest]])
    cells = mesh.cells[parents]
    groups, before = _node_groups(mesh, facets, connected, element[parts], parents)
    # subdomains of one element that share all their nodes, at the front of a cut, remain one
    keys = np.concatenate([parents[:, None], groups.reshape(-1, 4)], axis=1)
    _, index, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    leader = index[inverse.ravel()]
    kept = leader == np.arange(len(parents))
    renumbered = np.cumsum(kept) - 1
    element = np.where(element >= 0, renumbered[leader[element]], -1)
    parents, cells = parents[kept], cells[kept]
    groups, before = groups.reshape(-1, 4)[kept], before.reshape(-1, 4)[kept]
    owners = element[parts[:count]].astype(np.int32)
    sub = Subdomains(sub.sites, sub.points, sub.cells, read_only(owners), sub.flags, sub.whole)
    slots, starts, copies_of = groups.ravel(), before.ravel(), cells.ravel()
    real = _with_cells(mesh, sub, cells, len(parents)).ravel()
    size = int(slots.max()) + 1
    node, start = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
    earliest, is_real = np.full(size, len(slots)), np.zeros(size, bool)
    node[slots], start[slots] = copies_of, starts
    np.minimum.at(earliest, slots, np.arange(len(slots)))
    is_real[slots[real]] = True
    existing = np.flatnonzero(node >= 0)
    rank = existing[np.lexsort((earliest[existing], ~is_real[existing], start[existing]))]
    leads = np.ones(len(rank), bool)
    leads[1:] = start[rank[1:]] != start[rank[:-1]]
    copies = rank[~leads]
    copies = copies[np.lexsort((earliest[copies], node[copies]))]
    number = node.copy()
    number[copies] = mesh.node_count + np.arange(len(copies))
    origins = np.concatenate([np.arange(mesh.node_count), node[copies]])
    table = number[slots].reshape(-1, 4).astype(np.int32)
    new = mesh.child_mesh(mesh.points[origins], table, parents.astype(np.int32))
    new.is_split = True
    new.set_subdomains(
        Subdomains(read_only(sub.sites[origins]), sub.points, sub.cells, sub.owners, sub.flags, sub.whole)
    )
    weights = copied_nodes(origins)
    return TopologyChange(mesh, new, *weights, read_only(parents.astype(np.int32)))


def _with_cells(mesh: TetMesh, sub: Subdomains, cells: NDArray[np.int32], count: int) -> NDArray[np.bool_]:
    """Return which corners of elements with nodes `cells` [count, 4] belong to their matter."""
    real = np.ones((count, 4), bool)
    real[sub.owners] = False
    for corner in range(4):
        here = (sub.cells == sub.sites[cells[sub.owners, corner]][:, None]).any(axis=1)
        real[sub.owners[here], corner] = True
    return real


def _node_groups(
    mesh: TetMesh,
    facets: CutFacets,
    connected: NDArray[np.bool_],
    element: NDArray[np.int64],
    parents: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Number the groups of element corners that move as one, now and before the cut, shape [4 elements] each.

    Args:
        mesh: The mesh before.
        facets: Faces of the cells.
        connected: Whether a face is large enough to connect its cells.
        element: New element of each cell, then of each old element without cells.
        parents: Old element of each new one.
    """
    across = np.flatnonzero(facets.owners[:, 1] >= 0)
    a, b = facets.owners[across].T
    left, right = element[facets.cells[across]].T
    different = left != right
    across, a, b, left, right = (v[different] for v in (across, a, b, left, right))
    joined = ~facets.flagged[across] & connected[across] & (a != b)
    rows = np.stack([left, right, joined], axis=1)
    rows = np.unique(rows, axis=0)
    left, right, joined = rows[:, 0], rows[:, 1], rows[:, 2] > 0
    here, there = mesh.cells[parents[left]], mesh.cells[parents[right]]
    match = here[:, :, None] == there[:, None, :]
    was = match.any(axis=2).sum(axis=1) >= 3
    pair, i, j = np.nonzero(match)
    edges: NDArray[np.int32] = np.stack([4 * left[pair] + i, 4 * right[pair] + j], axis=1).astype(np.int32)
    count = 4 * len(parents)
    now = components(edges[joined[pair]], count)
    # before the cut the subdomains of an element were one
    siblings = np.stack([4 * np.arange(len(parents)), 4 * parents], axis=1)
    siblings = (siblings[:, None, :] + np.arange(4)[None, :, None]).reshape(-1, 2)
    return now, components(np.concatenate([edges[was[pair]], siblings.astype(np.int32)]), count)
