"""Corotated tetrahedra of every order: against brute force, differences, and linear elasticity."""

import numpy as np
import pytest
from scipy.linalg import polar
from scipy.spatial.transform import Rotation

import continua as ct
from continua.numerics.bernstein import bernstein_slopes
from continua.numerics.quadrature import tet_rule
from continua.solids.elements import CorotatedTets, LinearTets, make_elements
from tests.solids.linearise import give, linearised

LAW = ct.Corotated(young=10.0, poisson=0.3, rotation="exact")


def jittered():
    box = ct.mesh.box(size=(1.0, 0.5, 0.5), cells=(2, 1, 1))
    points = box.points + 0.05 * np.random.default_rng(1).uniform(-1.0, 1.0, box.points.shape)
    return ct.TetMesh(points, box.tets)


def one_tet():
    return ct.TetMesh([[0, 0, 0], [1.2, 0.1, 0], [0.2, 0.9, 0.1], [0.1, -0.1, 1.1]], [[0, 1, 2, 3]])


def tets(mesh, order, law=LAW):
    return give(make_elements(mesh, order, law, False), law)


def stretched(elements, amplitude, seed=0):
    """Turned and stretched by a third, so that all principal stresses are positive, and uneven."""
    rest = elements.rest_positions
    x = 1.3 * rest @ Rotation.from_rotvec([0.4, -1.1, 0.8]).as_matrix().T
    return x + amplitude * np.random.default_rng(seed).normal(size=rest.shape)


def deformations(mesh, order, x, elements):
    """F at the points of the rule, by the chain rule over barycentric coordinates: [m, q, 3, 3], and the weights."""
    points, weights = tet_rule(order)
    corners = mesh.points[mesh.tets]
    rest = np.swapaxes(corners, 1, 2)  # dX/db
    now = np.einsum("mki,qkc->mqic", x[elements.elements], bernstein_slopes(order, points))
    reduce = np.array([[-1.0, -1.0, -1.0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    F = (now @ reduce) @ np.linalg.inv(rest @ reduce)[:, None]
    return F, mesh.volumes[:, None] * weights


def energy_of(F, law):
    """mu |S - 1|^2 + lambda/2 tr(S - 1)^2 with S by SciPy, for F with positive determinant."""
    lam, mu = law.lame
    E = polar(F)[1] - np.eye(3)
    return mu * (E**2).sum() + 0.5 * lam * np.trace(E) ** 2


@pytest.mark.parametrize("order", [1, 2, 3])
def test_energy_is_that_of_the_law_at_the_points(order):
    mesh = jittered()
    elements = tets(mesh, order)
    assert type(elements) is (LinearTets if order == 1 else CorotatedTets)
    x = stretched(elements, 0.01)
    F, weights = deformations(mesh, order, x, elements)
    assert (np.linalg.det(F) > 0.0).all()
    expected = sum(w * energy_of(f, LAW) for f, w in zip(F.reshape(-1, 3, 3), weights.ravel(), strict=True))
    elements.update(x)
    assert elements.energy() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("amplitude", [0.01, 0.3])
def test_force_is_the_gradient_of_the_energy_also_when_inverted(order, amplitude):
    elements = tets(jittered(), order)
    x = stretched(elements, amplitude)
    force = linearised(elements, x)[1]
    assert (elements.inverted > 0) == (amplitude > 0.1)
    rng = np.random.default_rng(2)
    for _ in range(8):
        d = rng.normal(size=x.shape)
        values = []
        for s in (1e-6, -1e-6):
            elements.update(x + s * d)
            values.append(elements.energy())
        difference = (values[0] - values[1]) / 2e-6
        assert np.vdot(force, d) == pytest.approx(difference, rel=1e-6, abs=1e-7 * np.abs(force).sum())


@pytest.mark.parametrize("order", [1, 2, 3])
def test_stiffness_is_the_hessian_where_that_is_definite(order):
    """Under tension everywhere nothing is projected; the frozen rotation would miss the tension's part."""
    elements = tets(jittered(), order)
    x = stretched(elements, 0.01)
    K = linearised(elements, x)[0]
    rng = np.random.default_rng(3)
    for _ in range(3):
        d = rng.normal(size=x.shape)
        forces = [linearised(elements, x + s * d)[1] for s in (1e-6, -1e-6)]
        expected = (forces[0] - forces[1]) / 2e-6
        np.testing.assert_allclose(
            (K @ d.ravel()).reshape(-1, 3), expected, atol=1e-7 * np.abs(expected).max()
        )


@pytest.mark.parametrize("order", [1, 2, 3])
def test_stiffness_is_the_hessian_with_negative_parts_left_out(order):
    """At every point of a crushed tet: the 9x9 Hessian by differences of the stress, its eigenvalues clamped."""
    mesh = one_tet()
    elements = tets(mesh, order)
    x = stretched(elements, 0.0) * [0.5, 0.6, 0.9] + 0.08 * np.random.default_rng(4).normal(
        size=elements.rest_positions.shape
    )
    K = linearised(elements, x)[0].toarray()
    F, weights = deformations(mesh, order, x, elements)
    slopes = bernstein_slopes(order, tet_rule(order)[0])
    corners = np.concatenate([mesh.points[mesh.tets[0]], np.ones((4, 1))], axis=1)
    gradients = np.linalg.inv(corners)[:3].T  # of the barycentric coordinates
    expected = np.zeros_like(K)
    clamped = 0
    for q in range(F.shape[1]):
        H = np.empty((9, 9))
        for c in range(9):
            step = np.zeros(9)
            step[c] = 1e-6
            up, down = (LAW.stress(F[0, q] + s * step.reshape(3, 3)) for s in (1.0, -1.0))
            H[:, c] = (up - down).ravel() / 2e-6
        w, Q = np.linalg.eigh(0.5 * (H + H.T))
        clamped += int((w < -1e-6).sum())
        H = (Q * np.maximum(w, 0.0)) @ Q.T
        B = np.zeros((9, 3 * len(x)))
        g = slopes[q] @ gradients
        for i in range(3):
            for j in range(3):
                B[3 * i + j, 3 * elements.elements[0] + i] = g[:, j]
        expected += weights[0, q] * B.T @ H @ B
    assert clamped > 0
    np.testing.assert_allclose(K, expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("order", [1, 2, 3])
def test_at_rest_it_is_linear_elasticity_without_spurious_modes(order):
    """The rule is exact for products of slopes, so that only the six rigid motions have no energy."""
    elements = tets(one_tet(), order)
    linear = tets(one_tet(), order, ct.Linear(young=LAW.young, poisson=LAW.poisson))
    K = linearised(elements, elements.rest_positions)[0].toarray()
    expected = linearised(linear, linear.rest_positions)[0].toarray()
    np.testing.assert_allclose(K, expected, atol=1e-13 * np.abs(expected).max())
    for x in (elements.rest_positions, stretched(elements, 0.2)):
        w = np.linalg.eigvalsh(linearised(elements, x)[0].toarray())
        assert w.min() > -1e-12 * w.max()
        assert (w < 1e-9 * w.max()).sum() <= 6
    rng = np.random.default_rng(5)
    x = elements.rest_positions + 1e-5 * rng.normal(size=elements.rest_positions.shape)
    neo = tets(one_tet(), order, ct.NeoHookean(LAW.young, LAW.poisson))
    force, other = linearised(elements, x)[1], linearised(neo, x)[1]
    np.testing.assert_allclose(force, other, atol=1e-3 * np.abs(other).max())


@pytest.mark.parametrize("order", [1, 2, 3])
def test_rigid_motions_are_free_and_torques_vanish(order):
    elements = tets(jittered(), order)
    rest = elements.rest_positions
    for angle in (0.3, 2.0, np.pi):
        turn = Rotation.from_rotvec(angle * np.array([0.6, 0.0, 0.8])).as_matrix()
        force = linearised(elements, rest @ turn.T + [1.0, 2.0, 3.0])[1]
        assert np.abs(force).max() < 1e-13 * LAW.young
    x = stretched(elements, 0.1)
    force = linearised(elements, x)[1]
    torque = np.cross(x, force)
    assert np.abs(force.sum(axis=0)).max() < 1e-13 * np.abs(force).sum()
    assert np.abs(torque.sum(axis=0)).max() < 1e-13 * np.abs(torque).sum()


@pytest.mark.parametrize("order", [2, 3])
def test_stress_at_nodes_is_that_of_the_linear_law_for_small_strains(order):
    """The stress of a polynomial of the degree is extrapolated to the nodes exactly."""
    mesh = jittered()
    elements = tets(mesh, order)
    linear = tets(mesh, order, ct.Linear(young=LAW.young, poisson=LAW.poisson))
    rest = elements.rest_positions
    x = rest + 1e-7 * np.random.default_rng(6).normal(size=rest.shape)
    for one in (elements, linear):
        one.update(x)
    np.testing.assert_allclose(elements.von_mises(), linear.von_mises(), rtol=1e-4)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_results_do_not_depend_on_the_number_of_threads(order):
    elements = tets(ct.mesh.box(cells=(3, 3, 3)), order)
    elements.parallel = True
    x = stretched(elements, 0.1)
    results = []
    try:
        for threads in (1, 2):
            ct.set_threads(threads)
            K, f = linearised(elements, x)
            results.append((K.data.tobytes(), f.tobytes(), elements.von_mises().tobytes()))
    finally:
        ct.set_threads(2)
    assert results[0] == results[1]


@pytest.mark.parametrize("order", [1, 2])
def test_parts_may_have_constants_of_their_own(order):
    """Twice the stiffness in every element is twice the force, and elements without stiffness have none."""
    elements = tets(jittered(), order)
    constants = np.tile(LAW.lame, (elements.element_count, 1))
    x = stretched(elements, 0.05)
    elements.set_law(LAW, constants)
    force = linearised(elements, x)[1]
    elements.set_law(LAW, 2.0 * constants)
    np.testing.assert_allclose(linearised(elements, x)[1], 2.0 * force, rtol=1e-14)
    constants[1:] = 0.0
    elements.set_law(LAW, constants)
    alone = np.setdiff1d(elements.elements[1:], elements.elements[0])
    K, force = linearised(elements, x)
    assert not force[alone].any()
    assert np.abs(K.toarray().reshape(len(x), 3, -1)[alone]).max() == 0.0


@pytest.mark.parametrize("order", [1, 2])
def test_elements_with_other_ratios_of_lames_constants_have_the_same_tangent(order):
    """Linear tets have another kernel for them: the Hessian of a body of two materials, by differences."""
    elements = tets(jittered(), order)
    constants = np.tile(LAW.lame, (elements.element_count, 1))
    constants[::2, 0] *= 3.0
    elements.set_law(LAW, constants)
    x = stretched(elements, 0.01)
    K = linearised(elements, x)[0]
    d = np.random.default_rng(7).normal(size=x.shape)
    forces = [linearised(elements, x + s * d)[1] for s in (1e-6, -1e-6)]
    expected = (forces[0] - forces[1]) / 2e-6
    np.testing.assert_allclose((K @ d.ravel()).reshape(-1, 3), expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_fast_variants_leave_out_the_stiffness_of_tension(order):
    """Turned and stretched by a third everywhere, theirs is that of linear elasticity, turned."""
    mesh = one_tet()
    linear = tets(mesh, order, ct.Linear(young=LAW.young, poisson=LAW.poisson))
    rest = linear.rest_positions
    K = linearised(linear, rest)[0].toarray()
    turn = np.kron(np.eye(len(rest)), Rotation.from_rotvec([0.4, -1.1, 0.8]).as_matrix())
    for rotation in ("mean", "corner"):
        fast = tets(mesh, order, ct.Corotated(young=LAW.young, poisson=LAW.poisson, rotation=rotation))
        np.testing.assert_allclose(
            linearised(fast, stretched(fast, 0.0))[0].toarray(), turn @ K @ turn.T, atol=1e-12
        )
    exact = linearised(tets(mesh, order), stretched(linear, 0.0))[0].toarray()
    assert np.abs(exact - turn @ K @ turn.T).max() > 0.1 * np.abs(K).max()
