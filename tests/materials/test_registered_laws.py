"""Every registered law: derivatives against differences, rotations, definite tangents, and its scene model."""

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.spatial.transform import Rotation

import continua as ct
from continua.materials import LAWS, Hyperelastic
from continua.materials.registry import constants_of, register
from continua.scene.laws import MODELS

CONSTANTS = {  # laws that are not listed are tested with their own constants
    "editing_material": [{"shear": 3.0}, {"shear": 0.3}],
    "fiber_reinforced": [
        {"fiber": (1, 2, 3), "fiber_stiffness": 3.0, "second_fiber": (1, -1, 0), "second_stiffness": 2.0}
    ],
    "muscle": [{"poisson": 0.45, "fiber": (1, 0.5, 0), "activation": 0.7, "strength": 3.0}],
    "orthotropic": [
        {"young_2": 1.0, "young_3": 0.5, "shear_12": 0.6, "shear_13": 0.5, "shear_23": 0.4}
        | {"poisson_12": 0.4, "poisson_23": -0.2, "axis": (1, 2, 3), "second_axis": (1, 0, 0)}
    ],
    "spline_hyperelastic": [{"hardening_strain": 0.4, "hardening": 5.0, "compression_strain": 0.2}],
}
EXAMPLES = [
    law(young=2.0, **constants) for name, law in LAWS.items() for constants in CONSTANTS.get(name, [{}])
]
each_law = pytest.mark.parametrize("law", EXAMPLES, ids=lambda law: law.name)
UNITS = np.eye(9).reshape(9, 3, 3)


def states():
    """Moderate, wild and inverted deformations."""
    rng = np.random.default_rng(0)
    turns = Rotation.random(20, random_state=1).as_matrix()
    return np.concatenate(
        [
            np.eye(3) + 0.3 * rng.normal(size=(60, 3, 3)),
            rng.normal(size=(60, 3, 3)),
            turns @ np.diag([1.2, 0.9, -0.4]) @ turns[::-1],
        ]
    )


@each_law
def test_stress_and_tangent_are_derivatives_of_the_energy(law):
    F, h = states(), 1e-6
    P, T = law.stress(F), law.tangent(F)
    by_energy = np.stack([(law.energy(F + h * u) - law.energy(F - h * u)) / (2 * h) for u in UNITS], -1)
    by_stress = np.stack([(law.stress(F + h * u) - law.stress(F - h * u)) / (2 * h) for u in UNITS], -1)
    scale = np.abs(T).max(axis=(1, 2))
    assert (np.abs(P.reshape(-1, 9) - by_energy).max(axis=1) < 1e-6 * scale).all()
    assert (np.abs(T - by_stress.reshape(-1, 9, 9)).max(axis=(1, 2)) < 1e-6 * scale).all()
    np.testing.assert_allclose(T, T.swapaxes(1, 2), atol=1e-12 * scale.max())


@each_law
def test_energy_is_rotation_invariant_and_the_stress_conserves_angular_momentum(law):
    if not law.is_rotation_invariant:
        pytest.skip("a law for small rotations")
    F = states()
    R = Rotation.random(len(F), random_state=3).as_matrix()
    np.testing.assert_allclose(law.energy(R @ F), law.energy(F), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(law.stress(R @ F), R @ law.stress(F), atol=1e-10 * np.abs(law.stress(F)).max())
    tau = law.stress(F) @ F.swapaxes(1, 2)
    np.testing.assert_allclose(tau, tau.swapaxes(1, 2), atol=1e-12 * np.abs(tau).max())


@each_law
def test_definite_tangent_has_no_negative_eigenvalue_and_is_exact_where_it_can_be(law):
    F = np.concatenate(
        [states(), np.zeros((1, 3, 3)), np.diag([1.0, 0.0, 0.0])[None], np.diag([1.0, 1.0, 0.0])[None]]
    )
    definite = law.tangent(F, definite=True)
    assert np.isfinite(definite).all()
    values = np.linalg.eigvalsh(definite)
    assert (values[:, 0] >= -1e-12 * values[:, -1]).all()
    if not isinstance(law, Hyperelastic):
        return  # its parts are made definite each on its own
    exact = law.tangent(F)
    fine = np.linalg.eigvalsh(exact)[:, 0] > 1e-9
    assert fine.any()
    np.testing.assert_allclose(definite[fine], exact[fine], rtol=1e-9, atol=1e-9)


@each_law
def test_constants_outside_their_limits_are_refused(law):
    for name, (default, constant) in constants_of(law).items():
        if constant.vector or constant.choices:
            continue
        bad = [float("nan"), float("inf"), "soft"]
        bad += [limit for key, limit in constant.limits.items() if key in ("gt", "lt")]
        bad += [limit - 1.0 for key, limit in constant.limits.items() if key == "ge"]
        bad += [limit + 1.0 for key, limit in constant.limits.items() if key == "le"]
        if default is not None:
            bad.append(None)
        for value in bad:
            with pytest.raises(ct.InputError, match=f"^{name} must be"):
                type(law)(**{name: value})


@pytest.mark.parametrize("name", LAWS)
def test_scene_model_has_the_constants_of_the_law(name):
    law, model = LAWS[name], MODELS[name]
    values = model.model_validate({"type": name}).model_dump(exclude={"type"})
    assert law(**values) == law()
    assert getattr(ct, law.__name__) is law
    for key, (_, constant) in constants_of(law).items():
        if not constant.in_scene:
            with pytest.raises(ValidationError):
                model.model_validate({"type": name, key: 0.0})
            continue
        bad = [limit for kind, limit in constant.scene_limits.items() if kind in ("gt", "lt")]
        bad += [2.0 * limit + 1.0 for kind, limit in constant.scene_limits.items() if kind == "le"]
        bad += [limit - 1.0 for kind, limit in constant.scene_limits.items() if kind == "ge"]
        for value in [*bad, "soft", True]:
            with pytest.raises(ValidationError):
                model.model_validate({"type": name, key: value})


def test_two_laws_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two laws called 'linear'"):
        register("linear", title="", summary="")(ct.Linear)
    assert list(LAWS) == sorted(LAWS)
