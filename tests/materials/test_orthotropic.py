"""Orthotropic: engineering constants, rotated stiffness in NumPy, off-axis modulus, stability, recovery."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import continua as ct
from continua.scene import parse_scene

WOOD = {  # spruce-like
    "young": 12e9,
    "young_2": 0.9e9,
    "young_3": 0.5e9,
    "poisson_12": 0.42,
    "poisson_13": 0.46,
    "poisson_23": 0.5,
    "shear_12": 0.75e9,
    "shear_13": 0.65e9,
    "shear_23": 0.04e9,
}
NAMES = {(0, 1): "12", (0, 2): "13", (1, 2): "23"}


def compliance_tensor(constants, axes):
    """Return S [3, 3, 3, 3] in the frame of the rest shape, by the definition of the constants and one einsum."""
    E = [constants["young"], constants["young_2"], constants["young_3"]]
    S = np.zeros((3, 3, 3, 3))
    for i in range(3):
        S[i, i, i, i] = 1 / E[i]
    for (i, j), name in NAMES.items():
        S[i, i, j, j] = S[j, j, i, i] = -constants[f"poisson_{name}"] / E[i]
        for a, b in ((i, j), (j, i)):
            for c, d in ((i, j), (j, i)):
                S[a, b, c, d] = 1 / (4 * constants[f"shear_{name}"])
    return np.einsum("abcd,ai,bj,ck,dl->ijkl", S, axes, axes, axes, axes)


def as_matrix(tensor):
    """Return a tensor of symmetric pairs on the orthonormal basis of symmetric matrices, shape [6, 6]."""
    basis = [np.outer(e, e) for e in np.eye(3)]
    for i, j in ((1, 2), (0, 2), (0, 1)):
        both = np.zeros((3, 3))
        both[i, j] = both[j, i] = np.sqrt(0.5)
        basis.append(both)
    return np.einsum("aij,ijkl,bkl->ab", basis, tensor, basis)


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_tangent_at_rest_is_the_inverse_of_the_rotated_compliance(seed):
    axes = np.eye(3) if seed is None else Rotation.random(random_state=seed).as_matrix()
    # the second axis may lean towards the first
    law = ct.Orthotropic(**WOOD, axis=3 * axes[0], second_axis=axes[1] + 0.7 * axes[0])
    C = law.tangent(np.eye(3)).reshape(3, 3, 3, 3)
    np.testing.assert_allclose(C, C.transpose(1, 0, 2, 3), atol=1e-6 * C.max())
    product = as_matrix(C) @ as_matrix(compliance_tensor(WOOD, axes))
    np.testing.assert_allclose(product, np.eye(6), atol=1e-10)


def test_isotropic_constants_are_st_venant_kirchhoff():
    E, nu = 2e6, 0.3
    G = E / (2 * (1 + nu))
    ratios = dict.fromkeys(("poisson_12", "poisson_13", "poisson_23"), nu)
    shears = dict.fromkeys(("shear_12", "shear_13", "shear_23"), G)
    law = ct.Orthotropic(E, young_2=E, young_3=E, **ratios, **shears, axis=(1, 2, 3), second_axis=(0, 1, 1))
    other = ct.StVenantKirchhoff(E, nu)
    assert law.lame == pytest.approx(other.lame)
    F = np.eye(3) + 0.1 * np.random.default_rng(0).normal(size=(30, 3, 3))  # no stretch below 0.7
    F = F[np.linalg.svd(F, compute_uv=False)[:, -1] > 0.75]
    np.testing.assert_allclose(law.energy(F), other.energy(F), rtol=1e-10)
    np.testing.assert_allclose(law.tangent(F), other.tangent(F), atol=1e-9 * E)


def pulled(law, strain=1e-6):
    """Pull a block of 2 x 1 x 1 m along its first edge without lateral constraint; return its strains and the block."""
    mesh = ct.mesh.hex_box((2.0, 1.0, 1.0), (2, 1, 1))
    body = ct.SoftBody(mesh, material=law, name="block")
    body.pin(lambda x: np.linalg.norm(x, axis=1) < 1e-9)
    body.lock(lambda x: x[:, 0] < 1e-9, "x")
    body.lock(lambda x: np.linalg.norm(x[:, :2], axis=1) < 1e-9, "y")
    body.lock(lambda x: np.linalg.norm(x[:, [0, 2]], axis=1) < 1e-9, "z")
    body.apply_traction(lambda c: c[:, 0] > 2.0 - 1e-9, (strain * law_young(law, 0), 0.0, 0.0))
    ct.World([body], gravity=(0, 0, 0)).settle(rtol=1e-9)
    u = body.positions - body.rest_positions
    return u[:, 0].max() / 2.0, u[:, 1].min(), u[:, 2].min()


def law_young(law, axis):
    return (law.young, law.young_2, law.young_3)[axis]


@pytest.mark.parametrize("turn", [0, 1, 2])
def test_uniaxial_tension_gives_the_constants_back(turn):
    """The block's x is material axis 1, then 3, then 2."""
    axes = np.roll(np.eye(3), turn, axis=0)
    law = ct.Orthotropic(**WOOD, axis=axes[0], second_axis=axes[1])
    first, second, third = (int(axes[:, k].argmax()) for k in range(3))
    S = compliance_tensor(WOOD, np.eye(3))
    stress = 1e-6 * WOOD["young"]
    along, y, z = pulled(law)
    assert along == pytest.approx(stress / law_young(law, first), rel=1e-4)
    assert y == pytest.approx(stress * S[second, second, first, first], rel=1e-4)
    assert z == pytest.approx(stress * S[third, third, first, first], rel=1e-4)


@pytest.mark.parametrize("degrees", [0, 20, 45, 70, 90])
def test_off_axis_modulus_in_plane_stress(degrees):
    """Lekhnitskii (1963): 1/E = c^4/E1 + (1/G12 - 2 nu12/E1) s^2 c^2 + s^4/E2."""
    angle = np.radians(degrees)
    c, s = np.cos(angle), np.sin(angle)
    law = ct.Orthotropic(**WOOD, axis=(c, s, 0.0), second_axis=(-s, c, 0.0))
    mesh = ct.mesh.rectangle((2.0, 1.0), (2, 1))
    body = ct.SoftBody(mesh, material=law, plane="stress", name="plate")
    body.pin(lambda x: np.linalg.norm(x, axis=1) < 1e-9)
    body.lock(lambda x: (x[:, 0] < 1e-9) & (x[:, 1] > 1.0 - 1e-9), "x")
    traction = 10.0
    body.apply_traction(lambda c: c[:, 0] > 2.0 - 1e-9, (traction, 0.0, 0.0))
    body.apply_traction(lambda c: c[:, 0] < 1e-9, (-traction, 0.0, 0.0))
    ct.World([body], gravity=(0, 0, 0)).settle(rtol=1e-9)
    inverse = c**4 / WOOD["young"] + s**4 / WOOD["young_2"]
    inverse += (1 / WOOD["shear_12"] - 2 * WOOD["poisson_12"] / WOOD["young"]) * (s * c) ** 2
    stretch = body.positions[body.rest_positions[:, 0] > 2.0 - 1e-9, 0].mean() - 2.0
    # the left edge stays straight, but the pull shears the plate: its right edge moves along by the mean
    low = np.linalg.norm(body.rest_positions - (2.0, 0.0, 0.0), axis=1).argmin()
    assert body.positions[low, 0] - 2.0 == pytest.approx(2.0 * traction * inverse, rel=1e-5)
    assert stretch == pytest.approx(2.0 * traction * inverse, rel=1e-5)


def test_mirrored_and_collapsed_elements_are_pushed_back():
    """Green's strain alone is zero for a mirrored element, and its force vanishes at collapse."""
    law = ct.Orthotropic(**WOOD)
    mirrored = np.diag([1.0, 1.0, -1.0])
    assert law.energy(mirrored) > 0.5 * WOOD["young_3"]
    for f in np.linspace(-1.0, 0.9, 39):  # one stretch, towards rest all the way
        for axis in range(3):
            F = np.eye(3)
            F[axis, axis] = f
            assert law.stress(F)[axis, axis] < 0.0


def test_a_pressed_block_recovers():
    constants = {key: value * 1e-5 if "poisson" not in key else value for key, value in WOOD.items()}
    mesh = ct.mesh.box((1, 1, 1), (3, 3, 3))
    body = ct.SoftBody(mesh, material=ct.Orthotropic(**constants), damping=(2.0, 0.0), name="block")
    rest = body.rest_positions
    body.drive("all", lambda t, x: rest * (1.0, max(1.0 - 10.0 * t, -0.3), 1.0), until=0.2)
    world = ct.World([body], gravity=(0, 0, 0), dt=0.01)
    for _ in range(15):
        world.step()
    assert len(body.inverted_elements()) == body.element_count
    for _ in range(400):
        world.step()
    assert len(body.inverted_elements()) == 0
    x = body.positions - body.positions.mean(axis=0)
    u, _, v = np.linalg.svd(x.T @ (rest - rest.mean(axis=0)))
    assert np.abs(x @ (u @ v) - (rest - rest.mean(axis=0))).max() < 0.02


@pytest.mark.parametrize(
    ("constants", "message"),
    [
        ({"poisson_12": 1.5}, "poisson_12 must be between -1 and 1, the root of young / young_2, not 1.5"),
        ({"poisson_23": 0.8, "young_3": 2e6}, "poisson_23 must be between -0.707107"),
        ({"poisson_12": 0.7, "poisson_13": 0.7, "poisson_23": 0.7}, "together too large"),
        ({"axis": (1, 1, 0), "second_axis": (-2, -2, 0)}, "second_axis must not be parallel to axis"),
        (
            {"axis": np.ones((3, 3)), "second_axis": np.eye(4, 3) + 0.1},
            "axis has 3 vectors and second_axis 4",
        ),
        ({"poisson": 0.3}, "poisson_12, poisson_13 and poisson_23"),
        ({"shear_12": 0.0}, "shear_12 must be greater than 0 Pa"),
    ],
)
def test_what_cannot_be_is_refused(constants, message):
    with pytest.raises(ct.InputError, match=message):
        ct.Orthotropic(**constants)


def test_parts_of_a_scene_have_axes_of_their_own():
    body = (
        parse_scene("""
bodies:
  - type: soft
    name: plywood
    mesh: {type: box, size: [1, 1, 1], cells: [1, 2, 1]}
    material: {type: orthotropic, young: 9.0e+6, shear_12: 5.0e+5}
    parts:
      - {where: {type: box, min: [0, 0.5, 0], max: [1, 1, 1]}, axis: [0, 0, 1]}
""")
        .build()
        .bodies[0]
    )
    assert body.parts[0][1].axis.vectors.tolist() == [0, 0, 1]
    C = body._materials.constants[:, 2:38].reshape(-1, 6, 6)
    upper = body.mesh.points[body.mesh.cells].mean(axis=1)[:, 1] > 0.5
    assert (C[upper, 2, 2] > 8e6).all()
    assert (C[~upper, 0, 0] > 8e6).all()
