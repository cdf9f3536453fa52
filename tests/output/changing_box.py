"""A box whose mesh changes during a run: it is refined, then split across the middle into halves that move apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import continua as ct
from continua.frames import BodyFrame, EmbeddedSurface, Field, Frame, readonly_copy
from continua.mesh.refinement import refine

GAP = 0.4  # m between the halves at the end


def meshes(cells=(4, 2, 2)):
    """Return the three meshes: a box, the refined box, and the refined box split at x = 0.5."""
    coarse = ct.mesh.box(size=(1.0, 0.5, 0.5), cells=cells)
    fine = refine(coarse).mesh
    right = fine.points[fine.cells].mean(axis=1)[:, 0] > 0.5
    shared = np.intersect1d(fine.cells[right], fine.cells[~right])
    copy = np.arange(fine.node_count)
    copy[shared] = fine.node_count + np.arange(len(shared))
    tets = np.array(fine.cells)
    tets[right] = copy[tets[right]]
    return coarse, fine, ct.mesh.TetMesh(np.concatenate([fine.points, fine.points[shared]]), tets)


def skin_of(mesh):
    """Return the boundary of a mesh as an embedded surface that has its own numbering."""
    nodes, triangles = np.unique(mesh.boundary_triangles, return_inverse=True)
    weights = np.zeros((len(nodes), 4))
    weights[:, 0] = 1.0
    carriers = np.repeat(nodes[:, None], 4, axis=1).astype(np.int32)
    return EmbeddedSurface(mesh.points[nodes], triangles.reshape(-1, 3).astype(np.int32), carriers, weights)


def body_frame(mesh, version, time, *, with_skin=False, name="block"):
    """Return the body at `time` [s]; split meshes open, all swing in y."""
    rest = np.asarray(mesh.points)
    positions = rest + np.column_stack([0 * rest[:, 0], 0.1 * time * rest[:, 0], 0 * rest[:, 0]])
    pieces = np.unique(mesh.cells[mesh.points[mesh.cells].mean(axis=1)[:, 0] > 0.5])
    if version >= 2:
        positions[pieces, 0] += GAP
    return BodyFrame(
        name=name,
        kind="soft",
        positions=readonly_copy(positions),
        rest_positions=mesh.points,
        cells={"tetra": mesh.cells},
        triangles=mesh.boundary_triangles,
        fields={
            "displacement": Field(readonly_copy(positions - rest), "m"),
            "velocity": Field(readonly_copy(0.0 * rest), "m/s"),
            "von_mises": Field(readonly_copy(1e4 * (1.0 + rest[:, 0])), "Pa"),
        },
        skin=skin_of(mesh) if with_skin else None,
        topology_version=version,
    )


def changing_frames(*, per_version=2, fps=10.0, with_skin=False):
    """Return frames of a run in which the version changes twice; a second body keeps its mesh."""
    found, others = meshes(), ct.mesh.box(size=(0.2, 0.2, 0.2), cells=(1, 1, 1))
    frames, index = [], 0
    for version, mesh in enumerate(found):
        skin = skin_of(mesh) if with_skin else None
        for _ in range(per_version):
            time = index / fps
            body = replace(body_frame(mesh, version, time), skin=skin)
            other = body_frame(others, 0, time, name="other")
            other = replace(other, positions=readonly_copy(other.positions + np.array([0.0, 0.0, 1.0])))
            frames.append(Frame(index, 2 * index, time, {"block": body, "other": other}))
            index += 1
    return frames
