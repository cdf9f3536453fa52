"""Incompressible bodies of hexahedra: exact volumes and derivatives, equilibrium, contact."""

from __future__ import annotations

import numpy as np
import pytest
import skfem
from skfem.models.elasticity import linear_elasticity

import continua as ct
from continua.deformable.incompressible import OneRing
from continua.solids.elements.factory import make_elements

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]])


def hex_volumes(mesh, x):
    """Return the volumes of trilinear hexahedra by Gauss's rule of 2 x 2 x 2 points, which is exact for them."""
    points = 0.5 + (CORNERS - 0.5) / np.sqrt(3.0)
    factors = np.where(CORNERS, points[:, None], 1.0 - points[:, None])  # [point, corner, direction]
    signs = 2.0 * CORNERS - 1.0
    slopes = np.stack([signs[:, d] * np.delete(factors, d, axis=2).prod(axis=2) for d in range(3)], axis=2)
    return np.linalg.det(np.einsum("mci,qcd->mqid", x[mesh.cells], slopes)).sum(axis=1) / 8.0


def node_volumes(mesh, x):
    result = np.zeros(len(x))
    for k in range(8):
        np.add.at(result, mesh.cells[:, k], hex_volumes(mesh, x) / 8.0)
    return result


def test_volumes_and_their_derivatives_are_exact():
    rng = np.random.default_rng(3)
    mesh = ct.mesh.hex_box((1.0, 0.6, 0.5), (3, 2, 2))
    ring = OneRing(make_elements(mesh, 1, ct.Corotated(), False))
    x = mesh.points + 0.04 * rng.standard_normal(mesh.points.shape)
    np.testing.assert_allclose(ring.update(x), node_volumes(mesh, x), rtol=1e-13)
    v, p = rng.standard_normal(x.shape), rng.standard_normal(len(x))
    h = 1e-5
    rate = (ring.volumes(x + h * v) - ring.volumes(x - h * v)) / (2.0 * h)
    np.testing.assert_allclose(ring.divergence(v), rate, atol=1e-10)
    forces = ring.forces(p)
    assert np.vdot(forces, v) == pytest.approx(p @ ring.divergence(v), rel=1e-12)
    size = np.abs(forces).sum()
    assert np.abs(forces.sum(axis=0)).max() < 1e-14 * size
    assert np.abs(np.cross(x, forces).sum(axis=0)).max() < 1e-14 * size


def saddle_point_displacements(mesh, young, load):
    """Return the displacements of the discrete equilibrium: stiffness of scikit-fem, volumes by finite differences."""
    axes = [np.unique(mesh.points[:, d].round(12)) for d in range(3)]
    m = skfem.MeshHex.init_tensor(*axes)
    basis = skfem.Basis(m, skfem.ElementVector(skfem.ElementHex1()))
    ours = [int(np.abs(m.p.T - row).sum(axis=1).argmin()) for row in mesh.points]
    order = basis.nodal_dofs.T[ours].ravel()
    K = linear_elasticity(Lambda=0.0, Mu=young / 3.0).assemble(basis).toarray()[np.ix_(order, order)]
    n = len(mesh.points)
    D = np.zeros((n, 3 * n))
    for j in range(3 * n):
        step = np.zeros(3 * n)
        step[j] = 1e-5
        step = step.reshape(n, 3)
        D[:, j] = (node_volumes(mesh, mesh.points + step) - node_volumes(mesh, mesh.points - step)) / 2e-5
    force = np.zeros((n, 3))
    force[:, 1] = load * node_volumes(mesh, mesh.points)
    free = np.repeat(mesh.points[:, 0] > 1e-9, 3)
    s = 1e3 * np.abs(K).max()
    Z = np.block([[K[np.ix_(free, free)] / s, D[:, free].T], [D[:, free], np.zeros((n, n))]])
    right = np.concatenate([force.ravel()[free] / s, np.zeros(n)])
    u = np.zeros(3 * n)
    u[free] = np.linalg.lstsq(Z, right, rcond=1e-13)[0][: free.sum()]
    return u.reshape(n, 3)


def test_equilibrium_is_that_of_the_saddle_point_problem():
    mesh = ct.mesh.hex_box((1.0, 0.3, 0.2), (5, 2, 2))
    young, gravity, dt = 1e5, -1e-4, 0.02
    expected = saddle_point_displacements(mesh, young, 1000.0 * gravity)
    beam = ct.SoftBody(
        mesh,
        material=ct.Linear(young=young, density=1000.0),
        incompressible=True,
        damping=(0.02 / dt, 2.5 * dt),
        name="beam",
    )
    beam.pin(where=lambda x: x[:, 0] < 1e-9)
    world = ct.World([beam], gravity=(0.0, gravity, 0.0), dt=dt)
    for _ in range(450):
        world.step()
    u = beam.positions - beam.rest_positions
    assert np.abs(u - expected).max() <= 1e-2 * np.abs(expected).max()


def test_a_dropped_block_keeps_its_volume():
    block = ct.SoftBody(
        ct.mesh.hex_box((1.0, 1.0, 1.0), (5, 5, 5)),
        material=ct.NeoHookean(young=3e4, density=1000.0),
        incompressible=True,
        name="block",
    )
    block.set_velocity((0.0, -3.0, 0.0), (0.5, 0.0, 1.0))
    world = ct.World([block], colliders=[ct.Plane(point=(0, -0.3, 0), friction=0.5)], dt=1 / 60)
    rest = node_volumes(block.mesh, block.rest_positions)
    lowest = 1.0
    for _ in range(30):
        (report,) = world.step()
        assert report.substeps == 1
        now = node_volumes(block.mesh, block.positions)
        assert np.abs(now / rest - 1.0).max() < 2e-4
        assert abs(now.sum() / rest.sum() - 1.0) < 3e-5  # those of the nodes are kept to 1e-4 in a step
        lowest = min(lowest, float(np.ptp(block.positions[:, 1])))
    assert lowest < 0.9
