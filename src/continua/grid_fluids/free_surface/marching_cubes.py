"""Marching cubes: the zero level set of a function on a grid of samples, as triangles.

The table of cases is computed. On every face of a cube each run of inside corners is cut off by one segment. So two
cubes with a common face agree about it, inside corners that are diagonal on a face stay separate, and the segments of a
cube form closed loops. Every edge has two triangles if the samples at the border are outside.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.free_surface import marching_cubes_kernels as kernels

__all__ = ["marching_cubes"]

_PARALLEL_FROM = 32768


def _edges() -> list[tuple[int, int]]:
    """Return axis and lower corner of the twelve edges; corner 4 a + 2 b + c lies at (a, b, c)."""
    return [(axis, corner) for axis in range(3) for corner in range(8) if not corner & (4 >> axis)]


def _faces() -> list[list[int]]:
    """Return the corners of the six faces in order, as seen from outside."""
    faces = []
    for axis in range(3):
        one, two = (4 >> (axis + 1) % 3), (4 >> (axis + 2) % 3)
        loop = [0, one, one | two, two]
        faces += [[corner | (4 >> axis) for corner in loop], loop[::-1]]
    return faces


def _loops(inside: int) -> list[list[int]]:
    """Return the loops of edges around the inside corners of one case."""
    number = {frozenset((low, low | (4 >> axis))): n for n, (axis, low) in enumerate(_edges())}
    after: dict[int, int] = {}
    for face in _faces():
        signs = [bool(inside >> corner & 1) for corner in face]
        for k in range(4):
            if signs[k] and not signs[(k + 1) % 4]:
                start = k
                while signs[(start - 1) % 4] and start > k - 4:
                    start -= 1
                leave = number[frozenset((face[k], face[(k + 1) % 4]))]
                enter = number[frozenset((face[(start - 1) % 4], face[start % 4]))]
                after[leave] = enter
    loops = []
    while after:
        first, edge = next(iter(after.items()))
        loop = [first]
        del after[first]
        while edge != first:
            loop.append(edge)
            edge = after.pop(edge)
        loops.append(loop)
    return loops


def _fan(loop: list[int]) -> list[tuple[int, int, int]]:
    """Return the triangle fan of a loop around the edge that gives the fewest diagonals in a face of the cube.

    A diagonal in a face could coincide with a segment of the neighbouring cube.
    """
    edges = [{low, low | (4 >> axis)} for axis, low in _edges()]
    faces = [set(face) for face in _faces()]

    def flat(apex: int) -> int:
        others = [loop[(apex + k) % len(loop)] for k in range(2, len(loop) - 1)]
        return sum(edges[loop[apex]] | edges[other] <= face for other in others for face in faces)

    apex = min(range(len(loop)), key=flat)
    turned = loop[apex:] + loop[:apex]
    return [(turned[0], turned[k + 1], turned[k]) for k in range(1, len(loop) - 1)]


@cache
def _table() -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the number of triangles of each case, their edges, and axis and lower corner of every edge."""
    cases = []
    for inside in range(256):
        triangles = [triangle for loop in _loops(inside) for triangle in _fan(loop)]
        cases.append([edge for triangle in triangles for edge in triangle])
    counts = np.array([len(case) // 3 for case in cases], np.int32)
    edges = np.zeros((256, max(len(case) for case in cases)), np.int32)
    for number, case in enumerate(cases):
        edges[number, : len(case)] = case
    ends = np.array([(axis, low >> 2 & 1, low >> 1 & 1, low & 1) for axis, low in _edges()], np.int32)
    return counts, edges, ends


def marching_cubes(values: NDArray) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return points in samples from the first, shape [n, 3], and triangles [k, 3] of the zero level set of `values`.

    Triangles face the positive side. Results are bitwise identical for any number of threads.
    """
    n0, n1, _ = values.shape
    counts, edges, ends = _table()
    per_row = np.zeros((2, n0 * n1 + 1), np.int64)
    parallel = values.size >= _PARALLEL_FROM
    kernels.count.variant(parallel)(values, counts, per_row)
    first = np.cumsum(per_row, axis=1)
    points = np.empty((first[0, -1], 3))
    triangles = np.empty((first[1, -1], 3), np.int32)
    ids = np.empty((3, *values.shape), np.int32)
    kernels.write_points.variant(parallel)(values, first[0], ids, points)
    kernels.write_triangles.variant(parallel)(values, counts, edges, ends, first[1], ids, triangles)
    return points, triangles
