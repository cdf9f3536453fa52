"""Bending as springs on weighted sums of nodes, see `deformable.spring_kernels`.

Of a rope with the segments l1, l2 the vector s = (x3 - x2)/l2 - (x2 - x1)/l1 is the change of its direction, and
EI/2 times the integral of the squared curvature is k/2 |s|^2 with k = 2 EI/(l1 + l2) (Bergou 2008).

Of two triangles with a common edge s = sum of K_a x_a with the cotangents of the rest shape is the integral of the
curvature around the edge, and the energy is D/2 times 3/(A0 + A1) |s|^2 (Bergou 2006, "isometric" bending; a quarter
of the mean curvature's for small angles of equal triangles is kept as printed there). A rest shape that is curved has
the length |s| at rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.springs.network import SpringNetwork

__all__ = ["WeightedSprings", "hinge_springs", "rope_springs"]


class WeightedSprings(NamedTuple):
    """Springs on weighted sums of four nodes.

    Attributes:
        nodes: Nodes, shape [m, 4]; a node with the weight 0 is not used.
        weights: Weights, shape [m, 4].
        length: Length at rest.
        stiffness: Stiffness for a bending stiffness of one.
    """

    nodes: NDArray[np.int32]
    weights: NDArray[np.float64]
    length: NDArray[np.float64]
    stiffness: NDArray[np.float64]


def _springs(
    network: SpringNetwork,
    nodes: NDArray[np.int32],
    weights: NDArray[np.float64],
    stiffness: NDArray[np.float64],
) -> WeightedSprings:
    scale = np.abs(weights).max(axis=1, initial=0.0)
    s = np.linalg.norm(np.einsum("ma,mai->mi", weights, network.points[nodes]), axis=1)
    extent = np.ptp(network.points[nodes], axis=1).max(axis=1, initial=0.0)
    s[s < 1e-9 * scale * extent] = 0.0  # straight up to rounding
    return WeightedSprings(nodes, weights, s, stiffness)


def rope_springs(network: SpringNetwork) -> WeightedSprings:
    """Return the springs that resist bending of ropes; their unit is the bending stiffness EI [N m2]."""
    a, b, c = network.bends.T
    p = network.points
    l1, l2 = np.linalg.norm(p[b] - p[a], axis=1), np.linalg.norm(p[c] - p[b], axis=1)
    tiny = 1e-300
    w1, w2 = 1.0 / np.maximum(l1, tiny), 1.0 / np.maximum(l2, tiny)
    weights = np.stack([w1, -w1 - w2, w2, np.zeros_like(w1)], axis=1)
    bad = (l1 == 0.0) | (l2 == 0.0)
    weights[bad] = 0.0  # coincident points have no direction
    nodes = np.stack([a, b, c, a], axis=1).astype(np.int32)
    return _springs(network, nodes, weights, 2.0 / np.maximum(l1 + l2, tiny) * ~bad)


def hinge_springs(network: SpringNetwork) -> WeightedSprings:
    """Return the springs that resist bending of sheets; their unit is the bending stiffness D [N m]."""
    nodes = network.hinges
    x0, x1, x2, x3 = (network.points[nodes[:, a]] for a in range(4))

    def cotangent(u: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
        sine = np.linalg.norm(np.cross(u, v), axis=1)
        return np.asarray(np.einsum("mi,mi->m", u, v) / np.maximum(sine, 1e-300))

    e = x1 - x0
    c01, c02 = cotangent(e, x2 - x0), cotangent(e, x3 - x0)
    c03, c04 = cotangent(-e, x2 - x1), cotangent(-e, x3 - x1)
    weights = np.stack([c03 + c04, c01 + c02, -c01 - c03, -c02 - c04], axis=1)
    area = 0.5 * (np.linalg.norm(np.cross(e, x2 - x0), axis=1) + np.linalg.norm(np.cross(e, x3 - x0), axis=1))
    flat = ~np.isfinite(weights).all(axis=1) | (np.abs(weights).max(axis=1, initial=0.0) > 1e9)
    weights[flat] = 0.0  # triangles without area
    return _springs(network, nodes, weights, 3.0 / np.maximum(area, 1e-300) * ~flat)
