"""Bodies of many shapes and their systems, for tests of solvers."""

import numpy as np

from continua import Corotated, Multigrid, PMultigrid, mesh
from continua.deformable.elements import AssembledSystem
from continua.linalg import BlockMatrix
from continua.solids.elements.bernstein_tet import BernsteinTets
from continua.solids.elements.linear_tet import LinearTets
from continua.solids.elements.quadrature_elements import NodalElements
from continua.solids.multigrid_geometry import attach_multigrid_geometry


def jittered(cells, seed=0, size=(1.0, 1.0, 1.0)):
    """A box whose nodes are moved off the lattice, inside too, and numbered at random."""
    box = mesh.box(size, cells)
    rng = np.random.default_rng(seed)
    step = np.array(size) / np.array(cells)
    inside = ((box.points > 1e-9) & (box.points < np.array(size) - 1e-9)).all(axis=1)
    points = box.points + 0.2 * step * rng.uniform(-1, 1, box.points.shape) * inside[:, None]
    order = rng.permutation(len(points))
    rank = np.empty(len(points), np.int64)
    rank[order] = np.arange(len(points))
    return mesh.TetMesh(points[order], rank[box.tets])


def elements_of(shape, order=1):
    """Elements with geometry."""
    if isinstance(shape, mesh.TetMesh):
        elements = LinearTets(shape) if order == 1 else BernsteinTets(shape, order)
    else:
        elements = NodalElements(shape)
    attach_multigrid_geometry(elements)
    return elements


def system(
    shape,
    *,
    order=1,
    young=2e6,
    poisson=0.3,
    dt=0.02,
    contrast=None,
    layers=None,
    seed=0,
    wobble=0.0,
    masses=1.0,
):
    """Return (matrix, rhs, elements) of one implicit step.

    `contrast` multiplies E in the half x > mean, `layers` [m] that of every element.
    """
    elements = elements_of(shape, order)
    law = Corotated(young=young, poisson=poisson)
    constants = law.element_constants(np.arange(elements.element_count))
    if contrast is not None:
        centers = shape.points[shape.cells].mean(axis=1)[:, 0]
        constants = constants.copy()
        constants[centers > centers.mean(), :2] *= contrast
    if layers is not None:
        constants = constants.copy()
        constants[:, :2] *= layers[:, None]
    elements.set_law(law, constants)
    rng = np.random.default_rng(seed)
    x = elements.rest_positions + wobble * rng.normal(size=elements.rest_positions.shape)
    elements.update(x)
    matrix = BlockMatrix(elements.pattern)
    mass = elements.mass(np.full(elements.element_count, 1000.0), False)
    load = rng.normal(size=x.shape)
    rhs = np.zeros_like(x)
    elements.assemble(AssembledSystem(matrix, rhs, mass, masses, dt * dt, dt, np.zeros_like(x), load))
    rhs[:] = load
    return matrix, rhs, elements


NOTHING = np.zeros((0, 6))


def ready(matrix, fixed=None, projections=None, **options):
    order = 1 if matrix.pattern.geometry is None else matrix.pattern.geometry.order
    solver = (PMultigrid if order > 1 else Multigrid)(**options)
    solver.setup(matrix)
    n = matrix.pattern.node_count
    solver.update(matrix, np.zeros(n, np.uint8) if fixed is None else fixed, projections)
    return solver


def left(points):
    return (points[:, 0] < points[:, 0].min() + 1e-9).astype(np.uint8)


def apply(solver, r):
    """One cycle as an operator on [n, 3]."""
    h = solver.hierarchy
    h.b[: len(r)] = r[h.order]
    h.cycle()
    return h.x[h.rank].copy()


SHAPES = {
    "lattice": lambda: mesh.box((2, 1, 1), (12, 6, 6)),
    "odd lattice": lambda: mesh.box((2, 1, 1), (11, 5, 7)),
    "refined": lambda: mesh.refine(mesh.refine(mesh.box((2, 1, 1), (3, 2, 2))).mesh).mesh,
    "irregular": lambda: jittered((10, 6, 6)),
    "sphere": lambda: mesh.sphere(0.5, 6),
    "hexes": lambda: mesh.hex_box((2, 1, 1), (12, 6, 6)),
}
