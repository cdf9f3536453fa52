"""A weight on a liver: the experiment of Georgii (2007, section 4.6.3) with a synthetic organ and a known solution.

In the thesis a pig's liver was scanned under 175 g on a disc of 24 mm, and the simulated surface was compared with the
scan. Here scikit-fem, with quadratic elements on another mesh of the same shape, replaces the scan. The measure is the
same: the shortest distance of every simulated surface node to the other surface.

`python -m validation.liver` prints mean and largest distance; the thesis reports a mean below 0.6 mm (the
accuracy of the scanner) and three times as much at the rim of the weight.
"""

from __future__ import annotations

import numpy as np
import skfem
from numpy.typing import NDArray
from scipy.sparse import diags_array
from scipy.sparse.linalg import cg
from scipy.spatial import cKDTree
from skfem.helpers import ddot, sym_grad, trace

import continua as ct

YOUNG, POISSON = 7500.0, 0.4  # Pa; homogeneous, as in the thesis
LOAD, RADIUS = 0.175 * 9.81, 0.012  # N on a disc of this radius [m]
RIM = 0.006  # nodes below this height are not compared [m]
CENTER = np.array([0.02, 0.0])  # of the disc in the x-z plane [m]


def organ(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a signed distance-like function of a liver-like body of 180 x 50 x 130 mm on y = 0."""
    x, y, z = points.T
    taper = 1.0 - 2.5 * x
    body = np.sqrt((x / 0.09) ** 2 + (y / (0.05 * taper)) ** 2 + (z / (0.065 * taper)) ** 2) - 1.0
    return np.maximum(0.04 * body, -y)


def organ_mesh(size: float, shift: float = 0.0) -> ct.TetMesh:
    """Return a tetrahedral mesh of the organ; `shift` [m] moves the lattice it is cut from."""
    low, high = np.array([-0.1, -0.003, -0.09]), np.array([0.1, 0.075, 0.09])
    return ct.mesh.fill(organ, [low - shift, high], size)


def simulate(mesh: ct.TetMesh, law: type[ct.Linear] | type[ct.Corotated] = ct.Linear) -> ct.SoftBody:
    """Return the organ in equilibrium under the weight."""
    body = ct.SoftBody(
        mesh,
        material=law(young=YOUNG, poisson=POISSON, density=1060.0),
        name="liver",
        solver=ct.PCG(rtol=1e-6),
    )
    body.pin(lambda x: x[:, 1] < 1e-6)
    rest, triangles = mesh.points, mesh.boundary_triangles
    a, b, c = (rest[triangles[:, i]] for i in range(3))
    normal = np.cross(b - a, c - a) / 2.0
    middle = (a + b + c) / 3.0
    under = (np.linalg.norm(middle[:, [0, 2]] - CENTER, axis=1) < RADIUS) & (normal[:, 1] > 0.0)
    area = np.linalg.norm(normal[under], axis=1).sum()
    body.apply_traction(under, (0.0, -LOAD / area, 0.0))
    ct.World([body], gravity=(0.0, 0.0, 0.0)).settle(rtol=1e-5)
    return body


def reference(mesh: ct.TetMesh) -> NDArray[np.float64]:
    """Return the deformed surface triangles [k, 3, 3] of quadratic elements by scikit-fem, each face split in four."""
    fem = skfem.MeshTet(mesh.points.T.copy(), np.ascontiguousarray(mesh.tets.T, np.int64))
    basis = skfem.Basis(fem, skfem.ElementVector(skfem.ElementTetP2()), intorder=2)
    lam, mu = ct.Linear(young=YOUNG, poisson=POISSON).lame

    @skfem.BilinearForm
    def stiffness(u, v, _):
        e, d = sym_grad(u), sym_grad(v)
        return 2.0 * mu * ddot(e, d) + lam * trace(e) * trace(d)

    top = fem.facets_satisfying(lambda x: x[1] > 1e-3, boundaries_only=True)
    faces = skfem.FacetBasis(fem, basis.elem, facets=top, intorder=8)

    def under(w):
        inside = np.hypot(w.x[0] - CENTER[0], w.x[2] - CENTER[1]) < RADIUS
        return inside * (w.n[1] > 0.0)

    area = skfem.Functional(under).assemble(faces)
    load = skfem.LinearForm(lambda v, w: -LOAD / area * under(w) * v[1]).assemble(faces)
    K = stiffness.assemble(basis).tocsr()
    held = basis.get_dofs(lambda x: x[1] < 1e-6).all()
    free = np.setdiff1d(np.arange(basis.N), held)
    inner = K[free][:, free]
    u = np.zeros(basis.N)
    u[free], failed = cg(inner, load[free], rtol=1e-8, maxiter=20_000, M=diags_array(1.0 / inner.diagonal()))
    assert not failed
    values = np.zeros((basis.N // 3, 3))
    positions = np.zeros_like(values)
    values.flat[:] = u  # component by component at every node
    positions[:] = basis.doflocs[:, ::3].T
    moved = positions + values
    corner = basis.nodal_dofs[0] // 3
    edge = basis.edge_dofs[0] // 3
    triangles = []
    for facet in fem.boundary_facets():
        p, q, r = fem.facets[:, facet]
        e = [_edge(fem, *pair) for pair in ((p, q), (q, r), (r, p))]
        triangles.append((*corner[[p, q, r]], *edge[e]))
    six = np.array(triangles)
    split = six[:, [[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]]].reshape(-1, 3)
    return moved[split]


def _edge(fem: skfem.MeshTet, a: int, b: int) -> int:
    if not hasattr(fem, "_edge_numbers"):
        fem._edge_numbers = {tuple(sorted(edge)): i for i, edge in enumerate(fem.edges.T.tolist())}
    return fem._edge_numbers[(min(a, b), max(a, b))]


def distances(
    points: NDArray[np.float64], triangles: NDArray[np.float64], near: int = 40
) -> NDArray[np.float64]:
    """Return the shortest distance of points [n, 3] to triangles [k, 3, 3], searched among the `near` nearest."""
    _, candidates = cKDTree(triangles.mean(axis=1)).query(points, near)
    best = np.full(len(points), np.inf)
    for column in candidates.T:
        a, b, c = triangles[column].transpose(1, 0, 2)
        best = np.minimum(best, _distance(points, a, b, c))
    return best


def _distance(p: NDArray, a: NDArray, b: NDArray, c: NDArray) -> NDArray:
    normal = np.cross(b - a, c - a)
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
    inside = np.ones(len(p), bool)
    result = np.full(len(p), np.inf)
    for start, end in ((a, b), (b, c), (c, a)):
        edge = end - start
        inside &= np.einsum("ij,ij->i", np.cross(normal, edge), p - start) >= 0.0
        t = np.clip(np.einsum("ij,ij->i", p - start, edge) / np.einsum("ij,ij->i", edge, edge), 0.0, 1.0)
        result = np.minimum(result, np.linalg.norm(p - start - t[:, None] * edge, axis=1))
    return np.where(inside, np.abs(np.einsum("ij,ij->i", p - a, normal)), result)


def compare(size: float, reference_size: float) -> tuple[float, float, float, ct.SoftBody]:
    """Return mean and largest distance [m], the deepest dent of the reference [m], and the body."""
    body = simulate(organ_mesh(size))
    there = reference(organ_mesh(reference_size, shift=0.3 * reference_size))
    nodes = np.unique(body.mesh.boundary_triangles)
    # at the sharp rim on the table the meshes differ already at rest
    nodes = nodes[body.rest_positions[nodes, 1] > RIM]
    off = distances(body.positions[nodes], there)
    dent = float((body.rest_positions - body.positions)[:, 1].max())
    return float(off.mean()), float(off.max()), dent, body


def main() -> None:
    """Print the comparison for coarse and fine meshes."""
    print("elements   mean error   largest error   dent")
    for size, other in ((0.012, 0.009), (0.008, 0.0075), (0.006, 0.0075)):
        mean, largest, dent, body = compare(size, other)
        print(
            f"{body.element_count:8,}   {1e3 * mean:7.3f} mm   {1e3 * largest:10.3f} mm   {1e3 * dent:5.2f} mm",
            flush=True,
        )


if __name__ == "__main__":
    main()
