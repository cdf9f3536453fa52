"""Cloth made of springs between its nodes, instead of triangles with a material law."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.deformable.elements import AssembledSystem
from continua.errors import InputError
from continua.materials import Law
from continua.shells import spring_kernels
from continua.shells.cloth_elements import X_AXIS, ClothElements
from continua.shells.cloth_pattern import make_pattern
from continua.shells.membrane import Membrane
from continua.shells.sheet_mesh import SheetMesh
from continua.validation import choice, number

__all__ = ["ClothSprings", "SpringElements"]

PARALLEL_FROM = 5000

SIXTEEN = ((1, 0), (0, 1), (1, 1), (1, -1), (2, 0), (0, 2), (2, 2), (2, -2))
"""Half of the 16 neighbours of a node of a grid: stretch, shear, bend and diagonal bend."""


@dataclass(frozen=True)
class ClothSprings:
    """Springs along the edges of cloth, and longer ones that resist bending.

    Attributes:
        stencil: "hinges": a spring along each edge, and one across each hinge, between the corners that its triangles
            do not share (Selle et al. 2009). "sixteen": springs from each node of a regular grid to 16 neighbours: 4
            beside it, 4 across the diagonals, and 8 at twice these distances (Choi and Ko 2002).
        stretch: Stiffness of the short springs [N/m]; None is that of the material: E h times the area of the adjacent
            triangles over the square of the length (Van Gelder 1998).
        bend: Stiffness of the long springs, relative to the mean of the short ones.
    """

    stencil: str = "hinges"
    stretch: float | None = None
    bend: float = 0.05

    def __post_init__(self) -> None:
        choice(self.stencil, "the stencil of springs", ("hinges", "sixteen"))
        if self.stretch is not None:
            number(self.stretch, "the stretch stiffness of springs", above=0.0, unit="N/m")
        number(self.bend, "the bend stiffness of springs", low=0.0)


def _grid_pairs(mesh: SheetMesh) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the short and the long springs of a grid, shape [s, 2] each."""
    n = mesh.node_count
    around = np.unique(mesh.edges[(mesh.edges == 0).any(axis=1)])
    beyond = around[around > 1]
    width = int(beyond.min()) if len(beyond) else 0
    steps = np.abs(mesh.edges[:, 1].astype(np.int64) - mesh.edges[:, 0]) if width else np.zeros(1)
    if width < 2 or n % width or not np.isin(steps, [1, width - 1, width, width + 1]).all():
        raise InputError(
            "springs to 16 neighbours need a sheet that is a regular grid, such as mesh.surfaces.sheet(..., "
            "pattern='crossed'); use the stencil 'hinges'"
        )
    rows = n // width
    i, j = np.divmod(np.arange(n), width)
    both = []
    for pick in (SIXTEEN[:4], SIXTEEN[4:]):
        pairs = []
        for a, b in pick:
            exists = (i + a < rows) & (j + b < width) & (j + b >= 0)
            first = np.flatnonzero(exists)
            pairs.append(np.column_stack([first, first + a * width + b]))
        both.append(np.concatenate(pairs).astype(np.int32))
    return both[0], both[1]


class _SpringStress(Membrane):
    """What the fields of cloth need: the deformation of triangles, and a stress made of the tensions of their edges."""

    springs: SpringElements

    def stress(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean stress [Pa] of the springs along the edges of every triangle, shape [m, 3, 3]."""
        return self.springs.edge_stress(x)


class SpringElements(ClothElements):
    """The springs of a sheet; the interface is `deformable.Elements`.

    Attributes:
        pairs: The nodes of every spring, shape [s, 2].
        lengths: Rest lengths [m].
        stiffness: k [N/m].
    """

    def __init__(self, mesh: SheetMesh, options: ClothSprings) -> None:
        self._mesh, self._options = mesh, options
        self.elements = mesh.cells
        self.rest_positions = self.rest_coefficients = mesh.points
        self.node_count, self.element_count = mesh.node_count, mesh.element_count
        self.inverted = 0
        self._x = mesh.points
        if options.stencil == "sixteen":
            short, long = _grid_pairs(mesh)
        else:
            short, long = mesh.edges, np.sort(mesh.hinges[:, [0, 3]], axis=1)
            # two hinges may join the same corners, or corners that have an edge
            keys = short.astype(np.int64) @ [mesh.node_count, 1]
            far = np.unique(long.astype(np.int64) @ [mesh.node_count, 1])
            far = far[~np.isin(far, keys)]
            long = np.column_stack(np.divmod(far, mesh.node_count)).astype(np.int32)
        self._short = len(short)
        self.pairs = np.ascontiguousarray(np.concatenate([short, long]), dtype=np.int32)
        self.dof_map, self.pattern, lists = make_pattern(mesh.cells, self.pairs, mesh.points)
        p = self.pattern
        self.spring_of = np.full(p.block_count, -1, np.int32)
        first = lists.hinge_indptr
        owner = np.repeat(np.arange(p.block_count), np.diff(first))
        self.spring_of[owner] = lists.hinge_codes >> 4
        lower = self.spring_of[lists.mirror]
        self.spring_of = np.ascontiguousarray(np.maximum(self.spring_of, lower))
        self.lengths = self._rest_lengths()
        self.stiffness = np.zeros(len(self.pairs))
        self._partial = np.zeros(max(1, len(self.pairs) // 1024))
        self.membrane = _SpringStress(mesh, X_AXIS)
        self.membrane.springs = self
        self.bending = None  # type: ignore[assignment]
        ends = np.sort(mesh.cells[:, mesh.FACES], axis=2).astype(np.int64)
        keys = np.sort(self.pairs, axis=1).astype(np.int64) @ [mesh.node_count, 1]
        order = np.argsort(keys, kind="stable")
        self._edge_springs = order[np.searchsorted(keys[order], ends @ [mesh.node_count, 1])]

    def _rest_lengths(self) -> NDArray[np.float64]:
        """Return the distances at rest; those across a hinge are of its triangles unfolded into a plane if sewn."""
        mesh, pairs = self._mesh, self.pairs
        lengths = np.linalg.norm(mesh.points[pairs[:, 0]] - mesh.points[pairs[:, 1]], axis=1)
        if mesh.flat is not None:
            raise InputError("sewn patterns cannot be made of springs; use the model 'membrane'")
        if not (lengths > 0.0).all():
            raise InputError("two nodes of a spring are at the same place; mend the mesh")
        return np.asarray(lengths, np.float64)

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Set the stiffness of the springs from Lame's constants [Pa] of every triangle, shape [m, k]."""
        mesh, short = self._mesh, self._short
        if self._options.stretch is not None:
            self.stiffness[:short] = self._options.stretch
        else:
            lam, mu = constants[:, 0], constants[:, 1]
            total = lam + mu
            young = np.where(
                total > 0.0, mu * (3.0 * lam + 2.0 * mu) / np.where(total > 0.0, total, 1.0), 0.0
            )
            share = np.bincount(
                self._edge_springs.ravel(), np.repeat(young * mesh.volumes, 3), minlength=len(self.pairs)
            )
            k = share[:short] / self.lengths[:short] ** 2
            if self._options.stencil == "sixteen":  # a diagonal of each cell is no edge
                absent = k == 0.0
                k[absent] = k[~absent].min()
            self.stiffness[:short] = k
        self.stiffness[short:] = self._options.bend * self.stiffness[:short].mean()

    def update(self, coefficients: NDArray[np.float64]) -> None:
        """Take the positions; `assemble` computes the forces."""
        self._x = coefficients

    def assemble(self, system: AssembledSystem) -> None:
        """Fill the system's matrix and right-hand side, as of the last update."""
        p = self.pattern
        spring_kernels.assemble.variant(p.parallel)(
            self._x,
            (p.indptr, p.indices, p.diagonal),
            self.spring_of,
            self.stiffness,
            self.lengths,
            system.arrays,
        )

    def energy(self) -> float:
        """Return the elastic energy [J], as of the last update."""
        spring_kernels.energies.variant(len(self.pairs) >= PARALLEL_FROM)(
            self._x, self.pairs, self.stiffness, self.lengths, self._partial
        )
        return float(self._partial.sum())

    def edge_stress(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the stress [Pa] of the tensions of the edges of every triangle, half of each inner edge."""
        s = self._edge_springs
        e = x[self.pairs[s, 0]] - x[self.pairs[s, 1]]
        length = np.maximum(np.linalg.norm(e, axis=2), 1e-300)
        uses = np.bincount(s.ravel(), minlength=len(self.pairs))[s]
        tension = self.stiffness[s] * (length - self.lengths[s]) / length / uses
        return np.asarray(
            np.einsum("mk,mka,mkb->mab", tension, e, e) / self._mesh.volumes[:, None, None], np.float64
        )
