"""The constraints of position-based bodies, as users choose them, and their tables for the compiled step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.materials.law import lame
from continua.springs.bending import hinge_springs, rope_springs
from continua.springs.constraint_kernels import WORDS, dihedral_angles, greedy_colors
from continua.springs.network import SpringNetwork
from continua.validation import choice, instance_of, number, sequence

__all__ = [
    "Bending",
    "Constraint",
    "ConstraintTables",
    "Distance",
    "GlobalVolume",
    "ShapeMatching",
    "Strain",
    "Volume",
]


@dataclass(frozen=True)
class Constraint:
    """A kind of constraint of a position-based body, on all of its springs, triangles or tetrahedra."""


def _fraction(value: Any, what: str) -> float:
    return number(value, what, low=0.0, high=1.0)


@dataclass(frozen=True)
class Distance(Constraint):
    """The distance of the two nodes of each spring.

    Attributes:
        compliance: Inverse of the stiffness [m/N], of XPBD; 0 is rigid.
        stiffness: Fraction of the error that a step of PBD corrects, from 0 to 1.
    """

    compliance: float = 0.0
    stiffness: float = 1.0

    def __post_init__(self) -> None:
        number(self.compliance, "the compliance of a Distance", low=0.0, unit="m/N")
        _fraction(self.stiffness, "the stiffness of a Distance")


@dataclass(frozen=True)
class Bending(Constraint):
    """Bending of ropes and of pairs of triangles.

    Attributes:
        modulus: Bending stiffness of XPBD: EI of ropes [N m2], D of sheets [N m].
        stiffness: Fraction of the error that a step of PBD corrects, from 0 to 1.
        kind: For sheets, "isometric" takes the discrete mean curvature (Bergou 2006), "dihedral" the angle between two
            triangles (Mueller 2007, Grinspun 2003). Ropes take the change of direction.
    """

    modulus: float = 0.01
    stiffness: float = 0.5
    kind: str = "isometric"

    def __post_init__(self) -> None:
        number(self.modulus, "the modulus of a Bending", low=0.0)
        _fraction(self.stiffness, "the stiffness of a Bending")
        choice(self.kind, "the kind of a Bending", ("isometric", "dihedral"))


@dataclass(frozen=True)
class Volume(Constraint):
    """The volume of each tetrahedron; it turns inverted ones back.

    Attributes:
        bulk_modulus: Resistance to a change of volume [Pa], of XPBD; None keeps it exactly.
        stiffness: Fraction of the error that a step of PBD corrects, from 0 to 1.
    """

    bulk_modulus: float | None = None
    stiffness: float = 1.0

    def __post_init__(self) -> None:
        if self.bulk_modulus is not None:
            number(self.bulk_modulus, "the bulk_modulus of a Volume", above=0.0, unit="Pa")
        _fraction(self.stiffness, "the stiffness of a Volume")


@dataclass(frozen=True)
class GlobalVolume(Constraint):
    """The volume inside the closed surface of a body, as of a balloon.

    Attributes:
        pressure: The volume to keep, relative to that at rest.
        bulk_modulus: Resistance to a change of volume [Pa], of XPBD; None keeps it exactly.
        stiffness: Fraction of the error that a step of PBD corrects, from 0 to 1.
    """

    pressure: float = 1.0
    bulk_modulus: float | None = None
    stiffness: float = 1.0

    def __post_init__(self) -> None:
        number(self.pressure, "the pressure of a GlobalVolume", above=0.0)
        if self.bulk_modulus is not None:
            number(self.bulk_modulus, "the bulk_modulus of a GlobalVolume", above=0.0, unit="Pa")
        _fraction(self.stiffness, "the stiffness of a GlobalVolume")


@dataclass(frozen=True)
class Strain(Constraint):
    """The elastic energy of each tetrahedron as constraints of XPBD.

    Attributes:
        young: Young's modulus [Pa].
        poisson: Poisson's ratio, from 0 to below 1/2.
        law: "neo_hookean" (Macklin 2021), which turns inverted tetrahedra back, or "st_venant_kirchhoff", for moderate
            strains.
    """

    young: float = 1e5
    poisson: float = 0.3
    law: str = "neo_hookean"

    def __post_init__(self) -> None:
        number(self.young, "the young of a Strain", above=0.0, unit="Pa")
        number(self.poisson, "the poisson of a Strain", low=0.0, high=0.4999)
        choice(self.law, "the law of a Strain", ("neo_hookean", "st_venant_kirchhoff"))


@dataclass(frozen=True)
class ShapeMatching(Constraint):
    """Nodes are moved to where their cluster is in its shape at rest (Mueller 2005).

    Attributes:
        stiffness: Fraction of the distance to the goal that a step corrects, from 0 to 1.
        radius: Radius of the clusters [m], which overlap; None is one cluster of all nodes.
    """

    stiffness: float = 0.5
    radius: float | None = None

    def __post_init__(self) -> None:
        _fraction(self.stiffness, "the stiffness of a ShapeMatching")
        if self.radius is not None:
            number(self.radius, "the radius of a ShapeMatching", above=0.0, unit="m")


def _per_iteration(stiffness: float, count: int) -> float:
    """Return the factor of each of `count` iterations that together correct `stiffness` of an error."""
    return float(1.0 - (1.0 - stiffness) ** (1.0 / count))


def _colored(
    nodes: NDArray[np.int32], node_count: int, colored: bool, what: str
) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """Return the start of each colour in the sorted constraints, and their order; one range if not coloured."""
    if not colored or not len(nodes):
        return np.array([0, len(nodes)], np.int32), np.arange(len(nodes))
    color = greedy_colors(np.ascontiguousarray(nodes), np.zeros((node_count, WORDS), np.uint64))
    if (color < 0).any():
        raise InputError(
            f"a node has more than {64 * WORDS} constraints of {what}; use fewer, or several nodes instead"
        )
    order = np.argsort(color, kind="stable")
    return np.concatenate([[0], np.cumsum(np.bincount(color))]).astype(np.int32), order


PARALLEL_FROM = 30_000
"""Constraints from which colours are projected in parallel; fewer are projected in their own order."""


class ConstraintTables:
    """The arrays of the constraints of a body, as `constraint_kernels.position_based_step` takes them.

    Args:
        network: The points and what joins them.
        constraints: The constraints.
        masses: Mass of each node [kg], shape [n].
        extended: Whether constraints have a compliance (XPBD) or a factor (PBD).
        count: Number of iterations of a step, for the factors of PBD.

    Attributes:
        parallel: Whether constraints are coloured.
        extended: Whether constraints have a compliance.
        reach: Farthest that one projection may move a node, the size of the body [m].
        constraints: The constraints.
    """

    def __init__(
        self,
        network: SpringNetwork,
        constraints: Sequence[Constraint],
        masses: NDArray[np.float64],
        extended: bool,
        count: int,
    ) -> None:
        self.constraints = tuple(
            instance_of(c, Constraint, "each of the constraints of a body", "a constraint such as Distance()")
            for c in sequence(constraints, "the constraints of a body")
        )
        kinds = [type(c) for c in self.constraints]
        for kind in kinds:
            if kinds.count(kind) > 1:
                raise InputError(f"a body has one {kind.__name__} at most; give one")
        self._network, self._masses, self.extended = network, masses, extended
        self._by_kind: dict[type[Constraint], Any] = {type(c): c for c in self.constraints}
        sizes = [len(network.springs), len(network.hinges) + len(network.bends), len(network.tets)]
        self.parallel = max(sizes) >= PARALLEL_FROM
        self.reach = float(np.linalg.norm(np.ptp(network.points, axis=0)))
        self.distance = self._distance(self._get(Distance), count)
        self.bending, self.hinges = self._bending(self._get(Bending), count)
        self.volumes = self._volumes(self._get(Volume), count)
        self.strain = self._strain(self._get(Strain))
        self.surface = self._surface(self._get(GlobalVolume), count)
        self.clusters = self._clusters(self._get(ShapeMatching), count)

    def _get(self, kind: type[Constraint]) -> Any:
        return self._by_kind.get(kind)

    def _order(self, nodes: NDArray[np.int32], what: str) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        return _colored(nodes, self._network.node_count, self.parallel, what)

    def _constants(self, given: Any, inverse: NDArray[np.float64], count: int) -> tuple[NDArray, float]:
        """Return compliances and the factor of an iteration."""
        if given is None:
            return np.zeros(0), 1.0
        if self.extended:
            return inverse, 1.0
        return np.zeros(len(inverse)), _per_iteration(given.stiffness, count)

    def _distance(self, given: Distance | None, count: int) -> tuple:
        springs = self._network.springs if given is not None else np.zeros((0, 2), np.int32)
        if given is not None and not len(springs):
            raise InputError("a Distance needs springs, and the body has none")
        colors, order = self._order(springs, "Distance")
        nodes = np.ascontiguousarray(springs[order])
        p = self._network.points
        length = np.linalg.norm(p[nodes[:, 1]] - p[nodes[:, 0]], axis=1)
        compliance = np.full(len(nodes), 0.0 if given is None else float(given.compliance))
        alpha, factor = self._constants(given, compliance, count)
        return colors, nodes, length, alpha, factor, np.zeros(len(nodes)), np.zeros((len(nodes), 3))

    def _bending(self, given: Bending | None, count: int) -> tuple[tuple, tuple]:
        network = self._network
        if given is not None and not len(network.bends) and not len(network.hinges):
            raise InputError("a Bending needs a rope or triangles, and the body has none")
        ropes, sheets = rope_springs(network), hinge_springs(network)
        dihedral = given is not None and given.kind == "dihedral"
        keep = 0 if given is None else len(ropes.nodes)
        take = 0 if given is None or dihedral else len(sheets.nodes)
        nodes = np.concatenate([ropes.nodes[:keep], sheets.nodes[:take]])
        weights = np.concatenate([ropes.weights[:keep], sheets.weights[:take]])
        length = np.concatenate([ropes.length[:keep], sheets.length[:take]])
        unit = np.concatenate([ropes.stiffness[:keep], sheets.stiffness[:take]])
        modulus = 0.0 if given is None else float(given.modulus)
        acts = (unit > 0.0) & (modulus > 0.0 or not self.extended)
        nodes, weights, length, unit = nodes[acts], weights[acts], length[acts], unit[acts]
        colors, order = self._order(nodes, "Bending")
        alpha, factor = self._constants(given, 1.0 / np.maximum(modulus * unit[order], 1e-300), count)
        weighted = (
            colors, np.ascontiguousarray(nodes[order]), np.ascontiguousarray(weights[order]), length[order], alpha,
            factor, np.zeros(len(order)), np.zeros((len(order), 3)),
        )  # fmt: skip
        hinges = network.hinges if dihedral else np.zeros((0, 4), np.int32)
        unit = sheets.stiffness if dihedral else np.zeros(0)
        edge = network.points[hinges[:, 1]] - network.points[hinges[:, 0]]
        unit = unit * np.einsum("hi,hi->h", edge, edge)  # 3 e^2/(A0 + A1), Grinspun 2003
        acts = (unit > 0.0) & (modulus > 0.0 or not self.extended)
        hinges, unit = hinges[acts], unit[acts]
        colors, order = self._order(hinges, "Bending")
        hinges = np.ascontiguousarray(hinges[order])
        alpha, factor = self._constants(given, 1.0 / np.maximum(modulus * unit[order], 1e-300), count)
        rest = dihedral_angles(network.points, hinges)
        last = np.zeros((len(hinges), 12))
        return weighted, (colors, hinges, rest, alpha, factor, np.zeros(len(hinges)), last)

    def _tets(
        self, given: Constraint | None
    ) -> tuple[NDArray[np.int32], NDArray[np.intp], NDArray[np.int32]]:
        tets = self._network.tets
        if given is None:
            tets = tets[:0]
        elif not len(tets):
            raise InputError(f"a {type(given).__name__} needs tetrahedra, and the body has none")
        colors, order = self._order(tets, type(given).__name__)
        return colors, order, np.ascontiguousarray(tets[order])

    def _volumes(self, given: Volume | None, count: int) -> tuple:
        colors, order, nodes = self._tets(given)
        rest = self._network.tet_volumes[order]
        bulk = None if given is None else given.bulk_modulus
        alpha, factor = self._constants(given, np.abs(rest) / bulk if bulk else np.zeros(len(rest)), count)
        return colors, nodes, rest, alpha, factor, np.zeros(len(nodes)), np.zeros((len(nodes), 12))

    def _strain(self, given: Strain | None) -> tuple:
        if given is not None and not self.extended:
            raise InputError("a Strain has an energy, which needs method='xpbd'")
        colors, order, nodes = self._tets(given)
        p = self._network.points[nodes]
        edges = np.swapaxes(p[:, 1:] - p[:, :1], 1, 2)
        volume = self._network.tet_volumes[order]
        if not (volume > 0.0).all():
            raise InputError("a Strain needs tetrahedra with a volume above 0 at rest; repair the mesh")
        inverse = np.linalg.inv(edges) if len(nodes) else np.zeros((0, 3, 3))
        lam, mu, kind = 1.0, 1.0, 1
        if given is not None:
            lam, mu = lame(given.young, given.poisson)
            kind = 1 if given.law == "neo_hookean" else 2
            if kind == 1:
                lam += mu  # as the term of |F| softens changes of volume by mu
        table = np.ascontiguousarray(inverse.reshape(-1, 9))
        return (
            colors,
            nodes,
            table,
            volume,
            mu,
            lam,
            kind,
            np.zeros((2, len(nodes))),
            np.zeros((2, len(nodes), 12)),
        )

    def _surface(self, given: GlobalVolume | None, count: int) -> tuple:
        network = self._network
        triangles = network.triangles if given is not None else np.zeros((0, 3), np.int32)
        p = network.points[triangles]
        volume = float(np.einsum("ki,ki->", p[:, 0], np.cross(p[:, 1], p[:, 2])) / 6.0)
        if given is not None and not (len(triangles) and _is_closed(triangles) and volume > 0.0):
            raise InputError("a GlobalVolume needs a closed surface that is oriented outward")
        bulk = None if given is None else given.bulk_modulus
        rest = volume * (1.0 if given is None else float(given.pressure))
        alpha, factor = self._constants(given, np.array([volume / bulk if bulk else 0.0]), count)
        points = network.points.shape
        compliance = float(alpha[0]) if len(alpha) else 0.0
        return triangles, rest, compliance, factor, np.zeros(1), np.zeros(points), np.zeros(points)

    def _clusters(self, given: ShapeMatching | None, count: int) -> tuple:
        network = self._network
        n, points, masses = network.node_count, network.points, self._masses
        lists = [] if given is None else _clusters_of(points, given.radius)
        counts = np.array([len(members) for members in lists], np.int64)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        nodes = np.concatenate([np.zeros(0, np.int64), *lists]).astype(np.int32)
        uses = np.bincount(nodes, minlength=n)
        share = masses[nodes] / np.maximum(uses[nodes], 1)
        owner = np.repeat(np.arange(len(lists)), counts)
        total = np.bincount(owner, weights=share, minlength=len(lists))
        center = np.stack(
            [np.bincount(owner, weights=share * points[nodes, u], minlength=len(lists)) for u in range(3)], axis=1
        ) / np.maximum(total, 1e-300)[:, None]  # fmt: skip
        rest = points[nodes] - center[owner]
        order = np.argsort(nodes, kind="stable")
        indptr = np.concatenate([[0], np.cumsum(uses)]).astype(np.int32)
        members = np.stack([order, owner[order]], axis=1).astype(np.int32)
        factor = 0.0 if given is None else _per_iteration(given.stiffness, count)
        k = len(lists)
        return offsets, nodes, share, rest, indptr, members, factor, np.zeros((k, 3)), np.zeros((k, 9))


def _is_closed(triangles: NDArray[np.int32]) -> bool:
    """Return whether every directed edge has its opposite."""
    n = int(triangles.max()) + 1
    a = triangles.astype(np.int64)
    one = (a * n + np.roll(a, -1, axis=1)).ravel()
    other = (np.roll(a, -1, axis=1) * n + a).ravel()
    return bool(np.array_equal(np.sort(one), np.sort(other)))


def _clusters_of(points: NDArray[np.float64], radius: float | None) -> list[NDArray[np.int64]]:
    """Return the nodes of each cluster: all, or those within the radius of centres that cover all nodes."""
    if radius is None:
        return [np.arange(len(points))]
    from scipy.spatial import cKDTree

    tree = cKDTree(points)
    free = np.ones(len(points), bool)
    lists = []
    for node in range(len(points)):
        if free[node]:
            members = np.sort(np.array(tree.query_ball_point(points[node], radius), np.int64))
            free[tree.query_ball_point(points[node], 0.5 * radius)] = False
            lists.append(members)
    return lists
