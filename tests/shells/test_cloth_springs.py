"""Cloth made of springs: its matrix, derivatives and known solutions."""

import numpy as np
import pytest

import continua as ct
from continua.scene import parse_scene
from tests.shells.test_cloth_forces import forces_and_stiffness, numerical_force

LAW = ct.StVenantKirchhoff(young=1e5, poisson=0.3, density=300.0)


def sheet(cells=(6, 5), size=(1.2, 1.0)):
    return ct.mesh.surfaces.sheet(size, cells, pattern="crossed")


@pytest.mark.parametrize("stencil", ["hinges", "sixteen"])
def test_force_and_tangent_are_derivatives(stencil):
    cloth = ct.Cloth(sheet(), LAW, thickness=1e-3, model=ct.ClothSprings(stencil, bend=0.3))
    elements, rng = cloth._elements, np.random.default_rng(0)
    x = 1.3 * elements.rest_positions + 0.02 * rng.standard_normal(elements.rest_positions.shape)
    force, stiffness = forces_and_stiffness(elements, x)
    force, scale = force.copy(), np.abs(force).max()
    for node in (0, 9, 20):
        for axis in range(3):
            assert numerical_force(elements, x, node, axis) == pytest.approx(
                force[node, axis], abs=1e-7 * scale
            )
    assert np.abs(force.sum(axis=0)).max() < 1e-12 * scale
    assert np.abs(np.cross(x, force).sum(axis=0)).max() < 1e-12 * scale
    for column in rng.integers(0, x.size, 6):
        step = np.zeros(x.size)
        step[column] = 1e-6
        up = forces_and_stiffness(elements, x + step.reshape(x.shape))[0].copy()
        down = forces_and_stiffness(elements, x - step.reshape(x.shape))[0]
        slope = -(up - down).ravel() / 2e-6
        assert np.abs(slope - stiffness[:, column]).max() < 1e-7 * np.abs(stiffness).max()
    crumpled = 0.3 * rng.standard_normal(x.shape)
    eigenvalues = np.linalg.eigvalsh(forces_and_stiffness(elements, crumpled)[1])
    assert eigenvalues[0] > -1e-10 * eigenvalues[-1]
    together = np.zeros_like(x)  # all nodes in one point
    assert np.isfinite(forces_and_stiffness(elements, together)[1]).all()


def test_matrix_of_160_by_160_nodes():
    """3,865,140 non-zeros with the diagonal; rows have 18 to 48 without it, 47.3 on average (Weber 2015)."""
    mesh = sheet((159, 159), (1.6, 1.6))
    cloth = ct.Cloth(mesh, LAW, thickness=1e-3, model=ct.ClothSprings("sixteen"))
    pattern = cloth._elements.pattern
    assert 9 * pattern.block_count == 3_865_140
    assert 3 * cloth.node_count == 76_800
    rows = 3 * (np.diff(pattern.indptr) - 1)
    assert (rows.min(), rows.max()) == (18, 48)
    assert rows.mean() == pytest.approx(47.3, abs=0.05)


def test_springs_of_hinges_are_edges_and_opposite_corners():
    mesh = ct.mesh.surfaces.sphere(0.5, 2)
    cloth = ct.Cloth(mesh, LAW, thickness=1e-3, model="springs")
    edges = len(cloth.mesh.edges)
    assert len(cloth._elements.pairs) == 2 * edges
    assert np.abs(forces_and_stiffness(cloth._elements, mesh.points.copy())[0]).max() < 1e-10


def test_stretch_of_a_sheet_is_that_of_its_young_modulus():
    """Pulled along x, with Poisson's ratio 1/3: that of springs whose stiffness is that of the areas (Van Gelder)."""
    mesh = ct.mesh.surfaces.sheet((1.0, np.sqrt(0.75)), (20, 20))
    cloth = ct.Cloth(mesh, LAW, thickness=1e-3, model=ct.ClothSprings(bend=0.0))
    cloth.lock("left", "x")
    cloth.lock("all", "y")
    cloth.lock([int(np.argmin(np.linalg.norm(mesh.points - [-0.5, 0, 0], axis=1)))], "z")
    width = np.sqrt(0.75)
    cloth.push("right", (1e-3 * 1e5 * 1e-3 * width, 0.0, 0.0))
    ct.World([cloth], gravity=(0, 0, 0)).settle(rtol=1e-8)
    moved = cloth.positions - mesh.points
    strain = moved[mesh.points[:, 0] > 0.499, 0].mean()
    assert strain == pytest.approx(1e-3, rel=0.2)


def test_energy_of_sixteen_neighbours_is_that_of_a_plain_loop():
    nx, ny, k = 7, 5, 40.0
    mesh = sheet((nx - 1, ny - 1), (0.6, 0.4))
    cloth = ct.Cloth(mesh, LAW, thickness=1e-3, model=ct.ClothSprings("sixteen", stretch=k, bend=0.2))
    rest, rng = mesh.points.reshape(nx, ny, 3), np.random.default_rng(2)
    x = rest + 0.05 * rng.standard_normal(rest.shape)
    energy = 0.0
    for i in range(nx):
        for j in range(ny):
            for a in range(-2, 3):
                for b in range(-2, 3):
                    straight = a == 0 or b == 0 or abs(a) == abs(b)
                    if (a, b) == (0, 0) or not straight or not (0 <= i + a < nx and 0 <= j + b < ny):
                        continue
                    here = np.linalg.norm(x[i + a, j + b] - x[i, j])
                    there = np.linalg.norm(rest[i + a, j + b] - rest[i, j])
                    stiffness = k if max(abs(a), abs(b)) == 1 else 0.2 * k
                    energy += 0.25 * stiffness * (here - there) ** 2  # every spring twice
    cloth.positions = x.reshape(-1, 3)
    assert cloth.energy()["elastic"] == pytest.approx(energy, rel=1e-12)


def test_threads_checkpoints_and_scenes():
    text = """
bodies:
  - type: cloth
    name: sheet
    mesh: {type: sheet, pattern: crossed, cells: [8, 8]}
    model: springs
    springs: {stencil: sixteen, bend: 0.1}
    pin: [{where: left}]
"""
    ends = []
    for threads in (1, 2):
        ct.set_threads(threads)
        world = parse_scene(text).build()
        for _ in range(3):
            world.step()
        state = world.state()
        for _ in range(3):
            world.step()
        ends.append(world["sheet"].positions.tobytes())
        world.restore(state)
        for _ in range(3):
            world.step()
        ends.append(world["sheet"].positions.tobytes())
    assert len(set(ends)) == 1
    frame = world["sheet"].frame()
    assert np.isfinite(frame.fields["von_mises"].values).all()


def test_what_is_refused():
    with pytest.raises(ct.InputError, match="regular grid"):
        ct.Cloth(ct.mesh.surfaces.sphere(0.5, 3), LAW, thickness=1e-3, model=ct.ClothSprings("sixteen"))
    with pytest.raises(ct.InputError, match="the model of cloth"):
        ct.Cloth(sheet(), LAW, thickness=1e-3, model="sprung")
    with pytest.raises(ct.InputError, match="stencil"):
        ct.ClothSprings("twelve")
    with pytest.raises(ct.InputError, match="greater than 0"):
        ct.ClothSprings(stretch=-1.0)
