"""Meshes cut from a lattice: volume, surface, shapes of elements, regions, and what is refused."""

import numpy as np
import pytest

import continua as ct

BALL = [[-1.2] * 3, [1.2] * 3]


def ball(p):
    return np.linalg.norm(p, axis=1) - 1.0


def test_a_ball_has_its_volume_and_its_surface():
    errors = []
    for size in (0.4, 0.2):
        mesh = ct.mesh.fill(ball, BALL, size)
        assert mesh.surface.is_closed
        assert mesh.surface.is_manifold
        np.testing.assert_allclose(np.linalg.norm(mesh.surface.points, axis=1), 1.0, atol=1e-6)
        errors.append(1.0 - mesh.volume / (4.0 / 3.0 * np.pi))
        assert mesh.quality().min_dihedral > 10.0
    assert 0 < errors[1] < 0.3 * errors[0] < 0.1  # second order: chords of a curved surface


@pytest.mark.parametrize("seed", range(4))
def test_random_bodies_are_conforming_and_well_shaped(seed):
    """The mesh itself refuses faces with three elements and overlaps; a turned and shifted box has flat sides."""
    rng = np.random.default_rng(seed)
    limbs = [ct.mesh.RoundCone(*rng.uniform(-1, 1, (2, 3)), *rng.uniform(0.2, 0.5, 2)) for _ in range(4)]
    mesh = ct.mesh.blob(limbs, 0.17, blend=0.05)
    assert mesh.surface.is_closed
    assert mesh.quality().min_dihedral > 7.0
    assert mesh.quality().max_dihedral < 168.0


def test_regions_belong_to_the_limb_that_is_nearest():
    limbs = [
        ct.mesh.RoundCone((0, 0, 0), (2, 0, 0), 0.4, name="trunk"),
        ct.mesh.RoundCone((0, 0, 0), (0, -1, 0), 0.2, 0.1, name="leg"),
        ct.mesh.RoundCone((2, 0, 0), (2, -1, 0), 0.2, 0.1, name="leg"),
    ]
    mesh = ct.mesh.blob(limbs, 0.15)
    assert set(mesh.regions) == {"trunk", "leg"}
    assert len(mesh.regions["trunk"]) + len(mesh.regions["leg"]) == mesh.element_count
    centers = mesh.points[mesh.tets].mean(axis=1)
    assert centers[mesh.regions["leg"], 1].max() < 0.3
    assert centers[mesh.regions["trunk"], 1].min() > -0.5
    again = ct.mesh.blob(limbs, 0.15)
    assert again.points.tobytes() == mesh.points.tobytes()
    assert again.tets.tobytes() == mesh.tets.tobytes()


def test_what_cannot_be_meshed_is_refused():
    with pytest.raises(ct.InputError, match="the interior is empty"):
        ct.mesh.fill(lambda p: np.ones(len(p)), BALL, 0.3)
    with pytest.raises(ct.InputError, match="leaves the bounds"):
        ct.mesh.fill(ball, [[-0.5] * 3, [2.0] * 3], 0.2)
    with pytest.raises(ct.InputError, match="GiB"):
        ct.mesh.fill(ball, BALL, 1e-3)
    with pytest.raises(ct.InputError, match="what the function of a surface returns"):
        ct.mesh.fill(lambda p: p, BALL, 0.3)
    with pytest.raises(ct.InputError, match="smallest and the largest"):
        ct.mesh.fill(ball, [[1] * 3, [0] * 3], 0.3)
    with pytest.raises(ct.InputError, match="radius"):
        ct.mesh.RoundCone((0, 0, 0), (1, 0, 0), 0.0)
    with pytest.raises(ct.InputError, match="at least one round cone"):
        ct.mesh.blob([], 0.1)
    with pytest.raises(ct.InputError, match="blend"):
        ct.mesh.blob([ct.mesh.RoundCone((0, 0, 0), (1, 0, 0), 0.3)], 0.1, blend=-1.0)
