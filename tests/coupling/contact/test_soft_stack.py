"""Ten soft slabs of stiffness 1e4 and 1e7 Pa in turn, one on another."""

import numpy as np
import pytest

import continua as ct


def test_a_stack_of_soft_and_stiff_slabs_carries_its_weight_in_every_interface():
    """The lowest is strained by 9 %; as a column on soft joints it cannot topple, E b^2 / (6 rho g n^2 h^3) = 8."""
    height, gap, slabs = 0.03, 1e-3, []
    for k in range(10):
        mesh = ct.mesh.box(size=(0.2, height, 0.2), cells=(3, 1, 3)).transformed(
            translate=(0.0, gap + k * (height + gap), 0.0)
        )
        material = ct.Corotated(young=(1e4, 1e7)[k % 2], density=300.0)
        slabs.append(ct.SoftBody(mesh, material=material, name=f"slab {k}"))
    world = ct.World(slabs, colliders=[ct.Plane()], dt=0.01, contact=ct.Contact(friction=0.5))
    warnings = []
    for step in range(100):
        reports = world.step()
        warnings += [(step, report.body, text) for report in reports for text in report.warnings]
        middle = [slab._node_mass @ slab._x[:, 1] / slab.mass_total for slab in slabs]
        assert (np.diff(middle) > 0.6 * height).all()
        assert min(slab.positions[:, 1].min() for slab in slabs) > -1e-6
    assert all(step < 3 for step, _, _ in warnings)  # ten slabs land at once
    assert not world.overlaps()

    # The floor and the slab below push slab k up with all that lies on it; above it pushes less by its own weight.
    weight = 9.81 * np.array([slab.mass_total for slab in slabs])
    net = np.array([slab._contact_force.sum(axis=0)[1] for slab in slabs])
    np.testing.assert_allclose(np.cumsum(net[::-1]), np.cumsum(weight[::-1]), rtol=0.01)
    assert world.energy()["kinetic"] < 1e-6 * weight.sum() * 10 * height
    drift = [np.abs(slab._x[:, ::2].mean(axis=0) - 0.1).max() for slab in slabs]
    assert max(drift) < 0.01 * height


@pytest.mark.parametrize("gap", [0.0, 1e-4])
def test_two_slabs_that_touch_from_the_start_come_to_rest(gap):
    """Surfaces that keep a distance of their own may start closer; they move apart gently."""
    slabs = [
        ct.SoftBody(
            ct.mesh.box(size=(0.2, 0.03, 0.2), cells=(3, 1, 3)).transformed(
                translate=(0.0, gap + k * (0.03 + gap), 0.0)
            ),
            material=ct.Corotated(young=1e6, density=300.0),
            name=f"slab {k}",
        )
        for k in range(2)
    ]
    world = ct.World(slabs, colliders=[ct.Plane()], dt=0.01)
    for step in range(40):
        reports = world.step()
        # faces that coincide are moved apart first
        if gap > 0.0 or step > 0:
            assert not any("did not converge" in text for report in reports for text in report.warnings)
        assert max(np.abs(slab._v).max() for slab in slabs) < 0.25
    assert reports[1].contact_force[1] == pytest.approx(9.81 * slabs[1].mass_total, rel=0.01)


def test_the_force_between_two_slabs_of_a_stack_points_along_the_weight():
    """Contact forces of single nodes: none pulls, and their points lie between the slabs."""
    slabs = [
        ct.SoftBody(
            ct.mesh.box(size=(0.2, 0.03, 0.2), cells=(3, 1, 3)).transformed(translate=(0.0, 0.031 * k, 0.0)),
            material=ct.Corotated(young=young, density=300.0),
            name=f"slab {k}",
        )
        for k, young in enumerate((1e7, 1e4))
    ]
    world = ct.World(slabs, colliders=[ct.Plane()], dt=0.01)
    for _ in range(100):
        world.step()
    top = slabs[1]._contact_force
    assert top[:, 1].min() >= 0.0
    assert top[:, 1].sum() == pytest.approx(9.81 * slabs[1].mass_total, rel=0.01)
    touched = slabs[1].rest_positions[np.abs(top).max(axis=1) > 0.0]
    assert np.ptp(touched[:, 1]) == 0.0  # only the lower face
