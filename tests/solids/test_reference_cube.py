"""The checks of the editor's solver: its cube, a driven face, and the cantilever that documents linear tetrahedra."""

import numpy as np
import pytest

import continua as ct


def editor_cube():
    """Side 2, 4^3 cells, E = 80000, nu = 0.3, rho = 1, alpha = 10, beta = 2.5, one face pinned, -5 m/s2 across it."""
    cube = ct.SoftBody(
        ct.mesh.box(size=(2, 2, 2), cells=(4, 4, 4)),
        material=ct.Linear(young=80000.0, poisson=0.3, density=1.0),
        damping=(10.0, 2.5),
        mass="lumped",
        solver=ct.PCG(rtol=1e-10),
    )
    cube.pin(lambda x: x[:, 0] < 1e-9)
    return cube, ct.World([cube], gravity=(0.0, -5.0, 0.0), dt=1.0 / 60.0)


def test_the_editors_cube_sags_and_never_grows():
    """R14: the static sag is 6.25e-4, 0.329 of it is reached after a second, and all of it later, without overshoot."""
    cube, world = editor_cube()
    world.settle()
    static = (cube.rest_positions - cube.positions)[:, 1]
    assert static.max() == pytest.approx(6.25e-4, rel=0.01)
    world.reset()
    sags = []
    for _ in range(60):
        world.step()
        sags.append((cube.rest_positions - cube.positions)[:, 1].max())
    assert sags[-1] / static.max() == pytest.approx(0.329, abs=0.002)
    assert (np.diff(sags) > 0.0).all()
    for _ in range(1140):
        world.step()
    assert (cube.rest_positions - cube.positions)[:, 1].max() == pytest.approx(static.max(), rel=1e-3)


def test_a_face_driven_at_a_tenth_of_a_metre_a_second_ends_at_a_fifth():
    """R15: 0.1 m/s for 2 s is exactly 0.200 m; the matrix stays symmetric."""
    cube, world = editor_cube()
    drive = cube.drive(lambda x: x[:, 0] > 2 - 1e-9, ct.Motion.translate((0.1, 0.0, 0.0)))
    for _ in range(120):
        world.step()
    way = (cube.positions - cube.rest_positions)[drive.nodes]
    np.testing.assert_allclose(way, np.tile([0.2, 0.0, 0.0], (len(way), 1)), atol=1e-12)
    matrix = cube._stepper.matrix.to_scipy()
    assert abs(matrix - matrix.T).max() < 1e-12 * abs(matrix).max()


@pytest.mark.parametrize(("n", "part"), [(1, 0.24), (2, 0.51), (4, 0.78), (8, 0.92)])
def test_cantilever_of_linear_tets_reaches_a_known_part_of_timoshenkos_tip(n, part):
    """R16: L = 4, h = 1, n cells across: 0.24, 0.51, 0.78 and 0.92 of theory, as linear tets are too stiff."""
    young, nu = 1e6, 0.3
    bar = ct.SoftBody(
        ct.mesh.box(size=(4, 1, 1), cells=(4 * n, n, n)),
        material=ct.Linear(young=young, poisson=nu, density=1.0),
        solver=ct.PCG(rtol=1e-9),
    )
    bar.pin(lambda x: x[:, 0] < 1e-9)
    bar.apply_traction(lambda x: x[:, 0] > 4 - 1e-9, (0.0, -1.0, 0.0))
    ct.World([bar], gravity=(0, 0, 0)).settle()
    tip = (bar.rest_positions - bar.positions)[bar.rest_positions[:, 0] > 4 - 1e-9, 1].mean()
    theory = 4.0**3 / (3.0 * young / 12.0) + 4.0 / (5.0 / 6.0 * young / (2.0 * (1.0 + nu)))
    assert tip / theory == pytest.approx(part, abs=0.006)


def test_a_static_body_that_nothing_holds_is_refused():
    body = ct.SoftBody(ct.mesh.box(), name="loose")
    with pytest.raises(ct.InputError, match="nothing holds it"):
        ct.World([body]).settle()
