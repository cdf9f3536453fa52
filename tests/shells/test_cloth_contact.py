"""Cloth in contact: nothing passes through after any step, layers stay in order, momentum is kept."""

import numpy as np
import pytest

import continua as ct
from continua.coupling.contact.surface_contacts import SurfaceContacts
from tests.shells.throws import count_piercings, random_rotation, square_cloth, square_mesh, throw


@pytest.mark.parametrize("seed", range(20, 40))
def test_nothing_pierces_anything_after_any_step_of_a_random_throw(seed):
    """One to three sheets at 1 to 30 m/s, steps of 1 to 33 ms, thickness 0.1 to 5 mm, friction 0 to 2, a collider."""
    throw(seed, steps=20)


def test_two_sheets_dropped_over_a_bar_fold_and_never_pierce_each_other():
    turned = np.array([[0.7, 0, 0.714], [0, 1, 0], [-0.714, 0, 0.7]])
    sheets = [
        square_cloth(9, 0.3, (0.0, 0.16, 0.0), name="lower"),
        square_cloth(9, 0.3, (0.01, 0.175, 0.02), turned, name="upper"),
    ]
    shapes = [ct.Plane((0, 0, 0), (0, 1, 0)), ct.Box((0.0, 0.12, 0.0), (0.02, 0.06, 0.5))]
    world = ct.World(sheets, colliders=shapes, dt=0.01, contact=ct.Contact(0.3, self_contact=True))
    for _ in range(30):
        world.step()
        assert count_piercings(*sheets) == 0


@pytest.mark.parametrize("edges", [True, False])
def test_borders_that_cross_between_vertices_need_pairs_of_edges(edges, monkeypatch):
    """An upright sheet falls with its border across that of another one; without pairs of edges they cut each other."""
    if not edges:
        restrict = SurfaceContacts.restrict_to

        def without_edges(self, bodies):
            answer = restrict(self, bodies)
            self.mesh.edge_edge_pairs = np.zeros_like(self.mesh.edge_edge_pairs)
            return answer

        monkeypatch.setattr(SurfaceContacts, "restrict_to", without_edges)
    upright = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
    lower = square_cloth(5, 0.3, (0.0, 0.0, 0.0), upright, name="lower")
    quarter = np.array([[0, 0, 1.0], [0, 1, 0], [-1, 0, 0]])
    upper = square_cloth(5, 0.3, (0.031, 0.32, 0.029), quarter @ upright, name="upper")
    lower.pin("all")
    upper.set_velocity((0.0, -1.0, 0.0))
    world = ct.World([lower, upper], dt=0.01, contact=ct.Contact(0.3, self_contact=True))
    worst = 0
    for _ in range(12):
        world.step()
        worst = max(worst, count_piercings(lower, upper))
    assert (worst == 0) == edges


def test_ten_layers_stay_in_order():
    sheets = [
        square_cloth(5, 0.2, (0.003 * k, 0.02 + 0.012 * k, 0.002 * k), name=f"layer {k}") for k in range(10)
    ]
    world = ct.World(
        sheets,
        colliders=[ct.Plane((0, 0, 0), (0, 1, 0))],
        dt=1 / 60,
        contact=ct.Contact(0.3, self_contact=True),
    )
    for _ in range(25):
        world.step()
        assert count_piercings(*sheets) == 0
    heights = [sheet.positions[:, 1].mean() for sheet in sheets]
    assert (np.diff(heights) > 0.5e-3).all()


def meeting_sheets(**options):
    one = square_cloth(6, 0.3, name="one", **options)
    other = square_cloth(5, 0.3, (0.02, 0.03, 0.01), name="other", **options)
    other.set_velocity((0.1, -2.0, 0.2))
    contact = ct.Contact(0.5, self_contact=True)
    return (one, other), ct.World([one, other], gravity=(0, 0, 0), dt=2e-3, contact=contact)


def test_two_free_sheets_keep_their_momentum_to_rounding():
    sheets, world = meeting_sheets()

    def momentum():
        return sum(body.contact_body().node_masses @ body.velocities for body in sheets)

    start, touched = momentum(), 0
    for _ in range(30):
        touched += max(report.contacts for report in world.step()) > 0
        np.testing.assert_allclose(momentum(), start, rtol=0.0, atol=1e-12 * np.abs(start).max())
    assert touched > 3


def test_two_free_sheets_that_meet_only_lose_energy():
    sheets, world = meeting_sheets(newton=20)
    before, touched = np.inf, 0
    for _ in range(30):
        touched += max(report.contacts for report in world.step()) > 0
        energy = sum(sum(body.energy().values()) for body in sheets)
        assert energy <= before * (1.0 + 1e-9)
        before = energy
    assert touched > 3


def test_a_sheet_between_a_heavy_box_and_the_floor_stays_between():
    sheet = square_cloth(6, 0.3, (0.0, 0.02, 0.0), name="sheet")
    box = ct.RigidBody(ct.Box((0.0, 0.12, 0.0), (0.15, 0.1, 0.15)), mass=5.0, name="box")
    box.set_velocity((0.0, -5.0, 0.0))
    world = ct.World(
        [sheet, box],
        colliders=[ct.Plane((0, 0, 0), (0, 1, 0))],
        dt=0.01,
        contact=ct.Contact(0.5, self_contact=True),
    )
    for _ in range(40):
        world.step()
        assert sheet.positions[:, 1].min() > 0.0
        under = np.abs(sheet.positions[:, [0, 2]]).max(axis=1) < 0.07
        assert (sheet.positions[under, 1] < box.positions[0, 1]).all()
        assert count_piercings(sheet) == 0


def test_sheets_that_intersect_at_the_start_are_told_where():
    crossing = square_cloth(4, 0.3, (0.02, 0.0, 0.01), random_rotation(1.2, 3), name="crossing")
    flat = square_cloth(4, 0.3, name="flat")
    with pytest.warns(
        UserWarning, match=r"'flat' and 'crossing' overlap.* in \d+ triangles, one at \(.*\) m"
    ):
        ct.World([flat, crossing], contact=ct.Contact(self_contact=True))
    mesh = square_mesh(6, 0.3)
    points = mesh.points.copy()
    points[np.linalg.norm(points - points[0], axis=1) < 0.08] += [0.0, 0.02, 0.0]
    points[0] = [0.02, -0.02, 0.03]  # a corner goes through the middle
    itself = ct.Cloth(type(mesh)(points, mesh.triangles), name="itself", thickness=1e-4)
    assert count_piercings(itself) > 0
    with pytest.warns(UserWarning, match="'itself' intersects itself at the start, in"):
        ct.World([itself], contact=ct.Contact(self_contact=True))
